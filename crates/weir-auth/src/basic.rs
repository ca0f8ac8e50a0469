//! User and password in an `Authorization` field (RFC 7617), as Spring's
//! `ServerHttpBasicAuthenticationConverter` reads them.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// Longest field that is looked at, in bytes.
pub const BASIC_BYTES_MAX: usize = 4096;

const SCHEME: &str = "basic ";

/// User and password in the value of an `Authorization` field; `None` if it has another scheme, is
/// longer than [`BASIC_BYTES_MAX`], or is not Base64 of UTF-8 with a colon.
pub fn basic(authorization: &str) -> Option<(String, String)> {
    if authorization.len() > BASIC_BYTES_MAX {
        return None;
    }
    let (scheme, rest) = authorization.split_at_checked(SCHEME.len())?;
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return None;
    }
    let credentials = String::from_utf8(BASE64_STANDARD.decode(rest.trim()).ok()?).ok()?;
    let (user, password) = credentials.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{BASIC_BYTES_MAX, basic};

    #[test]
    fn credentials_are_read() {
        let check = |field: &str, expected: Option<(&str, &str)>| {
            let expected = expected.map(|(user, password)| (user.to_owned(), password.to_owned()));
            assert_eq!(basic(field), expected, "{field}");
        };
        check("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", Some(("Aladdin", "open sesame")));
        check("bASIC dGVzdDoxMjPCow==", Some(("test", "123£")));
        check("Basic YTpiOmM=", Some(("a", "b:c")));
        check("Basic Og==", Some(("", "")));
        for field in ["", "Basic", "Basic ", "Bearer YTpi", "Basic YWI=", "Basic !", "Basic /w=="] {
            check(field, None);
        }
        check(&format!("Basic {}", "A".repeat(BASIC_BYTES_MAX)), None);
    }
}
