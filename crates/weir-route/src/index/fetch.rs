//! Bringing memory into the processor's caches before it is read.

/// Has the processor bring memory into its caches while the caller goes on.
pub trait Fetch {
    /// Fetches the first lines of `values`, and waits for none.
    fn fetch<V>(&self, values: &[V]);
}
