//! Files that are watched, so that tasks wait for what happens to them.

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
/// What other threads wake this one with.
const BELL: Token = Token(usize::MAX);

pub(crate) const READABLE: u8 = 1;
pub(crate) const WRITABLE: u8 = 2;
/// The peer sends nothing more: reading never waits again.
pub(crate) const READ_ENDED: u8 = 4;
/// Writing never waits again, as it fails.
pub(crate) const WRITE_ENDED: u8 = 8;

/// Tells what happens to files, once when it begins to be so (edge-triggered).
pub(crate) struct Poller {
    selector: RefCell<Selector>,
    events: RefCell<Events>,
    sources: RefCell<Slab<Rc<Source>>>,
    /// Files watched so far.
    count: Cell<u32>,
}

/// What is known of a watched file.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) state: Cell<u8>,
    pub(crate) reader: Cell<Option<TaskId>>,
    pub(crate) writer: Cell<Option<TaskId>>,
    token: Token,
}

impl Poller {
    /// One that watches nothing but the bell that is given with it.
    ///
    /// # Errors
    /// The system gives no files for it.
    pub(crate) fn new() -> io::Result<(Self, Waker)> {
        let selector = Selector::new()?;
        let bell = Waker::new(selector.registry(), BELL)?;
        let poller = Self {
            selector: RefCell::new(selector),
            events: RefCell::new(Events::with_capacity(EVENTS_MAX)),
            sources: RefCell::default(),
            count: Cell::new(0),
        };
        Ok((poller, bell))
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

    /// Lets go of what is held for files that are gone.
    pub(crate) fn tidy(&self) {
        tidy(&mut self.sources.borrow_mut());
    }

    /// Waits until something happens, or not at all if `busy`, and gives the tasks to `wake` that
    /// wait for it. Tells whether the bell was rung.
    ///
    /// # Errors
    /// The system does not tell what happens.
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
            if event.token() == BELL {
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

/// Where a file is in the list, and which it is of those that were there: what happened to one that
/// is closed may be told when another has its place.
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
