//! Shares equal values between routes: one target, one filter chain for all that need it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Sets of this size are not worth sweeping.
const SWEEP_MIN: usize = 1_024;

/// 128 bits that stand for a value: two values with the same are taken for equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key(u64, u64);

impl Key {
    pub fn of(value: &impl Hash) -> Self {
        let half = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            salt.hash(&mut hasher);
            value.hash(&mut hasher);
            hasher.finish()
        };
        Self(half(0), half(1))
    }
}

/// Values by key that may be shared. What one route alone uses is forgotten after a while, as what
/// none uses: in a table of many routes with a chain each, remembering them would cost more than
/// sharing saves.
#[derive(Debug)]
pub(super) struct Pool<T: ?Sized> {
    held: Mutex<Held<T>>,
}

#[derive(Debug)]
struct Held<T: ?Sized> {
    values: HashMap<Key, Weak<T>>,
    /// Size at which entries that nobody shares are swept out.
    sweep_at: usize,
}

impl<T: ?Sized> Default for Pool<T> {
    fn default() -> Self {
        Self { held: Mutex::new(Held { values: HashMap::new(), sweep_at: SWEEP_MIN }) }
    }
}

impl<T: ?Sized> Pool<T> {
    /// The value that stands under `key`.
    pub fn get(&self, key: Key) -> Option<Arc<T>> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.values.get(&key)?.upgrade()
    }

    /// Puts `value` under `key`, unless another one has got there first.
    pub fn put(&self, key: Key, value: impl Into<Arc<T>>) -> Arc<T> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = held.values.get(&key).and_then(Weak::upgrade) {
            return value;
        }
        let value = value.into();
        held.values.insert(key, Arc::downgrade(&value));
        if held.values.len() >= held.sweep_at {
            held.values.retain(|_, value| value.strong_count() > 1);
            held.sweep_at = (held.values.len() * 2).max(SWEEP_MIN);
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Key, Pool, SWEEP_MIN};

    #[test]
    fn equal_values_are_one() {
        let pool = Pool::default();
        let one = pool.put(Key::of(&"a"), 1);
        assert!(Arc::ptr_eq(&one, &pool.put(Key::of(&"a"), 1)));
        assert!(pool.get(Key::of(&"b")).is_none());
        drop(one);
        assert!(pool.get(Key::of(&"a")).is_none());
    }

    #[test]
    fn what_nobody_shares_is_forgotten() {
        let pool = Pool::default();
        let shared = pool.put(Key::of(&"shared"), 0);
        let with = Arc::clone(&shared);
        let alone: Vec<_> = (0..SWEEP_MIN * 3).map(|n| pool.put(Key::of(&n), n)).collect();
        assert!(pool.held.lock().expect("a lock").values.len() < SWEEP_MIN);
        assert!(pool.get(Key::of(&"shared")).is_some_and(|found| Arc::ptr_eq(&found, &with)));
        drop(alone);
    }
}
