//! Decoded segments of a request path, computed once per request.

use weir_wire::{each_place, has_either};

/// The segments of one path: percent-decoded, without `;parameters`. Reuse one value for many
/// requests: its memory is kept.
///
/// `/a/b` has the segments `a`, `b`; `/a/` has `a` and an empty one; `/` has one empty segment; an
/// empty path has none. `%2F` stays inside its segment.
#[derive(Clone, Debug, Default)]
pub struct PathSegments {
    /// Each segment with a `/` before it.
    text: String,
    /// End of each segment in `text`; the next one starts one byte later, after its `/`.
    ends: Vec<u32>,
    plain: bool,
    rooted: bool,
}

impl PathSegments {
    /// The segments of `raw`.
    pub fn of(raw: &[u8]) -> Self {
        let mut segments = Self::default();
        segments.read(raw);
        segments
    }

    /// Replaces the segments by those of `raw`, a raw path without query.
    pub fn read(&mut self, raw: &[u8]) {
        // The path is parsed again after its head is complete, and consecutive paths are often
        // equal.
        if self.plain && raw == self.text.as_bytes() && !raw.is_empty() {
            return;
        }
        self.ends.clear();
        self.rooted = raw.is_empty() || raw.first() == Some(&b'/');
        self.plain = !has_either(raw, b'%', b';');
        // Copied before the check, which is faster on the aligned copy.
        let mut text = std::mem::take(&mut self.text).into_bytes();
        text.clear();
        if self.plain && raw.first() == Some(&b'/') {
            text.extend_from_slice(raw);
        }
        self.text = String::from_utf8(text).unwrap_or_default();
        let Some(rest) = raw.strip_prefix(b"/") else { return };
        // The path has escapes or parameters, or is not UTF-8.
        if self.text.is_empty() {
            return self.read_decoding(rest);
        }
        each_place(rest, b'/', |at| self.ends.push(at as u32 + 1));
        self.ends.push(raw.len() as u32);
    }

    fn read_decoding(&mut self, rest: &[u8]) {
        self.plain = false;
        let mut bytes = Vec::new();
        for segment in rest.split(|byte| *byte == b'/') {
            let name = segment.split(|byte| *byte == b';').next().unwrap_or_default();
            bytes.clear();
            decode_percent(name, &mut bytes);
            self.text.push('/');
            self.text.push_str(&String::from_utf8_lossy(&bytes));
            self.ends.push(self.text.len() as u32);
        }
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<u32>()
    }

    /// Number of segments.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no segments: an empty path, or one without a leading `/`.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Segment `at`, decoded.
    pub fn get(&self, at: usize) -> Option<&str> {
        let end = *self.ends.get(at)? as usize;
        let before = at.checked_sub(1).and_then(|before| self.ends.get(before));
        let start = before.map_or(0, |end| *end as usize) + 1;
        self.text.get(start..end)
    }

    /// All segments in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator + Clone {
        (0..self.len()).map(|at| self.get(at).unwrap_or_default())
    }

    /// Whether the raw path has neither `%` nor `;`: then [`PathSegments::text`] equals it, and no
    /// segment contains a `/`.
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// Whether the path is empty or starts with `/` (`*` does not, and matches nothing).
    pub fn is_rooted(&self) -> bool {
        self.rooted
    }

    /// Whether the first segments, each with a `/` before it, are `lead`. Ambiguous unless
    /// [`PathSegments::is_plain`].
    pub(super) fn starts_with(&self, lead: &str) -> bool {
        let behind = self.text.strip_prefix(lead);
        behind.is_some_and(|behind| behind.is_empty() || behind.starts_with('/'))
    }

    /// All segments, each with a `/` before it. Ambiguous unless [`PathSegments::is_plain`].
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Appends `raw` to `out` with `%XX` decoded; a `%` without two hex digits stays.
pub(crate) fn decode_percent(raw: &[u8], out: &mut Vec<u8>) {
    let mut rest = raw.iter().copied();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let digits =
            (byte == b'%').then(|| Some((hex(ahead.next()?)?, hex(ahead.next()?)?))).flatten();
        match digits {
            Some((high, low)) => {
                out.push(high << 4 | low);
                rest = ahead;
            }
            None => out.push(byte),
        }
    }
}

fn hex(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::PathSegments;

    fn check(raw: &[u8], expected: &[&str]) {
        let segments = PathSegments::of(raw);
        assert_eq!(segments.iter().collect::<Vec<_>>(), expected, "{raw:?}");
    }

    #[test]
    fn what_was_read_before_does_not_show() {
        let paths: [&[u8]; 9] =
            [b"/a/b", b"/a/b", b"", b"/a%2Fb", b"/a/b", b"*", b"/\xff", b"/a/b/", b"/"];
        let mut reused = PathSegments::default();
        for path in paths.iter().flat_map(|first| [*first, b"/a/b", *first, *first]) {
            reused.read(path);
            assert_eq!(format!("{reused:?}"), format!("{:?}", PathSegments::of(path)));
        }
    }

    #[test]
    fn segments_are_decoded_and_lose_their_parameters() {
        check(b"/a/b", &["a", "b"]);
        check(b"/a/", &["a", ""]);
        check(b"/", &[""]);
        check(b"", &[]);
        check(b"//a", &["", "a"]);
        check(b"/a%2Fb/c;v=1;w/%e4%BD%a0", &["a/b", "c", "\u{4f60}"]);
        check(b"/%3Bx/;y", &[";x", ""]);
        check(b"/%c0%ae/%2", &["\u{fffd}\u{fffd}", "%2"]);
        check(b"*", &[]);
    }

    #[test]
    fn a_reused_value_forgets_the_path_before() {
        let mut segments = PathSegments::of(b"/a%20b/c/d");
        segments.read(b"/x");
        assert_eq!(segments.iter().collect::<Vec<_>>(), ["x"]);
        assert!(segments.is_plain() && segments.is_rooted());
        assert_eq!(segments.text(), "/x");
    }
}
