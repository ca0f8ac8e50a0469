//! The life of a request on its connection: open, write, read, end.
//!
//! A connection is registered with epoll once. A request costs one write, one read and a share of
//! one wait; the next request of a closed loop is written as soon as the previous answer is
//! complete. `rustix` makes these calls itself: the C library's are cancellation points, which
//! costs two atomic operations each.

use super::connection::{Fed, Phase, Reading};
use super::socket::{connect_failure, open};
use super::worker::Worker;
use crate::clock::Nanos;
use crate::plan::{Message, Mix};
use crate::record::Failure;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::net::TcpStream;

/// Bodies with more than this left are dropped in the kernel instead of copied.
const DROP_BYTES_MIN: u64 = 32 * 1024;

impl Worker<'_> {
    /// Sends `request` on a connection, which is opened if need be.
    pub(super) fn begin(&mut self, index: u32, request: usize, intended: Nanos, now: Nanos) {
        let Some(connection) = self.connections.get_mut(index as usize) else { return };
        connection.reset(request, intended, now);
        if let Some(Message::Rendered(template)) =
            self.plan.requests.get(request).map(|request| &request.message)
        {
            template.render(&connection.slots, &mut self.dice, &mut connection.message);
        }
        self.active += 1;
        if connection.socket.is_some() {
            connection.at.sent = now;
            self.record.sent(&connection.at);
            return self.write(index);
        }
        connection.phase = Phase::Connecting;
        let (local, address) = self.plan.ends(self.address);
        self.address += 1;
        match open(local, address, &self.epoll, u64::from(index), self.plan.keep_alive) {
            Ok(socket) => {
                connection.socket = Some(socket);
                // On a local network the handshake may be over already: try, and save a wait.
                self.write(index);
            }
            Err(error) => self.fail(index, connect_failure(&error)),
        }
    }

    /// Something happened on a connection.
    pub(super) fn ready(&mut self, index: u32) {
        let Some(connection) = self.connections.get_mut(index as usize) else { return };
        match connection.phase {
            Phase::Connecting | Phase::Sending => self.write(index),
            Phase::Receiving => self.read(index),
            Phase::Idle => {
                // A kept connection was closed by the peer, or received bytes without a request.
                let mut byte = [0];
                let socket = connection.socket.as_ref();
                let alive = socket.is_none_or(|socket| {
                    recv(socket, &mut byte, RecvFlags::empty()) == Err(Errno::AGAIN)
                });
                if !alive {
                    connection.socket = None;
                }
            }
        }
    }

    fn write(&mut self, index: u32) {
        let Some(connection) = self.connections.get_mut(index as usize) else { return };
        let Some(request) = self.plan.requests.get(connection.request) else { return };
        let message: &[u8] = match &request.message {
            Message::Fixed(bytes) => bytes,
            Message::Rendered(_) => &connection.message,
        };
        let Some(socket) = connection.socket.as_ref() else { return };
        loop {
            let now = match connection.phase {
                Phase::Connecting => self.shared.clock.now(),
                _ => 0,
            };
            let rest = message.get(connection.written..).unwrap_or_default();
            match rustix::net::send(socket, rest, SendFlags::NOSIGNAL) {
                Ok(count) => {
                    if connection.phase == Phase::Connecting {
                        connection.at.sent = now;
                        self.record.connected(now.saturating_sub(connection.at.begun));
                        self.record.sent(&connection.at);
                    }
                    connection.written += count;
                    if connection.written >= message.len() {
                        connection.phase = Phase::Receiving;
                        return;
                    }
                    connection.phase = Phase::Sending;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::NOTCONN) => return,
                Err(error) => {
                    let failure = match connection.phase {
                        Phase::Connecting => connect_failure(&error.into()),
                        _ => Failure::Closed,
                    };
                    return self.fail(index, failure);
                }
            }
        }
    }

    fn read(&mut self, index: u32) {
        loop {
            let Some(connection) = self.connections.get_mut(index as usize) else { return };
            let Some(request) = self.plan.requests.get(connection.request) else { return };
            let Some(socket) = connection.socket.as_ref() else { return };
            let keep = !request.body_rules.is_empty();
            let droppable = if keep { 0 } else { connection.droppable() };
            let dropping = droppable >= DROP_BYTES_MIN;
            let (flags, full) = match dropping {
                true => (RecvFlags::TRUNC, droppable.min(self.scratch.len() as u64) as usize),
                false => (RecvFlags::empty(), self.scratch.len()),
            };
            let space = self.scratch.get_mut(..full).unwrap_or_default();
            let got = recv(socket, space, flags);
            let now = self.shared.clock.now();
            if connection.at.first == 0 {
                connection.at.first = now;
            }
            connection.at.done = now;
            let fed = match got {
                Ok(0) => connection.closed(),
                Ok(count) if dropping => Ok(connection.dropped(count as u64)),
                Ok(count) => {
                    let bytes = self.scratch.get(..count).unwrap_or_default();
                    let heads = &mut self.heads;
                    connection.feed(bytes, &mut Reading { method: &request.method, keep, heads })
                }
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => {
                    if connection.head_bytes == 0 {
                        connection.at.first = 0;
                    }
                    return;
                }
                Err(_) => Err(Failure::Closed),
            };
            match (fed, got) {
                (Err(failure), _) => return self.fail(index, failure),
                (Ok(Fed::Complete { reusable }), _) => return self.complete(index, reusable),
                // A read that did not fill its space has emptied the socket: the next byte makes
                // a new edge.
                (Ok(Fed::More), Ok(count)) if count < full => return,
                (Ok(Fed::More), _) => {}
            }
        }
    }

    /// An answer is complete.
    fn complete(&mut self, index: u32, reusable: bool) {
        let Some(connection) = self.connections.get_mut(index as usize) else { return };
        let Some(request) = self.plan.requests.get(connection.request) else { return };
        let mut failure = (!request.expect.holds(connection.status)).then_some(Failure::Status);
        if !request.body_rules.is_empty() {
            let fields = connection.fields.as_deref();
            let header = |name: &str| fields.and_then(|fields| fields.get(name.as_bytes()));
            let (kept, slots) = (&connection.kept, &mut connection.slots);
            let passed = crate::journey::apply(&request.body_rules, kept, header, slots);
            if !passed {
                failure = failure.or(Some(Failure::Check));
            }
        }
        if self.record.server_field.is_none() {
            let field = self.heads.last.fields.get(b"server").unwrap_or_default();
            self.record.server_field = Some(String::from_utf8_lossy(field).into_owned());
        }
        let bytes = (connection.head_bytes, connection.body_bytes);
        let (at, status) = (connection.at, connection.status);
        self.record.answered(request.group, &at, status, bytes, failure);
        if !(reusable && self.plan.keep_alive) {
            connection.socket = None;
        }
        let last = connection.request + 1 >= self.plan.requests.len();
        let (think, journey) = (request.think, matches!(self.plan.mix, Mix::Journey));
        let step = connection.request + 1;
        self.settle(index, at.done);
        // A failed step ends its journey: the later steps depend on it.
        if journey && !last && failure.is_none() {
            self.pause(index, step, think, at.done);
        } else {
            self.end_session(index, at.done, false);
        }
    }

    /// A request came to nothing; its connection is given up.
    pub(super) fn fail(&mut self, index: u32, failure: Failure) {
        let now = self.shared.clock.now();
        let Some(connection) = self.connections.get_mut(index as usize) else { return };
        connection.at.done = now;
        connection.socket = None;
        let group = self.plan.requests.get(connection.request).map_or(0, |request| request.group);
        self.record.failed(group, &connection.at, failure);
        self.settle(index, now);
        self.end_session(index, now, true);
    }
}

/// Receives into `space`: how many bytes the peer sent, which [`RecvFlags::TRUNC`] drops.
fn recv(socket: &TcpStream, space: &mut [u8], flags: RecvFlags) -> Result<usize, Errno> {
    rustix::net::recv(socket, space, flags).map(|(_, count)| count)
}
