//! epoll readiness through mio: wakes the task that waits on a descriptor.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use mio::event::Event;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll as Selector, Token, Waker};
use slab::Slab;

use crate::executor::{Executor, TaskId, here, tidy};

/// Events taken at a time.
const EVENTS_MAX: usize = 1024;
/// Token of the eventfd by which other threads wake this one.
const EVENTFD: Token = Token(usize::MAX);

const READABLE: u8 = 1;
const WRITABLE: u8 = 2;
/// The peer has closed its side: reads never block again.
const READ_ENDED: u8 = 4;
/// Writes fail at once.
const WRITE_ENDED: u8 = 8;

/// Edge-triggered epoll with the readiness of each registered descriptor.
pub(crate) struct Poller {
    selector: RefCell<Selector>,
    events: RefCell<Events>,
    sources: RefCell<Slab<Rc<Source>>>,
    /// Descriptors registered so far.
    count: Cell<u32>,
}

/// Readiness of one registered descriptor, and the tasks that wait for it.
#[derive(Debug)]
pub(crate) struct Source {
    state: Cell<u8>,
    reader: Cell<Option<TaskId>>,
    writer: Cell<Option<TaskId>>,
    token: Token,
}

impl Poller {
    /// A poller with nothing but the eventfd that it returns.
    ///
    /// # Errors
    /// The system gives no files for it.
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

    /// Registers `file`; closing it unregisters it.
    fn add(&self, file: &impl AsRawFd) -> io::Result<Rc<Source>> {
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

    /// Forgets a descriptor that is about to be closed; closing takes it out of epoll.
    fn remove(&self, source: &Source) {
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

    fn attempt<T>(
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

    fn moved(&self, ready: u8, ended: u8, count: usize, asked: usize) {
        let state = self.state.get();
        if 0 < count && count < asked && state & ended == 0 {
            self.state.set(state & !ready);
        }
    }
}

/// A registered non-blocking descriptor.
pub(crate) struct Watched<F: AsRawFd> {
    file: F,
    source: Rc<Source>,
    executor: Rc<Executor>,
}

impl<F: AsRawFd> std::fmt::Debug for Watched<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watched").field("source", &self.source).finish_non_exhaustive()
    }
}

impl<F: AsRawFd> Watched<F> {
    /// Registers `file`, which must be non-blocking, for the tasks of this thread.
    ///
    /// # Errors
    /// The system refuses, or nothing runs on this thread.
    pub(crate) fn new(file: F) -> io::Result<Self> {
        let executor = here()?;
        let source = executor.poller().add(&file)?;
        Ok(Self { file, source, executor })
    }

    /// The file.
    pub(crate) fn file(&self) -> &F {
        &self.file
    }

    /// Makes a read call, unless it is known to block.
    pub(crate) fn try_read<T>(&self, call: impl FnOnce(&F) -> io::Result<T>) -> io::Result<T> {
        self.source.attempt(READABLE, READ_ENDED, || call(&self.file))
    }

    /// Makes a write call, unless it is known to block.
    pub(crate) fn try_write<T>(&self, call: impl FnOnce(&F) -> io::Result<T>) -> io::Result<T> {
        self.source.attempt(WRITABLE, WRITE_ENDED, || call(&self.file))
    }

    /// Like [`Self::try_read`], of up to `asked` bytes. A call that moved less has left nothing to
    /// do until the next event: noting that saves the call that would find out.
    pub(crate) fn try_read_some(
        &self,
        asked: usize,
        call: impl FnOnce(&F) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let count = self.try_read(call)?;
        self.source.moved(READABLE, READ_ENDED, count, asked);
        Ok(count)
    }

    /// Like [`Self::try_write`], of up to `asked` bytes, as [`Self::try_read_some`].
    pub(crate) fn try_write_some(
        &self,
        asked: usize,
        call: impl FnOnce(&F) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let count = self.try_write(call)?;
        self.source.moved(WRITABLE, WRITE_ENDED, count, asked);
        Ok(count)
    }

    /// Notes that reads would block.
    pub(crate) fn clear_readable(&self) {
        self.source.state.set(self.source.state.get() & !(READABLE | READ_ENDED));
    }

    /// Whether a read may succeed; if not, the current task is woken when one may.
    pub(crate) fn poll_readable(&self) -> Poll<()> {
        self.poll(READABLE, &self.source.reader)
    }

    /// Whether a write may succeed, as [`Self::poll_readable`].
    pub(crate) fn poll_writable(&self) -> Poll<()> {
        self.poll(WRITABLE, &self.source.writer)
    }

    fn poll(&self, ready: u8, waits: &Cell<Option<TaskId>>) -> Poll<()> {
        if self.source.state.get() & ready != 0 {
            return Poll::Ready(());
        }
        waits.set(Some(self.executor.current()));
        Poll::Pending
    }
}

impl<F: AsRawFd> Drop for Watched<F> {
    fn drop(&mut self) {
        self.executor.poller().remove(&self.source);
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpListener, TcpStream};
    use std::pin::pin;
    use std::task::Poll;

    use super::Watched;
    use crate::executor::{Executor, spawn, yield_now};

    fn run<T>(work: impl Future<Output = T>) -> T {
        Executor::new().and_then(|executor| executor.run(work)).expect("a run")
    }

    fn pair() -> (TcpStream, Watched<TcpStream>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let near = TcpStream::connect(listener.local_addr().expect("its address"));
        let (far, _) = listener.accept().expect("a connection");
        far.set_nonblocking(true).expect("a mode");
        (near.expect("a connection"), Watched::new(far).expect("a watched file"))
    }

    fn read(watched: &Watched<TcpStream>, buffer: &mut [u8]) -> Option<usize> {
        let asked = buffer.len();
        match watched.try_read_some(asked, |mut stream| stream.read(buffer)) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => None,
            count => Some(count.expect("a connection that works")),
        }
    }

    #[test]
    fn less_than_asked_for_is_all_there_is_until_more_comes() {
        run(async {
            let (mut near, far) = pair();
            let mut buffer = [0; 4];
            assert_eq!(read(&far, &mut buffer), None, "not known to be readable");
            near.write_all(b"123456").expect("to write");
            poll_fn(|_| far.poll_readable()).await;
            assert_eq!(read(&far, &mut buffer), Some(4));
            assert!(far.poll_readable().is_ready(), "there may be more");
            assert_eq!(read(&far, &mut buffer), Some(2));
            assert!(far.poll_readable().is_pending());
            near.write_all(b"7").expect("to write");
            poll_fn(|_| far.poll_readable()).await;
            assert_eq!(read(&far, &mut buffer), Some(1));
        });
    }

    /// What comes with the end is less than asked for, but nothing else is told of the end.
    #[test]
    fn the_end_that_comes_with_the_last_bytes_is_seen() {
        run(async {
            let (mut near, far) = pair();
            near.write_all(b"12").expect("to write");
            near.shutdown(Shutdown::Write).expect("an end");
            poll_fn(|_| far.poll_readable()).await;
            let mut buffer = [0; 4];
            assert_eq!(read(&far, &mut buffer), Some(2));
            poll_fn(|_| far.poll_readable()).await;
            assert_eq!(read(&far, &mut buffer), Some(0));
        });
    }

    #[test]
    fn who_writes_waits_for_room_and_is_not_woken_for_what_comes() {
        run(async {
            let (mut near, far) = pair();
            poll_fn(|_| far.poll_writable()).await;
            let bytes = vec![0; 1 << 20];
            let mut sent = 0;
            let write = || far.try_write_some(bytes.len(), |mut stream| stream.write(&bytes));
            while let Ok(count) = write() {
                sent += count;
            }
            let mut turns = 0;
            let mut room = pin!(poll_fn(|_| {
                turns += 1;
                far.poll_writable()
            }));
            assert!(poll_fn(|cx| Poll::Ready(room.as_mut().poll(cx))).await.is_pending());
            near.write_all(b"1").expect("to write");
            poll_fn(|_| far.poll_readable()).await;
            near.read_exact(&mut vec![0; sent]).expect("all that was sent");
            room.await;
            assert_eq!(turns, 3, "asked twice here, and woken once");
        });
    }

    /// The number of one that is closed is given to the next, while what happened to the first may
    /// still be told.
    #[test]
    fn what_happened_to_a_closed_file_is_not_told_of_the_next() {
        run(async {
            let (near, far) = pair();
            drop((near, far));
            let (mut near, far) = pair();
            yield_now().await;
            assert!(far.poll_readable().is_pending());
            near.write_all(b"1").expect("to write");
            poll_fn(|_| far.poll_readable()).await;
            assert_eq!(read(&far, &mut [0; 2]), Some(1));
        });
    }

    #[test]
    fn a_task_is_woken_for_its_own_file() {
        run(async {
            let (mut near, far) = pair();
            let (sender, receiver) = tokio::sync::oneshot::channel();
            let work = async move {
                poll_fn(|_| far.poll_readable()).await;
                let _ = sender.send(read(&far, &mut [0; 8]));
            };
            spawn(work).expect("a task");
            yield_now().await;
            near.write_all(b"123").expect("to write");
            assert_eq!(receiver.await, Ok(Some(3)));
        });
    }
}
