//! The keys that a valve holds back most.

use std::sync::atomic::Ordering;

use super::Valve;
use crate::top_keys::KeyCounts;

impl Valve {
    /// Names of the keys that are held back most, with what they met, in descending order.
    pub fn top_keys(&self) -> Vec<KeyCounts> {
        self.lock().top.top()
    }

    /// Tells the name of the key with this hash, if it is wanted: a limit learns only the names of
    /// the keys that it holds back most. `name` is called only then.
    pub fn name_key<T: AsRef<[u8]>>(&self, hash: u64, name: impl FnOnce() -> T) {
        if hash != 0 && self.nameless.load(Ordering::Relaxed) == hash {
            let name = name();
            let mut core = self.lock();
            core.top.name(hash, name.as_ref());
            self.nameless.store(core.top.nameless(), Ordering::Relaxed);
        }
    }
}
