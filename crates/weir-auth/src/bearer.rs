//! The token in an `Authorization` field (RFC 6750 section 2.1), as Spring's
//! `ServerBearerTokenAuthenticationConverter` reads it.

const SCHEME: &str = "bearer";

/// The field begins with `Bearer` but holds no token: status 401, `invalid_token`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BearerError;

impl BearerError {
    /// The `error_description` that Spring gives.
    pub const DESCRIPTION: &str = "Bearer token is malformed";
}

/// The bearer token in the value of an `Authorization` field; none if the value is not of this
/// scheme. As in Spring, whatever begins with `bearer` in any case counts as this scheme, and one
/// space stands before the token.
///
/// # Errors
/// The token is missing or does not match `[a-zA-Z0-9-._~+/]+=*`.
pub fn bearer(authorization: &str) -> Result<Option<&str>, BearerError> {
    let Some((scheme, rest)) = authorization.split_at_checked(SCHEME.len()) else {
        return Ok(None);
    };
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return Ok(None);
    }
    let token = rest.strip_prefix(' ').ok_or(BearerError)?;
    let body = token.trim_end_matches('=');
    if body.is_empty() || !body.bytes().all(is_token_byte) {
        return Err(BearerError);
    }
    Ok(Some(token))
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/')
}

#[cfg(test)]
mod tests {
    use super::{BearerError, bearer};

    #[test]
    fn fields_are_read_as_spring_reads_them() {
        let check = |field: &str, expected| assert_eq!(bearer(field), expected, "{field}");
        check("Bearer a.b-c_d~e+f/g==", Ok(Some("a.b-c_d~e+f/g==")));
        check("bEaReR x", Ok(Some("x")));
        check("", Ok(None));
        check("Basic abc", Ok(None));
        check("Bär x", Ok(None));
        check("bear", Ok(None));
        for field in [
            "Bearer",
            "Bearer ",
            "Bearer  x",
            "Bearer x y",
            "Bearerx",
            "Bearer =",
            "Bearer a=b",
            "Bearer ä",
            "Bearer x ",
            "Bearer\tx",
            "Bearer x,y",
            "Bearer a\"b",
        ] {
            check(field, Err(BearerError));
        }
    }
}
