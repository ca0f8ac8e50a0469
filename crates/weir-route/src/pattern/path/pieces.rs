//! Segments of path patterns.

use std::borrow::Cow;

use weir_regex::{JavaRegex, RegexError, Required};

use crate::pattern::glob::Glob;
use crate::vars::Vars;

/// Condition on one segment.
#[derive(Clone, Copy, Debug)]
pub enum Segment<'a> {
    /// Exactly this decoded text. Empty for the segment after a trailing `/`, or between `//`.
    Literal(&'a str),
    /// Any one segment that is not empty. `*` (no variable) as the last segment also matches an
    /// empty one, so `/a/*` matches `/a/`.
    One {
        /// Name of the captured variable.
        variable: Option<&'a str>,
    },
    /// One non-empty segment of a certain shape: `a*`, `?`, `pre{v}post`, `{v:regex}`.
    Shape(&'a SegmentShape),
    /// Any number of segments, including none. First or last in a pattern, and only once.
    Rest {
        /// Name of the captured variable.
        variable: Option<&'a str>,
    },
}

/// The shape of one segment, with its variables.
#[derive(Clone, Debug)]
pub enum SegmentShape {
    /// `a*b`, `?`, `pre{v}post`: no regular expression needed.
    Glob(Glob),
    /// At least one `{v:regex}`; group n captures variable n.
    Regex {
        /// The segment as one regular expression.
        regex: JavaRegex,
        /// Names of the variables, in order of their groups.
        variables: Box<[Box<str>]>,
        /// The expressions contain groups: SCG fails at every match, so it never matches.
        broken: bool,
    },
}

/// The segments of a pattern in order, from either end.
#[derive(Clone, Debug)]
pub struct Segments<'a> {
    /// The remaining text; `None` after its end, and for a pattern that cannot match.
    texts: Option<&'a str>,
    /// Shapes of the segments between both ends.
    shapes: std::slice::Iter<'a, SegmentShape>,
}

impl<'a> Segments<'a> {
    pub(super) fn new(text: Option<&'a str>, shapes: &'a [SegmentShape]) -> Self {
        let texts = text.map(|text| text.strip_prefix('/').unwrap_or(text));
        Self { texts, shapes: shapes.iter() }
    }
}

impl SegmentShape {
    /// Whether `text`, one decoded segment, has this shape.
    ///
    /// # Errors
    /// A regular expression that cannot decide.
    pub fn accepts(&self, text: &str) -> Result<bool, RegexError> {
        if text.is_empty() {
            return Ok(false);
        }
        match self {
            Self::Glob(glob) => Ok(glob.matches(text)),
            Self::Regex { broken: true, .. } => Err(RegexError::Groups),
            Self::Regex { regex, .. } => regex.full_match(text),
        }
    }

    /// Plain text in every segment or label of this shape; `None` if there is none.
    pub(crate) fn required(&self) -> Option<Cow<'_, Required>> {
        match self {
            Self::Glob(glob) => glob.required().map(Cow::Owned),
            Self::Regex { regex, .. } => match regex.literal() {
                Some(text) => Some(Cow::Owned(Required::of_texts(text, text, text))),
                None => regex.required().map(Cow::Borrowed),
            },
        }
    }

    pub(in crate::pattern) fn has_variables(&self) -> bool {
        match self {
            Self::Glob(glob) => glob.has_variables(),
            Self::Regex { variables, .. } => !variables.is_empty(),
        }
    }

    pub(in crate::pattern) fn capture(&self, text: &str, vars: &mut Vars) {
        match self {
            Self::Glob(glob) => glob.capture(text, vars),
            Self::Regex { regex, variables, .. } => {
                let Ok(Some(groups)) = regex.full_captures(text) else { return };
                for (n, name) in variables.iter().enumerate() {
                    vars.set(name, groups.get(n + 1).unwrap_or_default().to_owned());
                }
            }
        }
    }
}

impl<'a> Iterator for Segments<'a> {
    type Item = Segment<'a>;

    #[inline]
    fn next(&mut self) -> Option<Segment<'a>> {
        let texts = self.texts?;
        let end = texts.bytes().position(|byte| byte == b'/');
        let text = texts.get(..end.unwrap_or(texts.len()))?;
        self.texts = end.and_then(|end| texts.get(end + 1..));
        plain(text).or_else(|| self.shapes.next().map(Segment::Shape))
    }
}

impl DoubleEndedIterator for Segments<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let texts = self.texts?;
        let end = texts.bytes().rposition(|byte| byte == b'/');
        let text = texts.get(end.map_or(0, |end| end + 1)..)?;
        self.texts = end.and_then(|end| texts.get(..end));
        plain(text).or_else(|| self.shapes.next_back().map(Segment::Shape))
    }
}

/// The segment of this text; `None` if it has a shape.
#[inline]
pub(super) fn plain(text: &str) -> Option<Segment<'_>> {
    if !text.bytes().any(|byte| matches!(byte, b'*' | b'?' | b'{')) {
        return Some(Segment::Literal(text));
    }
    if text.bytes().all(|byte| byte == b'*') {
        let variable = None;
        return Some(match text.len() {
            2 => Segment::Rest { variable },
            _ => Segment::One { variable },
        });
    }
    let inside = text.strip_prefix('{')?.strip_suffix('}')?;
    let (name, rest) = match inside.strip_prefix('*') {
        Some(name) => (name, true),
        None => (inside, false),
    };
    if name.contains([':', '}']) {
        return None;
    }
    let variable = Some(name);
    Some(if rest { Segment::Rest { variable } } else { Segment::One { variable } })
}

/// Whether the first segment of a pattern without a leading `/` takes any number of segments.
pub(super) fn starts_with_rest(text: &str) -> bool {
    let first = text.split('/').next().unwrap_or_default();
    matches!(plain(first), Some(Segment::Rest { .. }))
}
