//! A request as received by an origin.

use std::fmt;

/// The progress of a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Not at its end yet.
    Reading,
    /// Received to its end.
    Complete,
    /// The connection ended inside it: closed or reset.
    Cut,
    /// The head or the chunked coding was not valid.
    Malformed,
}

/// A request as it arrived. Recorded once its head is complete, updated as its body comes.
#[derive(Clone)]
pub struct Received {
    /// The number of its connection, from 0.
    pub connection: usize,
    /// The head as it was on the wire, with the empty line.
    pub raw_head: Vec<u8>,
    /// The decoded body, up to [`Received::BODY_KEPT_MAX`] bytes of it.
    pub body: Vec<u8>,
    /// Bytes of the whole body.
    pub body_bytes: u64,
    /// Trailer fields, those that a receiver must ignore left out.
    pub trailers: Vec<(String, String)>,
    /// The progress of the body.
    pub body_state: Body,
    /// The peer was gone before the answer was over.
    pub abandoned: bool,
}

impl Received {
    /// The maximum size of a body that is kept.
    pub const BODY_KEPT_MAX: usize = 16 * 1024 * 1024;

    /// The head as text; bytes that are not ASCII come as U+0080 to U+00FF.
    pub fn head(&self) -> String {
        latin1(&self.raw_head)
    }

    /// The request line.
    pub fn line(&self) -> String {
        self.head().split("\r\n").next().unwrap_or_default().to_owned()
    }

    /// The method.
    pub fn method(&self) -> String {
        self.line().split(' ').next().unwrap_or_default().to_owned()
    }

    /// The target: path and query as sent.
    pub fn target(&self) -> String {
        self.line().split(' ').nth(1).unwrap_or_default().to_owned()
    }

    /// All field lines in order.
    pub fn fields(&self) -> Vec<(String, String)> {
        fields(&self.head())
    }

    /// The values of every line called `name` (any case), in order.
    pub fn all(&self, name: &str) -> Vec<String> {
        let named =
            |(field, value): (String, String)| field.eq_ignore_ascii_case(name).then_some(value);
        self.fields().into_iter().filter_map(named).collect()
    }

    /// The value of the only line called `name` (any case).
    ///
    /// # Panics
    /// If there is more than one.
    pub fn field(&self, name: &str) -> Option<String> {
        let mut all = self.all(name);
        assert!(all.len() < 2, "{name} is repeated: {all:?}");
        all.pop()
    }
}

impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = String::from_utf8_lossy(self.body.get(..200).unwrap_or(&self.body));
        f.debug_struct("Received")
            .field("connection", &self.connection)
            .field("head", &self.head())
            .field("body", &body)
            .field("body_bytes", &self.body_bytes)
            .field("trailers", &self.trailers)
            .field("body_state", &self.body_state)
            .field("abandoned", &self.abandoned)
            .finish()
    }
}

/// Bytes as text, each byte one character.
pub(crate) fn latin1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// The field lines of a head.
pub(crate) fn fields(head: &str) -> Vec<(String, String)> {
    let lines = head.split("\r\n").skip(1).take_while(|line| !line.is_empty());
    let split = |line: &str| {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        (name.to_owned(), value.trim_matches([' ', '\t']).to_owned())
    };
    lines.map(split).collect()
}
