//! Parser of path patterns: the grammar of Spring's `InternalPathPatternParser`.

use super::pieces::plain;
use super::{PathPattern, Segment, SegmentShape};
use crate::pattern::PatternError;
use crate::pattern::glob::{Glob, Item};
use weir_regex::{Flags, RegexCache, check_syntax, quote};

/// Maximum length of a pattern, in bytes.
const PATTERN_BYTES_MAX: usize = u16::MAX as usize;

impl PathPattern {
    /// Compiles `text`. Regular expressions are shared through `regexes`.
    ///
    /// # Errors
    /// Position and reason if `text` is not a path pattern.
    pub fn parse(text: &str, regexes: &RegexCache) -> Result<Self, PatternError> {
        if text.len() > PATTERN_BYTES_MAX {
            return Err(PatternError::new(0, "the pattern is longer than 65,535 bytes"));
        }
        let mut shapes = Vec::new();
        let mut names = Vec::new();
        let mut rests = Vec::new();
        let mut start = usize::from(text.starts_with('/'));
        let first = start;
        let mut is_literal = true;
        let (mut lead, mut lead_segments) = (0, 0);
        loop {
            let end = segment_end(text, start)?;
            let shape = parse_segment(text, start..end, regexes, &mut names)?;
            let plain = text.get(start..end).and_then(plain);
            is_literal &= matches!(plain, Some(Segment::Literal(_)));
            if is_literal && first > 0 {
                (lead, lead_segments) = (end as u16, lead_segments + 1);
            }
            if let Some(Segment::Rest { .. }) = plain {
                rests.push(start..end);
            }
            shapes.extend(shape);
            if end >= text.len() {
                break;
            }
            start = end + 1;
        }
        check_rests(&rests, first, text.len())?;
        let shapes = (!shapes.is_empty()).then(|| Box::new(shapes.into()));
        is_literal |= !text.starts_with('/') && rests.first().is_none_or(|rest| rest.start > 0);
        let text = text.into();
        let tolerates_trailing_slash = false;
        Ok(Self { text, shapes, lead, lead_segments, is_literal, tolerates_trailing_slash })
    }
}

/// End of the segment that starts at `start`: the next `/` outside a variable.
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

/// Position of the `}` of the variable whose `{` is at `open`.
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

/// Checks a segment and returns its shape, if it has one.
fn parse_segment<'a>(
    text: &'a str,
    range: std::ops::Range<usize>,
    regexes: &RegexCache,
    names: &mut Vec<&'a str>,
) -> Result<Option<SegmentShape>, PatternError> {
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
    if plain(text.get(range.clone()).unwrap_or_default()).is_some() {
        return Ok(None);
    }
    if pieces.iter().any(|piece| matches!(piece, Piece::Rest { .. })) {
        let message = "`{*name}` shares its segment with something else";
        return Err(
            PatternError::new(range.start, message).help("let it stand alone: `/files/{*rest}`")
        );
    }
    shape(&pieces, range.start, regexes).map(Some)
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

/// Parses the text between `{` and `}`.
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

/// Names are Java identifiers that may also contain `-`; like Spring, accepts the empty name.
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

/// `rests` are the positions of `**` or `{*name}` in a pattern of segments from `first` to `end`.
fn check_rests(
    rests: &[std::ops::Range<usize>],
    first: usize,
    end: usize,
) -> Result<(), PatternError> {
    let (only, help) = match rests {
        [] => return Ok(()),
        [only] if only.start == first || only.end == end => return Ok(()),
        [only] => (only.start, "use `*` for one segment, or several patterns separated by commas"),
        [_, second, ..] => {
            (second.start, "keep the one at the start or the one at the end; `*` takes one segment")
        }
    };
    let message = match rests.len() {
        1 => "`**` or `{*name}` is neither at the start nor at the end",
        _ => "more than one `**` or `{*name}` in a pattern",
    };
    Err(PatternError::new(only, message).help(help))
}
