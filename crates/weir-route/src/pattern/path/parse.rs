//! Text to [`PathPattern`]: the grammar of Spring's `InternalPathPatternParser`.

use super::{Part, PathPattern, Place, SegmentShape};
use crate::pattern::PatternError;
use crate::pattern::glob::{Glob, Item};
use crate::pattern::regex::{Flags, RegexCache, check_syntax, quote};

/// Longest pattern accepted, in bytes.
const PATTERN_BYTES_MAX: usize = u16::MAX as usize;

impl PathPattern {
    /// Compiles `text`. Regular expressions are shared through `regexes`.
    ///
    /// # Errors
    /// Where and why `text` is not a path pattern.
    pub fn parse(text: &str, regexes: &RegexCache) -> Result<Self, PatternError> {
        if text.len() > PATTERN_BYTES_MAX {
            return Err(PatternError::new(0, "the pattern is longer than 65,535 bytes"));
        }
        let mut parts = Vec::new();
        let mut names = Vec::new();
        let mut start = usize::from(text.starts_with('/'));
        let mut literal = true;
        loop {
            let end = segment_end(text, start)?;
            let part = parse_segment(text, start..end, regexes, &mut names)?;
            literal &= matches!(part, Part::Literal(_));
            parts.push(part);
            if end >= text.len() {
                break;
            }
            start = end + 1;
        }
        check_rests(&parts)?;
        let rooted = text.starts_with('/') || matches!(parts.first(), Some(Part::Rest(_)));
        if literal || !rooted {
            parts.clear();
        }
        Ok(Self { text: text.into(), parts: parts.into(), tolerates_trailing_slash: false })
    }
}

/// Where the segment that starts at `start` ends: at the next `/` outside a variable.
fn segment_end(text: &str, start: usize) -> Result<usize, PatternError> {
    let mut at = start;
    while let Some(byte) = text.as_bytes().get(at) {
        match byte {
            b'/' => return Ok(at),
            b'{' => at = variable_end(text, at)?,
            b'}' => {
                return Err(PatternError::new(at, "`}` closes nothing")
                    .help("a variable is written `{name}` or `{name:regex}`"));
            }
            _ => {}
        }
        at += 1;
    }
    Ok(text.len())
}

/// Where the `}` of the variable is whose `{` is at `open`.
fn variable_end(text: &str, open: usize) -> Result<usize, PatternError> {
    let unclosed = |at| {
        PatternError::new(at, "a variable is not closed by `}` within its segment")
            .help("an expression cannot contain `/`; write `{name:regex}` inside one segment")
    };
    let bytes = text.as_bytes();
    let mut at = open + 1;
    let mut depth = 0;
    let mut in_regex = false;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'/' => return Err(unclosed(open)),
            b'\\' if in_regex => at += 1,
            b':' if !in_regex && bytes.get(open + 1) != Some(&b'*') => in_regex = true,
            b'{' if in_regex => depth += 1,
            b'{' => {
                return Err(PatternError::new(at, "a variable inside a variable")
                    .help("close the first one: `{a}{b}`"));
            }
            b'}' if depth == 0 => return Ok(at),
            b'}' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    Err(unclosed(open))
}

/// One element of a segment.
enum Piece<'a> {
    Text(&'a str),
    Char,
    Star,
    Variable { name: &'a str, regex: Option<(usize, &'a str)> },
    Rest { name: &'a str },
}

fn parse_segment<'a>(
    text: &'a str,
    range: std::ops::Range<usize>,
    regexes: &RegexCache,
    names: &mut Vec<&'a str>,
) -> Result<Part, PatternError> {
    let pieces = pieces(text, range.clone())?;
    for piece in &pieces {
        if let Piece::Variable { name, .. } | Piece::Rest { name } = piece {
            if names.contains(name) {
                let message = format!("the variable `{name}` is captured twice");
                return Err(PatternError::new(range.start, message)
                    .help("give each variable of a pattern its own name"));
            }
            names.push(name);
        }
    }
    match pieces.as_slice() {
        [] => Ok(Part::Literal(place(range.clone(), false))),
        [Piece::Text(_)] => Ok(Part::Literal(place(range.clone(), false))),
        [Piece::Star] => Ok(Part::One(place(range.start..range.start, false))),
        [Piece::Star, Piece::Star] => Ok(Part::Rest(place(range.start..range.start, false))),
        pieces if pieces.iter().all(|piece| matches!(piece, Piece::Star)) => {
            Ok(Part::One(place(range.start..range.start, false)))
        }
        [Piece::Variable { name, regex: None }] => {
            Ok(Part::One(place(range.start + 1..range.start + 1 + name.len(), true)))
        }
        [Piece::Rest { name }] => {
            Ok(Part::Rest(place(range.start + 2..range.start + 2 + name.len(), true)))
        }
        _ if pieces.iter().any(|piece| matches!(piece, Piece::Rest { .. })) => {
            let message = "`{*name}` shares its segment with something else";
            Err(PatternError::new(range.start, message)
                .help("let it stand alone: `/files/{*rest}`"))
        }
        pieces => Ok(Part::Shape(Box::new(shape(pieces, range.start, regexes)?))),
    }
}

fn place(range: std::ops::Range<usize>, named: bool) -> Place {
    Place { start: range.start as u16, end: range.end as u16, named }
}

fn pieces(text: &str, range: std::ops::Range<usize>) -> Result<Vec<Piece<'_>>, PatternError> {
    let mut pieces = Vec::new();
    let mut at = range.start;
    let mut from = at;
    let bytes = text.as_bytes();
    while at < range.end {
        let (piece, next) = match bytes.get(at) {
            Some(b'*') => (Piece::Star, at + 1),
            Some(b'?') => (Piece::Char, at + 1),
            Some(b'{') => {
                let end = variable_end(text, at)?;
                (variable(text, at + 1..end)?, end + 1)
            }
            _ => {
                at += 1;
                continue;
            }
        };
        if from < at {
            pieces.push(Piece::Text(text.get(from..at).unwrap_or_default()));
        }
        pieces.push(piece);
        at = next;
        from = next;
    }
    if from < range.end {
        pieces.push(Piece::Text(text.get(from..range.end).unwrap_or_default()));
    }
    Ok(pieces)
}

/// What stands between `{` and `}`.
fn variable(text: &str, range: std::ops::Range<usize>) -> Result<Piece<'_>, PatternError> {
    let inside = text.get(range.clone()).unwrap_or_default();
    if let Some(name) = inside.strip_prefix('*') {
        check_name(name, range.start + 1)?;
        return Ok(Piece::Rest { name });
    }
    let Some((name, regex)) = inside.split_once(':') else {
        check_name(inside, range.start)?;
        return Ok(Piece::Variable { name: inside, regex: None });
    };
    check_name(name, range.start)?;
    let column = range.start + name.len() + 1;
    if regex.is_empty() {
        return Err(PatternError::new(column, "the expression of a variable is missing")
            .help("write `{name:[a-z]+}`, or `{name}` for any text"));
    }
    Ok(Piece::Variable { name, regex: Some((column, regex)) })
}

/// Names are Java identifiers that may also hold `-`; the empty name is accepted, as by Spring.
fn check_name(name: &str, column: usize) -> Result<(), PatternError> {
    for (at, char) in name.char_indices() {
        let start = char.is_alphabetic() || char == '_' || char == '$';
        let part = start || char.is_alphanumeric() || char == '-';
        if (at == 0 && !start) || !part {
            let message = format!("`{char}` is not allowed here in the name of a variable");
            return Err(PatternError::new(column + at, message)
                .help("letters, digits, `_`, `$` and `-`, starting with a letter"));
        }
    }
    Ok(())
}

fn shape(
    pieces: &[Piece<'_>],
    start: usize,
    regexes: &RegexCache,
) -> Result<SegmentShape, PatternError> {
    let needs_regex =
        pieces.iter().any(|piece| matches!(piece, Piece::Variable { regex: Some(_), .. }));
    if needs_regex { regex_shape(pieces, start, regexes) } else { Ok(glob_shape(pieces)) }
}

fn glob_shape(pieces: &[Piece<'_>]) -> SegmentShape {
    let item = |piece: &Piece<'_>| match piece {
        Piece::Text(text) => Item::Text((*text).into()),
        Piece::Char => Item::Char,
        Piece::Star => Item::Any(None),
        Piece::Variable { name, .. } | Piece::Rest { name } => Item::Any(Some((*name).into())),
    };
    SegmentShape::Glob(Glob::new(pieces.iter().map(item).collect()))
}

fn regex_shape(
    pieces: &[Piece<'_>],
    start: usize,
    regexes: &RegexCache,
) -> Result<SegmentShape, PatternError> {
    let mut source = String::new();
    let mut variables: Vec<Box<str>> = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => source.push_str(&quote(text)),
            Piece::Char => source.push('.'),
            Piece::Star => source.push_str(".*"),
            Piece::Variable { name, regex } => {
                if let Some((column, regex)) = regex {
                    check_syntax(regex).map_err(|error| error.shift(*column))?;
                }
                source.push('(');
                source.push_str(regex.map_or(".*", |(_, regex)| regex));
                source.push(')');
                variables.push((*name).into());
            }
            Piece::Rest { .. } => {}
        }
    }
    let flags = Flags { dot_all: true, ..Flags::default() };
    let regex = regexes.get(&source, flags).map_err(|error| error.at(start))?;
    let broken = regex.groups() != variables.len();
    Ok(SegmentShape::Regex { regex, variables: variables.into(), broken })
}

fn check_rests(parts: &[Part]) -> Result<(), PatternError> {
    let mut rests = parts.iter().enumerate().filter(|(_, part)| matches!(part, Part::Rest(_)));
    let Some((at, Part::Rest(place))) = rests.next() else { return Ok(()) };
    if let Some((_, Part::Rest(second))) = rests.next() {
        return Err(PatternError::new(
            usize::from(second.start),
            "more than one `**` or `{*name}` in a pattern",
        )
        .help("keep the one at the start or the one at the end; `*` takes one segment"));
    }
    if at == 0 || at + 1 == parts.len() {
        return Ok(());
    }
    let message = "`**` or `{*name}` is neither at the start nor at the end";
    Err(PatternError::new(usize::from(place.start), message)
        .help("use `*` for one segment, or several patterns separated by commas"))
}
