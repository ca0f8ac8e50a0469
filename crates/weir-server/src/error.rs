//! Errors of one request: whose fault, which status, whether another attempt is allowed.

use weir_filter::FilterError;
use weir_wire::http1::{BodyError, HeadError, PathError};

/// The side at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The client sent something wrong, or went away.
    Client,
    /// The upstream did.
    Upstream,
    /// The gateway or its configuration.
    Gateway,
}

/// The kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request head or target cannot be accepted, with this status.
    BadRequest(u16),
    /// The head did not arrive in time.
    HeadTimeout,
    /// The request body is broken.
    BadBody,
    /// The request body is larger than allowed.
    BodyTooLarge(u64),
    /// The client sends or reads too slowly.
    ClientTooSlow,
    /// The client closed the connection.
    ClientGone,
    /// The method is not served (CONNECT, TRACE).
    MethodNotAllowed,
    /// The request has passed this gateway before.
    Loop,
    /// Servers read the path in different ways, and the route does not take such paths.
    AmbiguousPath,
    /// No route matches.
    NoRoute,
    /// A filter failed.
    Filter,
    /// Internal error: something panicked.
    Panic,
    /// A service of an `lb:` route has no instance.
    NoInstance,
    /// The upstream's name does not resolve.
    Resolve,
    /// The upstream cannot be reached or refused.
    Connect,
    /// The connection was not established in time.
    ConnectTimeout,
    /// All connections of the pool are in use and the queue is full, or the wait took too long.
    PoolExhausted,
    /// All open files are in use, and none became free in time.
    NoFiles,
    /// The upstream closed or reset before a response.
    UpstreamClosed,
    /// The upstream's response head cannot be accepted.
    BadResponse,
    /// The response head did not arrive in time.
    ResponseTimeout,
    /// The response ended before its end.
    ResponseTruncated,
    /// The upstream does not take the request body.
    UpstreamTooSlow,
    /// The breaker is open.
    BreakerOpen,
    /// The upstream answered with a status that its breaker counts as a failure.
    BreakerStatus(u16),
}

/// An error of one exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyError {
    /// The side at fault.
    pub side: Side,
    /// The kind of failure.
    pub kind: ErrorKind,
    /// For the log and, if configured, the `message` of the error body.
    pub detail: String,
}

impl ProxyError {
    /// An error of `kind` without details.
    pub fn new(kind: ErrorKind) -> Self {
        Self { side: kind.side(), kind, detail: String::new() }
    }

    /// An error of `kind` with details.
    pub fn with(kind: ErrorKind, detail: impl Into<String>) -> Self {
        Self { side: kind.side(), kind, detail: detail.into() }
    }
}

impl ErrorKind {
    /// The side at fault.
    pub fn side(self) -> Side {
        use ErrorKind as K;
        match self {
            K::BadRequest(_) | K::HeadTimeout | K::BadBody | K::BodyTooLarge(_) => Side::Client,
            K::ClientTooSlow | K::ClientGone | K::MethodNotAllowed => Side::Client,
            K::AmbiguousPath | K::NoRoute => Side::Client,
            K::Loop | K::Filter | K::Panic => Side::Gateway,
            K::NoInstance | K::PoolExhausted | K::NoFiles => Side::Gateway,
            K::Resolve | K::Connect | K::ConnectTimeout | K::UpstreamClosed => Side::Upstream,
            K::BadResponse | K::ResponseTimeout | K::ResponseTruncated => Side::Upstream,
            K::UpstreamTooSlow | K::BreakerStatus(_) => Side::Upstream,
            K::BreakerOpen => Side::Gateway,
        }
    }

    /// No connection was established, so that another instance may be tried.
    pub(crate) fn is_unreached(self) -> bool {
        matches!(self, Self::Resolve | Self::Connect | Self::ConnectTimeout)
    }

    /// The status of the answer; `refused` is `weir.compat.refused-status`, which SCG has at 500.
    pub fn status(self, refused: u16) -> u16 {
        use ErrorKind as K;
        match self {
            K::BadRequest(status) => status,
            K::HeadTimeout | K::ClientTooSlow => 408,
            K::BadBody | K::AmbiguousPath => 400,
            K::BodyTooLarge(_) => 413,
            K::ClientGone => 499,
            K::MethodNotAllowed => 405,
            K::Loop => 508,
            K::NoRoute => 404,
            K::Filter | K::Panic | K::BreakerStatus(_) => 500,
            K::NoInstance | K::PoolExhausted | K::NoFiles | K::BreakerOpen => 503,
            K::Resolve | K::Connect | K::UpstreamClosed => refused,
            K::BadResponse | K::ResponseTruncated => refused,
            K::ConnectTimeout | K::ResponseTimeout | K::UpstreamTooSlow => 504,
        }
    }

    /// Name in logs and metrics.
    pub fn name(self) -> &'static str {
        use ErrorKind as K;
        match self {
            K::BadRequest(_) => "bad_request",
            K::HeadTimeout => "head_timeout",
            K::BadBody => "bad_body",
            K::BodyTooLarge(_) => "body_too_large",
            K::ClientTooSlow => "client_too_slow",
            K::ClientGone => "client_gone",
            K::MethodNotAllowed => "method_not_allowed",
            K::Loop => "loop",
            K::AmbiguousPath => "ambiguous_path",
            K::NoRoute => "no_route",
            K::Filter => "filter",
            K::Panic => "panic",
            K::NoInstance => "no_instance",
            K::Resolve => "resolve",
            K::Connect => "connect",
            K::ConnectTimeout => "connect_timeout",
            K::PoolExhausted => "pool_exhausted",
            K::NoFiles => "no_files",
            K::UpstreamClosed => "upstream_closed",
            K::BadResponse => "bad_response",
            K::ResponseTimeout => "response_timeout",
            K::ResponseTruncated => "response_truncated",
            K::UpstreamTooSlow => "upstream_too_slow",
            K::BreakerOpen => "breaker_open",
            K::BreakerStatus(_) => "breaker_status",
        }
    }
}

impl From<FilterError> for ProxyError {
    fn from(error: FilterError) -> Self {
        Self::with(ErrorKind::Filter, error.0)
    }
}

impl From<HeadError> for ProxyError {
    fn from(error: HeadError) -> Self {
        let (status, detail) = match error {
            HeadError::Syntax(what) | HeadError::Framing(what) | HeadError::Target(what) => {
                (400, what)
            }
            HeadError::UnknownCoding => (501, "unknown transfer coding"),
            HeadError::MethodTooLong => (501, "method too long"),
            HeadError::Version => (505, "HTTP version not supported"),
            HeadError::TargetTooLong => (414, "request target too long"),
            HeadError::TooManyFields => (431, "too many header fields"),
            HeadError::HeadTooLarge => (431, "request head too large"),
        };
        Self::with(ErrorKind::BadRequest(status), detail)
    }
}

impl From<PathError> for ProxyError {
    fn from(error: PathError) -> Self {
        let detail = match error {
            PathError::Illegal => "illegal characters in the path",
            PathError::Nul => "%00 in the path",
            PathError::AboveRoot => "dot segments above the root",
        };
        Self::with(ErrorKind::BadRequest(400), detail)
    }
}

/// Error text for a malformed request body.
pub(crate) fn body_error_text(error: BodyError) -> &'static str {
    match error {
        BodyError::Chunk(what) | BodyError::TooLarge(what) => what,
        BodyError::Truncated => "body ended early",
    }
}
