//! A JSON Web Key (RFC 7517, RFC 7518 section 6, RFC 8037 section 2) becomes a key.

use aws_lc_rs::hmac;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ECDSA_P521_SHA512_FIXED, ED25519,
    ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384,
    RSA_PSS_2048_8192_SHA512, VerificationAlgorithm,
};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::{Checker, JWKS_BYTES_MAX, KEYS_MAX, Key, KeyError, KeyId, KeySet, Skipped};
use crate::Algorithm;
use crate::json::object;

/// Sizes of an RSA modulus in bytes; RFC 7518 section 3.3 demands 2048 bits.
const RSA_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;
/// Longest RSA exponent in bytes; 65537 has three.
const RSA_EXPONENT_BYTES_MAX: usize = 8;

type Members = Map<String, Value>;
type Checkers = Vec<(Algorithm, Checker)>;

impl KeySet {
    /// The public keys of a JSON Web Key Set: RSA from 2048 bits, P-256, P-384, P-521, Ed25519.
    /// Keys of other kinds, uses or operations are skipped, secrets (`oct`) too.
    ///
    /// # Errors
    /// The text is no key set, or one beyond the bounds.
    pub fn from_jwks(text: &str) -> Result<Self, KeyError> {
        read(text, false)
    }

    /// As [`KeySet::from_jwks`], with secrets (`oct`) for HMAC. Never use it for a set that others
    /// can read.
    ///
    /// # Errors
    /// Those of [`KeySet::from_jwks`].
    pub fn from_jwks_with_secrets(text: &str) -> Result<Self, KeyError> {
        read(text, true)
    }
}

/// The keys in `text`.
fn read(text: &str, secrets: bool) -> Result<KeySet, KeyError> {
    if text.len() > JWKS_BYTES_MAX {
        return Err(KeyError::TooLong);
    }
    let mut set = object(text.as_bytes()).ok_or(KeyError::NotAKeySet)?;
    let Some(Value::Array(list)) = set.get_mut("keys") else { return Err(KeyError::NotAKeySet) };
    if list.len() > KEYS_MAX {
        return Err(KeyError::TooManyKeys);
    }
    let mut found = KeySet::default();
    for (index, key) in list.iter().enumerate() {
        let Value::Object(members) = key else { return Err(KeyError::NotAKeySet) };
        match one(members, secrets) {
            Ok(key) => found.keys.push(key),
            Err(reason) => {
                let key_id = text_of(members, "kid").map(str::to_owned);
                found.skipped.push(Skipped { index, key_id, reason });
            }
        }
    }
    Ok(found)
}

/// One key, or the reason why it is not used.
fn one(members: &Members, secrets: bool) -> Result<Key, &'static str> {
    if members.get("use").is_some_and(|usage| usage.as_str() != Some("sig")) {
        return Err("its `use` is not `sig`");
    }
    if let Some(operations) = members.get("key_ops") {
        let verifies = |list: &Vec<Value>| list.iter().any(|op| op.as_str() == Some("verify"));
        if !operations.as_array().is_some_and(verifies) {
            return Err("its `key_ops` do not hold `verify`");
        }
    }
    let (mut checkers, material) = match text_of(members, "kty") {
        Some("RSA") => rsa_parts(members)?,
        Some("EC") => ec_parts(members)?,
        Some("OKP") => okp_parts(members)?,
        Some("oct") if secrets => secret(members)?,
        Some("oct") => return Err("it is a secret, which a public key set must not hold"),
        _ => return Err("its `kty` is not known"),
    };
    if let Some(name) = members.get("alg") {
        let algorithm = name.as_str().and_then(Algorithm::from_name);
        checkers.retain(|(of, _)| Some(*of) == algorithm);
        if checkers.is_empty() {
            return Err("its `alg` is no signature of its `kty`");
        }
    }
    Ok(Key { id: KeyId::Named(text_of(members, "kid").map(str::to_owned)), material, checkers })
}

fn rsa_parts(members: &Members) -> Result<(Checkers, Vec<u8>), &'static str> {
    let (n, e) = (bytes_of(members, "n"), bytes_of(members, "e"));
    let (Some(n), Some(e)) = (n, e) else { return Err("its `n` or `e` is missing or no Base64") };
    let (n, e) = (without_zeros(&n), without_zeros(&e));
    if !RSA_BYTES.contains(&n.len()) || e.len() > RSA_EXPONENT_BYTES_MAX {
        return Err("it has not between 2048 and 8192 bits");
    }
    let encoded = sequence(&[integer(n), integer(e)].concat());
    let checkers = rsa(&encoded).ok_or("it is no RSA key")?;
    Ok((checkers, encoded))
}

/// Checkers for an RSA key in PKCS #1 or X.509.
pub(super) fn rsa(encoded: &[u8]) -> Option<Checkers> {
    const ALGORITHMS: [(Algorithm, &dyn VerificationAlgorithm); 6] = [
        (Algorithm::Rs256, &RSA_PKCS1_2048_8192_SHA256),
        (Algorithm::Rs384, &RSA_PKCS1_2048_8192_SHA384),
        (Algorithm::Rs512, &RSA_PKCS1_2048_8192_SHA512),
        (Algorithm::Ps256, &RSA_PSS_2048_8192_SHA256),
        (Algorithm::Ps384, &RSA_PSS_2048_8192_SHA384),
        (Algorithm::Ps512, &RSA_PSS_2048_8192_SHA512),
    ];
    let checker = |(algorithm, by)| {
        let key = ParsedPublicKey::new(by, encoded).ok()?;
        Some((algorithm, Checker::Signature(key)))
    };
    ALGORITHMS.into_iter().map(checker).collect()
}

/// A curve with the one algorithm it is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Curve {
    P256,
    P384,
    P521,
    Ed25519,
}

/// The checker for a key on `curve`: a point as the curve's RFC writes it, or X.509.
pub(super) fn on_curve(curve: Curve, encoded: &[u8]) -> Option<(Algorithm, Checker)> {
    let (algorithm, by): (_, &'static dyn VerificationAlgorithm) = match curve {
        Curve::P256 => (Algorithm::Es256, &ECDSA_P256_SHA256_FIXED),
        Curve::P384 => (Algorithm::Es384, &ECDSA_P384_SHA384_FIXED),
        Curve::P521 => (Algorithm::Es512, &ECDSA_P521_SHA512_FIXED),
        Curve::Ed25519 => (Algorithm::EdDsa, &ED25519),
    };
    let key = ParsedPublicKey::new(by, encoded).ok()?;
    Some((algorithm, Checker::Signature(key)))
}

fn ec_parts(members: &Members) -> Result<(Checkers, Vec<u8>), &'static str> {
    let (curve, length) = match text_of(members, "crv") {
        Some("P-256") => (Curve::P256, 32),
        Some("P-384") => (Curve::P384, 48),
        Some("P-521") => (Curve::P521, 66),
        _ => return Err("its `crv` is not known"),
    };
    // Uncompressed point (SEC 1 section 2.3.3).
    let mut point = vec![4];
    for name in ["x", "y"] {
        let coordinate = bytes_of(members, name).unwrap_or_default();
        if coordinate.is_empty() || coordinate.len() > length {
            return Err("its `x` or `y` is missing or has a wrong length");
        }
        point.resize(point.len() + length - coordinate.len(), 0);
        point.extend(coordinate);
    }
    let checker = on_curve(curve, &point).ok_or("its point is not on the curve")?;
    Ok((vec![checker], point))
}

fn okp_parts(members: &Members) -> Result<(Checkers, Vec<u8>), &'static str> {
    if text_of(members, "crv") != Some("Ed25519") {
        return Err("its `crv` is not known");
    }
    let point = bytes_of(members, "x").filter(|point| point.len() == 32);
    let point = point.ok_or("its `x` is missing or has a wrong length")?;
    let checker = on_curve(Curve::Ed25519, &point).ok_or("its point is not on the curve")?;
    Ok((vec![checker], point))
}

/// HMAC with a key at least as long as its hash (RFC 7518 section 3.2).
fn secret(members: &Members) -> Result<(Checkers, Vec<u8>), &'static str> {
    const ALGORITHMS: [(Algorithm, hmac::Algorithm, usize); 3] = [
        (Algorithm::Hs256, hmac::HMAC_SHA256, 32),
        (Algorithm::Hs384, hmac::HMAC_SHA384, 48),
        (Algorithm::Hs512, hmac::HMAC_SHA512, 64),
    ];
    let key = bytes_of(members, "k").ok_or("its `k` is missing or no Base64")?;
    let checkers: Checkers = ALGORITHMS
        .into_iter()
        .filter(|(_, _, length)| key.len() >= *length)
        .map(|(algorithm, by, _)| (algorithm, Checker::Mac(Box::new(hmac::Key::new(by, &key)))))
        .collect();
    if checkers.is_empty() {
        return Err("it has fewer than 256 bits");
    }
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &key);
    Ok((checkers, digest.as_ref().to_vec()))
}

fn text_of<'a>(members: &'a Members, name: &str) -> Option<&'a str> {
    members.get(name)?.as_str()
}

/// The Base64 text of a member, decoded. Padding is not allowed, but occurs.
fn bytes_of(members: &Members, name: &str) -> Option<Vec<u8>> {
    let text = text_of(members, name)?.trim_end_matches('=');
    BASE64_URL_SAFE_NO_PAD.decode(text).ok()
}

fn without_zeros(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.get(zeros..).unwrap_or_default()
}

/// A positive INTEGER in DER (X.690 section 8.3).
fn integer(bytes: &[u8]) -> Vec<u8> {
    // A leading bit of one would make it negative.
    let sign: &[u8] = if bytes.first().is_none_or(|byte| *byte >= 0x80) { &[0] } else { &[] };
    tagged(2, &[sign, bytes].concat())
}

/// A SEQUENCE in DER (X.690 section 8.9).
fn sequence(content: &[u8]) -> Vec<u8> {
    tagged(0x30, content)
}

fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let length = without_zeros(&length);
    let mut encoded = vec![tag];
    match length {
        [] => encoded.push(0),
        [short] if *short < 0x80 => encoded.push(*short),
        // At most eight bytes.
        long => {
            encoded.push(0x80 | long.len() as u8);
            encoded.extend(long);
        }
    }
    encoded.extend(content);
    encoded
}
