//! A consumer's connection to one provider.

use std::future::Future;
use std::io;
use std::net::TcpStream;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use weir_balance::Member;
use weir_wire::dubbo::{
    HEAD_BYTES, Head, Status, is_readonly_event, write_error, write_heartbeat,
    write_heartbeat_reply,
};

use super::message::{Message, WAITING_BYTES_MAX, take};
use crate::descriptors::UpstreamFile;
use crate::http::buffers::{Carry, ReadBuffer};
use crate::http::pace::Pace;
use crate::net::Socket;
use crate::pacer::now_ns;
use crate::pipeline::balance::dial;
use crate::pipeline::end::End;
use crate::watched::Watched;
use crate::worker::Worker;

/// Messages in a row before others have their turn.
pub(super) const TURN_MAX: usize = 128;
/// How often providers hear that their consumer lives, as Dubbo's own consumers have it.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(60);

type Dialled = io::Result<(Watched<TcpStream>, UpstreamFile)>;

/// Events of a link.
pub(super) enum Say {
    /// Something moved, and nothing is to be done.
    Moved,
    /// The answer to a call.
    Response(Head, Vec<u8>),
    /// A call of the provider.
    Request(Head, Vec<u8>),
    /// The connection failed; these calls were waiting for it.
    Unreached(Vec<Message>),
    /// The connection has ended, for this reason.
    Gone(&'static str),
}

/// A connection to a provider.
pub(super) struct Link {
    worker: Rc<Worker>,
    member: Arc<Member>,
    state: State,
    /// The provider takes no more calls.
    is_leaving: bool,
    started_ns: u64,
    /// The PROXY header, sent to the provider first.
    introduction: Vec<u8>,
    /// Bandwidth limit of the provider's bytes, held here until it is connected.
    pace: Option<Box<Pace>>,
    _file: Option<UpstreamFile>,
}

enum State {
    Connecting(Pin<Box<dyn Future<Output = Dialled>>>, Vec<Message>),
    Open(End),
}

impl Link {
    /// Begins to connect.
    pub(super) fn new(
        worker: &Rc<Worker>,
        member: &Arc<Member>,
        timeout: Duration,
        introduction: &[u8],
        pace: Option<Box<Pace>>,
    ) -> Self {
        let (dialling, target) = (Rc::clone(worker), Arc::clone(&member.target));
        let connecting = async move {
            let dialled = async {
                let file = match dialling.files.try_upstream() {
                    Some(file) => file,
                    None => Arc::clone(&dialling.files).upstream().await,
                };
                Ok((dial(&dialling, &target, true).await?, file))
            };
            tokio::select! {
                dialled = dialled => dialled,
                () = dialling.deadlines.sleep(timeout) => Err(io::ErrorKind::TimedOut.into()),
            }
        };
        Self {
            worker: Rc::clone(worker),
            member: Arc::clone(member),
            state: State::Connecting(Box::pin(connecting), Vec::new()),
            is_leaving: false,
            started_ns: now_ns(),
            introduction: introduction.to_vec(),
            pace,
            _file: None,
        }
    }

    pub(super) fn member(&self) -> &Arc<Member> {
        &self.member
    }

    pub(super) fn is_to(&self, member: &Arc<Member>) -> bool {
        Arc::ptr_eq(&self.member, member)
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// Whether what it sends may still come back.
    pub(super) fn is_connecting(&self) -> bool {
        matches!(self.state, State::Connecting(..))
    }

    /// Bytes that came so far.
    pub(super) fn received_bytes(&self) -> u64 {
        match &self.state {
            State::Connecting(..) => 0,
            State::Open(end) => end.received_bytes,
        }
    }

    /// Whether the link takes more calls although its output is not yet sent.
    pub(super) fn has_room(&self) -> bool {
        match &self.state {
            State::Connecting(_, messages) => {
                messages.iter().map(|message| message.bytes.len()).sum::<usize>()
                    < WAITING_BYTES_MAX
            }
            State::Open(end) => end.has_room(),
        }
    }

    /// Whether all output has been sent.
    pub(super) fn is_idle(&self) -> bool {
        matches!(&self.state, State::Open(end) if end.is_empty())
    }

    /// Sends a call, now or when it is connected.
    pub(super) fn send(&mut self, message: Message) {
        match &mut self.state {
            State::Connecting(_, messages) => messages.push(message),
            State::Open(end) => {
                end.push(&message.bytes);
            }
        }
    }

    /// Sends the answer to a call of the provider.
    pub(super) fn answer(&mut self, bytes: &[u8]) {
        if let State::Open(end) = &mut self.state {
            end.push(bytes);
        }
    }

    /// Answers a call of the provider that no consumer gets.
    pub(super) fn refuse(&mut self, head: &Head) {
        if let State::Open(end) = &mut self.state {
            let why = "weir: consumers share this connection, and none of them is called";
            write_error(end.out(), head, Status::ServiceNotFound, why);
        }
    }

    /// Sends what can be sent now; tells whether that was anything.
    pub(super) fn flush(&mut self) -> bool {
        match &mut self.state {
            State::Connecting(..) => false,
            State::Open(end) => end.flush(),
        }
    }

    /// Sends a heartbeat.
    pub(super) fn beat(&mut self) {
        if let State::Open(end) = &mut self.state {
            write_heartbeat(end.out(), 0);
        }
    }

    /// The next event; responses only if there is room for them.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        scratch: &mut ReadBuffer,
        body_max: usize,
        has_room: bool,
    ) -> Option<Say> {
        let end = match &mut self.state {
            State::Connecting(connecting, messages) => {
                let Poll::Ready(dialled) = connecting.as_mut().poll(cx) else { return None };
                let messages = std::mem::take(messages);
                return Some(self.connected(dialled, messages));
            }
            State::Open(end) => end,
        };
        if end.failed {
            return Some(Say::Gone("weir: the connection to the provider broke"));
        }
        if !has_room {
            return None;
        }
        let (head, bytes) = match take(end, body_max) {
            Ok(Some(message)) => message,
            Ok(None) if end.is_over => {
                return Some(Say::Gone("weir: the provider closed its connection"));
            }
            Ok(None) => return end.fill(cx, scratch).then_some(Say::Moved),
            Err(_) => return Some(Say::Gone("weir: the provider does not speak Dubbo2")),
        };
        if head.event {
            if head.is_request && is_readonly_event(bytes.get(HEAD_BYTES..).unwrap_or_default()) {
                self.is_leaving = true;
                self.member.rest(now_ns() / 1_000_000);
            }
            write_heartbeat_reply(end.out(), &head);
            return Some(Say::Moved);
        }
        if head.is_request {
            return Some(Say::Request(head, bytes));
        }
        Some(Say::Response(head, bytes))
    }

    fn connected(&mut self, dialled: Dialled, messages: Vec<Message>) -> Say {
        match dialled {
            Ok((stream, file)) => {
                self.member.reached(now_ns() - self.started_ns, now_ns());
                self.worker.counters.upstream_opened();
                let mut end = End::new(Socket::watched(stream), Carry::default(), self.pace.take());
                end.push(&self.introduction);
                for message in messages {
                    end.push(&message.bytes);
                }
                self.state = State::Open(end);
                self._file = Some(file);
                Say::Moved
            }
            Err(error) => {
                self.member.unreached(now_ns() / 1_000_000);
                let (host, port) = (&self.member.target.host, self.member.target.port);
                tracing::warn!(provider = %format_args!("{host}:{port}"), "not reached: {error}");
                Say::Unreached(messages)
            }
        }
    }
}
