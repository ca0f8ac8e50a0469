//! A second thread, provided by the caller: pure crates start no threads.

/// Runs the first function on another thread and the second on this one, and returns `true` after
/// both have ended. Returns `false`, and runs neither, if there is no other thread.
///
/// Each is called once. A function that waits for the other must own its end of the channel, so
/// that the end is dropped if the function panics.
pub type Beside = fn(&mut (dyn FnMut() + Send), &mut dyn FnMut()) -> bool;

/// A [`Beside`] without another thread.
pub fn alone(_: &mut (dyn FnMut() + Send), _: &mut dyn FnMut()) -> bool {
    false
}
