//! Comparison of the bytes that the gateway forwarded with the judge's reading of the client's
//! bytes.

use std::fmt;

use super::rig::Seen;
use crate::judge::{End, Message, Reading, canonical, read_requests};

/// The outcome of a case without a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Requests that the judge reads in the client's bytes.
    pub judged: usize,
    /// Requests that the upstream got.
    pub sent_on: usize,
    /// The judge stops at input that no strict reader accepts.
    pub refused_by_judge: bool,
    /// The gateway answered with an error to input that the judge accepts.
    pub stricter: bool,
}

/// A fault: the forwarded requests differ from the received ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The difference.
    pub what: String,
    /// The bytes that the client sent.
    pub client: Vec<u8>,
    /// The bytes that the upstream received, connection after connection.
    pub upstream: Vec<u8>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (client, upstream) = (self.client.escape_ascii(), self.upstream.escape_ascii());
        write!(f, "{}\n  client:   \"{client}\"\n  upstream: \"{upstream}\"", self.what)
    }
}

/// Compares what a client sent with what came of it.
///
/// # Errors
/// The first fault found.
pub fn compare(client: &[u8], seen: &Seen) -> Result<Outcome, Difference> {
    let reading = read_requests(client);
    let fault =
        |what: String| Difference { what, client: client.to_vec(), upstream: seen.raw.concat() };
    check_upstream(&reading, seen).map_err(fault)?;
    check_client(&reading, seen).map_err(fault)?;
    let refused_by_judge = matches!(reading.end, End::Refused(_));
    let passable = reading.messages.iter().filter(|message| !is_local(message)).count();
    Ok(Outcome {
        judged: reading.messages.len(),
        sent_on: seen.messages.len(),
        refused_by_judge,
        stricter: seen.messages.len() < passable,
    })
}

/// Compares what an upstream got with what a client sent, whatever the client was answered.
///
/// # Errors
/// The first fault found.
pub fn compare_upstream(client: &[u8], seen: &Seen) -> Result<(), String> {
    check_upstream(&read_requests(client), seen)
}

/// Requests that a gateway answers itself: it supports neither CONNECT nor TRACE, and no route is
/// for `*`.
fn is_local(message: &Message) -> bool {
    matches!(message.method.as_slice(), b"CONNECT" | b"TRACE")
        || canonical(&message.method, &message.target).is_some_and(|target| target == b"*")
}

fn check_upstream(reading: &Reading, seen: &Seen) -> Result<(), String> {
    if let Some((why, bytes)) = seen.malformed.first() {
        return Err(format!("sent on what is not HTTP: {why}: \"{}\"", bytes.escape_ascii()));
    }
    let mut expected = reading.messages.iter().filter(|message| !is_local(message));
    for (number, got) in seen.messages.iter().enumerate() {
        let Some(message) = expected.next() else {
            return Err(format!("request {} is one too many", number + 1));
        };
        same(message, got).map_err(|what| format!("request {}: {what}", number + 1))?;
        if got.body != message.body {
            return Err(format!("request {}: another body", number + 1));
        }
    }
    let cut = match seen.cut.as_slice() {
        [] => return Ok(()),
        [cut] => cut,
        _ => return Err("several requests were begun and cut off".to_owned()),
    };
    // Without a complete head a server could not act.
    let Some(cut) = cut else { return Ok(()) };
    let Some(message) = expected.next().or(reading.open.as_ref()) else {
        return Err("a request was begun that is not there".to_owned());
    };
    same(message, cut).map_err(|what| format!("the request cut off: {what}"))?;
    if !message.body.starts_with(&cut.body) {
        return Err("the request cut off: another body".to_owned());
    }
    Ok(())
}

/// Method and target, the latter in canonical form; and no hop-by-hop fields.
fn same(sent: &Message, got: &Message) -> Result<(), String> {
    if got.method != sent.method {
        return Err("another method".to_owned());
    }
    if canonical(&sent.method, &sent.target).as_ref() != Some(&got.target) {
        return Err("another target".to_owned());
    }
    if got.empty_lines > 0 {
        return Err("empty lines in front of it".to_owned());
    }
    if got.minor != 1 {
        return Err("not sent on as HTTP/1.1".to_owned());
    }
    for name in ["keep-alive", "proxy-connection", "te", "trailer"] {
        if !got.all(name).is_empty() {
            return Err(format!("{name} is for one hop only"));
        }
    }
    let trailers = got.trailers.iter().map(|(name, _)| name.to_ascii_lowercase());
    for name in trailers {
        if matches!(name.as_slice(), b"host" | b"content-length" | b"transfer-encoding") {
            return Err("a trailer that bears on framing or routing".to_owned());
        }
    }
    Ok(())
}

/// Each answer of the upstream reached the client once, in order; and a client whose request is not
/// served received an error or was disconnected.
fn check_client(reading: &Reading, seen: &Seen) -> Result<(), String> {
    if let Some(silent) = seen.stuck {
        return Err(format!("nothing happens any more {silent}"));
    }
    let expected: Vec<usize> = (seen.first_serial..).take(seen.messages.len()).collect();
    let got = seen.serials();
    if !expected.starts_with(&got) {
        return Err(format!("the client got the answers {got:?} of {expected:?}"));
    }
    let statuses = seen.statuses();
    if statuses.len() > reading.messages.len() + 1 {
        return Err(format!("{} answers to {} requests", statuses.len(), reading.messages.len()));
    }
    let passable = reading.messages.iter().filter(|message| !is_local(message)).count();
    let refused = statuses.iter().any(|status| *status >= 400);
    if seen.messages.len() < passable && !refused {
        return Err(format!(
            "{} of {passable} requests sent on, none refused",
            seen.messages.len()
        ));
    }
    Ok(())
}
