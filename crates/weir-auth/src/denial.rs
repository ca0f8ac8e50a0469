//! The response to a refused request: status and `WWW-Authenticate` (RFC 6750 section 3).
//!
//! Source: Spring's `BearerTokenServerAuthenticationEntryPoint` and
//! `BearerTokenServerAccessDeniedHandler`.

use crate::{BearerError, TokenError};

const ERROR_URI: &str = "https://tools.ietf.org/html/rfc6750#section-3.1";

/// Reasons to refuse a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Denial {
    /// The request has no token but needs one.
    Anonymous,
    /// Its `Authorization` field is not well formed.
    Malformed(BearerError),
    /// Its token does not hold.
    Invalid(TokenError),
    /// Its token holds, but does not allow this.
    InsufficientScope,
}

impl From<BearerError> for Denial {
    fn from(error: BearerError) -> Self {
        Self::Malformed(error)
    }
}

impl From<TokenError> for Denial {
    fn from(error: TokenError) -> Self {
        Self::Invalid(error)
    }
}

impl Denial {
    /// Status of the response.
    pub fn status(&self) -> u16 {
        match self {
            Self::Anonymous | Self::Malformed(_) | Self::Invalid(_) => 401,
            Self::InsufficientScope => 403,
        }
    }
}

/// The value of `WWW-Authenticate` in the response.
pub fn www_authenticate(denial: &Denial) -> String {
    let (error, description) = match denial {
        Denial::Anonymous => return "Bearer".to_owned(),
        Denial::Malformed(_) => ("invalid_token", BearerError::DESCRIPTION.to_owned()),
        Denial::Invalid(error) => ("invalid_token", quotable(error.description())),
        Denial::InsufficientScope => (
            "insufficient_scope",
            "The request requires higher privileges than provided by the access token.".to_owned(),
        ),
    };
    format!(
        "Bearer error=\"{error}\", error_description=\"{description}\", error_uri=\"{ERROR_URI}\""
    )
}

/// `description`, or Spring's stand-in if RFC 6750 does not allow its characters
/// (`BearerTokenErrors.invalidToken`).
fn quotable(description: String) -> String {
    let allowed = |byte| matches!(byte, 0x20..=0x21 | 0x23..=0x5b | 0x5d..=0x7e);
    if description.bytes().all(allowed) { description } else { "Invalid token".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{Denial, www_authenticate};
    use crate::{BearerError, TokenError};

    #[test]
    fn answers_are_springs() {
        let check = |denial: Denial, status, field: &str| {
            assert_eq!(denial.status(), status);
            assert_eq!(www_authenticate(&denial), field);
        };
        let invalid = |description: &str| {
            format!(
                "Bearer error=\"invalid_token\", error_description=\"{description}\", \
                 error_uri=\"https://tools.ietf.org/html/rfc6750#section-3.1\""
            )
        };
        check(Denial::Anonymous, 401, "Bearer");
        check(BearerError.into(), 401, &invalid("Bearer token is malformed"));
        check(TokenError::BadSignature.into(), 401, &invalid("Failed to validate the token"));
        check(
            TokenError::Expired { at_s: 1_704_067_200 }.into(),
            401,
            &invalid("Jwt expired at 2024-01-01T00:00:00Z"),
        );
        check(
            Denial::InsufficientScope,
            403,
            "Bearer error=\"insufficient_scope\", error_description=\"The request requires higher \
             privileges than provided by the access token.\", \
             error_uri=\"https://tools.ietf.org/html/rfc6750#section-3.1\"",
        );
    }

    #[test]
    fn a_description_cannot_leave_its_quotes() {
        for algorithm in ["x\", realm=\"y", "x\r\nSet-Cookie: a=b", "x\\", "ä"] {
            let error = TokenError::UnsupportedAlgorithm(algorithm.to_owned());
            assert!(www_authenticate(&error.into()).contains("description=\"Invalid token\""));
        }
    }
}
