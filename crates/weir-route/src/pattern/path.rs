//! Path patterns as in Spring Framework 7 (class `PathPattern`), over decoded segments.
//!
//! A pattern consists of its text, and the shapes of segments that are not plain text, `*` or
//! `{name}`. It is matched segment by segment; the index builds its tree from
//! [`PathPattern::segments`].

mod parse;
mod pieces;
mod segments;

pub use pieces::{Segment, SegmentShape, Segments};
pub use segments::PathSegments;
pub(crate) use segments::decode_percent;

use std::fmt;
use std::ops::Range;

use smol_str::SmolStr;

use crate::vars::Vars;
use weir_regex::RegexError;

/// A compiled path pattern. Equal texts mean equal patterns (except for the trailing-slash switch).
///
/// Stored as text and parsed for each request: a short text is stored in its route itself, which
/// saves a cache miss in a request for one of a million routes.
#[derive(Clone, Debug)]
pub struct PathPattern {
    text: SmolStr,
    /// Shapes of its segments, in order, for segments whose text alone does not define a match. Few
    /// patterns have any, so they take one word.
    shapes: Option<Box<Box<[SegmentShape]>>>,
    /// Length of the literal prefix of `text` before the first segment that is not literal: `/a/b`
    /// of `/a/b/{c}`. It is compared at once.
    lead: u16,
    /// Number of segments of that prefix.
    lead_segments: u16,
    is_literal: bool,
    tolerates_trailing_slash: bool,
}

impl PathPattern {
    /// The same pattern, which tolerates a trailing slash of the path (SCG up to 4.3).
    pub fn tolerating_trailing_slash(mut self, tolerate: bool) -> Self {
        self.tolerates_trailing_slash = tolerate;
        self
    }

    /// Whether `/a` matches `/a/` too. Then the path's last, empty segment is ignored, if the
    /// segment before it is not empty and the pattern does not itself end in `/` or with a rest.
    pub fn tolerates_trailing_slash(&self) -> bool {
        self.tolerates_trailing_slash
    }

    /// The pattern as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it can match any path: a pattern without a leading `/` never does, unless it starts
    /// with `**` or `{*name}`.
    pub fn can_match(&self) -> bool {
        self.text.starts_with('/') || pieces::starts_with_rest(&self.text)
    }

    /// The whole text of a pattern without wildcards or variables, such as `/a/b` or `/a/`.
    pub fn literal(&self) -> Option<&str> {
        self.is_literal.then_some(&*self.text)
    }

    /// Memory in bytes outside this value; a shared regular expression counts as its text.
    pub fn heap_bytes(&self) -> usize {
        let text = if self.text.is_heap_allocated() { self.text.len() } else { 0 };
        let shapes = self
            .shapes
            .as_ref()
            .map_or(0, |shapes| size_of_val(&**shapes) + size_of_val(&***shapes) + self.text.len());
        text + shapes
    }

    /// The segments in order. `/` has one, empty segment; a pattern that cannot match has none.
    pub fn segments(&self) -> Segments<'_> {
        let text = self.can_match().then_some(&*self.text);
        Segments::new(text, self.shapes.as_ref().map_or(&[], |shapes| shapes))
    }

    /// Whether it publishes variables.
    pub fn has_variables(&self) -> bool {
        self.segments().any(|segment| match segment {
            Segment::Literal(_) => false,
            Segment::One { variable } | Segment::Rest { variable } => variable.is_some(),
            Segment::Shape(shape) => shape.has_variables(),
        })
    }

    /// Reason for which this pattern, which SCG accepts, can never match.
    pub fn caution(&self) -> Option<String> {
        if !self.can_match() {
            return Some(format!("`{}` never matches: it has no leading `/`", self.text));
        }
        let broken = self.segments().any(|segment| {
            matches!(segment, Segment::Shape(SegmentShape::Regex { broken: true, .. }))
        });
        broken.then(|| {
            let why = "a variable's expression has a capturing group; write `(?:…)`";
            format!("`{}` never matches: {why}", self.text)
        })
    }

    /// Whether `path` matches.
    ///
    /// # Errors
    /// A regular expression that exceeds its step limit, or contains groups.
    pub fn matches(&self, path: &PathSegments) -> Result<bool, RegexError> {
        if !self.can_match() || !path.is_rooted() {
            return Ok(false);
        }
        match self.literal() {
            Some(text) if path.is_plain() && !self.tolerates_trailing_slash => {
                Ok(path.text() == text)
            }
            _ => Ok(self.walk(path, |_, _| {})?.is_some()),
        }
    }

    /// Publishes the variables of a `path` that matches; does nothing if it does not.
    pub fn capture(&self, path: &PathSegments, vars: &mut Vars) {
        if !self.has_variables() || self.matches(path) != Ok(true) {
            return;
        }
        let Ok(Some(rest)) = self.walk(path, |segment, text| match segment {
            Segment::One { variable: Some(name) } => vars.set(name, text.to_owned()),
            Segment::Shape(shape) => shape.capture(text, vars),
            _ => {}
        }) else {
            return;
        };
        let mut ends = self.segments().next().into_iter().chain(self.segments().next_back());
        if let Some(name) = ends.find_map(|segment| match segment {
            Segment::Rest { variable } => variable,
            _ => None,
        }) {
            let mut value = String::new();
            for at in rest {
                value.push('/');
                value.push_str(path.get(at).unwrap_or_default());
            }
            vars.set(name, value);
        }
    }

    /// Compares all segments and calls `visit` for those that may capture. If all match, returns
    /// the range of path segments of the `Rest` (empty without one).
    fn walk<'p>(
        &self,
        path: &'p PathSegments,
        mut visit: impl FnMut(Segment<'_>, &'p str),
    ) -> Result<Option<Range<usize>>, RegexError> {
        let (bytes, from) = match path.is_plain() {
            true => (self.lead, self.lead_segments),
            false => (0, 0),
        };
        let (lead, behind) = self.text.split_at(usize::from(bytes));
        if !path.starts_with(lead) {
            return Ok(None);
        }
        let behind = (!behind.is_empty()).then_some(behind);
        let segments = Segments::new(behind, self.shapes.as_ref().map_or(&[], |shapes| shapes));
        let (from, len) = (usize::from(from), path.len());
        if let Some(rest) = walk_range(segments.clone(), path, from..len, &mut visit)? {
            return Ok(Some(rest));
        }
        let slash = self.tolerates_trailing_slash
            && len > 1
            && path.get(len - 1) == Some("")
            && path.get(len - 2) != Some("")
            && !matches!(
                self.segments().next_back(),
                None | Some(Segment::Literal("") | Segment::Rest { .. })
            );
        if slash { walk_range(segments, path, from..len - 1, &mut visit) } else { Ok(None) }
    }
}

/// [`PathPattern::walk`] over these segments of the path.
fn walk_range<'p>(
    mut segments: Segments<'_>,
    path: &'p PathSegments,
    mut texts: Range<usize>,
    visit: &mut impl FnMut(Segment<'_>, &'p str),
) -> Result<Option<Range<usize>>, RegexError> {
    let until = texts.end;
    let mut rest = None;
    let mut next = segments.next();
    while let Some(segment) = next {
        next = segments.next();
        if rest.is_none() && matches!(segment, Segment::Rest { .. }) {
            let behind = usize::from(next.is_some()) + segments.clone().count();
            if texts.len() < behind {
                return Ok(None);
            }
            let taken = texts.start..until - behind;
            texts.start = taken.end;
            rest = Some(taken);
        } else if !take(segment, path, &mut texts, next.is_none(), visit)? {
            return Ok(None);
        }
    }
    Ok(rest.or_else(|| texts.is_empty().then_some(0..0)))
}

/// Whether `segment` matches the next text.
fn take<'p>(
    segment: Segment<'_>,
    path: &'p PathSegments,
    texts: &mut Range<usize>,
    last: bool,
    visit: &mut impl FnMut(Segment<'_>, &'p str),
) -> Result<bool, RegexError> {
    let Some(at) = texts.next() else { return Ok(false) };
    let Some(text) = path.get(at) else { return Ok(false) };
    visit(segment, text);
    segment.accepts(text, last)
}

impl Segment<'_> {
    /// Whether this segment, the `last` of its pattern or not, matches `text`. A `Rest` matches
    /// any.
    ///
    /// # Errors
    /// A regular expression that cannot decide.
    pub fn accepts(&self, text: &str, last: bool) -> Result<bool, RegexError> {
        match self {
            Self::Literal(literal) => Ok(*literal == text),
            Self::One { variable } => Ok(!text.is_empty() || (last && variable.is_none())),
            Self::Shape(shape) => shape.accepts(text),
            Self::Rest { .. } => Ok(true),
        }
    }
}

impl fmt::Display for PathPattern {
    /// The pattern as written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
