//! A stored password or API key: a hash, in the notation of Spring's `DelegatingPasswordEncoder`
//! or of `htpasswd`.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// Highest bcrypt cost that is allowed: one check takes about a second, and each step doubles it.
pub const BCRYPT_COST_MAX: u32 = 14;

/// A stored secret. What was plain is hashed when it is read.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub(crate) Kind);

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Bcrypt { hash: String, cost: u32 },
    Sha1([u8; 20]),
    Sha256([u8; 32]),
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Hashes stay out of logs too.
        to.write_str(match self.0 {
            Kind::Bcrypt { .. } => "Secret(bcrypt)",
            Kind::Sha1(_) => "Secret(sha1)",
            Kind::Sha256(_) => "Secret(sha256)",
        })
    }
}

/// Why a stored secret cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretError {
    /// It begins with no notation that is known; it may be a plain text.
    UnknownNotation,
    /// It is MD5 of `htpasswd` (`$apr1$`), which is broken.
    Apr1,
    /// It is a bcrypt hash that is not well formed.
    BadBcrypt,
    /// Its bcrypt cost is above [`BCRYPT_COST_MAX`].
    CostlyBcrypt,
    /// It is no Base64 of 20 bytes, or no hexadecimal number of 32 bytes.
    BadDigest,
    /// It is an empty password.
    Empty,
}

impl SecretError {
    /// What is wrong and what to do, for the operator.
    pub fn message(self) -> &'static str {
        match self {
            Self::UnknownNotation => {
                "the secret has no known notation: write a bcrypt hash (`$2y$…`, `{bcrypt}$2a$…`), \
                 `{SHA}…`, `sha256:HEX`, or `{noop}…` for a plain text"
            }
            Self::Apr1 => "`$apr1$` (MD5) is not supported: use `htpasswd -B` for bcrypt",
            Self::BadBcrypt => "this is no bcrypt hash",
            Self::CostlyBcrypt => "the bcrypt cost is above 14: a check would take seconds",
            Self::BadDigest => "this is no SHA-1 in Base64 or SHA-256 in hexadecimal digits",
            Self::Empty => "the password is empty",
        }
    }
}

impl Secret {
    /// Reads a stored secret: `$2a$…`, `$2b$…`, `$2y$…`, `{bcrypt}$2a$…`, `{SHA}BASE64`,
    /// `sha256:HEX`, `{sha256}HEX` (of the secret without salt) or `{noop}PLAIN`.
    ///
    /// # Errors
    /// The notation is not known, or what follows it is not well formed.
    pub fn parse(text: &str) -> Result<Self, SecretError> {
        if let Some(plain) = text.strip_prefix("{noop}") {
            return Self::of_plain(plain);
        }
        if let Some(hash) = text.strip_prefix("{bcrypt}") {
            return bcrypt_hash(hash);
        }
        if let Some(encoded) = text.strip_prefix("{SHA}") {
            let digest = BASE64_STANDARD.decode(encoded).ok().and_then(|d| d.try_into().ok());
            return digest.map(|d| Self(Kind::Sha1(d))).ok_or(SecretError::BadDigest);
        }
        if let Some(hex) = text.strip_prefix("{sha256}").or(text.strip_prefix("sha256:")) {
            return sha256_of_hex(hex).ok_or(SecretError::BadDigest);
        }
        if text.starts_with("$apr1$") {
            return Err(SecretError::Apr1);
        }
        if text.starts_with("$2") {
            return bcrypt_hash(text);
        }
        Err(SecretError::UnknownNotation)
    }

    /// The secret that `plain` is: only its SHA-256 is kept.
    ///
    /// # Errors
    /// It is empty.
    pub fn of_plain(plain: &str) -> Result<Self, SecretError> {
        if plain.is_empty() {
            return Err(SecretError::Empty);
        }
        Ok(Self(Kind::Sha256(sha256(plain))))
    }

    /// Whether `given` is this secret, in a time that does not tell where they differ. With bcrypt
    /// it takes tens of milliseconds and more.
    pub fn is(&self, given: &str) -> bool {
        match &self.0 {
            // As in htpasswd and Spring, only the first 72 bytes count.
            Kind::Bcrypt { hash, .. } => bcrypt::verify(given, hash).unwrap_or(false),
            Kind::Sha1(expected) => {
                let digest = digest(&SHA1_FOR_LEGACY_USE_ONLY, given.as_bytes());
                verify_slices_are_equal(digest.as_ref(), expected).is_ok()
            }
            Kind::Sha256(expected) => verify_slices_are_equal(&sha256(given), expected).is_ok(),
        }
    }

    /// The cost of its bcrypt hash, if it is one.
    pub(crate) fn bcrypt_cost(&self) -> Option<u32> {
        match self.0 {
            Kind::Bcrypt { cost, .. } => Some(cost),
            Kind::Sha1(_) | Kind::Sha256(_) => None,
        }
    }
}

/// SHA-256 of a text.
pub(crate) fn sha256(text: &str) -> [u8; 32] {
    digest(&SHA256, text.as_bytes()).as_ref().try_into().unwrap_or_default()
}

fn bcrypt_hash(hash: &str) -> Result<Secret, SecretError> {
    hash.parse::<bcrypt::HashParts>().map_err(|_| SecretError::BadBcrypt)?;
    // `$2y$10$…`: the parser has seen to the rest.
    let cost = hash.split('$').nth(2).and_then(|cost| cost.parse::<u32>().ok());
    match cost.ok_or(SecretError::BadBcrypt)? {
        cost if cost > BCRYPT_COST_MAX => Err(SecretError::CostlyBcrypt),
        cost if cost < 4 => Err(SecretError::BadBcrypt),
        cost => Ok(Secret(Kind::Bcrypt { hash: hash.to_owned(), cost })),
    }
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
    Some(Secret(Kind::Sha256(digest)))
}

#[cfg(test)]
mod tests {
    use super::{Secret, SecretError};

    /// "password" with the lowest cost.
    const BCRYPT: &str = "$2b$04$";

    #[test]
    fn secrets_are_read_and_compared() {
        let check = |stored: &str, given: &str| {
            let secret = Secret::parse(stored).unwrap();
            assert!(secret.is(given), "{stored}");
            for other in ["", "x", &format!("{given} "), &given.to_uppercase()] {
                assert!(!secret.is(other), "{stored} {other}");
            }
        };
        check("{noop}secret", "secret");
        check("{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=", "secret");
        let hex = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
        check(&format!("sha256:{hex}"), "secret");
        check(&format!("{{sha256}}{}", hex.to_uppercase()), "secret");
        // The example of Spring's documentation of DelegatingPasswordEncoder.
        check("{bcrypt}$2a$10$dXJ3SW6G7P50lGmMkkmwe.20cQQubK3.HZWzG3YB1tlRy.fqvM/BG", "password");
        let made = bcrypt::hash("secret", 4).unwrap();
        assert!(made.starts_with(BCRYPT));
        check(&made, "secret");
        check(&made.replacen("$2b$", "$2y$", 1), "secret");
    }

    #[test]
    fn unusable_secrets_say_why() {
        let check = |stored: &str, error| {
            assert_eq!(Secret::parse(stored).unwrap_err(), error, "{stored}");
        };
        check("secret", SecretError::UnknownNotation);
        check("", SecretError::UnknownNotation);
        check("{MD5}x", SecretError::UnknownNotation);
        check("$apr1$x$y", SecretError::Apr1);
        check("{noop}", SecretError::Empty);
        check("$2y$10$short", SecretError::BadBcrypt);
        check("{bcrypt}x", SecretError::BadBcrypt);
        check("{SHA}AAAA", SecretError::BadDigest);
        check("sha256:abc", SecretError::BadDigest);
        check(&format!("sha256:{}", "+1".repeat(32)), SecretError::BadDigest);
        let costly = "$2a$15$dXJ3SW6G7P50lGmMkkmwe.20cQQubK3.HZWzG3YB1tlRy.fqvM/BG";
        check(costly, SecretError::CostlyBcrypt);
    }

    #[test]
    fn secrets_are_not_shown() {
        let shown = format!("{:?}", Secret::parse("{noop}secret").unwrap());
        assert_eq!(shown, "Secret(sha256)");
    }
}
