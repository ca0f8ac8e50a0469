//! Literal text that the segments of a pattern demand.

use super::{Segment, SegmentShape};

/// The segments of a pattern in order, from either end.
#[derive(Clone, Debug)]
pub struct Segments<'a> {
    /// What is left of the text; `None` behind its end, and for a pattern that cannot match.
    texts: Option<&'a str>,
    /// Shapes of the segments between the two ends.
    shapes: std::slice::Iter<'a, SegmentShape>,
}

impl<'a> Segments<'a> {
    pub(super) fn new(text: Option<&'a str>, shapes: &'a [SegmentShape]) -> Self {
        let texts = text.map(|text| text.strip_prefix('/').unwrap_or(text));
        Self { texts, shapes: shapes.iter() }
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

/// What a segment of this text demands; `None` if it has a shape.
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
