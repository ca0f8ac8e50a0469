//! The compact form of a signed token (RFC 7515 section 7.1), taken apart.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use crate::TokenError;
use crate::json::object;

/// Longest token that is looked at, in bytes. Header fields are rarely allowed to be longer.
pub const TOKEN_BYTES_MAX: usize = 16 * 1024;
/// Longest `alg` that an error repeats.
const ALGORITHM_SHOWN_MAX: usize = 64;

/// A token before anything about it is known to be true.
#[derive(Debug)]
pub(crate) struct Compact<'a> {
    pub algorithm: String,
    pub key_id: Option<String>,
    pub kind: Option<String>,
    /// Whether the header demands extensions (`crit`): none is understood.
    pub critical: bool,
    /// The signed bytes: header and payload as sent.
    pub signed: &'a [u8],
    pub payload: &'a str,
    pub signature: Vec<u8>,
}

impl<'a> Compact<'a> {
    /// Splits `token` into its parts. The texts of its errors are those of Nimbus' `JWTParser`.
    pub(crate) fn read(token: &'a str) -> Result<Self, TokenError> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(TokenError::TooLong);
        }
        let (header, rest) = token
            .split_once('.')
            .ok_or(TokenError::Malformed("Invalid JWT serialization: Missing dot delimiter(s)"))?;
        let header = decoded(header).and_then(|header| object(&header)).ok_or(
            TokenError::Malformed("Invalid unsecured/JWS/JWE header: Invalid JSON object"),
        )?;
        let text = |name| member(&header, name);
        let algorithm =
            text("alg")?.ok_or(TokenError::Malformed("Missing \"alg\" in header JSON object"))?;
        // The rest of such a token is irrelevant; it may have no signature at all.
        if algorithm.eq_ignore_ascii_case("none") {
            return Err(TokenError::UnsupportedAlgorithm(algorithm));
        }
        if algorithm.len() > ALGORITHM_SHOWN_MAX {
            return Err(TokenError::UnsupportedAlgorithm("an unknown name".to_owned()));
        }
        let (key_id, kind) = (text("kid")?, text("typ")?);
        let (payload, signature) = rest.split_once('.').ok_or(TokenError::Malformed(
            "Invalid serialized unsecured/JWS/JWE object: Missing second delimiter",
        ))?;
        if signature.contains('.') {
            // Five parts are an encrypted token (RFC 7516), whose algorithm is never one of ours.
            return Err(TokenError::UnsupportedAlgorithm(algorithm));
        }
        let signature = decoded(signature)
            .filter(|signature| !signature.is_empty())
            .ok_or(TokenError::Malformed("The signature must not be empty"))?;
        let signed = token.len() - rest.len() + payload.len();
        let signed = token.as_bytes().get(..signed).unwrap_or_default();
        let critical = header.contains_key("crit");
        Ok(Self { algorithm, key_id, kind, critical, signed, payload, signature })
    }

    /// The claims. To be called once the signature is known to be good.
    pub(crate) fn claims(&self) -> Option<Map<String, Value>> {
        object(&decoded(self.payload)?)
    }
}

fn decoded(part: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(part).ok()
}

fn member(header: &Map<String, Value>, name: &str) -> Result<Option<String>, TokenError> {
    match header.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(TokenError::Malformed("Invalid JWS header: Unexpected type of a member")),
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;
    use proptest::prelude::*;

    use super::{Compact, TOKEN_BYTES_MAX};
    use crate::TokenError;

    fn refused(token: &str) -> String {
        Compact::read(token).unwrap_err().description()
    }

    fn part(text: &str) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(text)
    }

    #[test]
    fn a_token_is_taken_apart() {
        let token = format!("{}.{}.AQI", part(r#"{"alg":"RS256","kid":"k"}"#), part(r#"{"a":1}"#));
        let compact = Compact::read(&token).unwrap();
        assert_eq!((compact.algorithm.as_str(), compact.key_id.as_deref()), ("RS256", Some("k")));
        assert_eq!(compact.signed, token.strip_suffix(".AQI").unwrap().as_bytes());
        assert_eq!(compact.signature, [1, 2]);
        assert_eq!(compact.claims().unwrap().len(), 1);
    }

    #[test]
    fn malformed_tokens_say_what_is_wrong() {
        let check = |token: &str, expected: &str| {
            let prefix = "An error occurred while attempting to decode the Jwt: ";
            assert_eq!(refused(token), format!("{prefix}{expected}"), "{token}");
        };
        let header = part(r#"{"alg":"RS256"}"#);
        let no_object = "Invalid unsecured/JWS/JWE header: Invalid JSON object";
        check("", "Invalid JWT serialization: Missing dot delimiter(s)");
        check("abc", "Invalid JWT serialization: Missing dot delimiter(s)");
        check("..", no_object);
        check("a b.c.d", no_object);
        check(&format!("{}.c.d", part("[]")), no_object);
        check(&format!("{}.c.d", part(r#"{"alg":"RS256","alg":"none"}"#)), no_object);
        check(
            &format!("{}.c.d", part(r#"{"typ":"JWT"}"#)),
            "Missing \"alg\" in header JSON object",
        );
        let second = "Invalid serialized unsecured/JWS/JWE object: Missing second delimiter";
        check(&format!("{header}.c"), second);
        check(&format!("{header}.c."), "The signature must not be empty");
        check(&format!("{header}.c.d=="), "The signature must not be empty");
        for text in [r#"{"alg":1}"#, r#"{"alg":"RS256","kid":{}}"#, r#"{"alg":"RS256","typ":[]}"#] {
            let token = format!("{}.c.AQ", part(text));
            check(&token, "Invalid JWS header: Unexpected type of a member");
        }
    }

    #[test]
    fn unsigned_and_encrypted_tokens_are_unsupported() {
        for (name, tail) in [("none", "."), ("nOnE", "."), ("none", ".AQ"), ("RSA-OAEP", ".a.b.c")]
        {
            let token = format!("{}.c{tail}", part(&format!(r#"{{"alg":"{name}"}}"#)));
            assert_eq!(refused(&token), format!("Unsupported algorithm of {name}"));
        }
        let long = format!("{}.c.AQ", part(&format!(r#"{{"alg":"{}"}}"#, "R".repeat(65))));
        assert_eq!(refused(&long), "Unsupported algorithm of an unknown name");
    }

    #[test]
    fn long_tokens_are_not_looked_at() {
        let token = "a".repeat(TOKEN_BYTES_MAX + 1);
        assert_eq!(Compact::read(&token).unwrap_err(), TokenError::TooLong);
    }

    proptest! {
        #[test]
        fn no_text_is_a_panic(header in "\\PC{0,60}", token in "[a-zA-Z0-9_.=-]{0,80}") {
            let _ = Compact::read(&token);
            let _ = Compact::read(&format!("{}.{token}", part(&header)));
            let signed = format!("{}.{token}", part(r#"{"alg":"RS256"}"#));
            if let Ok(compact) = Compact::read(&signed) {
                let _ = compact.claims();
            }
        }
    }
}
