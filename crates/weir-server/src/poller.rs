//! epoll readiness through mio: wakes the task that waits on a descriptor.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::time::Duration;

use mio::event::Event;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll as Selector, Token, Waker};
use slab::Slab;

use crate::places::{TaskId, tidy};

/// Events taken at a time.
const EVENTS_MAX: usize = 1024;
/// Token of the eventfd by which other threads wake this one.
const EVENTFD: Token = Token(usize::MAX);

pub(crate) const READABLE: u8 = 1;
pub(crate) const WRITABLE: u8 = 2;
/// The peer sends nothing more: reading never waits again.
pub(crate) const READ_ENDED: u8 = 4;
/// Writing never waits again, as it fails.
pub(crate) const WRITE_ENDED: u8 = 8;

/// Edge-triggered epoll with the readiness of each registered descriptor.
pub(crate) struct Poller {
    selector: RefCell<Selector>,
    events: RefCell<Events>,
    sources: RefCell<Slab<Rc<Source>>>,
    /// Number of registered descriptors.
    count: Cell<u32>,
}

/// Readiness of one registered descriptor, and the tasks that wait for it.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) state: Cell<u8>,
    pub(crate) reader: Cell<Option<TaskId>>,
    pub(crate) writer: Cell<Option<TaskId>>,
    token: Token,
}

impl Poller {
    /// A poller that watches only the eventfd returned with it.
    ///
    /// # Errors
    /// The system provides no file descriptors for it.
    pub(crate) fn new() -> io::Result<(Self, Waker)> {
        let selector = Selector::new()?;
        let eventfd = Waker::new(selector.registry(), EVENTFD)?;
        let poller = Self {
            selector: RefCell::new(selector),
            events: RefCell::new(Events::with_capacity(EVENTS_MAX)),
            sources: RefCell::default(),
            count: Cell::new(0),
        };
        Ok((poller, eventfd))
    }

    /// Watches `file` until it is closed.
    pub(crate) fn add(&self, file: &impl AsRawFd) -> io::Result<Rc<Source>> {
        let mut sources = self.sources.borrow_mut();
        let entry = sources.vacant_entry();
        let count = self.count.get();
        self.count.set(count.wrapping_add(1));
        let token = token(entry.key(), count);
        let both = Interest::READABLE | Interest::WRITABLE;
        let selector = self.selector.borrow();
        selector.registry().register(&mut SourceFd(&file.as_raw_fd()), token, both)?;
        let (state, reader, writer) = (Cell::new(0), Cell::new(None), Cell::new(None));
        Ok(Rc::clone(entry.insert(Rc::new(Source { state, reader, writer, token }))))
    }

    /// Forgets a file that is closed next, which ends that the system watches it.
    pub(crate) fn remove(&self, source: &Source) {
        self.sources.borrow_mut().try_remove(key(source.token));
    }

    /// Frees capacity held for descriptors that are gone.
    pub(crate) fn tidy(&self) {
        tidy(&mut self.sources.borrow_mut());
    }

    /// Polls epoll, without blocking if `busy`, and passes each task that became ready to `wake`.
    /// Returns whether another thread signalled the eventfd.
    ///
    /// # Errors
    /// Polling for events fails.
    pub(crate) fn wait(&self, busy: bool, mut wake: impl FnMut(TaskId)) -> io::Result<bool> {
        let mut events = self.events.borrow_mut();
        let timeout = busy.then_some(Duration::ZERO);
        match self.selector.borrow_mut().poll(&mut events, timeout) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let sources = self.sources.borrow();
        let mut rung = false;
        for event in &*events {
            if event.token() == EVENTFD {
                rung = true;
            } else if let Some(source) = sources.get(key(event.token()))
                && source.token == event.token()
            {
                source.happened(event, &mut wake);
            }
        }
        Ok(rung)
    }
}

/// Slot and generation of a descriptor: a late event of a closed one must not reach the next in its
/// slot.
fn token(key: usize, count: u32) -> Token {
    Token((count as usize) << 32 | key)
}

fn key(token: Token) -> usize {
    token.0 as u32 as usize
}

impl Source {
    fn happened(&self, event: &Event, wake: &mut impl FnMut(TaskId)) {
        let mut state = self.state.get();
        let mut note = |is: bool, bits| state |= if is { bits } else { 0 };
        note(event.is_readable(), READABLE);
        note(event.is_writable(), WRITABLE);
        note(event.is_read_closed() || event.is_error(), READABLE | READ_ENDED);
        note(event.is_write_closed() || event.is_error(), WRITABLE | WRITE_ENDED);
        self.state.set(state);
        if state & READABLE != 0
            && let Some(task) = self.reader.take()
        {
            wake(task);
        }
        if state & WRITABLE != 0
            && let Some(task) = self.writer.take()
        {
            wake(task);
        }
    }

    pub(crate) fn attempt<T>(
        &self,
        ready: u8,
        ended: u8,
        call: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        if self.state.get() & ready == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let result = call();
        if let Err(error) = &result
            && error.kind() == io::ErrorKind::WouldBlock
        {
            self.state.set(self.state.get() & !(ready | ended));
        }
        result
    }

    pub(crate) fn moved(&self, ready: u8, ended: u8, count: usize, asked: usize) {
        let state = self.state.get();
        if 0 < count && count < asked && state & ended == 0 {
            self.state.set(state & !ready);
        }
    }
}
