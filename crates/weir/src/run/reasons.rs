//! The triggers of a reload of the configuration.

use tokio::signal::unix::Signal;
use tokio::sync::mpsc;
use weir_admin::Refresh;
use weir_control::Control;

use super::{registries, watch};

/// The sources of triggers.
pub struct Reasons<'a> {
    pub hangup: Signal,
    pub files: watch::Watch<'a>,
    pub services: registries::Watch,
    pub servers: registries::Watch,
    pub refreshes: mpsc::Receiver<Refresh>,
}

/// One trigger.
pub struct Reason {
    /// In words, for the log.
    pub why: &'static str,
    /// The requester of the reload, to be told its result.
    pub asked: Option<Refresh>,
}

impl Reasons<'_> {
    /// Waits for the next trigger. Dropping the future loses none.
    pub async fn next(&mut self, control: &Control) -> Reason {
        loop {
            let why = tokio::select! {
                _ = self.hangup.recv() => "SIGHUP",
                () = self.files.changed() => "a changed file",
                () = self.servers.changed() => "a change at a configuration server",
                () = self.services.changed() => {
                    if !control.published().load().settings.discovery.locator {
                        continue;
                    }
                    "services that came or went"
                }
                Some(asked) = self.refreshes.recv() => {
                    return Reason { why: "POST /actuator/refresh", asked: Some(asked) };
                }
            };
            return Reason { why, asked: None };
        }
    }
}
