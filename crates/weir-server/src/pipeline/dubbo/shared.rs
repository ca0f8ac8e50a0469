//! Connections to providers that the consumers of one listener share on one worker.
//!
//! A call gets an id of its own on the shared connection, and its response the consumer's id again.
//! Each connection is served by a task of its own, which waits for no consumer.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use hashbrown::HashMap;
use weir_balance::{Member, Taken};
use weir_snapshot::{DubboSettings, Sharing};
use weir_wire::dubbo::{Head, Status};

use super::inbox::{Caller, Inbox, watch};
use super::link::{HEARTBEAT, Link, Say, TURN_MAX};
use super::message::{Message, renumber};
use crate::drain::Phase;
use crate::executor::spawn;
use crate::http::buffers::ReadBuffer;
use crate::pipeline::counters::PipelineCounters;
use crate::pipeline::turn::Held;
use crate::worker::Worker;

/// How long a call may be without a response before its place is given up.
pub const DUBBO_CALL_MS_MAX: u64 = 10 * 60 * 1_000;

/// The connections that the consumers of one listener share on one worker.
#[derive(Default)]
pub(in crate::pipeline) struct SharedLinks {
    /// By the member that they lead to, which each of them keeps alive.
    open: RefCell<HashMap<*const Member, Vec<Rc<SharedLink>>>>,
    /// Those that take no more calls; once for each of their connections.
    leaving: RefCell<Vec<Arc<Member>>>,
}

impl SharedLinks {
    /// Members that take no more calls, as they said on a connection that is still open.
    pub(super) fn leaving(&self) -> Vec<Arc<Member>> {
        self.leaving.borrow().clone()
    }

    /// The connection to `member` with the fewest calls; a new one if those there are have no
    /// place, and none if there may be no more.
    pub(super) fn link(
        self: &Rc<Self>,
        worker: &Rc<Worker>,
        member: &Arc<Member>,
        opening: &Opening<'_>,
    ) -> Option<Rc<SharedLink>> {
        let mut open = self.open.borrow_mut();
        let links = open.entry(Arc::as_ptr(member)).or_default();
        let best = links.iter().min_by_key(|link| link.calls());
        if let Some(link) = best.filter(|link| link.calls() < opening.sharing.calls_max) {
            return Some(Rc::clone(link));
        }
        if links.len() >= opening.sharing.connections_max {
            return None;
        }
        let link = Rc::new(SharedLink::new(worker, member, opening.connect_timeout));
        links.push(Rc::clone(&link));
        drop(open);
        let listed = Listed {
            worker: Rc::clone(worker),
            links: Rc::clone(self),
            link: Rc::clone(&link),
            leaves: false,
        };
        let body_max = opening.settings.body_max;
        if let Err(error) = spawn(serve(listed, body_max, Arc::clone(opening.counters))) {
            // The task is dropped, and the link removed with it.
            tracing::error!(%error, "a connection to a provider is not served");
            return None;
        }
        Some(link)
    }

    fn remove(&self, link: &Rc<SharedLink>) {
        let mut open = self.open.borrow_mut();
        if let Some(links) = open.get_mut(&Arc::as_ptr(&link.member)) {
            links.retain(|other| !Rc::ptr_eq(other, link));
            if links.is_empty() {
                open.remove(&Arc::as_ptr(&link.member));
            }
        }
    }
}

/// How a connection is opened.
pub(super) struct Opening<'a> {
    pub(super) settings: &'a DubboSettings,
    pub(super) sharing: Sharing,
    pub(super) connect_timeout: Duration,
    pub(super) counters: &'a Arc<PipelineCounters>,
}

/// A shared connection.
pub(super) struct SharedLink {
    member: Arc<Member>,
    state: RefCell<State>,
}

struct State {
    link: Link,
    /// Calls that wait for their response, by the id that the provider knows.
    calls: HashMap<u64, Waits>,
    last_id: u64,
    is_over: bool,
    waker: Option<Waker>,
    /// Consumers that wait until more can be sent.
    crowd: Vec<Waker>,
}

/// A call that waits for its response, or for the connection.
struct Waits {
    /// As the consumer sent it.
    head: Head,
    caller: Caller,
    since_ms: u64,
    _taken: Taken,
    held: Option<Held>,
}

impl SharedLink {
    fn new(worker: &Rc<Worker>, member: &Arc<Member>, connect_timeout: Duration) -> Self {
        let state = State {
            link: Link::new(worker, member, connect_timeout, &[], None),
            calls: HashMap::new(),
            last_id: 0,
            is_over: false,
            waker: None,
            crowd: Vec::new(),
        };
        Self { member: Arc::clone(member), state: RefCell::new(state) }
    }

    pub(super) fn is_over(&self) -> bool {
        self.state.borrow().is_over
    }

    fn calls(&self) -> usize {
        self.state.borrow().calls.len()
    }

    /// Whether it takes more calls before it has sent what it has; if not, the task that is polled
    /// is woken when it does.
    pub(super) fn has_room(&self, cx: &Context<'_>) -> bool {
        let mut state = self.state.borrow_mut();
        let has_room = state.is_over || state.link.has_room();
        if !has_room && !state.crowd.iter().any(|waker| waker.will_wake(cx.waker())) {
            state.crowd.push(cx.waker().clone());
        }
        has_room
    }

    /// Sends a call; what comes of it goes to `inbox`.
    pub(super) fn send(&self, mut message: Message, taken: Taken, inbox: &Rc<Inbox>, now_ms: u64) {
        let mut state = self.state.borrow_mut();
        let head = message.head;
        state.last_id += 1;
        let id = state.last_id;
        renumber(&mut message.bytes, id);
        message.head.id = id;
        // Nobody waits for one that has no response, but until it is sent it may come back.
        if head.wants_reply() || state.link.is_connecting() {
            let (caller, held) = (Caller::new(inbox), message.held.take());
            let waits = Waits { head, caller, since_ms: now_ms, _taken: taken, held };
            state.calls.insert(id, waits);
        }
        state.link.send(message);
        if let Some(waker) = &state.waker {
            waker.wake_by_ref();
        }
    }

    /// A consumer is gone: nothing of its calls is kept, and their responses find nobody.
    pub(super) fn forget(&self, inbox: &Rc<Inbox>) {
        self.state.borrow_mut().calls.retain(|_, waits| !waits.caller.is(inbox));
    }
}

/// What a task needs to serve a connection; the connection is not found any more once this is
/// dropped.
struct Listed {
    worker: Rc<Worker>,
    links: Rc<SharedLinks>,
    link: Rc<SharedLink>,
    /// It is noted that the provider takes no more calls.
    leaves: bool,
}

impl Drop for Listed {
    fn drop(&mut self) {
        let links = &self.links;
        links.remove(&self.link);
        if self.leaves {
            let mut leaving = links.leaving.borrow_mut();
            let at = leaving.iter().position(|member| Arc::ptr_eq(member, &self.link.member));
            at.map(|at| leaving.swap_remove(at));
        }
        self.link.state.borrow_mut().end("weir: the connection to the provider is closed");
    }
}

/// Serves a connection to its end.
async fn serve(mut listed: Listed, body_max: usize, counters: Arc<PipelineCounters>) {
    let worker = Rc::clone(&listed.worker);
    let beats = worker.deadline();
    beats.set(HEARTBEAT);
    poll_fn(|cx| {
        if worker.drain.phase() == Phase::Stopped {
            return Poll::Ready(());
        }
        while beats.poll(cx) {
            // It, and who lists it: no consumer has it.
            let is_used = Rc::strong_count(&listed.link) > 2;
            let mut state = listed.link.state.borrow_mut();
            if !is_used && state.calls.is_empty() {
                return Poll::Ready(());
            }
            state.link.beat();
            expire(&mut state.calls, worker.deadlines.now_ms());
            beats.set(HEARTBEAT);
        }
        let mut state = listed.link.state.borrow_mut();
        let polled = state.poll(cx, &mut worker.scratch.borrow_mut(), body_max, &counters);
        let leaves = state.link.is_leaving();
        drop(state);
        if leaves && !std::mem::replace(&mut listed.leaves, true) {
            listed.links.leaving.borrow_mut().push(Arc::clone(&listed.link.member));
        }
        polled
    })
    .await;
}

impl State {
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        scratch: &mut ReadBuffer,
        body_max: usize,
        counters: &PipelineCounters,
    ) -> Poll<()> {
        watch(&mut self.waker, cx);
        for _ in 0..TURN_MAX {
            let was_connecting = self.link.is_connecting();
            match self.link.poll(cx, scratch, body_max, true) {
                Some(Say::Moved) if was_connecting => self.connected(),
                Some(Say::Moved) => {}
                Some(Say::Response(head, bytes)) => self.respond(&head, bytes, counters),
                // Which consumer it means cannot be known.
                Some(Say::Request(head, _)) => self.link.refuse(&head),
                Some(Say::Unreached(messages)) => {
                    self.give_back(messages);
                    return Poll::Ready(());
                }
                Some(Say::Gone(why)) => {
                    self.end(why);
                    return Poll::Ready(());
                }
                None => {
                    if self.flush() {
                        continue;
                    }
                    let is_done = self.link.is_leaving() && self.calls.is_empty();
                    let is_done = is_done && self.link.is_idle();
                    return if is_done { Poll::Ready(()) } else { Poll::Pending };
                }
            }
        }
        self.flush();
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn flush(&mut self) -> bool {
        let has_moved = self.link.flush();
        if self.link.has_room() {
            self.crowd.drain(..).for_each(Waker::wake);
        }
        has_moved
    }

    /// What needs no response cannot come back once it is on its way.
    fn connected(&mut self) {
        self.calls.retain(|_, waits| waits.head.wants_reply());
    }

    fn respond(&mut self, head: &Head, mut bytes: Vec<u8>, counters: &PipelineCounters) {
        let Some(waits) = self.calls.remove(&head.id) else {
            counters.late.fetch_add(1, Ordering::Relaxed);
            return;
        };
        renumber(&mut bytes, waits.head.id);
        waits.caller.reply(&bytes);
    }

    fn give_back(&mut self, messages: Vec<Message>) {
        for mut message in messages {
            // Its consumer may be gone.
            let Some(waits) = self.calls.remove(&message.head.id) else { continue };
            message.head = waits.head;
            renumber(&mut message.bytes, waits.head.id);
            message.held = waits.held;
            message.tried.push(Arc::clone(self.link.member()));
            waits.caller.give_back(message);
        }
    }

    /// The connection is over: its calls have no response any more.
    fn end(&mut self, why: &str) {
        self.is_over = true;
        for (_, waits) in self.calls.drain() {
            waits.caller.fail(&waits.head, Status::ServerError, why);
        }
        self.crowd.drain(..).for_each(Waker::wake);
    }
}

/// Gives up calls that had no response for long.
fn expire(calls: &mut HashMap<u64, Waits>, now_ms: u64) {
    let is_late = |waits: &Waits| now_ms.saturating_sub(waits.since_ms) >= DUBBO_CALL_MS_MAX;
    for (_, waits) in calls.extract_if(|_, waits| is_late(waits)) {
        let why = "weir: the provider did not answer within 10 minutes";
        waits.caller.fail(&waits.head, Status::ServerTimeout, why);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hashbrown::HashMap;
    use weir_balance::{Balance, Group, Member};
    use weir_filter::{Scheme, Target};
    use weir_wire::dubbo::{HESSIAN2, Head, Status, parse_head};

    use super::{DUBBO_CALL_MS_MAX, Waits, expire};
    use crate::pipeline::dubbo::inbox::{Caller, Inbox};

    #[test]
    fn a_call_without_an_answer_is_failed_once_its_time_is_over() {
        let target = Target::new(Scheme::Http, "10.0.0.1".into(), 20_880);
        let member = Arc::new(Member::new(Arc::new(target)));
        let group = Group::new(vec![(Arc::clone(&member), 1)], Balance::RoundRobin, 0);
        let inbox = Inbox::new(1_024);
        // By the ids of the provider; the consumer's are 10 more.
        let mut calls: HashMap<u64, Waits> = [(1, 500), (2, 501)]
            .map(|(id, since_ms)| {
                let head = Head {
                    is_request: true,
                    two_way: true,
                    event: false,
                    serialization: HESSIAN2,
                    status: 0,
                    id: id + 10,
                    body_len: 0,
                };
                let taken = group.take(&[], 0, 0).expect("the member");
                let caller = Caller::new(&inbox);
                (id, Waits { head, caller, since_ms, _taken: taken, held: None })
            })
            .into_iter()
            .collect();
        expire(&mut calls, DUBBO_CALL_MS_MAX + 499);
        assert_eq!((calls.len(), inbox.calls(), inbox.response()), (2, 2, Vec::new()));
        expire(&mut calls, DUBBO_CALL_MS_MAX + 500);
        // Its place is free, here and at the provider.
        assert_eq!((calls.len(), inbox.calls(), member.state(1, 0).active), (1, 1, 1));
        assert!(calls.contains_key(&2));
        let told = inbox.response();
        let head = parse_head(&told, 1_024).ok().flatten().expect("a head");
        assert_eq!((head.id, head.status), (11, Status::ServerTimeout as u8));
        assert!(told.windows(10).any(|text| text == b"10 minutes"));
    }
}
