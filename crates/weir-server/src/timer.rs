//! A timer that is a file descriptor, polled like connections.
//!
//! A runtime with its own timers reads the clock and checks them after every wait, whatever woke
//! it. A worker waits for one time only, its next sweep, and leaves that to the kernel.

use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::read;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use crate::watched::Watched;

/// A timer of a thread.
#[derive(Debug)]
pub(crate) struct Timer(Watched<OwnedFd>);

impl Timer {
    /// A timer for the tasks of this thread.
    ///
    /// # Errors
    /// No file can be opened or watched, or nothing runs tasks on this thread.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let file = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Watched::new(file).map(Self)
    }

    /// Waits for `time`, which is more than nothing. May be given up and begun anew.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) async fn sleep(&self, time: Duration) -> io::Result<()> {
        let it_value = Timespec::try_from(time).map_err(io::Error::other)?;
        let once = Itimerspec { it_interval: Timespec::default(), it_value };
        timerfd_settime(self.0.file(), TimerfdTimerFlags::empty(), &once)?;
        loop {
            poll_fn(|_| self.0.poll_readable()).await;
            let mut expirations = [0; size_of::<u64>()];
            match self.0.try_read(|file| Ok(read(file, &mut expirations)?)) {
                // The end of a time begun before that was noticed.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read.map(drop),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Timer;
    use crate::executor::{Executor, yield_now};

    #[test]
    fn waits_at_least_as_long_as_asked_for() {
        let executor = Executor::new().expect("an executor");
        let done = executor.run(async {
            let timer = Timer::new().expect("a timer");
            let begun = Instant::now();
            {
                // Ended and not waited for: the next one is not ended by it.
                let mut first = std::pin::pin!(timer.sleep(Duration::from_nanos(1)));
                let begin = std::future::poll_fn(|cx| {
                    let _ = first.as_mut().poll(cx);
                    std::task::Poll::Ready(())
                });
                begin.await;
                std::thread::sleep(Duration::from_millis(2));
                yield_now().await;
            }
            timer.sleep(Duration::from_millis(30)).await.expect("the end");
            assert!(begun.elapsed() >= Duration::from_millis(32));
            timer.sleep(Duration::from_millis(1)).await.expect("another end");
        });
        done.expect("a run");
    }
}
