//! Sets of characters: ranges where they can be computed, otherwise Unicode properties by name.

use std::fmt::Write;

/// Highest code point.
const LAST: u32 = 0x10_ffff;

/// A set of characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// These characters.
    Ranges(RangeSet),
    /// A Unicode property in the notation of the regex engine: `\p{L}`.
    Property(String),
    /// Characters in either set.
    Union(Box<Class>, Box<Class>),
    /// Characters in both sets.
    Intersection(Box<Class>, Box<Class>),
    /// Characters outside the set.
    Not(Box<Class>),
}

/// Code points as sorted, disjoint, inclusive ranges with gaps between them.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct RangeSet {
    ranges: Vec<(u32, u32)>,
}

impl RangeSet {
    /// The set of the characters in `ranges`, in any order, overlapping or not.
    pub(super) fn of(ranges: &[(u32, u32)]) -> Self {
        let mut sorted = ranges.to_vec();
        sorted.sort_unstable();
        let mut ranges: Vec<(u32, u32)> = Vec::with_capacity(sorted.len());
        for (start, end) in sorted {
            match ranges.last_mut() {
                Some(last) if start <= last.1.saturating_add(1) => last.1 = last.1.max(end),
                _ => ranges.push((start, end)),
            }
        }
        Self { ranges }
    }

    /// The ranges, sorted.
    pub(super) fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    fn union(&self, other: &Self) -> Self {
        Self::of(&[self.ranges(), other.ranges()].concat())
    }

    fn negation(&self) -> Self {
        let mut ranges = Vec::with_capacity(self.ranges.len() + 1);
        let mut next = 0;
        for (start, end) in &self.ranges {
            if *start > next {
                ranges.push((next, start - 1));
            }
            next = end + 1;
        }
        if next <= LAST {
            ranges.push((next, LAST));
        }
        Self { ranges }
    }

    fn intersection(&self, other: &Self) -> Self {
        self.negation().union(&other.negation()).negation()
    }

    /// The set, with the other case of every ASCII letter added.
    pub(super) fn fold_ascii(&self) -> Self {
        let letters = |start: u8, end: u8| {
            let overlap = move |(from, to): &(u32, u32)| {
                let (from, to) = ((*from).max(start.into()), (*to).min(end.into()));
                (from <= to).then_some((from ^ 0x20, to ^ 0x20))
            };
            self.ranges.iter().filter_map(overlap)
        };
        let mut ranges = self.ranges.clone();
        ranges.extend(letters(b'a', b'z'));
        ranges.extend(letters(b'A', b'Z'));
        Self::of(&ranges)
    }
}

impl Class {
    /// The only character of the set. With `lower`, a set of both cases of an ASCII letter gives
    /// the lower-case letter.
    pub(super) fn only(&self, lower: bool) -> Option<char> {
        let Self::Ranges(set) = self else { return None };
        if let [(first, last)] = *set.ranges() {
            return char::from_u32(first).filter(|_| first == last);
        }
        let [(upper, also), (lower, too)] = *set.ranges().get(..2).filter(|_| lower)? else {
            return None;
        };
        if set.ranges().len() > 2 {
            return None;
        }
        let letter = u8::try_from(lower).ok().filter(u8::is_ascii_lowercase)?;
        let pair = (u32::from(letter.to_ascii_uppercase()), lower);
        ((upper, lower) == pair && (also, too) == pair).then(|| char::from(letter))
    }

    /// The set of the characters in `ranges`.
    pub(super) fn of(ranges: &[(u32, u32)]) -> Self {
        Self::Ranges(RangeSet::of(ranges))
    }

    /// The set of these characters.
    pub(super) fn of_chars(chars: &[char]) -> Self {
        let ranges: Vec<_> = chars.iter().map(|c| (u32::from(*c), u32::from(*c))).collect();
        Self::of(&ranges)
    }

    /// A Unicode property in the engine's notation.
    pub(super) fn property(name: &str) -> Self {
        Self::Property(format!("\\p{{{name}}}"))
    }

    /// The union of this set and `other`.
    pub(super) fn union(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::Ranges(one), Self::Ranges(two)) => Self::Ranges(one.union(two)),
            _ => Self::Union(Box::new(self), Box::new(other)),
        }
    }

    /// The intersection of this set and `other`.
    pub(super) fn intersection(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::Ranges(one), Self::Ranges(two)) => Self::Ranges(one.intersection(two)),
            _ => Self::Intersection(Box::new(self), Box::new(other)),
        }
    }

    /// The complement of this set.
    pub(super) fn negation(self) -> Self {
        match self {
            Self::Ranges(ranges) => Self::Ranges(ranges.negation()),
            Self::Not(class) => *class,
            class => Self::Not(Box::new(class)),
        }
    }

    /// Estimated number of states of its automaton over UTF-8.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Ranges(set) => match set.ranges() {
                ranges if ranges.iter().all(|(_, end)| *end < 0x80) => 1,
                ranges => 8 + 2 * ranges.len(),
            },
            Self::Property(_) => 250,
            Self::Union(one, two) | Self::Intersection(one, two) => one.size() + two.size(),
            Self::Not(class) => class.size() + 8,
        }
    }

    /// Appends it in the notation of the regex engines.
    pub(super) fn write(&self, out: &mut String) {
        match self {
            Self::Ranges(set) => write_ranges(set, out),
            Self::Property(name) => out.push_str(name),
            Self::Union(one, two) => {
                out.push('[');
                one.write(out);
                two.write(out);
                out.push(']');
            }
            Self::Intersection(one, two) => {
                out.push('[');
                one.write(out);
                out.push_str("&&");
                two.write(out);
                out.push(']');
            }
            Self::Not(class) => {
                out.push_str("[^");
                class.write(out);
                out.push(']');
            }
        }
    }
}

/// Surrogates are omitted: no text contains them.
fn write_ranges(set: &RangeSet, out: &mut String) {
    let mut items = String::new();
    let mut item = |start: u32, end: u32| {
        if start <= end {
            // Writing to a String cannot fail.
            let _ = write!(items, "\\x{{{start:x}}}-\\x{{{end:x}}}");
        }
    };
    for (start, end) in set.ranges() {
        item(*start, (*end).min(0xd7ff));
        item((*start).max(0xe000), *end);
    }
    let never = items.is_empty();
    out.push_str(if never { "[a&&b" } else { "[" });
    out.push_str(&items);
    out.push(']');
}

#[cfg(test)]
mod tests {
    use super::{Class, RangeSet};

    fn check(class: Class, expected: &str) {
        let mut out = String::new();
        class.write(&mut out);
        assert_eq!(out, expected);
    }

    #[test]
    fn ranges_are_computed() {
        let letters = Class::of(&[('a' as u32, 'f' as u32), ('c' as u32, 'k' as u32)]);
        check(letters.clone(), "[\\x{61}-\\x{6b}]");
        check(letters.clone().intersection(Class::of_chars(&['b', 'z'])), "[\\x{62}-\\x{62}]");
        check(letters.clone().negation(), "[\\x{0}-\\x{60}\\x{6c}-\\x{d7ff}\\x{e000}-\\x{10ffff}]");
        check(letters.clone().negation().negation(), "[\\x{61}-\\x{6b}]");
        check(letters.intersection(Class::of_chars(&['z'])), "[a&&b]");
    }

    #[test]
    fn ascii_letters_have_two_cases() {
        let folded = RangeSet::of(&[('Y' as u32, 'b' as u32), (0xe9, 0xe9)]).fold_ascii();
        let expected = [('A', 'B'), ('Y', 'b'), ('y', 'z'), ('\u{e9}', '\u{e9}')];
        let expected = expected.map(|(start, end)| (start as u32, end as u32));
        assert_eq!(folded.ranges(), expected);
    }
}
