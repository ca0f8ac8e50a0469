//! The numbered places of tasks and files: how they are called, and how many are kept.

use slab::Slab;

/// Places for tasks, files or turns that are kept, used or not.
pub(crate) const PLACES_MIN: usize = 256;

/// Identifier of a thread's task. A number is reused when its task has ended: a stale waker wakes
/// the new task, which finds no work to do.
pub(crate) type TaskId = u32;

/// Frees unused places at the end of a list, left by a past peak.
pub(crate) fn tidy<T>(list: &mut Slab<T>) {
    if list.capacity() > PLACES_MIN && list.len() <= list.capacity() / 2 {
        list.shrink_to_fit();
    }
}
