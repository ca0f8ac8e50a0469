//! Cache of verified tokens: a signature is verified once in the life of its token.

use std::sync::Arc;

use crate::Claims;
use crate::recent::Recent;

/// Tokens that are remembered at most.
const TOKENS_MAX: usize = 8192;
/// Bytes that their claims take at most, about.
const BYTES_MAX: usize = 8 * 1024 * 1024;

/// Claims by token. One owner, no locks: each worker has its own.
///
/// Only valid tokens are cached, so that clients without a token of the issuer cannot fill it.
/// Entries belong to one generation, a number that the caller raises when keys or
/// [`Verifier`](crate::Verifier) change ([`KeySet::same_keys`](crate::KeySet::same_keys) tells
/// whether they do).
#[derive(Debug)]
pub struct TokenCache {
    generation: u64,
    /// By the whole token: equal hashes alone would prove nothing.
    tokens: Recent<Box<str>, Entry>,
}

#[derive(Debug)]
struct Entry {
    claims: Arc<Claims>,
    until_s: i64,
}

impl Default for TokenCache {
    fn default() -> Self {
        Self { generation: 0, tokens: Recent::new(TOKENS_MAX, BYTES_MAX) }
    }
}

impl TokenCache {
    /// The claims of `token` if it was put in under `generation` and still holds at `now_s`
    /// (seconds since 1970). Costs a hash and a comparison of the token.
    pub fn get(&mut self, token: &str, generation: u64, now_s: i64) -> Option<Arc<Claims>> {
        self.turn_to(generation);
        let entry = self.tokens.get(token)?;
        if now_s > entry.until_s {
            self.tokens.remove(token);
            return None;
        }
        Some(Arc::clone(&entry.claims))
    }

    /// Remembers the claims of a token that was verified under `generation` and holds until the
    /// end of the second `until_s` ([`Verifier::valid_until_s`](crate::Verifier::valid_until_s)).
    pub fn put(&mut self, token: &str, generation: u64, claims: Arc<Claims>, until_s: i64) {
        self.turn_to(generation);
        let bytes = claims.bytes() + token.len() + size_of::<(Box<str>, Entry)>();
        self.tokens.put(token.into(), Entry { claims, until_s }, bytes);
    }

    /// Number of tokens that are remembered.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn turn_to(&mut self, generation: u64) {
        if generation != self.generation {
            self.tokens.clear();
            self.generation = generation;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{BYTES_MAX, TOKENS_MAX, TokenCache};
    use crate::Claims;

    fn claims(name: &str) -> Arc<Claims> {
        Arc::new(Claims::of_principal(name, Vec::new()))
    }

    #[test]
    fn tokens_are_remembered_until_they_expire() {
        let mut cache = TokenCache::default();
        cache.put("a", 1, claims("x"), 100);
        assert_eq!(cache.get("a", 1, 100), Some(claims("x")));
        assert_eq!(cache.get("b", 1, 100), None);
        assert_eq!(cache.get("a", 1, 101), None);
        assert!(cache.is_empty());
    }

    #[test]
    fn another_generation_knows_no_token() {
        let mut cache = TokenCache::default();
        cache.put("a", 1, claims("x"), 100);
        assert_eq!(cache.get("a", 2, 0), None);
        assert_eq!(cache.get("a", 1, 0), None);
    }

    #[test]
    fn the_cache_is_bounded_by_count_and_bytes() {
        let mut cache = TokenCache::default();
        for n in 0..2 * TOKENS_MAX {
            cache.put(&n.to_string(), 1, claims("x"), 100);
            assert!(cache.len() <= TOKENS_MAX);
        }
        assert_eq!(cache.get(&(2 * TOKENS_MAX - 1).to_string(), 1, 0), Some(claims("x")));
        let large = claims(&"x".repeat(16 * 1024));
        for n in 0..2000 {
            cache.put(&n.to_string(), 1, Arc::clone(&large), 100);
        }
        assert!(cache.len() <= BYTES_MAX / large.bytes(), "{}", cache.len());
        cache.put("huge", 1, claims(&"x".repeat(BYTES_MAX)), 100);
        assert_eq!(cache.get("huge", 1, 0), None);
    }
}
