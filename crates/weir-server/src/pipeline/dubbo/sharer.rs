//! A consumer's use of connections that it shares with others.

use std::rc::Rc;
use std::sync::Arc;
use std::task::Context;

use weir_balance::{Member, Taken};

use super::inbox::Inbox;
use super::message::Message;
use super::shared::{Opening, SharedLink, SharedLinks};
use crate::pipeline::end::End;
use crate::worker::Worker;

/// A consumer that shares connections; when it goes, nothing of its calls stays in them.
pub(super) struct Sharer<'a> {
    worker: Rc<Worker>,
    shared: Rc<SharedLinks>,
    opening: Opening<'a>,
    inbox: Rc<Inbox>,
    /// Those that it has sent calls to.
    links: Vec<Rc<SharedLink>>,
}

impl<'a> Sharer<'a> {
    pub(super) fn new(worker: &Rc<Worker>, shared: &Rc<SharedLinks>, opening: Opening<'a>) -> Self {
        let inbox = Inbox::new(opening.sharing.backlog_bytes_max);
        Self {
            worker: Rc::clone(worker),
            shared: Rc::clone(shared),
            opening,
            inbox,
            links: Vec::new(),
        }
    }

    /// What comes back for it.
    pub(super) fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// Members that take no more calls.
    pub(super) fn leaving(&self) -> Vec<Arc<Member>> {
        self.shared.leaving()
    }

    /// Whether connections that it uses have room for more.
    pub(super) fn has_room(&self, cx: &Context<'_>) -> bool {
        self.links.iter().all(|link| link.has_room(cx))
    }

    /// Sends a call to the provider `taken`; gives it back if its connections have no place.
    pub(super) fn send(&mut self, message: Message, taken: Taken) -> Result<(), Message> {
        let found = self.shared.link(&self.worker, taken.member(), &self.opening);
        let Some(link) = found else { return Err(message) };
        link.send(message, taken, &self.inbox, self.worker.deadlines.now_ms());
        if !self.links.iter().any(|known| Rc::ptr_eq(known, &link)) {
            self.links.retain(|link| !link.is_over());
            self.links.push(link);
        }
        Ok(())
    }

    /// Moves responses to the consumer; gives how many bytes.
    pub(super) fn deliver(&self, client: &mut End) -> usize {
        self.inbox.deliver(client)
    }
}

impl Drop for Sharer<'_> {
    fn drop(&mut self) {
        self.links.iter().for_each(|link| link.forget(&self.inbox));
    }
}
