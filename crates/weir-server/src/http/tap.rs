//! Copies of what passes through the relays of an exchange, which go on as if nobody looked.

use std::sync::Arc;

use weir_filter::decoded;
use weir_mock::RecordedBody;
use weir_wire::Fields;

use crate::recorder::Recording;

/// The content of one body so far.
#[derive(Debug)]
pub(crate) struct Tap {
    content: Vec<u8>,
    max: usize,
    /// There was more than `max`, and nothing is kept.
    is_cut: bool,
}

/// The body of a message, as it was seen.
#[derive(Clone, Debug)]
pub(crate) struct RawBody {
    media_type: Vec<u8>,
    encoding: Vec<u8>,
    /// `None` if it was too long.
    content: Option<Vec<u8>>,
    /// Bytes that it may have, without its codings too.
    max: usize,
}

/// An exchange that is recorded.
#[derive(Debug)]
pub(crate) struct Tapped {
    pub(super) recordings: Vec<Arc<Recording>>,
    /// The response as the upstream sent it, before filters.
    pub(super) response: Option<(u16, Fields)>,
}

impl Tap {
    pub(super) fn new(max: usize) -> Box<Self> {
        Box::new(Self { content: Vec::new(), max, is_cut: false })
    }

    /// Takes what comes next.
    pub(super) fn take(&mut self, content: &[u8]) {
        self.is_cut |= self.content.len() + content.len() > self.max;
        match self.is_cut {
            true => self.content = Vec::new(),
            false => self.content.extend_from_slice(content),
        }
    }

    /// Whether what comes next has to be seen.
    pub(super) fn is_open(&self) -> bool {
        !self.is_cut
    }

    /// The body begins again.
    pub(super) fn clear(&mut self) {
        self.content.clear();
        self.is_cut = false;
    }

    /// The body of a message with these fields, as it was seen; `None` if there is none.
    pub(super) fn body(self, fields: &Fields) -> Option<RawBody> {
        if self.content.is_empty() && !self.is_cut {
            return None;
        }
        Some(RawBody {
            media_type: fields.get(b"content-type").unwrap_or_default().to_vec(),
            encoding: fields.get(b"content-encoding").unwrap_or_default().to_vec(),
            content: (!self.is_cut).then_some(self.content),
            max: self.max,
        })
    }
}

impl RawBody {
    /// The body with at most `max` bytes; of a longer one, there is no content.
    pub(super) fn within(self, max: usize) -> Self {
        let content = self.content.filter(|content| content.len() <= max);
        Self { content, max, ..self }
    }

    /// Bytes that it holds.
    pub(crate) fn bytes(&self) -> usize {
        self.content.as_ref().map_or(0, Vec::len)
    }

    /// The body without its codings.
    pub(crate) fn decoded(self) -> RecordedBody {
        let content = self.content.and_then(|own| decoded(&self.encoding, own, self.max).ok());
        let media_type = String::from_utf8_lossy(&self.media_type).into_owned();
        RecordedBody { media_type, content }
    }
}

#[cfg(test)]
mod tests {
    use super::Tap;

    #[test]
    fn a_tap_keeps_a_body_or_nothing() {
        let mut tap = Tap::new(4);
        tap.take(b"ab");
        tap.take(b"cd");
        assert_eq!((tap.content.as_slice(), tap.is_open()), (b"abcd".as_slice(), true));
        tap.take(b"e");
        tap.take(b"");
        assert_eq!((tap.content.as_slice(), tap.is_open()), (b"".as_slice(), false));
        tap.clear();
        tap.take(b"x");
        assert_eq!((tap.content.as_slice(), tap.is_open()), (b"x".as_slice(), true));
    }
}
