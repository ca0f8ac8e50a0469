//! The one deadline of an exchange: a response timeout, or a window in which bodies must make
//! progress.

use std::task::Context;
use std::time::Duration;

use super::client::Client;
use super::outgoing::Outgoing;
use super::relay::{Relay, Waiting};
use crate::error::{ErrorKind, ProxyError};

/// The current meaning of the exchange's one deadline.
pub(super) struct ExchangeDeadline {
    /// The response timeout runs; otherwise a progress window does.
    for_response: bool,
    armed: bool,
    up_before: u64,
    down_before: u64,
}

impl ExchangeDeadline {
    pub(super) fn new(client: &Client, outgoing: &Outgoing<'_>, upload: &Relay) -> Self {
        let mut deadline = Self::progress_only();
        if upload.is_done() {
            deadline.request_sent(client, outgoing);
        } else {
            deadline.arm(client, outgoing);
        }
        deadline
    }

    pub(super) fn progress_only() -> Self {
        Self { for_response: false, armed: false, up_before: 0, down_before: 0 }
    }

    /// Starts a progress window, unless one runs.
    pub(super) fn arm(&mut self, client: &Client, outgoing: &Outgoing<'_>) {
        if !self.armed {
            self.armed = true;
            client.deadline.set(outgoing.snapshot.settings.progress_window);
        }
    }

    /// The request is with the upstream: from now on its answer is awaited.
    pub(super) fn request_sent(&mut self, client: &Client, outgoing: &Outgoing<'_>) {
        self.for_response = true;
        match outgoing.response_timeout {
            Some(timeout) => client.deadline.set(timeout),
            None => client.deadline.clear(),
        }
    }

    /// The error if the deadline has passed; a client that made progress gets another window.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        client: &Client,
        outgoing: &Outgoing<'_>,
        upload: Option<&Relay>,
        download: Option<&Relay>,
    ) -> Option<ProxyError> {
        while client.deadline.poll(cx) {
            if self.for_response {
                let after = outgoing.response_timeout.unwrap_or_default();
                let text = format!("Response took longer than timeout: {}", iso(after));
                return Some(ProxyError::with(ErrorKind::ResponseTimeout, text));
            }
            let settings = &outgoing.snapshot.settings;
            let window_s = settings.progress_window.as_secs().max(1);
            let enough = settings.progress_bytes_per_second_min * window_s;
            let up = upload.map_or(self.up_before + enough, |relay| relay.moved);
            let down = download.map_or(self.down_before + enough, |relay| relay.moved);
            let slow_up = up - self.up_before.min(up) < enough && !is_held_up(upload);
            let slow_down = down - self.down_before.min(down) < enough && !is_held_up(download);
            (self.up_before, self.down_before) = (up, down);
            if slow_up && upload.is_some_and(|relay| relay.waiting == Waiting::Source)
                || slow_down && download.is_some_and(|relay| relay.waiting == Waiting::Sink)
            {
                return Some(ProxyError::new(ErrorKind::ClientTooSlow));
            }
            if slow_up && upload.is_some_and(|relay| relay.waiting == Waiting::Sink) {
                return Some(ProxyError::new(ErrorKind::UpstreamTooSlow));
            }
            self.armed = false;
            self.arm(client, outgoing);
        }
        None
    }
}

/// Whether a bandwidth limit delayed the body within the window.
fn is_held_up(relay: Option<&Relay>) -> bool {
    relay.and_then(|relay| relay.pace.as_ref()).is_some_and(|pace| pace.take_held_up())
}

/// A duration as Java prints it: `PT1S`, `PT0.2S`, `PT1M`.
fn iso(duration: Duration) -> String {
    let (minutes, seconds) = (duration.as_secs() / 60, duration.as_secs() % 60);
    let millis = duration.subsec_millis();
    let mut text = String::from("PT");
    if minutes >= 60 {
        text += &format!("{}H", minutes / 60);
    }
    if minutes % 60 > 0 {
        text += &format!("{}M", minutes % 60);
    }
    if millis > 0 {
        let fraction = format!("{millis:03}");
        text += &format!("{seconds}.{}S", fraction.trim_end_matches('0'));
    } else if seconds > 0 || text.len() == 2 {
        text += &format!("{seconds}S");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::iso;

    #[test]
    fn durations_read_as_in_java() {
        let check = |ms, expected: &str| assert_eq!(iso(Duration::from_millis(ms)), expected);
        check(1_000, "PT1S");
        check(200, "PT0.2S");
        check(60_000, "PT1M");
        check(3_661_000, "PT1H1M1S");
        check(0, "PT0S");
    }
}
