//! A stored API key: its SHA-256.

use aws_lc_rs::digest::{SHA256, digest};

/// A stored secret. A plain one is hashed when it is read.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub(crate) [u8; 32]);

impl std::fmt::Debug for Secret {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Hashes stay out of logs too.
        to.write_str("Secret(sha256)")
    }
}

/// Errors in a stored secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretError {
    /// It starts with no known notation; it may be a plain secret.
    UnknownNotation,
    /// A malformed bcrypt hash.
    BadBcrypt,
    /// Its bcrypt cost is above 14.
    CostlyBcrypt,
    /// Not a hexadecimal number of 32 bytes.
    BadDigest,
    /// It is empty.
    Empty,
}

impl SecretError {
    /// Error text for the operator, with the remedy.
    pub fn message(self) -> &'static str {
        match self {
            Self::UnknownNotation => {
                "it has no known notation: write `sha256:HEX`, or `{noop}…` for a plain text"
            }
            Self::BadBcrypt => "this is no bcrypt hash, such as `htpasswd -nB user` makes",
            Self::CostlyBcrypt => "the bcrypt cost is above 14: a check would take seconds",
            Self::BadDigest => "this is no SHA-256 in hexadecimal digits",
            Self::Empty => "it is empty",
        }
    }
}

impl Secret {
    /// Reads a stored secret: `sha256:HEX`, `{sha256}HEX` (of the secret without salt) or
    /// `{noop}PLAIN`. A long random key needs no slow hash.
    ///
    /// # Errors
    /// The notation is unknown, or the value behind it is malformed.
    pub fn parse(text: &str) -> Result<Self, SecretError> {
        if let Some(plain) = text.strip_prefix("{noop}") {
            return Self::of_plain(plain);
        }
        let hex = text.strip_prefix("{sha256}").or(text.strip_prefix("sha256:"));
        sha256_of_hex(hex.ok_or(SecretError::UnknownNotation)?).ok_or(SecretError::BadDigest)
    }

    /// Hashes a plain secret: only its SHA-256 is kept.
    ///
    /// # Errors
    /// It is empty.
    pub fn of_plain(plain: &str) -> Result<Self, SecretError> {
        if plain.is_empty() { Err(SecretError::Empty) } else { Ok(Self(sha256(plain))) }
    }
}

/// SHA-256 of a text.
pub(crate) fn sha256(text: &str) -> [u8; 32] {
    digest(&SHA256, text.as_bytes()).as_ref().try_into().unwrap_or_default()
}

fn sha256_of_hex(hex: &str) -> Option<Secret> {
    if hex.len() != 64 || !hex.is_ascii() {
        return None;
    }
    let mut digest = [0; 32];
    for (byte, at) in digest.iter_mut().zip((0..64).step_by(2)) {
        let digits = hex.get(at..at + 2)?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    Some(Secret(digest))
}

#[cfg(test)]
mod tests {
    use super::{Secret, SecretError};

    #[test]
    fn secrets_are_read() {
        let plain = Secret::of_plain("secret").unwrap();
        let hex = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
        for stored in [
            "{noop}secret".to_owned(),
            format!("sha256:{hex}"),
            format!("{{sha256}}{}", hex.to_uppercase()),
        ] {
            assert!(Secret::parse(&stored).unwrap() == plain, "{stored}");
        }
        assert_eq!(format!("{plain:?}"), "Secret(sha256)");
    }

    #[test]
    fn unusable_secrets_say_why() {
        let check = |stored: &str, error| {
            assert_eq!(Secret::parse(stored).unwrap_err(), error, "{stored}");
        };
        check("secret", SecretError::UnknownNotation);
        check("", SecretError::UnknownNotation);
        check("{MD5}x", SecretError::UnknownNotation);
        check("$2y$10$short", SecretError::UnknownNotation);
        check("{noop}", SecretError::Empty);
        check("sha256:abc", SecretError::BadDigest);
        check(&format!("sha256:{}", "+1".repeat(32)), SecretError::BadDigest);
    }
}
