//! Interning of values that routes share: equal targets and filter chains are stored once.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hash, Hasher};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use foldhash::{HashMap, HashMapExt as _};
use serde_json::Value;
use weir_route::NamedArgs;

/// Minimum size of a pool to sweep.
const SWEEP_MIN: usize = 1_024;

/// Hashers of [`Key::of`], seeded at start, so that nobody can construct two values with one key.
/// The second makes accidental collisions practically impossible.
static HASHERS: LazyLock<(RandomState, foldhash::quality::RandomState)> =
    LazyLock::new(Default::default);

/// A 128-bit hash of a value; values with equal keys are considered equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key(u64, u64);

impl Key {
    pub fn of(value: &impl Hash) -> Self {
        let mut bytes = Bytes(Vec::with_capacity(256));
        value.hash(&mut bytes);
        let (first, second) = &*HASHERS;
        Self(first.hash_one(bytes.0.as_slice()), second.hash_one(bytes.0.as_slice()))
    }
}

/// Name and arguments of a definition, as hash input.
pub(super) struct Text<'a>(pub &'a NamedArgs);

impl Hash for Text<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
        self.0.args.len().hash(state);
        for (name, value) in self.0.args.iter() {
            name.hash(state);
            match value {
                Value::String(text) => text.hash(state),
                other => other.to_string().hash(state),
            }
        }
    }
}

/// A buffer of hash input: hashing it at once takes half the time of hashing piece by piece.
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Unused: only the bytes matter.
    fn finish(&self) -> u64 {
        0
    }
}

/// Shared values by key. Values with one user or none are dropped after a while: in a table in
/// which each route has a chain of its own, keeping them would cost more than sharing saves.
#[derive(Debug)]
pub(super) struct Pool<T: ?Sized> {
    held: Mutex<Held<T>>,
}

#[derive(Debug)]
struct Held<T: ?Sized> {
    values: HashMap<Key, Weak<T>>,
    /// Size at which unshared entries are removed.
    sweep_at: usize,
}

impl<T: ?Sized> Default for Pool<T> {
    fn default() -> Self {
        Self { held: Mutex::new(Held { values: HashMap::new(), sweep_at: SWEEP_MIN }) }
    }
}

impl<T: ?Sized> Pool<T> {
    /// The value for `key`.
    pub fn get(&self, key: Key) -> Option<Arc<T>> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.values.get(&key)?.upgrade()
    }

    /// Adds `key` as another key of the pooled `value`.
    pub fn also(&self, key: Key, value: &Arc<T>) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.insert(key, Arc::downgrade(value));
    }

    /// Stores `value` for `key`, unless another thread was first.
    pub fn put(&self, key: Key, value: impl Into<Arc<T>>) -> Arc<T> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = held.values.get(&key).and_then(Weak::upgrade) {
            return value;
        }
        let value = value.into();
        held.insert(key, Arc::downgrade(&value));
        value
    }
}

impl<T: ?Sized> Held<T> {
    fn insert(&mut self, key: Key, value: Weak<T>) {
        self.values.insert(key, value);
        if self.values.len() >= self.sweep_at {
            self.values.retain(|_, value| value.strong_count() > 1);
            self.sweep_at = (self.values.len() * 2).max(SWEEP_MIN);
        }
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
    fn one_value_may_stand_under_two_keys() {
        let pool = Pool::default();
        let one = pool.put(Key::of(&"a"), 1);
        pool.also(Key::of(&"b"), &one);
        assert!(pool.get(Key::of(&"b")).is_some_and(|found| Arc::ptr_eq(&found, &one)));
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
