//! Authentication and authorization: bearer tokens, API keys and the rules over them.
//!
//! Pure: no clock, file, socket or runtime. Time is passed in as seconds since 1970, key sets as
//! text. Fetching keys, reading files and answering requests are left to the caller. The behaviour
//! is that of Spring Security's reactive resource server, class by class.
//!
//! A request with a token goes through [`bearer`], [`TokenCache::get`], [`Verifier::verify`] and
//! [`Rule::allows`]. A refusal becomes a [`Denial`], which gives its status and its
//! `WWW-Authenticate` field.

#![deny(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod algorithm;
mod api_keys;
mod basic;
mod bearer;
mod claims;
mod compact;
mod denial;
mod json;
mod key_ring;
mod keys;
mod moment;
mod recent;
mod rule;
mod secret;
mod text_cipher;
mod token_cache;
mod token_error;
mod users;
mod verifier;

pub use algorithm::Algorithm;
pub use api_keys::{ApiKeyError, ApiKeys};
pub use basic::{BASIC_BYTES_MAX, basic};
pub use bearer::{BearerError, bearer};
pub use claims::{AuthoritySettings, Claims};
pub use compact::TOKEN_BYTES_MAX;
pub use denial::{Denial, www_authenticate};
pub use key_ring::{KeyPlace, KeyRing, Keys, RemoteKeys};
pub use keys::{JWKS_BYTES_MAX, KEYS_MAX, KeyError, KeySet, Skipped};
pub use rule::{Rule, RuleError};
pub use secret::{Secret, SecretError};
pub use text_cipher::TextCipher;
pub use token_cache::TokenCache;
pub use token_error::TokenError;
pub use users::{Checked, Users};
pub use verifier::Verifier;
