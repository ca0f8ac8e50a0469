//! The thread that control tasks run on.

use std::future::Future;
use std::io;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

/// The pause before a task that panicked is restarted.
const RESTART: Duration = Duration::from_secs(1);
/// The time for which blocking name look-ups may delay the shutdown.
const STOP_TIMEOUT: Duration = Duration::from_millis(500);

/// One thread with an event loop; dropping it ends its tasks.
#[derive(Debug)]
pub struct Plane {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Plane {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system gives no thread or event loop.
    pub fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(4)
            .thread_name("weir-control-io")
            .build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let work = move || {
            // Refused only if the plane is dropped, which is the end, too.
            let _ = runtime.block_on(stopped);
            runtime.shutdown_timeout(STOP_TIMEOUT);
        };
        let thread = std::thread::Builder::new().name("weir-control".into()).spawn(work)?;
        Ok(Self { handle, stop: Some(stop), thread: Some(thread) })
    }

    /// Runs the task that `make` returns until it ends or is aborted; restarts it after a panic.
    pub(crate) fn supervise<F>(
        &self,
        name: &'static str,
        make: impl Fn() -> F + Send + 'static,
    ) -> AbortHandle
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let supervisor = async move {
            loop {
                // Aborted with its supervisor.
                let mut running = tokio::task::JoinSet::new();
                running.spawn(make());
                match running.join_next().await {
                    Some(Err(error)) if error.is_panic() => {
                        tracing::error!(task = name, "panicked; restarting it");
                        tokio::time::sleep(RESTART).await;
                    }
                    _ => return,
                }
            }
        };
        self.handle.spawn(supervisor).abort_handle()
    }

    /// The event loop, to run something on it once.
    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for Plane {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported by the panic hook.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::Plane;

    #[test]
    fn a_task_that_panics_is_started_anew() {
        let plane = Plane::start().expect("a thread");
        let runs = Arc::new(AtomicUsize::new(0));
        let (done, finished) = std::sync::mpsc::channel();
        plane.supervise("test", move || {
            let (runs, done) = (Arc::clone(&runs), done.clone());
            async move {
                assert!(runs.fetch_add(1, Ordering::Relaxed) > 0, "the first run fails");
                done.send(()).expect("a listener");
            }
        });
        finished.recv_timeout(std::time::Duration::from_secs(30)).expect("a second run");
    }
}
