//! Errors in a token, in the words of Spring Security.

use crate::moment;

/// Error in a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenError {
    /// It is longer than [`TOKEN_BYTES_MAX`](crate::TOKEN_BYTES_MAX).
    TooLong,
    /// Not a token; the text names the defect.
    Malformed(&'static str),
    /// It is not signed, or signed with an algorithm that the verifier does not allow.
    UnsupportedAlgorithm(String),
    /// Its header demands an extension (`crit`).
    UnsupportedExtension,
    /// No key of the set is for it.
    NoKey {
        /// It names a key that the set does not have: the issuer may have a newer set. Only then
        /// does Spring (`ReactiveRemoteJWKSource`) fetch the set again.
        unknown_key_id: bool,
    },
    /// The signature does not fit.
    BadSignature,
    /// The payload is no claims set: no JSON object, empty, a member twice, a registered claim of
    /// the wrong type, or issued after it expires.
    BadClaims,
    /// `typ` names another kind of token; the text lists the allowed ones.
    WrongType(String),
    /// It has expired.
    Expired {
        /// The time in question, in seconds since 1970.
        at_s: i64,
    },
    /// It is not valid yet.
    NotYetValid {
        /// Start of its validity, in seconds since 1970.
        from_s: i64,
    },
    /// `iss` is not the expected issuer.
    WrongIssuer,
    /// `aud` names none of the expected audiences.
    WrongAudience,
}

impl TokenError {
    /// The `error_description` of Spring 7 (`NimbusReactiveJwtDecoder`, `JwtValidators`). It may
    /// hold characters that RFC 6750 forbids, since a token can name any algorithm;
    /// [`www_authenticate`](crate::www_authenticate) replaces them.
    pub fn description(&self) -> String {
        const DECODING: &str = "An error occurred while attempting to decode the Jwt: ";
        match self {
            Self::TooLong => format!("{DECODING}The token is too long"),
            Self::Malformed(what) => format!("{DECODING}{what}"),
            Self::UnsupportedAlgorithm(name) => format!("Unsupported algorithm of {name}"),
            Self::UnsupportedExtension
            | Self::NoKey { .. }
            | Self::BadSignature
            | Self::BadClaims => "Failed to validate the token".to_owned(),
            Self::WrongType(allowed) => {
                format!("the given typ value needs to be one of [{allowed}]")
            }
            Self::Expired { at_s } => format!("Jwt expired at {}", moment::shown(*at_s)),
            Self::NotYetValid { from_s } => format!("Jwt used before {}", moment::shown(*from_s)),
            Self::WrongIssuer => "The iss claim is not valid".to_owned(),
            Self::WrongAudience => "The aud claim is not valid".to_owned(),
        }
    }
}
