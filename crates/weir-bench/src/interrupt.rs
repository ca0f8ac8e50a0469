//! Ctrl-C ends a run cleanly: the watch is stopped, answers in flight are waited for, and the
//! report so far is written. A second Ctrl-C writes it without waiting, a third ends the process.

use crate::driver::Watch;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

static CURRENT: Mutex<Weak<Watch>> = Mutex::new(Weak::new());
/// Ctrl-C arrived between two runs: it applies to the next one.
static PENDING: AtomicBool = AtomicBool::new(false);
static LISTENER: std::sync::Once = std::sync::Once::new();

/// Makes Ctrl-C stop `watch` from now on, instead of an earlier one.
pub fn stop_on_ctrl_c(watch: &Arc<Watch>) {
    if let Ok(mut current) = CURRENT.lock() {
        *current = Arc::downgrade(watch);
    }
    if PENDING.swap(false, Ordering::Relaxed) {
        watch.stop();
    }
    LISTENER.call_once(|| {
        // Created here, before a run uses up all descriptors.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        let Ok(runtime) = runtime else { return };
        std::thread::spawn(move || listen(&runtime));
    });
}

fn listen(runtime: &tokio::runtime::Runtime) {
    while runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
        let watch = CURRENT.lock().ok().and_then(|current| current.upgrade());
        match watch {
            Some(watch) if !watch.hurried() => watch.stop(),
            None if !PENDING.swap(true, Ordering::Relaxed) => {}
            Some(_) | None => std::process::exit(130),
        }
    }
}
