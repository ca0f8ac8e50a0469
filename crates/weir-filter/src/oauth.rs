//! The gateway as an OAuth 2.0 client.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use crate::same::Same;

/// Address of a token endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TokenPlace {
    /// The URL of the token endpoint.
    Endpoint(String),
    /// The issuer, whose metadata contain the token endpoint.
    Issuer(String),
}

/// An OAuth client with the grant `client_credentials` (RFC 6749 section 4.4;
/// `spring.security.oauth2.client.registration.<id>`).
#[derive(PartialEq, Eq, Hash)]
pub struct OAuthClient {
    /// Name of the registration.
    pub id: String,
    /// Address of its token endpoint.
    pub place: TokenPlace,
    /// Client id.
    pub client_id: String,
    /// Client secret.
    pub client_secret: String,
    /// Whether id and secret are sent in the form instead of in `Authorization`.
    pub in_form: bool,
    /// Scopes to request.
    pub scopes: Vec<String>,
    /// Maximum time that a request waits for a token, in milliseconds.
    pub timeout_ms: u64,
    held: Same<RwLock<Option<Held>>>,
}

#[derive(Clone)]
struct Held {
    token: Arc<str>,
    until_ms: i64,
}

impl OAuthClient {
    /// A client without a token.
    pub fn new(id: &str, place: TokenPlace, client_id: String, client_secret: String) -> Self {
        Self {
            id: id.to_owned(),
            place,
            client_id,
            client_secret,
            in_form: false,
            scopes: Vec::new(),
            timeout_ms: 5_000,
            held: Same::default(),
        }
    }

    /// The current token, if it is still valid at `now_ms` (since 1970).
    pub fn token(&self, now_ms: i64) -> Option<Arc<str>> {
        let held = self.held.0.read().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().filter(|held| now_ms < held.until_ms).map(|held| Arc::clone(&held.token))
    }

    /// Stores a token that is valid until `until_ms` (since 1970).
    pub fn keep(&self, token: &Arc<str>, until_ms: i64) {
        let held = Held { token: Arc::clone(token), until_ms };
        *self.held.0.write().unwrap_or_else(PoisonError::into_inner) = Some(held);
    }
}

impl fmt::Debug for OAuthClient {
    /// Omits the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthClient")
            .field("id", &self.id)
            .field("place", &self.place)
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}
