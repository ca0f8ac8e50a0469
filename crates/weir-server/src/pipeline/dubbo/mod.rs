//! A pipeline of Dubbo2 calls, each routed separately.
//!
//! A consumer's calls are routed, paced and balanced one by one over connections of its own to
//! providers, or over connections that it shares with others. Heartbeats are answered on each
//! connection by itself. A provider that says it stops gets no more calls.

mod inbox;
mod link;
mod message;
mod shared;
mod sharer;

pub use shared::DUBBO_CALL_MS_MAX;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use hashbrown::HashMap;
use weir_balance::{Group, Member, Taken};
use weir_limit::Way;
use weir_snapshot::{DubboSettings, Pipeline};
use weir_wire::dubbo::{
    Call, HEAD_BYTES, Head, Status, passes_callback, write_error, write_heartbeat_reply,
};

use super::balance::hash_of;
use super::counters::PipelineCounters;
use super::end::End;
use super::lifetime::converse;
use super::near::{Cut, Near};
use super::turn::{Held, OwnLimit, Place, Ruling, pace};
use crate::http::buffers::ReadBuffer;
use crate::pacer::now_ns;
use crate::worker::Worker;
use link::{HEARTBEAT, Link, Say, TURN_MAX};
use message::{Message, renumber, take};
use shared::Opening;
pub(super) use shared::SharedLinks;
use sharer::Sharer;

/// Calls of one consumer that may wait or be under way.
const CALLS_MAX: usize = 65_536;
/// Calls of providers to one consumer that may be under way.
const CALLBACKS_MAX: usize = 1_024;

/// Serves a connection to its end.
pub(super) async fn serve(
    near: &mut Near,
    settings: &DubboSettings,
    links: &Rc<SharedLinks>,
    counters: &Arc<PipelineCounters>,
) -> Result<(), Cut> {
    let pipeline = Arc::clone(&near.pipeline);
    let (introduction, pace) = (near.introduction(), pace(near, Way::Up));
    // What a connection says of a client, or how fast it is read for one, is for that client alone.
    let sharing = settings.sharing.filter(|_| introduction.is_empty() && pace.is_none());
    let shared = sharing.map(|sharing| {
        let connect_timeout = pipeline.timeouts.connect;
        Sharer::new(&near.worker, links, Opening { settings, sharing, connect_timeout, counters })
    });
    let client = End::new(near.stream.take(), std::mem::take(&mut near.carry), pace);
    let mut calls = Calls {
        worker: Rc::clone(&near.worker),
        pipeline: &pipeline,
        counters,
        body_max: settings.body_max,
        peer: near.peer,
        limit: OwnLimit::of(near),
        introduction,
        client,
        links: Vec::new(),
        shared,
        waiting: VecDeque::new(),
        under_way: HashMap::new(),
        callbacks: HashMap::new(),
        last_callback: 0,
        received_bytes: 0,
    };
    let beats = near.worker.deadline();
    beats.set(HEARTBEAT);
    converse(near, counters, |cx, scratch| {
        while beats.poll(cx) {
            calls.links.iter_mut().for_each(Link::beat);
            beats.set(HEARTBEAT);
        }
        let polled = calls.poll(cx, scratch);
        (polled, calls.client.received_bytes, calls.received_bytes)
    })
    .await
}

/// A consumer's connection, and those to providers that serve it.
struct Calls<'a> {
    worker: Rc<Worker>,
    pipeline: &'a Pipeline,
    counters: &'a PipelineCounters,
    body_max: usize,
    peer: SocketAddr,
    limit: Option<OwnLimit>,
    /// The PROXY header, sent to a provider first.
    introduction: Vec<u8>,
    client: End,
    links: Vec<Link>,
    /// Connections to providers that it shares, if it does.
    shared: Option<Sharer<'a>>,
    /// Calls that wait for their turn. The limit bounds their number and bytes, not this
    /// connection: it is read on, as heartbeats and answers come behind them.
    waiting: VecDeque<Waiting>,
    /// Calls that wait for their response, by id.
    under_way: HashMap<u64, UnderWay>,
    /// Calls of providers that the consumer is to answer, by the id that it knows.
    callbacks: HashMap<u64, (Arc<Member>, u64)>,
    last_callback: u64,
    /// Bytes from providers.
    received_bytes: u64,
}

/// A call that is not at its turn.
struct Waiting {
    place: Place,
    message: Message,
}

/// A call that waits for its response.
struct UnderWay {
    head: Head,
    taken: Taken,
    held: Option<Held>,
}

impl UnderWay {
    fn is_at(&self, member: &Arc<Member>) -> bool {
        Arc::ptr_eq(self.taken.member(), member)
    }
}

impl Calls<'_> {
    fn poll(&mut self, cx: &mut Context<'_>, scratch: &mut ReadBuffer) -> Poll<Result<(), Cut>> {
        if let Some(shared) = &self.shared {
            shared.inbox().watch(cx);
        }
        for _ in 0..TURN_MAX {
            if self.shared.as_ref().is_some_and(|shared| shared.inbox().is_overrun()) {
                return Poll::Ready(Err(Cut::Slow));
            }
            if self.pass(cx)
                | self.take_back()
                | self.requests(cx, scratch)?
                | self.replies(cx, scratch)
            {
                continue;
            }
            let sent = self.flush();
            if self.client.failed || self.has_ended() {
                return Poll::Ready(Ok(()));
            }
            if !sent {
                return Poll::Pending;
            }
        }
        self.flush();
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn flush(&mut self) -> bool {
        let sent = self.links.iter_mut().fold(false, |sent, link| link.flush() | sent);
        self.client.flush() | sent
    }

    /// Whether the consumer has closed and has all its responses.
    fn has_ended(&mut self) -> bool {
        let is_done = self.client.is_over
            && self.waiting.is_empty()
            && self.under_way.is_empty()
            && self.shared.as_ref().is_none_or(|shared| shared.inbox().is_empty())
            && self.links.iter().all(Link::is_idle);
        if is_done {
            self.client.end();
            self.client.flush();
        }
        is_done && self.client.is_empty()
    }

    /// Sends the calls that are due.
    fn pass(&mut self, cx: &Context<'_>) -> bool {
        let mut moved = false;
        let mut at = 0;
        while let Some(waiting) = self.waiting.get_mut(at) {
            // Each was polled when it came, so that it wakes this task.
            let polled = waiting.place.is_told().then(|| waiting.place.poll(cx));
            let Some(Poll::Ready(passes)) = polled else {
                at += 1;
                continue;
            };
            let Some(waiting) = self.waiting.remove(at) else { break };
            match passes {
                true => self.admit(waiting.message),
                false => self.refuse(&waiting.message.head),
            }
            moved = true;
        }
        moved
    }

    /// Reads one message of the consumer; returns whether any bytes arrived.
    fn requests(&mut self, cx: &mut Context<'_>, scratch: &mut ReadBuffer) -> Result<bool, Cut> {
        let takes = self.client.has_room()
            && self.links.iter().all(Link::has_room)
            && self.shared.as_ref().is_none_or(|shared| shared.has_room(cx));
        if !takes {
            return Ok(false);
        }
        let Some((head, mut bytes)) = take(&mut self.client, self.body_max)? else {
            if self.client.is_over && !self.client.carry.is_empty() {
                return Err(Cut::Broken);
            }
            return Ok(self.client.fill(cx, scratch));
        };
        if head.event {
            // Heartbeats end here; other events of the consumer are ignored.
            write_heartbeat_reply(self.client.out(), &head);
        } else if head.is_request {
            self.arrive(cx, head, bytes);
        } else if let Some((member, id)) = self.callbacks.remove(&head.id) {
            renumber(&mut bytes, id);
            if let Some(link) = self.links.iter_mut().find(|link| link.is_to(&member)) {
                link.answer(&bytes);
            }
        }
        Ok(true)
    }

    fn arrive(&mut self, cx: &Context<'_>, head: Head, bytes: Vec<u8>) {
        self.counters.messages.fetch_add(1, Ordering::Relaxed);
        let way = match self.way(&head, &bytes) {
            Ok(way) => way,
            Err((status, why)) => return write_error(self.client.out(), &head, status, &why),
        };
        let is_known = self.under_way.contains_key(&head.id);
        let shared_calls = self.shared.as_ref().map_or(0, |shared| shared.inbox().calls());
        let calls = self.waiting.len() + self.under_way.len() + shared_calls;
        if head.wants_reply() && (is_known || calls >= CALLS_MAX) {
            let why = "weir: too many calls of this connection are under way";
            let status = Status::ServerThreadpoolExhausted;
            return write_error(self.client.out(), &head, status, why);
        }
        let body = bytes.get(HEAD_BYTES..).unwrap_or_default();
        let is_own = self.shared.is_none() || passes_callback(body);
        let message = Message { head, bytes, way, tried: Vec::new(), held: None, is_own };
        let size = message.bytes.len();
        match self.limit.as_ref().map_or(Ruling::Pass, |limit| limit.arrive(size)) {
            Ruling::Pass => self.admit(message),
            Ruling::Refused => self.refuse(&message.head),
            Ruling::Wait(mut place) => match place.poll(cx) {
                Poll::Ready(true) => self.admit(message),
                Poll::Ready(false) => self.refuse(&message.head),
                Poll::Pending => self.waiting.push_back(Waiting { place, message }),
            },
        }
    }

    /// The upstream group of a call, or the reason for an error response.
    fn way(&self, head: &Head, bytes: &[u8]) -> Result<Arc<Group>, (Status, String)> {
        let way = if self.pipeline.routes.is_empty() {
            &self.pipeline.upstream
        } else {
            let body = bytes.get(HEAD_BYTES..).unwrap_or_default();
            match Call::peek(head.serialization, body) {
                Some(call) => {
                    // Consumers write 0.0.0 for a service without a version.
                    let version = if call.version == "0.0.0" { "" } else { &*call.version };
                    let group = call.group.as_deref().unwrap_or_default();
                    let way =
                        self.pipeline.way_of_call([&*call.service, &*call.method, version, group]);
                    if way.is_empty() {
                        let why = format!("weir: no route takes {}.{}", call.service, call.method);
                        return Err((Status::ServiceNotFound, why));
                    }
                    way
                }
                None => &self.pipeline.upstream,
            }
        };
        match way.is_empty() {
            true => Err((Status::BadRequest, "weir: cannot read what is called".to_owned())),
            false => Ok(Arc::clone(way)),
        }
    }

    fn refuse(&mut self, head: &Head) {
        self.counters.limited.fetch_add(1, Ordering::Relaxed);
        let why = "weir: over the limit";
        write_error(self.client.out(), head, Status::ServerThreadpoolExhausted, why);
    }

    /// Sends a call that has passed the limit.
    fn admit(&mut self, mut message: Message) {
        message.held = self.limit.as_ref().and_then(OwnLimit::hold);
        self.send(message);
    }

    /// Sends a call to the provider whose turn it is, on the existing connection or a new one.
    fn send(&mut self, mut message: Message) {
        let mut is_full = false;
        loop {
            let Some(taken) = self.choose(&message) else {
                return self.give_up(&message.head, is_full);
            };
            let shared = self.shared.as_mut().filter(|_| !message.is_own);
            let Some(shared) = shared else { return self.send_alone(message, taken) };
            let member = Arc::clone(taken.member());
            match shared.send(message, taken) {
                Ok(()) => return,
                Err(back) => message = back,
            }
            is_full = true;
            message.tried.push(member);
        }
    }

    fn choose(&self, message: &Message) -> Option<Taken> {
        let leaving = self.links.iter().filter(|link| link.is_leaving()).map(Link::member);
        let mut excluded: Vec<_> = leaving.chain(&message.tried).cloned().collect();
        if let Some(shared) = &self.shared {
            excluded.extend(shared.leaving());
        }
        message.way.take(&excluded, hash_of(self.peer.ip()), now_ns() / 1_000_000)
    }

    /// Answers a call that no provider gets.
    fn give_up(&mut self, head: &Head, is_full: bool) {
        let (counter, status, why) = match is_full {
            true => (
                &self.counters.limited,
                Status::ServerThreadpoolExhausted,
                "weir: too many calls wait on the shared connections",
            ),
            false => (
                &self.counters.unreached,
                Status::ServerError,
                "weir: no provider could be reached",
            ),
        };
        counter.fetch_add(1, Ordering::Relaxed);
        write_error(self.client.out(), head, status, why);
    }

    /// Sends a call over a connection that is this consumer's alone.
    fn send_alone(&mut self, mut message: Message, taken: Taken) {
        let member = Arc::clone(taken.member());
        let head = message.head;
        let known = self.links.iter().position(|link| link.is_to(&member) && !link.is_leaving());
        let at = known.unwrap_or_else(|| {
            let connect = self.pipeline.timeouts.connect;
            let limit = self.limit.as_ref();
            let pace = limit.and_then(|limit| limit.pace(&self.worker, Way::Down));
            let link = Link::new(&self.worker, &member, connect, &self.introduction, pace);
            self.links.push(link);
            self.links.len() - 1
        });
        // A one-way call takes no place: nothing tells when it ends.
        let held = message.held.take();
        if head.wants_reply() {
            self.under_way.insert(head.id, UnderWay { head, taken, held });
        }
        if let Some(link) = self.links.get_mut(at) {
            link.send(message);
        }
    }

    /// Takes what came over shared connections; tells whether anything did.
    fn take_back(&mut self) -> bool {
        let Some(shared) = &self.shared else { return false };
        let bytes = shared.deliver(&mut self.client);
        self.received_bytes += bytes as u64;
        let returned = shared.inbox().take_returned();
        let has_moved = bytes > 0 || !returned.is_empty();
        returned.into_iter().for_each(|message| self.send(message));
        has_moved
    }

    /// Takes what providers say; tells whether they said anything.
    fn replies(&mut self, cx: &mut Context<'_>, scratch: &mut ReadBuffer) -> bool {
        let mut moved = false;
        let mut at = 0;
        while at < self.links.len() {
            let Some(link) = self.links.get_mut(at) else { break };
            let before = link.received_bytes();
            let said = link.poll(cx, scratch, self.body_max, self.client.has_room());
            self.received_bytes += link.received_bytes() - before;
            let member = Arc::clone(link.member());
            match said {
                None => {
                    at += 1;
                    continue;
                }
                Some(Say::Moved) => at += 1,
                Some(Say::Response(head, bytes)) => {
                    let waits = self.under_way.get(&head.id);
                    if waits.is_some_and(|call| call.is_at(&member)) {
                        self.under_way.remove(&head.id);
                        self.client.push(&bytes);
                    }
                    at += 1;
                }
                Some(Say::Request(head, bytes)) => {
                    self.call_back(&head, bytes, &member);
                    at += 1;
                }
                Some(Say::Unreached(messages)) => {
                    self.links.swap_remove(at);
                    for mut message in messages {
                        let call = self.under_way.remove(&message.head.id);
                        message.held = call.and_then(|call| call.held);
                        message.tried.push(Arc::clone(&member));
                        self.send(message);
                    }
                }
                Some(Say::Gone(why)) => {
                    self.links.swap_remove(at);
                    self.lose(&member, why);
                }
            }
            moved = true;
        }
        let under_way = &self.under_way;
        let waits = |link: &Link| under_way.values().any(|call| call.is_at(link.member()));
        self.links.retain(|link| !link.is_leaving() || waits(link) || !link.is_idle());
        moved
    }

    /// Passes on a call of a provider to its consumer, by an id that no other provider uses.
    fn call_back(&mut self, head: &Head, mut bytes: Vec<u8>, member: &Arc<Member>) {
        if head.wants_reply() {
            if self.callbacks.len() >= CALLBACKS_MAX {
                self.callbacks.clear();
            }
            self.last_callback += 1;
            self.callbacks.insert(self.last_callback, (Arc::clone(member), head.id));
            renumber(&mut bytes, self.last_callback);
        }
        self.client.push(&bytes);
    }

    /// Handles the loss of the connection to `member`: its calls will get no response.
    fn lose(&mut self, member: &Arc<Member>, why: &str) {
        let lost = self.under_way.extract_if(|_, call| call.is_at(member));
        for (_, call) in lost {
            write_error(self.client.out(), &call.head, Status::ServerError, why);
        }
        self.callbacks.retain(|_, (other, _)| !Arc::ptr_eq(other, member));
    }
}
