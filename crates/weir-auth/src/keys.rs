//! Verification keys of tokens: a JSON Web Key Set (RFC 7517) or one PEM public key.
//!
//! Each key has one prepared verifier for each algorithm that its type and its `alg` allow. A key
//! of one type can therefore never be used for an algorithm of another.

mod jwk;
mod pem;

use aws_lc_rs::hmac;
use aws_lc_rs::signature::ParsedPublicKey;

use crate::Algorithm;

/// Longest key set that is read, in bytes.
pub const JWKS_BYTES_MAX: usize = 512 * 1024;
/// Maximum number of keys in a set. A token without `kid` is tried with each key of its type.
pub const KEYS_MAX: usize = 64;

/// The keys of one issuer.
#[derive(Debug, Default)]
pub struct KeySet {
    keys: Vec<Key>,
    skipped: Vec<Skipped>,
}

/// A key of a set that is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Its place in the set, from 0.
    pub index: usize,
    /// Its `kid`.
    pub key_id: Option<String>,
    /// The reason why it is not used.
    pub reason: &'static str,
}

/// Errors in a key set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// The text is longer than [`JWKS_BYTES_MAX`].
    TooLong,
    /// The text is no JSON object with a list of objects as `keys`, or names a member twice.
    NotAKeySet,
    /// The set has more than [`KEYS_MAX`] keys.
    TooManyKeys,
    /// There is no `-----BEGIN PUBLIC KEY-----` block with Base64 in it.
    NotPem,
    /// The block holds no RSA (2048 to 8192 bits), P-256, P-384, P-521 or Ed25519 key.
    UnknownKey,
}

impl KeyError {
    /// Error text for the operator.
    pub fn message(self) -> &'static str {
        match self {
            Self::TooLong => "the key set is longer than 512 KiB",
            Self::NotAKeySet => "this is no JSON Web Key Set: an object with a list `keys`",
            Self::TooManyKeys => "the key set has more than 64 keys",
            Self::NotPem => "there is no `-----BEGIN PUBLIC KEY-----` block",
            Self::UnknownKey => {
                "the public key is neither RSA of 2048 to 8192 bits nor P-256, P-384, P-521 or \
                 Ed25519"
            }
        }
    }
}

/// A verification key.
#[derive(Debug)]
pub(crate) struct Key {
    id: KeyId,
    /// Identity of the key: equal for equal keys.
    material: Vec<u8>,
    checkers: Vec<(Algorithm, Checker)>,
}

/// Reference to a key from a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyId {
    /// Its `kid` in the set; without one, only a token without `kid` can mean it.
    Named(Option<String>),
    /// Anything: a PEM file cannot name its key.
    Any,
}

/// Checks signatures of one algorithm with one key.
pub(crate) enum Checker {
    Signature(ParsedPublicKey),
    Mac(Box<hmac::Key>),
}

impl std::fmt::Debug for Checker {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Secrets stay out of logs.
        to.write_str(match self {
            Self::Signature(_) => "Signature",
            Self::Mac(_) => "Mac",
        })
    }
}

impl Checker {
    /// Whether `signature` was made over `signed` with this key.
    pub(crate) fn fits(&self, signed: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Signature(key) => key.verify_sig(signed, signature).is_ok(),
            Self::Mac(key) => hmac::verify(key, signed, signature).is_ok(),
        }
    }
}

impl KeySet {
    /// Number of keys in use.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether no key is in use.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The keys that are not used, in their order.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// Whether both sets have the same keys in the same order: then tokens verified with one stay
    /// verified.
    pub fn same_keys(&self, other: &Self) -> bool {
        let same = |(a, b): (&Key, &Key)| a.id == b.id && a.material == b.material && a.same_use(b);
        self.len() == other.len() && self.keys.iter().zip(&other.keys).all(same)
    }

    /// The keys for a token with this `alg` and `kid`, in the order of the set (Nimbus'
    /// `JWKMatcher.forJWSHeader`).
    pub(crate) fn matching<'a>(
        &'a self,
        algorithm: Algorithm,
        key_id: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Checker> {
        self.keys.iter().filter(move |key| key.is_called(key_id)).filter_map(move |key| {
            key.checkers.iter().find(|(of, _)| *of == algorithm).map(|(_, checker)| checker)
        })
    }

    /// Whether a key of the set, used or not, has this `kid`.
    pub(crate) fn names(&self, key_id: &str) -> bool {
        self.keys.iter().any(|key| key.is_called(Some(key_id)))
            || self.skipped.iter().any(|key| key.key_id.as_deref() == Some(key_id))
    }
}

impl Key {
    /// Whether a token that asks for `key_id` may be checked with this key.
    fn is_called(&self, key_id: Option<&str>) -> bool {
        match &self.id {
            KeyId::Any => true,
            KeyId::Named(name) => key_id.is_none() || name.as_deref() == key_id,
        }
    }

    fn same_use(&self, other: &Self) -> bool {
        let algorithms = |key: &Self| key.checkers.iter().map(|(of, _)| *of).collect::<Vec<_>>();
        algorithms(self) == algorithms(other)
    }
}

#[cfg(test)]
mod tests;
