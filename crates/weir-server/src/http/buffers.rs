//! Bytes received and not yet used.

use crate::pipe::Pipes;

/// Minimum size at which bytes behind a head stay in the buffer they were read into.
const LENT_BYTES_MIN: usize = 2048;
/// Buffers kept for when the one in use is lent.
const SPARE_MAX: usize = 4;

/// Read buffers and pipes of a worker, used by every read.
#[derive(Debug)]
pub(crate) struct ReadBuffer {
    buffer: Vec<u8>,
    spare: Vec<Vec<u8>>,
    pub(crate) pipes: Pipes,
}

impl ReadBuffer {
    /// A read buffer of `size` bytes, with at most `pipes_max` pipes.
    pub(crate) fn new(size: usize, pipes_max: usize) -> Self {
        Self { buffer: vec![0; size], spare: Vec::new(), pipes: Pipes::new(pipes_max) }
    }

    /// The buffer to read into.
    pub(crate) fn buffer(&mut self) -> &mut [u8] {
        &mut self.buffer
    }

    /// The buffer to read into, cut to at most `max` bytes.
    pub(crate) fn buffer_of(&mut self, max: usize) -> &mut [u8] {
        let len = self.buffer.len().min(max);
        self.buffer.get_mut(..len).unwrap_or_default()
    }

    /// The first `count` bytes read last.
    pub(crate) fn read(&self, count: usize) -> &[u8] {
        self.buffer.get(..count).unwrap_or_default()
    }

    /// Moves the bytes from `start` to `end` of the last read into `carry`: large pieces by lending
    /// the buffer, which must be returned soon ([`ReadBuffer::take_back`]).
    pub(crate) fn give(&mut self, carry: &mut Carry, start: usize, end: usize) {
        let bytes = self.buffer.get(start..end).unwrap_or_default();
        if bytes.len() < LENT_BYTES_MIN || !carry.is_empty() {
            return carry.push(bytes);
        }
        let next = self.spare.pop().unwrap_or_else(|| vec![0; self.buffer.len()]);
        let bytes = std::mem::replace(&mut self.buffer, next);
        *carry = Carry { bytes, start, end, lent: true };
    }

    /// Takes the buffer of a carry whose bytes are used.
    pub(crate) fn take_back(&mut self, carry: &mut Carry) {
        if carry.lent {
            let bytes = std::mem::take(carry).bytes;
            if bytes.len() == self.buffer.len() && self.spare.len() < SPARE_MAX {
                self.spare.push(bytes);
            }
        }
    }

    /// Frees spare buffers.
    pub(crate) fn tidy(&mut self) {
        self.spare.truncate(1);
        self.pipes.tidy();
    }
}

/// Bytes left over from a read: the start of a body, or pipelined requests. Holds no memory while
/// it is empty.
#[derive(Debug, Default)]
pub(crate) struct Carry {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// `bytes` is the buffer of a [`ReadBuffer`].
    lent: bool,
}

impl Carry {
    pub(crate) fn as_slice(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its memory is a buffer that is to be given back.
    pub(crate) fn is_lent(&self) -> bool {
        self.lent
    }

    /// Makes the bytes its own: they may stay for long.
    pub(crate) fn keep(&mut self) {
        if self.lent {
            let bytes = self.as_slice().to_vec();
            *self = Self { start: 0, end: bytes.len(), bytes, lent: false };
        }
    }

    /// Adds bytes at the end.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.bytes.truncate(self.end);
        // Consumed bytes are removed before they outnumber the unread ones.
        if self.start > 0 && self.start >= self.len() {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(bytes);
        self.end = self.bytes.len();
    }

    /// Puts bytes in front, as if they had not been used.
    pub(crate) fn put_back(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            let all = [bytes, self.as_slice()].concat();
            *self = Self { start: 0, end: all.len(), bytes: all, lent: false };
        }
    }

    /// Uses up the first `count` bytes.
    pub(crate) fn consume(&mut self, count: usize) {
        self.start = (self.start + count).min(self.end);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Frees the memory if it is empty.
    pub(crate) fn shrink(&mut self) {
        if self.is_empty() && self.bytes.capacity() > 0 {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Carry, LENT_BYTES_MIN, ReadBuffer};

    const SIZE: usize = 16 * 1024;

    /// Reads `count` bytes and gives away all but the first two; those that then are in the carry.
    fn check(count: usize, lent: bool) {
        let mut scratch = ReadBuffer::new(SIZE, 0);
        let mut carry = Carry::default();
        for (byte, n) in scratch.buffer().iter_mut().zip(0..count) {
            *byte = n as u8;
        }
        scratch.give(&mut carry, 2, count);
        let expected: Vec<u8> = (2..count).map(|n| n as u8).collect();
        scratch.buffer().fill(0);
        assert_eq!((carry.as_slice(), carry.is_lent()), (&*expected, lent), "{count}");
        carry.push(b"more");
        carry.consume(expected.len());
        assert_eq!(carry.as_slice(), b"more", "{count}");
        scratch.take_back(&mut carry);
        assert_eq!(carry.memory() == 0, lent, "{count}");
    }

    #[test]
    fn what_is_given_stays_as_it_was_read() {
        check(2, false);
        check(100, false);
        check(LENT_BYTES_MIN + 2, true);
        check(SIZE, true);
    }

    #[test]
    fn buffers_are_used_again() {
        let mut scratch = ReadBuffer::new(SIZE, 0);
        for _ in 0..10 {
            let mut carries =
                [const { Carry { bytes: Vec::new(), start: 0, end: 0, lent: false } }; 3];
            for carry in &mut carries {
                scratch.give(carry, 0, LENT_BYTES_MIN);
            }
            for carry in &mut carries {
                carry.consume(LENT_BYTES_MIN);
                scratch.take_back(carry);
            }
            assert_eq!(scratch.spare.len(), 3);
        }
    }
}
