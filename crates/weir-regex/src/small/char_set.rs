//! Sets of characters, in the representation of the small engine.

/// A set of characters: a bitmap for ASCII, ranges for the rest.
#[derive(Debug)]
pub(super) struct CharSet {
    ascii: u128,
    /// All ranges, if some are beyond ASCII.
    ranges: Box<[(u32, u32)]>,
}

impl CharSet {
    /// The characters of sorted `ranges`.
    pub(super) fn of(ranges: &[(u32, u32)]) -> Self {
        let mut ascii = 0;
        for (start, end) in ranges {
            for code in *start..=(*end).min(127) {
                ascii |= 1 << code;
            }
        }
        let wide = ranges.last().is_some_and(|(_, end)| *end > 127);
        Self { ascii, ranges: if wide { ranges.into() } else { Box::default() } }
    }

    /// Whether the set contains `char`.
    pub(super) fn has(&self, char: char) -> bool {
        let code = u32::from(char);
        if code < 128 {
            return self.ascii >> code & 1 == 1;
        }
        let at = self.ranges.partition_point(|(_, end)| *end < code);
        self.ranges.get(at).is_some_and(|(start, _)| *start <= code)
    }

    /// Whether the set contains the ASCII character `byte`.
    pub(super) fn has_ascii(&self, byte: u8) -> bool {
        self.ascii >> (byte & 0x7f) & 1 == 1
    }
}
