//! What comes back for one consumer over connections that it shares with others.
//!
//! A shared connection never waits for a consumer: it leaves responses here. A consumer that does
//! not read them loses its connection once there are too many bytes of them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Waker};

use weir_wire::dubbo::{Head, Status, write_error};

use super::message::Message;
use crate::pipeline::end::End;

/// What comes back for one consumer.
#[derive(Default)]
pub(super) struct Inbox {
    backlog_bytes_max: usize,
    /// Whole responses.
    bytes: RefCell<Vec<u8>>,
    /// Bytes of earlier ones that are not sent yet.
    unsent_bytes: Cell<usize>,
    /// Calls that could not be sent.
    returned: RefCell<Vec<Message>>,
    calls: Cell<usize>,
    is_overrun: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Inbox {
    pub(super) fn new(backlog_bytes_max: usize) -> Rc<Self> {
        Rc::new(Self { backlog_bytes_max, ..Self::default() })
    }

    /// Whether more came than the consumer may leave unread.
    pub(super) fn is_overrun(&self) -> bool {
        self.is_overrun.get()
    }

    /// Calls that something will come back for, or has and is not taken.
    pub(super) fn calls(&self) -> usize {
        self.calls.get()
    }

    /// Whether nothing will come any more.
    pub(super) fn is_empty(&self) -> bool {
        self.calls() == 0 && self.bytes.borrow().is_empty() && self.returned.borrow().is_empty()
    }

    /// The task of the consumer is woken when something comes.
    pub(super) fn watch(&self, cx: &Context<'_>) {
        watch(&mut self.waker.borrow_mut(), cx);
    }

    /// Moves responses to the consumer if it has room; gives how many bytes.
    pub(super) fn deliver(&self, client: &mut End) -> usize {
        let mut bytes = self.bytes.borrow_mut();
        let len = bytes.len();
        let moved = if len > 0 && client.has_room() {
            client.append(&mut bytes);
            len
        } else {
            0
        };
        self.unsent_bytes.set(client.unsent_bytes());
        moved
    }

    /// Takes the calls that could not be sent.
    pub(super) fn take_returned(&self) -> Vec<Message> {
        std::mem::take(&mut *self.returned.borrow_mut())
    }

    /// The responses that wait here.
    #[cfg(test)]
    pub(super) fn response(&self) -> Vec<u8> {
        self.bytes.borrow().clone()
    }

    fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }
}

/// Notes who polls, to be woken later.
pub(super) fn watch(waker: &mut Option<Waker>, cx: &Context<'_>) {
    if !waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
        *waker = Some(cx.waker().clone());
    }
}

/// Who made a call; counted in its inbox until this is dropped.
pub(super) struct Caller(Rc<Inbox>);

impl Caller {
    pub(super) fn new(inbox: &Rc<Inbox>) -> Self {
        inbox.calls.set(inbox.calls.get() + 1);
        Self(Rc::clone(inbox))
    }

    pub(super) fn is(&self, inbox: &Rc<Inbox>) -> bool {
        Rc::ptr_eq(&self.0, inbox)
    }

    /// Leaves a response.
    pub(super) fn reply(self, bytes: &[u8]) {
        let inbox = &self.0;
        let mut waiting = inbox.bytes.borrow_mut();
        if waiting.len() + inbox.unsent_bytes.get() >= inbox.backlog_bytes_max {
            inbox.is_overrun.set(true);
        } else {
            waiting.extend_from_slice(bytes);
        }
    }

    /// Leaves the response of a failed call, which had this head.
    pub(super) fn fail(self, head: &Head, status: Status, why: &str) {
        write_error(&mut self.0.bytes.borrow_mut(), head, status, why);
    }

    /// Gives back a call that could not be sent.
    pub(super) fn give_back(self, message: Message) {
        self.0.returned.borrow_mut().push(message);
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.0.calls.set(self.0.calls.get().saturating_sub(1));
        self.0.wake();
    }
}
