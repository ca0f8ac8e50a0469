//! An exchange with an upstream: what live recordings, lines of the access log and archives (HAR)
//! are read into.

/// One request to an upstream, and its response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedExchange {
    /// Method, in capital letters.
    pub method: String,
    /// Path: of a live recording as the upstream saw it, else as the client asked for it.
    pub path: String,
    /// Query without `?`.
    pub query: String,
    /// Header fields of the request; a live recording does not keep them.
    pub request_fields: Vec<(String, String)>,
    /// Body of the request, if it had one.
    pub request: Option<RecordedBody>,
    /// Status of the response.
    pub status: u16,
    /// Header fields of the response.
    pub fields: Vec<(String, String)>,
    /// Body of the response, if it had one.
    pub response: Option<RecordedBody>,
}

/// The body of a recorded message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedBody {
    /// The whole Content-Type.
    pub media_type: String,
    /// The content without codings; `None` if it was too long, or cannot be decoded.
    pub content: Option<Vec<u8>>,
}

/// What was counted while a definition was made: see `RecordedDefinition`.
#[derive(Default)]
pub(super) struct Tally {
    pub examples: usize,
    pub secrets: usize,
}
