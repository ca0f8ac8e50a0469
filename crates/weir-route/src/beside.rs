//! A second thread, lent by the caller: pure crates start none.

/// Runs the first function on another thread while the second runs on this one, and returns `true`
/// when both have ended. Returns `false`, and runs neither, where there is no other thread.
///
/// Each is called once. Whichever waits for the other must hold its end of the channel in itself,
/// so that it is dropped when the function panics.
pub type Beside = fn(&mut (dyn FnMut() + Send), &mut dyn FnMut()) -> bool;

/// There is no other thread.
pub fn alone(_: &mut (dyn FnMut() + Send), _: &mut dyn FnMut()) -> bool {
    false
}
