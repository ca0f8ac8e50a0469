//! Gathered writes: framing made here and content in the buffer it was received in.
//!
//! A body goes out in one call with the head or the chunk sizes around it, and is not copied unless
//! the receiver does not take it at once.

use std::io::{self, IoSlice};
use std::task::Poll;

use weir_wire::http1::write_chunk_size;

use crate::net::{Socket, poll_write, poll_write_vectored};

/// Maximum number of content runs in one write; further ones are copied.
const RUNS_MAX: usize = 24;
/// Shorter ones are copied.
const RUN_BYTES_MIN: usize = 512;

/// Content that lies in the received bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// Number of own bytes before it.
    behind: usize,
    from: usize,
    to: usize,
}

/// Bytes to be written, in order.
#[derive(Debug, Default)]
pub(super) struct Gather {
    own: Vec<u8>,
    /// Number of bytes of `own` already written; 0 while there are runs.
    sent: usize,
    /// At most [`RUNS_MAX`]; on the heap, so that a buffer without runs takes few cache lines.
    runs: Vec<Run>,
}

impl Gather {
    pub(super) fn clear(&mut self) {
        self.own.clear();
        self.sent = 0;
        self.runs.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.sent == self.own.len()
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.own.capacity() + self.runs.capacity() * size_of::<Run>()
    }

    /// Adds a chunk, if there is something in it: an empty one would end the body.
    pub(super) fn add_chunk(&mut self, content: &[u8]) {
        if !content.is_empty() {
            let own = self.own();
            write_chunk_size(own, content.len() as u64);
            own.extend_from_slice(content);
            own.extend_from_slice(b"\r\n");
        }
    }

    /// The buffer for own bytes, such as framing.
    pub(super) fn own(&mut self) -> &mut Vec<u8> {
        &mut self.own
    }

    /// The unwritten bytes, where no content lies elsewhere.
    pub(super) fn unwritten(&self) -> &[u8] {
        self.own.get(self.sent..).unwrap_or_default()
    }

    /// Adds `input[from..to]`. The same `input` belongs to the next [`Gather::poll_write`] or
    /// [`Gather::settle`].
    pub(super) fn add(&mut self, input: &[u8], from: usize, to: usize) {
        if to - from >= RUN_BYTES_MIN && self.sent == 0 && self.runs.len() < RUNS_MAX {
            self.runs.push(Run { behind: self.own.len(), from, to });
            return;
        }
        self.own.extend_from_slice(input.get(from..to).unwrap_or_default());
    }

    /// Writes as much as possible, adding to `moved`. Unwritten content is copied, so that `input`
    /// is no longer needed.
    pub(super) fn poll_write(
        &mut self,
        sink: &mut Socket,
        input: &[u8],
        moved: &mut u64,
    ) -> Poll<io::Result<()>> {
        if !self.runs.is_empty() {
            let (written, all) = {
                let mut slices = [IoSlice::new(&[]); RUNS_MAX * 2 + 1];
                let (count, all) = self.slices(input, &mut slices);
                let slices = slices.get(..count).unwrap_or_default();
                (poll_write_vectored(sink, slices), all)
            };
            let written = match written {
                Poll::Ready(written) => written?,
                Poll::Pending => 0,
            };
            *moved += written as u64;
            if written == all {
                self.clear();
                return Poll::Ready(Ok(()));
            }
            self.settle_rest(input, written);
        }
        while self.sent < self.own.len() {
            let rest = self.own.get(self.sent..).unwrap_or_default();
            let count = std::task::ready!(poll_write(sink, rest))?;
            self.sent += count;
            *moved += count as u64;
        }
        self.clear();
        Poll::Ready(Ok(()))
    }

    /// Copies content from `input`, which is not needed any more.
    pub(super) fn settle(&mut self, input: &[u8]) {
        if !self.runs.is_empty() {
            self.settle_rest(input, 0);
        }
    }

    /// Keeps the bytes behind the first `written`, with a copy of content from `input`.
    fn settle_rest(&mut self, input: &[u8], written: usize) {
        let mut slices = [IoSlice::new(&[]); RUNS_MAX * 2 + 1];
        let (count, all) = self.slices(input, &mut slices);
        let mut rest = slices.get_mut(..count).unwrap_or_default();
        IoSlice::advance_slices(&mut rest, written);
        let mut copy = Vec::with_capacity(all - written);
        for slice in rest {
            copy.extend_from_slice(slice);
        }
        self.own = copy;
        self.runs.clear();
    }

    /// All that is to be written; how many slices, and how many bytes.
    fn slices<'a>(
        &'a self,
        input: &'a [u8],
        out: &mut [IoSlice<'a>; RUNS_MAX * 2 + 1],
    ) -> (usize, usize) {
        let mut places = out.iter_mut();
        let (mut count, mut all) = (0, 0);
        let mut put = |bytes: &'a [u8]| {
            if !bytes.is_empty()
                && let Some(place) = places.next()
            {
                *place = IoSlice::new(bytes);
                count += 1;
                all += bytes.len();
            }
        };
        let mut at = 0;
        for run in &self.runs {
            put(self.own.get(at..run.behind).unwrap_or_default());
            put(input.get(run.from..run.to).unwrap_or_default());
            at = run.behind;
        }
        put(self.own.get(at..).unwrap_or_default());
        (count, all)
    }
}

#[cfg(test)]
mod tests {
    use super::{Gather, RUN_BYTES_MIN, RUNS_MAX};

    /// Puts runs of these lengths behind `<`, and `>` at the end.
    fn check(lengths: &[usize]) {
        let input: Vec<u8> = (0..lengths.iter().sum()).map(|n: usize| n as u8).collect();
        let mut gather = Gather::default();
        let mut expected = Vec::new();
        let mut at = 0;
        for length in lengths {
            gather.own().push(b'<');
            gather.add(&input, at, at + length);
            expected.push(b'<');
            expected.extend_from_slice(&input[at..at + length]);
            at += length;
        }
        gather.own().push(b'>');
        expected.push(b'>');
        gather.settle(&input);
        assert_eq!(gather.unwritten(), expected, "{lengths:?}");
        for written in [0, 1, expected.len() / 2, expected.len()] {
            let mut gather = Gather::default();
            gather.own().push(b'<');
            gather.add(&input, 0, input.len());
            let whole = [b"<", &*input].concat();
            let written = written.min(whole.len());
            gather.settle_rest(&input, written);
            assert_eq!(gather.unwritten(), &whole[written..], "{lengths:?}, {written} written");
        }
    }

    #[test]
    fn order_is_kept() {
        check(&[]);
        check(&[0, 1]);
        check(&[RUN_BYTES_MIN]);
        check(&[1, RUN_BYTES_MIN, 2, RUN_BYTES_MIN + 1, 3]);
        check(&[RUN_BYTES_MIN; RUNS_MAX]);
        check(&[RUN_BYTES_MIN; RUNS_MAX + 5]);
    }
}
