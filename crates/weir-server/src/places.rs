//! The numbered places of tasks and files: how they are called, and how many are kept.

use slab::Slab;

/// Places for tasks, files or turns that are kept, used or not.
pub(crate) const PLACES_MIN: usize = 256;

/// Which task of a thread. A number is used again when its task has ended: whoever still holds it
/// wakes another one, which finds nothing to do.
pub(crate) type TaskId = u32;

/// Lets go of the places that a crowd has left at the end of a list.
pub(crate) fn tidy<T>(list: &mut Slab<T>) {
    if list.capacity() > PLACES_MIN && list.len() <= list.capacity() / 2 {
        list.shrink_to_fit();
    }
}
