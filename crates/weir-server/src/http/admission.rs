//! Admission of a request by a limit: it passes, waits for its turn, or is refused.
//!
//! While it waits, only its head is held: body bytes stay in the kernel's receive buffer.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use weir_filter::{LocalResponse, RateFields, Ticket};
use weir_limit::{Admission, Arrival, Ended, Refusal, Slot, Valve, Way};

use super::client::Client;
use super::exchange::{Exchange, Record};
use super::pace::Pace;
use crate::drain::Phase;
use crate::error::{ErrorKind, ProxyError};
use crate::net::poll_hung_up;
use crate::pacer::{arm, arm_if, now_ns};
use crate::worker::Worker;

/// The immediate result of a ticket.
pub(super) enum Admitted {
    /// The request goes on.
    Yes,
    /// It has to wait.
    Later(Arc<Slot>),
    /// It is refused with this answer.
    No(Box<LocalResponse>),
}

/// Asks the limit.
pub(super) fn admit(
    worker: &Worker,
    client: &Client,
    x: &mut Exchange,
    ticket: &mut Ticket,
) -> Admitted {
    let now_ns = now_ns();
    ticket.valve = ticket.valve.of_key(ticket.arrival.key.hash, || now_ns);
    // It would wait for itself for ever.
    if x.held.iter().any(|(held, _)| Arc::ptr_eq(held, &ticket.valve)) {
        return Admitted::Yes;
    }
    let bytes = (x.request.text_len() + client.carry.len()) as u64;
    match ticket.valve.arrive(Arrival { bytes, ..ticket.arrival }, now_ns) {
        Admission::Pass => {
            hold(worker, x, ticket);
            tell(x, ticket);
            Admitted::Yes
        }
        Admission::Wait(slot, due) => {
            arm_if(&ticket.valve, due);
            Admitted::Later(slot)
        }
        Admission::Refused(refusal) => Admitted::No(Box::new(refused(worker, ticket, refusal))),
    }
}

/// How the wait for a turn ended.
pub(super) enum Ending {
    /// It passes, after so many nanoseconds.
    Passes(u64),
    /// It is refused after all.
    Refused(Refusal),
    /// The client has gone, or the gateway stops.
    Gone,
}

/// The wait of a request for its turn. Written out, as many of them may be there: it is a third of
/// what the compiler would make of an `async fn`.
///
/// It leaves the queue when it is dropped: when the client has gone, or the request panics.
pub(super) struct Wait<'a> {
    worker: &'a Worker,
    client: &'a mut Client,
    valve: &'a Arc<Valve>,
    slot: &'a Slot,
    since_ns: u64,
    has_left: bool,
}

/// Waits for the turn of a request.
pub(super) fn wait<'a>(
    worker: &'a Worker,
    client: &'a mut Client,
    ticket: &'a Ticket,
    slot: &'a Slot,
) -> Wait<'a> {
    worker.waiting.update(|count| count + 1);
    Wait { worker, client, valve: &ticket.valve, slot, since_ns: now_ns(), has_left: false }
}

impl Future for Wait<'_> {
    type Output = Ending;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ending> {
        let Self { worker, client, valve, slot, since_ns, has_left } = &mut *self;
        if let Poll::Ready(told) = slot.poll(cx) {
            *has_left = true;
            let now_ns = now_ns();
            let waited_ns = now_ns - *since_ns;
            return Poll::Ready(match told {
                Ok(()) => Ending::Passes(waited_ns),
                Err(reason) => {
                    let retry_ns = valve.retry_ns(now_ns);
                    Ending::Refused(Refusal { reason, retry_ns, wait_ns: Some(waited_ns) })
                }
            });
        }
        // A client that hangs up is noticed at once: its turn is for the next one.
        let is_over = worker.drain.phase() == Phase::Stopped;
        if is_over || poll_hung_up(&mut client.stream).is_ready() {
            return Poll::Ready(Ending::Gone);
        }
        // So that it is woken when the gateway stops.
        client.deadline.poll(cx);
        Poll::Pending
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.worker.waiting.update(|count| count - 1);
        // A request admitted at this very moment has used its turn, but must give back its place.
        if !self.has_left && self.valve.leave(self.slot) && self.valve.holds() {
            arm_if(self.valve, self.valve.done(Ended::Unknown, now_ns()));
        }
    }
}

/// Records that the wait of a request is over; an answer if it is refused after all.
///
/// # Errors
/// The client has gone.
pub(super) fn go_on(
    worker: &Worker,
    x: &mut Exchange,
    ticket: &Ticket,
    ending: Ending,
) -> Result<Option<Box<LocalResponse>>, ProxyError> {
    match ending {
        Ending::Gone => Err(ProxyError::new(ErrorKind::ClientGone)),
        Ending::Refused(refusal) => Ok(Some(Box::new(refused(worker, ticket, refusal)))),
        Ending::Passes(waited_ns) => {
            hold(worker, x, ticket);
            tell(x, ticket);
            x.added.append(b"Server-Timing", &queue_timing(waited_ns));
            Ok(None)
        }
    }
}

/// How long a request waited, or would have waited (W3C Server Timing).
fn queue_timing(wait_ns: u64) -> Vec<u8> {
    format!("queue;dur={:.1}", wait_ns as f64 / 1e6).into_bytes()
}

/// Records that a request is in service, where concurrency is limited, and paces its bodies.
fn hold(worker: &Worker, x: &mut Exchange, ticket: &Ticket) {
    let valve = &ticket.valve;
    if valve.holds() {
        x.held.push((Arc::clone(valve), now_ns()));
    }
    let key = ticket.arrival.key;
    for (relay, way) in [(&mut x.upload, Way::Up), (&mut x.download, Way::Down)] {
        if let Some(stream) = valve.stream(key, way, now_ns) {
            let pace = relay.pace.get_or_insert_with(|| Box::new(Pace::new(&worker.deadlines)));
            pace.add(stream);
        }
    }
}

/// Gives back the places of a request that has ended.
pub(super) fn give_back(x: &mut Exchange) {
    let now_ns = now_ns();
    for (valve, since_ns) in x.held.drain(..) {
        let ended = ended(&x.record, now_ns.saturating_sub(since_ns));
        if let Some(due) = valve.done(ended, now_ns) {
            arm(&valve, due);
        }
    }
}

/// Outcome that a request in service for `took_ns` reports about the upstream. Responses from 400
/// on are ignored: they are often quick and made by the gateway itself.
fn ended(record: &Record, took_ns: u64) -> Ended {
    use ErrorKind::{
        Connect, ConnectTimeout, PoolExhausted, ResponseTimeout, UpstreamClosed, UpstreamTooSlow,
    };
    let overload =
        [Connect, ConnectTimeout, PoolExhausted, ResponseTimeout, UpstreamClosed, UpstreamTooSlow];
    match record.error {
        Some(error) if overload.contains(&error) => Ended::Overloaded,
        Some(_) => Ended::Unknown,
        None => match record.status {
            200..=399 => Ended::Served(took_ns),
            429 | 503 | 504 => Ended::Overloaded,
            _ => Ended::Unknown,
        },
    }
}

/// Adds the remaining quota to the response of an admitted request, if configured.
fn tell(x: &mut Exchange, ticket: &Ticket) {
    if ticket.fields == RateFields::Always
        && let Some((left, wait_ns)) = ticket.valve.left(now_ns())
        && let Some(told) = rate_fields(ticket, left, wait_ns)
    {
        for (name, value) in told {
            x.added.append(name.as_bytes(), &value);
        }
    }
}

/// The policy of a limit with a rate, and how many more would pass now; if none, when one will
/// (draft-ietf-httpapi-ratelimit-headers-10).
fn rate_fields(ticket: &Ticket, left: u64, wait_ns: u64) -> Option<[(&'static str, Vec<u8>); 2]> {
    let (quota, seconds) = ticket.valve.settings().rate?.quota();
    let name = structured(ticket.valve.name());
    let policy = format!("{name};q={quota};w={seconds}");
    let left = match left {
        0 => format!("{name};r=0;t={}", wait_ns.div_ceil(1_000_000_000).max(1)),
        _ => format!("{name};r={left}"),
    };
    Some([("RateLimit-Policy", policy.into_bytes()), ("RateLimit", left.into_bytes())])
}

/// A string of a structured field, which has printable ASCII only (RFC 9651 section 3.3.3); `?`
/// stands for each other character.
fn structured(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            ' '..='~' => out.push(c),
            _ => out.push('?'),
        }
    }
    out.push('"');
    out
}

/// The refusal: 429 for a limit per key, else 503, with the fields from which the client learns
/// when to retry (RFC 9110 section 10.2.3; draft-ietf-httpapi-ratelimit-headers).
fn refused(worker: &Worker, ticket: &Ticket, refusal: Refusal) -> LocalResponse {
    if let Some(pipeline) = &worker.pipeline {
        pipeline.limited();
    }
    let seconds = refusal.retry_ns.div_ceil(1_000_000_000);
    let mut fields = vec![("Retry-After".to_owned(), seconds.max(1).to_string().into_bytes())];
    if let Some(wait_ns) = refusal.wait_ns {
        fields.push(("Server-Timing".to_owned(), queue_timing(wait_ns)));
    }
    if ticket.fields != RateFields::Never {
        let told = rate_fields(ticket, 0, refusal.retry_ns);
        fields.extend(told.into_iter().flatten().map(|(name, value)| (name.to_owned(), value)));
    }
    let status = if ticket.keyed { 429 } else { 503 };
    LocalResponse { status, fields, body: Vec::new() }
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_name_is_a_structured_string() {
        let check = |name: &str, expected: &str| assert_eq!(super::structured(name), expected);
        check("orders", r#""orders""#);
        check("route:ü1", r#""route:?1""#);
        check("a\r\nSet-Cookie: b", r#""a??Set-Cookie: b""#);
        check(r#"a"b\c"#, r#""a\"b\\c""#);
        check("", r#""""#);
    }
}
