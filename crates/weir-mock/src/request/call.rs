//! A request as received.

use weir_wire::Fields;

use super::value::form_pairs;

/// A request as it came, body included.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Method.
    pub method: &'a [u8],
    /// Path as it came, percent-encoded.
    pub path: &'a [u8],
    /// What stood in front of the path and names its tenant; empty if nothing did.
    pub prefix: &'a [u8],
    /// Query, without `?`.
    pub query: Option<&'a [u8]>,
    /// Header fields.
    pub fields: &'a Fields,
    /// Content, framing undone.
    pub body: &'a [u8],
}

impl Call<'_> {
    /// The value of a header, as text.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let value = self.fields.get(name.as_bytes())?;
        Some(String::from_utf8_lossy(value).into_owned())
    }

    /// The value of a cookie.
    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        let lines = self.fields.get_all(b"cookie");
        let mut pairs = lines.flat_map(|line| line.split(|byte| *byte == b';'));
        pairs.find_map(|pair| {
            let text = String::from_utf8_lossy(pair.trim_ascii()).into_owned();
            let (own, value) = text.split_once('=')?;
            (own == name).then(|| value.to_owned())
        })
    }

    /// Whether the head announces content.
    pub(super) fn announces_body(&self) -> bool {
        let length = self.fields.get(b"content-length");
        length.is_some_and(|length| length.iter().any(|byte| !b"0 \t".contains(byte)))
            || self.fields.contains(b"transfer-encoding")
    }

    /// Names and values of the query, decoded; a plus is a blank.
    pub(crate) fn pairs(&self) -> Vec<(String, String)> {
        form_pairs(self.query.unwrap_or_default())
    }
}
