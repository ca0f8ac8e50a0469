//! Prefetching of memory into the processor's caches.

/// Prefetches memory while the caller continues.
pub trait Fetch {
    /// Prefetches the first cache lines of `values` without waiting.
    fn fetch<V>(&self, values: &[V]);
}
