//! A file whose reader and writer are woken when it can be read or written.

use std::cell::Cell;
use std::io;
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::task::Poll;

use crate::executor::{Executor, here};
use crate::places::TaskId;
use crate::poller::{READ_ENDED, READABLE, Source, WRITABLE, WRITE_ENDED};

/// A file registered with the poller. Its operations do not block.
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
    /// Watches `file`, which must be non-blocking, for the tasks of this thread.
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

    /// Makes a call that reads, unless it is known that it would have to wait.
    pub(crate) fn try_read<T>(&self, call: impl FnOnce(&F) -> io::Result<T>) -> io::Result<T> {
        self.source.attempt(READABLE, READ_ENDED, || call(&self.file))
    }

    /// Makes a call that writes, unless it is known that it would have to wait.
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

    /// Records that a read would block.
    pub(crate) fn clear_readable(&self) {
        self.source.state.set(self.source.state.get() & !(READABLE | READ_ENDED));
    }

    /// Whether a read may make progress; if not, the current task is woken when one may.
    pub(crate) fn poll_readable(&self) -> Poll<()> {
        self.poll(READABLE, &self.source.reader)
    }

    /// Whether the peer sends nothing more; if it may, the current task is woken when that ends,
    /// and when more bytes arrive.
    pub(crate) fn poll_read_ended(&self) -> Poll<()> {
        self.poll(READ_ENDED, &self.source.reader)
    }

    /// Whether a write may make progress, as [`Self::poll_readable`].
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

    /// A read that ends at the end of the stream is short, and no further event reports the end.
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
    fn the_end_behind_unread_bytes_wakes() {
        run(async {
            let (mut near, far) = pair();
            near.write_all(b"12").expect("to write");
            poll_fn(|_| far.poll_readable()).await;
            assert!(far.poll_read_ended().is_pending());
            drop(near);
            poll_fn(|_| far.poll_read_ended()).await;
            assert_eq!(read(&far, &mut [0; 4]), Some(2));
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

    /// A closed descriptor's number is reused while events of the old one may be pending.
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
