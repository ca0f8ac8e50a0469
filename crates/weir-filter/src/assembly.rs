//! Concatenation of short texts without allocation.

/// A byte buffer to append to; on the stack up to [`Assembly::STACK`] bytes.
#[derive(Debug)]
pub(crate) struct Assembly {
    stack: [u8; Self::STACK],
    len: usize,
    heap: Vec<u8>,
}

impl Assembly {
    /// Longest text that needs no allocation. Paths are rarely longer.
    const STACK: usize = 256;

    /// An empty buffer.
    pub(crate) fn new() -> Self {
        Self { stack: [0; Self::STACK], len: 0, heap: Vec::new() }
    }

    /// Appends `piece`.
    pub(crate) fn push(&mut self, piece: &[u8]) {
        if self.heap.is_empty() {
            let end = self.len + piece.len();
            if let Some(free) = self.stack.get_mut(self.len..end) {
                free.copy_from_slice(piece);
                self.len = end;
                return;
            }
            self.heap.reserve(2 * end);
            self.heap.extend_from_slice(self.stack.get(..self.len).unwrap_or_default());
        }
        self.heap.extend_from_slice(piece);
    }

    /// All bytes so far.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        if self.heap.is_empty() {
            self.stack.get(..self.len).unwrap_or_default()
        } else {
            &self.heap
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Assembly;

    fn check(lengths: &[usize]) {
        let mut assembly = Assembly::new();
        let mut expected = Vec::new();
        for (byte, &len) in (b'a'..).zip(lengths) {
            let piece = vec![byte; len];
            assembly.push(&piece);
            expected.extend(piece);
        }
        assert_eq!(assembly.as_bytes(), expected, "{lengths:?}");
    }

    #[test]
    fn pieces_are_kept_on_either_side_of_the_bound() {
        check(&[]);
        check(&[0, 3, 0, 5]);
        check(&[255, 1]);
        check(&[256, 1, 2]);
        check(&[100, 157, 3]);
        check(&[300]);
    }
}
