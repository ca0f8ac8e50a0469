//! Bytes received and not yet used.

/// Bytes left over from a read: the start of a body, or pipelined requests. Holds no memory while
/// it is empty.
#[derive(Debug, Default)]
pub(crate) struct Carry {
    bytes: Vec<u8>,
    start: usize,
}

impl Carry {
    pub(crate) fn as_slice(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds bytes at the end.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Uses up the first `count` bytes.
    pub(crate) fn consume(&mut self, count: usize) {
        self.start = (self.start + count).min(self.bytes.len());
        if self.start == self.bytes.len() {
            self.start = 0;
            self.bytes.clear();
        }
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Gives memory back while there is nothing to keep.
    pub(crate) fn shrink(&mut self) {
        if self.is_empty() && self.bytes.capacity() > 0 {
            *self = Self::default();
        }
    }
}
