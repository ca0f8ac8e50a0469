//! Errors in relaying a body, and the side at fault.

use weir_wire::http1::BodyError;

use crate::error::{ErrorKind, ProxyError, body_error_text};

/// Error in relaying a body.
#[derive(Debug)]
pub(crate) enum RelayError {
    /// The sender's coding is broken.
    Body(BodyError),
    /// The sender's connection failed.
    Source,
    /// The sender's connection ended inside the body.
    Truncated,
    /// The receiver's connection failed.
    Sink,
    /// More content than allowed.
    TooLarge,
}

impl RelayError {
    /// The error for a request body, which may hold `content_max` bytes.
    pub(crate) fn of_upload(&self, content_max: Option<u64>) -> ProxyError {
        match self {
            Self::Body(body) => ProxyError::with(ErrorKind::BadBody, body_error_text(*body)),
            Self::TooLarge => {
                ProxyError::new(ErrorKind::BodyTooLarge(content_max.unwrap_or_default()))
            }
            Self::Source | Self::Truncated => ProxyError::new(ErrorKind::ClientGone),
            Self::Sink => ProxyError::new(ErrorKind::UpstreamClosed),
        }
    }

    /// The error for a response body.
    pub(crate) fn of_download(&self) -> ProxyError {
        match self {
            Self::Sink => ProxyError::new(ErrorKind::ClientGone),
            Self::Body(body) => {
                ProxyError::with(ErrorKind::ResponseTruncated, body_error_text(*body))
            }
            Self::Source | Self::Truncated | Self::TooLarge => {
                ProxyError::new(ErrorKind::ResponseTruncated)
            }
        }
    }
}
