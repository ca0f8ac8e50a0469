//! Plain text that every match of a regular expression or glob contains.
//!
//! Routes that differ only in expressions have no exact key. But most expressions contain plain
//! text that every match has: at its start, at its end, or anywhere. This text can be looked up: by
//! the first or last bytes of the request's text, or by all its substrings of certain lengths.

use std::borrow::Cow;

use super::dim::{Demand, Dim, Place, Subject};
use super::hash::Hash;
use crate::pattern::path::SegmentShape;
use crate::pattern::{Label, PathPattern, Required, Segment};
use crate::predicate::{Key, Predicate, ValuePattern};

/// Maximum length of a piece, in bytes.
const BYTES_MAX: usize = 32;
/// Lengths of pieces that are looked up anywhere in a text, ascending: each costs a probe for every
/// byte of the text.
const RUNS: [usize; 10] = [2, 3, 4, 5, 6, 8, 10, 12, 16, 24];

const PLACES: [Place; 3] = [Place::Start, Place::End, Place::Inside];

/// Adds the dimensions in which `predicate`, which has no exact key, demands a piece.
pub(crate) fn propose(predicate: &Predicate, dims: &mut Vec<Dim>) {
    let (of, value) = match predicate {
        Predicate::Header(header) => {
            let name = header.name().to_ascii_lowercase().into();
            (Subject::Header { name, split: header.splits() }, header.regexp())
        }
        Predicate::Query(query) => (Subject::Query { name: query.param().into() }, query.regexp()),
        Predicate::Cookie(cookie) => {
            (Subject::Cookie { name: cookie.name().into() }, cookie.regexp())
        }
        _ => return,
    };
    if let Some(required) = value.and_then(ValuePattern::required) {
        propose_for(&of, required, dims);
    }
}

/// Adds the dimensions of the pieces of a shape at `of`, a segment or label.
pub(crate) fn propose_shape(of: &Subject, shape: &SegmentShape, dims: &mut Vec<Dim>) {
    if let Some(required) = shape.required() {
        propose_for(of, &required, dims);
    }
}

fn propose_for(of: &Subject, required: &Required, dims: &mut Vec<Dim>) {
    let places = PLACES.into_iter().filter(|place| piece(required, *place).is_some());
    dims.extend(places.map(|place| Dim::Piece { of: of.clone(), place }));
}

/// Adds the pieces that `predicate` demands of `of`.
pub(crate) fn demands(
    of: &Subject,
    place: Place,
    predicate: &Predicate,
    hash: &Hash,
    demands: &mut Vec<Demand>,
) -> Option<()> {
    let value = match (of, predicate) {
        (Subject::Header { name, split }, Predicate::Header(header))
            if header.splits() == *split && header.name().eq_ignore_ascii_case(name) =>
        {
            header.regexp()?
        }
        (Subject::Query { name }, Predicate::Query(query)) if *query.param() == **name => {
            query.regexp()?
        }
        (Subject::Cookie { name }, Predicate::Cookie(cookie)) if *cookie.name() == **name => {
            cookie.regexp()?
        }
        _ => return None,
    };
    let required = match value.literal() {
        Some(text) => Cow::Owned(Required::of_texts(text, text, text)),
        None => Cow::Borrowed(value.required()?),
    };
    demands.push(demand(&required, place, hash)?);
    Some(())
}

/// Adds the pieces that every pattern of `key`, a path or host, demands of `of`.
pub(crate) fn of_patterns(
    of: &Subject,
    place: Place,
    key: Key<'_>,
    hash: &Hash,
    demands: &mut Vec<Demand>,
) -> Option<()> {
    match (of, key) {
        (Subject::Segment { at, from_end }, Key::Path(patterns)) => {
            for pattern in patterns.iter().filter(|pattern| pattern.can_match()) {
                let required = segment(pattern, *at, *from_end)?;
                demands.push(demand(&required, place, hash)?);
            }
        }
        (Subject::Label { at, from_end, port }, Key::Host(patterns)) => {
            for pattern in patterns.iter() {
                let fixed = |label: &Label<'_>| !matches!(label, Label::Many);
                let at = usize::from(*at);
                let found = match from_end {
                    _ if pattern.includes_port() != *port => None,
                    true => pattern.labels().rev().take_while(fixed).nth(at),
                    false => pattern.labels().take_while(fixed).nth(at),
                };
                let required = match found? {
                    Label::Literal(text) => Cow::Owned(Required::of_texts(text, text, text)),
                    Label::Shape(shape) => shape.required()?,
                    Label::One { .. } | Label::Many => return None,
                };
                demands.push(demand(&required, place, hash)?);
            }
        }
        _ => return None,
    }
    Some(())
}

fn segment(pattern: &PathPattern, at: u16, from_end: bool) -> Option<Cow<'_, Required>> {
    let fixed = |segment: &Segment<'_>| !matches!(segment, Segment::Rest { .. });
    let at = usize::from(at);
    let found = match from_end {
        // Its last segment may be the last but one of the path.
        true if pattern.tolerates_trailing_slash() => None,
        true => pattern.segments().rev().take_while(fixed).nth(at),
        false => pattern.segments().take_while(fixed).nth(at),
    };
    match found? {
        Segment::Literal(text) => Some(Cow::Owned(Required::of_texts(text, text, text))),
        Segment::Shape(shape) => shape.required(),
        Segment::One { .. } | Segment::Rest { .. } => None,
    }
}

/// Calls `visit` with the hashes of the pieces of `text` at `place` whose length is in `sizes`.
pub(crate) fn show(
    text: &str,
    place: Place,
    hash: &Hash,
    sizes: &[u16],
    visit: &mut impl FnMut(u64),
) {
    let bytes = text.as_bytes();
    for size in sizes.iter().map(|size| usize::from(*size)) {
        match place {
            Place::Start => bytes.get(..size).into_iter().for_each(|run| visit(hash.text(run))),
            Place::End => {
                let run = bytes.len().checked_sub(size).and_then(|from| bytes.get(from..));
                run.into_iter().for_each(|run| visit(hash.text(run)));
            }
            Place::Inside => bytes.windows(size).for_each(|run| visit(hash.text(run))),
        }
    }
}

fn demand(required: &Required, place: Place, hash: &Hash) -> Option<Demand> {
    let bytes = piece(required, place)?;
    Some(Demand { key: hash.text(bytes), size: bytes.len() as u16 })
}

/// The piece of `required` to look up at `place`; `None` if it is not worth a lookup.
fn piece(required: &Required, place: Place) -> Option<&[u8]> {
    let from_end = |text: &'_ str, len: usize| text.len().saturating_sub(len);
    let bytes = match place {
        Place::Start => {
            let bytes = required.start.as_bytes();
            bytes.get(..bytes.len().min(BYTES_MAX))?
        }
        Place::End => required.end.as_bytes().get(from_end(&required.end, BYTES_MAX)..)?,
        Place::Inside => {
            let len = required.inside.len();
            let size = RUNS.into_iter().rev().find(|size| *size <= len)?;
            required.inside.as_bytes().get(from_end(&required.inside, size)..)?
        }
    };
    Some(bytes).filter(|bytes| !bytes.is_empty())
}
