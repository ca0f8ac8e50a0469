//! Required text of an expression: plain text at the start, at the end, or anywhere in every full
//! match. Conservative: text that is not certain to occur is not required.

use super::ast::Node;

/// Maximum length of a required text, in bytes.
const BYTES_MAX: usize = 64;

/// Plain text in every matching text; each part may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Required {
    /// Prefix.
    pub start: Box<str>,
    /// Suffix.
    pub end: Box<str>,
    /// The longest run that occurs anywhere; may equal the prefix or suffix.
    pub inside: Box<str>,
}

impl Required {
    /// Required text of a full match of `node`; `None` if there is none. With `lower`, texts are
    /// always in lower case, so a letter of either case counts as the lower-case one.
    pub(super) fn of(node: &Node, lower: bool) -> Option<Self> {
        let found = match read(node, lower) {
            Found::Exact(text) => Self::of_texts(&text, &text, &text),
            Found::Some { start, end, inside } => Self::of_texts(&start, &end, &inside),
        };
        Some(found).filter(|found| !found.inside.is_empty())
    }

    /// The required text of given prefix, suffix and run.
    pub fn of_texts(start: &str, end: &str, inside: &str) -> Self {
        let longest = [inside, start, end].into_iter().reduce(longer).unwrap_or_default();
        Self { start: head(start).into(), end: tail(end).into(), inside: tail(longest).into() }
    }
}

/// Possible matches of a part of an expression.
enum Found {
    /// Exactly this text.
    Exact(String),
    /// Any text with this start and end that contains `inside`.
    Some { start: String, end: String, inside: String },
}

impl Found {
    fn nothing() -> Self {
        Self::Some { start: String::new(), end: String::new(), inside: String::new() }
    }

    fn start(&self) -> &str {
        match self {
            Self::Exact(text) => text,
            Self::Some { start, .. } => start,
        }
    }

    fn end(&self) -> &str {
        match self {
            Self::Exact(text) => text,
            Self::Some { end, .. } => end,
        }
    }

    fn then(self, next: Self) -> Self {
        match (self, next) {
            (Self::Exact(a), Self::Exact(b)) if a.len() + b.len() <= BYTES_MAX => {
                Self::Exact(a + &b)
            }
            (Self::Exact(a), Self::Exact(b)) => {
                let inside = longer(&a, &b).to_owned();
                Self::Some { start: a, end: b, inside }
            }
            (Self::Exact(a), Self::Some { start, end, inside }) => {
                let start = a + &start;
                let inside = longer(&start, &inside).to_owned();
                Self::Some { start, end, inside }
            }
            (Self::Some { start, end, inside }, Self::Exact(b)) => {
                let end = end + &b;
                let inside = longer(&end, &inside).to_owned();
                Self::Some { start, end, inside }
            }
            (
                Self::Some { start, end: before, inside: one },
                Self::Some { start: behind, end, inside: other },
            ) => {
                let middle = before + &behind;
                let inside = longer(&middle, longer(&one, &other)).to_owned();
                Self::Some { start, end, inside }
            }
        }
    }
}

fn read(node: &Node, lower: bool) -> Found {
    match node {
        Node::Text(text) if text.len() <= BYTES_MAX => Found::Exact(text.clone()),
        Node::Text(text) => {
            let inside = tail(text).to_owned();
            Found::Some { start: head(text).to_owned(), end: inside.clone(), inside }
        }
        Node::Class(class) => match class.only(lower) {
            Some(letter) => Found::Exact(letter.to_string()),
            None => Found::nothing(),
        },
        Node::Concat(nodes) => {
            nodes.iter().fold(Found::Exact(String::new()), |all, node| all.then(read(node, lower)))
        }
        Node::Alternate(nodes) => common(nodes, lower),
        Node::Group(_, node) | Node::Atomic(node) => read(node, lower),
        Node::Repeat { min: 0, .. } | Node::Backref(_) | Node::Folded(_) => Found::nothing(),
        Node::Repeat { node, min: 1, max: Some(1), .. } => read(node, lower),
        Node::Repeat { node, .. } => {
            // At least one repetition: the first determines the start, the last the end.
            let once = read(node, lower);
            let inside = match &once {
                Found::Exact(text) => text.clone(),
                Found::Some { inside, .. } => inside.clone(),
            };
            let (start, end) = (once.start().to_owned(), once.end().to_owned());
            Found::Some { start, end, inside }
        }
        // Zero-width, so the texts before and after are adjacent.
        Node::Look { .. } | Node::Assert(_) => Found::Exact(String::new()),
    }
}

/// Start and end that all alternatives share.
fn common(nodes: &[Node], lower: bool) -> Found {
    let mut all = nodes.iter().map(|node| read(node, lower));
    let Some(first) = all.next() else { return Found::nothing() };
    let (mut start, mut end) = (first.start().to_owned(), first.end().to_owned());
    for found in all {
        let same = start.chars().zip(found.start().chars()).take_while(|(a, b)| a == b);
        start = same.map(|(char, _)| char).collect();
        let same = end.chars().rev().zip(found.end().chars().rev()).take_while(|(a, b)| a == b);
        let mut backwards: Vec<char> = same.map(|(char, _)| char).collect();
        backwards.reverse();
        end = backwards.into_iter().collect();
    }
    let inside = longer(&start, &end).to_owned();
    Found::Some { start, end, inside }
}

fn longer<'t>(a: &'t str, b: &'t str) -> &'t str {
    if b.len() > a.len() { b } else { a }
}

/// The first characters, up to [`BYTES_MAX`].
fn head(text: &str) -> &str {
    let mut end = text.len().min(BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// The last characters, up to [`BYTES_MAX`].
fn tail(text: &str) -> &str {
    let mut start = text.len().saturating_sub(BYTES_MAX);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Required;
    use crate::parse::{Flags, parse_with};

    fn check(source: &str, start: &str, end: &str, inside: &str) {
        let parsed = parse_with(source, Flags::default()).expect("an expression");
        let found = Required::of(&parsed.node, false).unwrap_or_default();
        let found = (&*found.start, &*found.end, &*found.inside);
        assert_eq!(found, (start, end, inside), "{source}");
    }

    #[test]
    fn plain_text_is_found_wherever_it_stands() {
        check("svc-12-.*", "svc-12-", "", "svc-12-");
        check(".*-12-svc", "", "-12-svc", "-12-svc");
        check(".*(-12-).*", "", "", "-12-");
        check("a.*longer.*b", "a", "b", "longer");
        check(r"a\.b\d", "a.b", "", "a.b");
        check("ab?c", "a", "c", "c");
        check("ab{2}c", "ab", "bc", "bc");
        check("(ab)+c", "ab", "abc", "abc");
        check(".*", "", "", "");
        check("^abc$", "abc", "abc", "abc");
        check(r"\Qa.b\E.*", "a.b", "", "a.b");
        check("a?", "", "", "");
        check("(?:x{3}y.*|x{3}z.*)", "x", "", "x");
        check("(?:abc|abd)e", "ab", "e", "ab");
        check("(?:1abc|2abc)", "", "abc", "abc");
        check("(?=.*b)ab.*", "ab", "", "ab");
        check(r"(a)\1b", "a", "b", "b");
        check("[a]b[c-d]ef", "ab", "ef", "ef");
    }

    #[test]
    fn case_is_heeded() {
        check("(?i)abc.*", "", "", "");
        check("(?iu)abc.*", "", "", "");
        check("(?i)12.*", "12", "", "12");
        let parsed = parse_with("(?i)aB-.*", Flags::default()).expect("an expression");
        let found = Required::of(&parsed.node, true).expect("a text");
        assert_eq!(&*found.start, "ab-");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let text = "é".repeat(100);
        let parsed = parse_with(&format!("{text}.*"), Flags::default()).expect("an expression");
        let found = Required::of(&parsed.node, false).expect("a text");
        assert!(text.starts_with(&*found.start) && !found.start.is_empty());
        assert!(found.inside.len() <= 64 && text.contains(&*found.inside));
    }
}
