//! Generator of texts that match a regular expression.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::chance::Chance;

/// Repetitions beyond the least that are made.
const MORE_MAX: u32 = 8;

/// The maximum number of parts written for one text, in all attempts.
const STEPS_MAX: u32 = 200_000;
/// Bytes of a pattern at most.
const PATTERN_MAX: usize = 10_000;

/// Whether texts can be made for `pattern`.
///
/// # Errors
/// Why not.
pub(crate) fn check(pattern: &str) -> Result<(), String> {
    parse(pattern).map(|_| ())
}

fn parse(pattern: &str) -> Result<Hir, String> {
    if pattern.len() > PATTERN_MAX {
        return Err(format!("a regular expression of more than {PATTERN_MAX} bytes"));
    }
    // ECMA-262: `\d` and `\w` are ASCII; the bytes that a match is made of are UTF-8 all the same.
    let ascii = pattern.replace("\\d", "[0-9]").replace("\\w", "[A-Za-z0-9_]");
    let parsed = ParserBuilder::new().nest_limit(100).build().parse(&ascii);
    parsed.map_err(|error| match error {
        regex_syntax::Error::Parse(error) => format!("`{pattern}`: {}", error.kind()),
        regex_syntax::Error::Translate(error) => format!("`{pattern}`: {}", error.kind()),
        _ => format!("`{pattern}` is no regular expression"),
    })
}

/// A text that matches `pattern`, with `least` to `most` characters if one is found soon.
pub(crate) fn text(
    pattern: &str,
    chance: Chance,
    place: &str,
    attempt: u64,
    least: usize,
    most: usize,
) -> Option<String> {
    let hir = parse(pattern).ok()?;
    let mut steps = 0;
    for n in 0..20 {
        let first = (attempt * 20 + n) << 16;
        let mut writer = Writer { chance, place, n: first, out: String::new(), steps };
        writer.write(&hir, most.min(10_000))?;
        steps = writer.steps;
        let length = writer.out.chars().count();
        if (least..=most).contains(&length) {
            return Some(writer.out);
        }
        // A pattern matches anywhere in a text, so a text that is too short may be extended.
        let is_open = !pattern.ends_with('$') && length < least;
        if is_open {
            writer.out.extend(std::iter::repeat_n('x', least - length));
            return Some(writer.out);
        }
    }
    None
}

struct Writer<'a> {
    chance: Chance,
    place: &'a str,
    n: u64,
    out: String,
    steps: u32,
}

impl Writer<'_> {
    fn below(&mut self, end: u64) -> u64 {
        self.n += 1;
        self.chance.below(self.place, self.n, end)
    }

    /// No match of a length that is wanted can come of it any more.
    fn is_long(&self, most: usize) -> bool {
        self.out.len() > most.saturating_mul(4).saturating_add(64)
    }

    fn write(&mut self, hir: &Hir, most: usize) -> Option<()> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return None;
        }
        if self.is_long(most) {
            return Some(());
        }
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => self.out.push_str(std::str::from_utf8(&literal.0).ok()?),
            HirKind::Class(Class::Unicode(class)) => {
                let ranges = class.ranges();
                // Readable characters come first.
                let readable: Vec<(u32, u32)> = ranges
                    .iter()
                    .map(|range| (range.start() as u32, range.end() as u32))
                    .filter_map(|(start, end)| {
                        let (start, end) = (start.max(0x21), end.min(0x7e));
                        (start <= end).then_some((start, end))
                    })
                    .collect();
                let first = ranges.first().map(|range| range.start() as u32)?;
                let count = readable.len() as u64;
                let at = usize::try_from(self.below(count.max(1))).ok()?;
                let (start, end) = readable.get(at).copied().unwrap_or((first, first));
                let letter = start + u32::try_from(self.below(u64::from(end - start) + 1)).ok()?;
                self.out.push(char::from_u32(letter)?);
            }
            HirKind::Class(Class::Bytes(_)) => return None,
            HirKind::Repetition(repetition) => {
                let most_times = repetition.max.unwrap_or(u32::MAX);
                let more = most_times.saturating_sub(repetition.min).min(MORE_MAX);
                let more = u32::try_from(self.below(u64::from(more) + 1)).ok()?;
                for _ in 0..repetition.min.saturating_add(more) {
                    if self.is_long(most) {
                        break;
                    }
                    self.write(&repetition.sub, most)?;
                }
            }
            HirKind::Capture(capture) => self.write(&capture.sub, most)?,
            HirKind::Concat(parts) => {
                for part in parts {
                    self.write(part, most)?;
                }
            }
            HirKind::Alternation(parts) => {
                let at = usize::try_from(self.below(parts.len() as u64)).ok()?;
                self.write(parts.get(at)?, most)?;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_matches() {
        let check = |pattern: &str, least, most, expected: fn(&str) -> bool| {
            for n in 0..50 {
                let made = text(pattern, Chance::new(7), "/x", n, least, most).expect(pattern);
                assert!(expected(&made), "{pattern}: {made}");
            }
        };
        check("^[A-Z]{3}-\\d{4}$", 0, 99, |made| {
            let (letters, digits) = made.split_once('-').unwrap_or_default();
            letters.len() == 3 && digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_digit())
        });
        check("^(cat|dog)+$", 5, 9, |made| (5..=9).contains(&made.len()));
        check("a", 4, 4, |made| made == "axxx");
        assert_eq!(text("(a|b){1000000000}", Chance::new(7), "", 0, 0, 9), None);
        assert_eq!(text("(?=a)b", Chance::new(7), "", 0, 0, 9), None);
    }
}
