//! A public key in PEM (RFC 7468 section 13), as Spring's `RsaKeyConverters.x509` reads it.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::jwk::{self, Curve};
use super::{JWKS_BYTES_MAX, Key, KeyError, KeyId, KeySet};

const BEGIN: &str = "-----BEGIN PUBLIC KEY-----";
const END: &str = "-----END PUBLIC KEY-----";

impl KeySet {
    /// The one key of a PEM file with a `PUBLIC KEY` block (X.509 SubjectPublicKeyInfo): Spring's
    /// `public-key-location`, where it may be RSA only. It fits tokens of any `kid`.
    ///
    /// # Errors
    /// The text holds no such block, or no key that is understood.
    pub fn from_pem_public_key(text: &str) -> Result<Self, KeyError> {
        Ok(Self { keys: vec![read(text)?], skipped: Vec::new() })
    }
}

/// The key of the first block.
fn read(text: &str) -> Result<Key, KeyError> {
    if text.len() > JWKS_BYTES_MAX {
        return Err(KeyError::TooLong);
    }
    let (_, rest) = text.split_once(BEGIN).ok_or(KeyError::NotPem)?;
    let (body, _) = rest.split_once(END).ok_or(KeyError::NotPem)?;
    let body: String = body.split_ascii_whitespace().collect();
    let material = BASE64_STANDARD.decode(body).map_err(|_| KeyError::NotPem)?;
    let checkers = [Curve::P256, Curve::P384, Curve::P521, Curve::Ed25519]
        .into_iter()
        .find_map(|curve| Some(vec![jwk::on_curve(curve, &material)?]))
        .or_else(|| jwk::rsa(&material).filter(|_| has_rsa_size(&material)))
        .ok_or(KeyError::UnknownKey)?;
    Ok(Key { id: KeyId::Any, material, checkers })
}

/// Whether an encoded RSA key is long enough for 2048 bits: its modulus alone has 256 bytes. The
/// library itself refuses signatures of shorter and longer keys.
fn has_rsa_size(encoded: &[u8]) -> bool {
    encoded.len() > 256
}
