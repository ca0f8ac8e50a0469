//! What a regular expression or glob lets one say about the start of the text it matches.
//!
//! Routes that only expressions tell apart cannot be found by an exact key; but most expressions
//! start with plain text, and that can be looked up.

use super::dim::{Demand, Dim};
use super::hash::Hash;
use crate::pattern::{JavaRegex, PathPattern, Segment};
use crate::predicate::Predicate;

/// Longest start that is looked up, in bytes.
const START_MAX: usize = 32;

/// The dimension in which `predicate`, which has no exact key, demands a start.
pub(crate) fn dim(predicate: &Predicate) -> Option<Dim> {
    if predicate.key().is_some() {
        return None;
    }
    match predicate {
        Predicate::Header(header) => {
            plain_start(header.regexp()?)?;
            let name = header.name().to_ascii_lowercase().into();
            Some(Dim::HeaderStart { name, split: header.splits() })
        }
        Predicate::Query(query) => {
            plain_start(query.regexp()?)?;
            Some(Dim::QueryStart { name: query.param().into() })
        }
        Predicate::Cookie(cookie) => {
            plain_start(cookie.regexp())?;
            Some(Dim::CookieStart { name: cookie.name().into() })
        }
        _ => None,
    }
}

/// Adds what `predicate` demands of the start of a text.
pub(crate) fn demands(
    dim: &Dim,
    predicate: &Predicate,
    hash: &Hash,
    demands: &mut Vec<Demand>,
) -> Option<()> {
    let start = match (dim, predicate) {
        (Dim::HeaderStart { name, split }, Predicate::Header(header))
            if header.splits() == *split && header.name().eq_ignore_ascii_case(name) =>
        {
            plain_start(header.regexp()?)?
        }
        (Dim::QueryStart { name }, Predicate::Query(query)) if *query.param() == **name => {
            plain_start(query.regexp()?)?
        }
        (Dim::CookieStart { name }, Predicate::Cookie(cookie)) if *cookie.name() == **name => {
            plain_start(cookie.regexp())?
        }
        _ => return None,
    };
    demands.push(demand(&start, hash));
    Some(())
}

/// Adds what every one of `patterns` demands of the start of segment `at`.
pub(crate) fn of_patterns(
    patterns: &[PathPattern],
    at: u16,
    hash: &Hash,
    demands: &mut Vec<Demand>,
) -> Option<()> {
    for pattern in patterns.iter().filter(|pattern| pattern.can_match()) {
        let rest = |segment: &Segment<'_>| !matches!(segment, Segment::Rest { .. });
        let start = match pattern.segments().take_while(rest).nth(usize::from(at))? {
            Segment::Literal(text) => text.to_owned(),
            // No element of a pattern has a `/` in it, so this is the same segment as written.
            Segment::Shape(_) => {
                segment_start(pattern.text().split('/').nth(usize::from(at) + 1)?)?
            }
            Segment::One { .. } | Segment::Rest { .. } => return None,
        };
        demands.push(demand(Some(start).filter(|start| !start.is_empty())?.as_str(), hash));
    }
    Some(())
}

/// Calls `visit` with the hashes of the starts of `text`.
pub(crate) fn show(text: &str, hash: &Hash, sizes: &[u16], visit: &mut impl FnMut(u64)) {
    for size in sizes {
        if let Some(start) = text.as_bytes().get(..usize::from(*size)) {
            visit(hash.text(start));
        }
    }
}

fn demand(start: &str, hash: &Hash) -> Demand {
    let bytes = start.as_bytes();
    let bytes = bytes.get(..START_MAX).unwrap_or(bytes);
    Demand { key: hash.text(bytes), size: bytes.len() as u16 }
}

/// What every text starts with that a segment such as `pre{v}post` or `{v:pre\d+}` takes.
fn segment_start(written: &str) -> Option<String> {
    let plain = written.split(['*', '?', '{']).next().unwrap_or_default();
    if !plain.is_empty() {
        return Some(plain.to_owned());
    }
    let (name, regex) = written.strip_prefix('{')?.split_once(':')?;
    if name.contains('}') {
        return None;
    }
    // What follows the expression's own `}` may be read as part of it: that is only ever text
    // behind its start, or makes it look like one that is not understood.
    regex_start(regex)
}

fn plain_start(regex: &JavaRegex) -> Option<String> {
    regex_start(regex.source())
}

/// The text that everything starts with that `source` matches, if it is not empty. Cautious: where
/// the notation has any doubt, there is none.
fn regex_start(source: &str) -> Option<String> {
    let doubtful = source.contains('|') && source.contains(['\\', '[']);
    if doubtful || alternatives(source) {
        return None;
    }
    let mut start = String::new();
    let mut chars = source.chars().peekable();
    while let Some(char) = chars.next() {
        let literal = match char {
            '\\' => match chars.next() {
                Some(escaped) if escaped.is_ascii_punctuation() => escaped,
                _ => break,
            },
            '.' | '[' | '(' | ')' | '^' | '$' | '*' | '+' | '?' | '{' | '}' | '|' | ']' => break,
            _ => char,
        };
        // A quantifier belongs to the last character alone.
        if matches!(chars.peek(), Some('*' | '+' | '?' | '{')) {
            break;
        }
        start.push(literal);
    }
    Some(start).filter(|start| !start.is_empty())
}

/// Whether there is a `|` outside of parentheses.
fn alternatives(source: &str) -> bool {
    let mut depth = 0_i32;
    source.chars().any(|char| {
        depth += i32::from(char == '(') - i32::from(char == ')');
        char == '|' && depth <= 0
    })
}

#[cfg(test)]
mod tests {
    use super::{regex_start, segment_start};

    #[test]
    fn the_start_of_an_expression_is_read_with_caution() {
        let check = |source: &str, expected: Option<&str>| {
            assert_eq!(regex_start(source).as_deref(), expected, "{source}");
        };
        check("svc-12-.*", Some("svc-12-"));
        check(r"a\.b\d", Some("a.b"));
        check("ab?c", Some("a"));
        check("ab{2}", Some("a"));
        check("a|b", None);
        check("ab(c|d)", Some("ab"));
        check("ab(c|d)|e", None);
        check(r"ab[(]|e", None);
        check(r"ab\(|e", None);
        check("(?i)abc", None);
        check(".*", None);
        check("^abc", None);
        check(r"\Qa.b\E", None);
        check("a?", None);
    }

    #[test]
    fn the_start_of_a_segment_is_its_text_or_that_of_its_expression() {
        let check = |written: &str, expected: Option<&str>| {
            assert_eq!(segment_start(written).as_deref(), expected, "{written}");
        };
        check("pre{v}post", Some("pre"));
        check("pre*", Some("pre"));
        check("{v:id-\\d+}", Some("id-"));
        check("{v:id-\\d{3}}", Some("id-"));
        check("{v:id}", Some("id"));
        check("{v:id}?", Some("id"));
        check("{v}:id", None);
        check("{v:a|b}", None);
        check("{v}", None);
        check("{v:ab}*", Some("ab"));
        check("*.json", None);
    }
}
