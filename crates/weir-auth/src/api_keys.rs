//! API keys: a name for each key.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use aws_lc_rs::constant_time::verify_slices_are_equal;

use crate::Secret;
use crate::secret::sha256;

/// API keys by their SHA-256.
///
/// A key is found by its digest, then compared in constant time. The duration of the look-up may
/// reveal something about the digest of a key, but nothing about the key: digests cannot be chosen.
#[derive(Debug, Default)]
pub struct ApiKeys {
    names: HashMap<[u8; 32], String>,
}

/// Errors in adding a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiKeyError {
    /// Another name has the same key.
    Twice,
}

impl ApiKeyError {
    /// Error text for the operator, with the remedy.
    pub fn message(self) -> &'static str {
        match self {
            Self::Twice => "two names have the same API key",
        }
    }
}

impl ApiKeys {
    /// Adds a key for `name`. A name may have several keys, for instance during a rotation.
    ///
    /// # Errors
    /// Another name has the same key.
    pub fn add(&mut self, name: &str, secret: &Secret) -> Result<(), ApiKeyError> {
        match self.names.entry(secret.0) {
            Entry::Occupied(_) => Err(ApiKeyError::Twice),
            Entry::Vacant(free) => {
                free.insert(name.to_owned());
                Ok(())
            }
        }
    }

    /// The name of the key that a request shows.
    pub fn find(&self, given: &str) -> Option<&str> {
        let digest = sha256(given);
        let (stored, name) = self.names.get_key_value(&digest)?;
        verify_slices_are_equal(stored, &digest).ok()?;
        Some(name)
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::{ApiKeyError, ApiKeys};
    use crate::Secret;

    #[test]
    fn keys_have_names() {
        let mut keys = ApiKeys::default();
        let mut add = |name, secret| keys.add(name, &Secret::parse(secret).unwrap());
        let hash = "sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
        assert_eq!(add("a", hash), Ok(()));
        assert_eq!(add("b", "{noop}k2"), Ok(()));
        assert_eq!(add("b", "{noop}k3"), Ok(()));
        assert_eq!(add("c", "{noop}secret"), Err(ApiKeyError::Twice));
        assert_eq!((keys.len(), keys.find("secret")), (3, Some("a")));
        assert_eq!((keys.find("k2"), keys.find("k3")), (Some("b"), Some("b")));
        assert_eq!((keys.find(""), keys.find("K2")), (None, None));
        assert_eq!(keys.find(hash), None);
    }
}
