//! The second thread that pure crates are lent.

use std::panic::resume_unwind;
use std::thread;

/// [`weir_route::Beside`] by a thread that lives as long as the call. Panics if either function
/// panics.
pub fn beside(there: &mut (dyn FnMut() + Send), here: &mut dyn FnMut()) -> bool {
    thread::scope(|scope| {
        // The system may refuse a thread.
        let Ok(thread) = thread::Builder::new().spawn_scoped(scope, there) else { return false };
        here();
        thread.join().unwrap_or_else(|cause| resume_unwind(cause));
        true
    })
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::sync::mpsc::channel;

    use super::beside;

    #[test]
    fn both_run_at_the_same_time() {
        let (ask, asked) = channel();
        let (answer, answered) = channel();
        let mut there = move || answer.send(asked.recv().map(|n: u32| n + 1)).unwrap();
        let mut got = None;
        assert!(beside(&mut there, &mut || {
            ask.send(1).unwrap();
            got = answered.recv().unwrap().ok();
        }));
        assert_eq!(got, Some(2));
    }

    #[test]
    fn a_panic_there_is_one_here() {
        assert!(catch_unwind(|| beside(&mut || panic!("there"), &mut || ())).is_err());
    }
}
