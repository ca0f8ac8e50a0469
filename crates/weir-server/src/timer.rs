//! A timer that is a file, watched as connections are.
//!
//! A runtime with timers of its own reads the clock and looks through them at every wait, whatever
//! woke it. A worker has one time to wait for, its next sweep, and leaves that to the system.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::read;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// One timer of a runtime.
#[derive(Debug)]
pub(crate) struct Timer(AsyncFd<OwnedFd>);

impl Timer {
    /// A timer of the runtime it is made in.
    ///
    /// # Errors
    /// No file can be opened, or the runtime cannot watch it.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let file = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        #[expect(deprecated, reason = "its unsafe successor asks for what an `OwnedFd` guarantees")]
        AsyncFd::with_interest(file, Interest::READABLE).map(Self)
    }

    /// Waits for `time`, which is more than nothing. May be given up and begun anew.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) async fn sleep(&self, time: Duration) -> io::Result<()> {
        let it_value = Timespec::try_from(time).map_err(io::Error::other)?;
        let once = Itimerspec { it_interval: Timespec::default(), it_value };
        timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &once)?;
        loop {
            let mut ready = self.0.readable().await?;
            let mut expirations = [0; size_of::<u64>()];
            // Would block where it is the end of a time begun before that was noticed.
            if let Ok(read) = ready.try_io(|file| Ok(read(file, &mut expirations)?)) {
                return read.map(drop);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Timer;

    #[test]
    fn waits_at_least_as_long_as_asked_for() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        runtime.expect("a runtime").block_on(async {
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
                tokio::task::yield_now().await;
            }
            timer.sleep(Duration::from_millis(30)).await.expect("the end");
            assert!(begun.elapsed() >= Duration::from_millis(32));
            timer.sleep(Duration::from_millis(1)).await.expect("another end");
        });
    }
}
