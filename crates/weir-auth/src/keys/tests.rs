//! Key sets: the examples of the RFCs, skipped keys and the reasons, and malformed sets.

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use proptest::prelude::*;

use super::{JWKS_BYTES_MAX, KEYS_MAX, KeyError, KeySet};
use crate::Algorithm;

/// The key of RFC 7515 A.3.
const P256: &str = r#""kty":"EC","crv":"P-256",
    "x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0""#;
/// The key of RFC 8037 A.2.
const ED25519: &str =
    r#""kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo""#;
/// The key of RFC 7515 A.4.
const P521: &str = r#""kty":"EC","crv":"P-521",
    "x":"AekpBQ8ST8a8VcfVOTNl353vSrDCLLJXmPk06wTjxrrjcBpXp5EOnYG_NjFZ6OvLFV1jSfS9tsz4qUxcWceqwQGk",
    "y":"ADSmRA43Z1DSNx_RvcLI87cdL07l6jQyyBXMoxVg_l2Th-x3S1WDhjDly79ajL4Kkd0AZMaZmh9ubmf63e3kyMj2""#;
/// The key of RFC 7515 A.1.
const SECRET: &str = r#""kty":"oct",
    "k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow""#;

fn set(keys: &[&str]) -> KeySet {
    let keys: Vec<String> = keys.iter().map(|key| format!("{{{key}}}")).collect();
    KeySet::from_jwks(&format!("{{\"keys\":[{}]}}", keys.join(","))).unwrap()
}

/// Whether `keys` verify the signature of a token in its compact form.
fn fits(keys: &KeySet, algorithm: Algorithm, token: &str) -> bool {
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let signature = base64::prelude::BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap();
    keys.matching(algorithm, None).any(|key| key.fits(signed.as_bytes(), &signature))
}

#[test]
fn the_examples_of_the_rfcs_hold() {
    let check = |key, algorithm, token: &str| {
        let keys = set(&[key]);
        assert!(fits(&keys, algorithm, token), "{token}");
        assert!(!fits(&keys, algorithm, &token.replacen('e', "f", 1)), "{token}");
    };
    // RFC 7515 A.4.
    check(
        P521,
        Algorithm::Es512,
        "eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA.AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPW\
         ROc-mZZqwqT2SI-KGDKB34XO0aw_7XdtAG8GaSwFKdCAPZgoXD2YBJZCPEX3xKpRwcdOO8KpEHwJjyqOgzDO7iKv\
         U8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn",
    );
    // RFC 8037 A.4.
    check(
        ED25519,
        Algorithm::EdDsa,
        "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09P\
         GcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
    );
}

#[test]
fn keys_that_are_not_for_signatures_are_skipped() {
    let check = |key: String, reason: &str| {
        let keys = set(&[&key, ED25519]);
        assert_eq!(keys.len(), 1, "{key}");
        let skipped = keys.skipped();
        assert!(skipped[0].reason.contains(reason), "{key}: {skipped:?}");
    };
    check(format!(r#"{P256},"use":"enc""#), "`use`");
    check(format!(r#"{P256},"key_ops":["sign","encrypt"]"#), "`key_ops`");
    check(format!(r#"{P256},"alg":"ECDH-ES""#), "`alg`");
    check(format!(r#"{P256},"alg":"HS256""#), "`alg`");
    check(format!(r#"{P256},"alg":"ES384""#), "`alg`");
    check(SECRET.to_owned(), "secret");
    check(r#""kty":"EC","crv":"secp256k1""#.to_owned(), "`crv`");
    check(r#""kty":"OKP","crv":"X25519""#.to_owned(), "`crv`");
    check(r#""kty":"OKP","crv":"Ed25519","x":"AQ""#.to_owned(), "`x`");
    check(r#""kty":"EC","crv":"P-256","x":"AQ","y":"AQ""#.to_owned(), "curve");
    check(r#""kty":"EC","crv":"P-256","x":"AQ""#.to_owned(), "`x` or `y`");
    check(r#""kty":"RSA","n":"AQAB","e":"AQAB""#.to_owned(), "2048");
    check(r#""kty":"RSA","x5c":["a"]"#.to_owned(), "`n` or `e`");
    check(format!(r#""kty":"RSA","n":"{}","e":"AQAB""#, "_".repeat(2000)), "2048");
    check(r#""kty":"AKP""#.to_owned(), "`kty`");
    check(r#""kid":"x""#.to_owned(), "`kty`");
}

#[test]
fn keys_for_signatures_are_used() {
    let both = format!(r#"{P256},"use":"sig","alg":"ES256","key_ops":["verify"],"kid":"a""#);
    let keys = set(&[&both, ED25519]);
    assert_eq!((keys.len(), keys.skipped().len()), (2, 0));
    let count = |algorithm, id| keys.matching(algorithm, id).count();
    assert_eq!(count(Algorithm::Es256, Some("a")), 1);
    assert_eq!(count(Algorithm::Es256, Some("b")), 0);
    assert_eq!(count(Algorithm::Es256, None), 1);
    assert_eq!(count(Algorithm::Es384, None), 0);
    assert_eq!(count(Algorithm::EdDsa, Some("a")), 0);
    assert_eq!(count(Algorithm::EdDsa, None), 1);
    assert!(keys.names("a") && !keys.names("b"));
    assert!(!KeySet::from_jwks(r#"{"keys":[]}"#).unwrap().names("a"));
}

#[test]
fn secrets_are_used_only_when_asked_for() {
    let text = format!("{{\"keys\":[{{{SECRET}}}]}}");
    let keys = KeySet::from_jwks_with_secrets(&text).unwrap();
    // RFC 7515 A.1.
    let token = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkz\
                 ODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1\
                 p1r_wW1gFWFOEjXk";
    assert!(fits(&keys, Algorithm::Hs256, token));
    assert!(KeySet::from_jwks(&text).unwrap().is_empty());
    let short = r#"{"keys":[{"kty":"oct","k":"AQAB"}]}"#;
    assert_eq!(KeySet::from_jwks_with_secrets(short).unwrap().skipped().len(), 1);
    assert!(!format!("{keys:?}").contains("AyM1"));
}

#[test]
fn sets_are_compared_by_their_keys() {
    let named = format!(r#"{P256},"kid":"a""#);
    let limited = format!(r#"{ED25519},"alg":"EdDSA""#);
    assert!(set(&[P256, ED25519]).same_keys(&set(&[P256, &limited])));
    assert!(!set(&[P256]).same_keys(&set(&[&named])));
    assert!(!set(&[P256]).same_keys(&set(&[ED25519])));
    assert!(!set(&[P256]).same_keys(&set(&[P256, P256])));
}

#[test]
fn what_is_no_key_set_is_refused() {
    let check = |text: &str, error| assert_eq!(KeySet::from_jwks(text).unwrap_err(), error);
    check("", KeyError::NotAKeySet);
    check("[]", KeyError::NotAKeySet);
    check("{}", KeyError::NotAKeySet);
    check(r#"{"keys":{}}"#, KeyError::NotAKeySet);
    check(r#"{"keys":[1]}"#, KeyError::NotAKeySet);
    check(r#"{"keys":[],"keys":[]}"#, KeyError::NotAKeySet);
    check(&" ".repeat(JWKS_BYTES_MAX + 1), KeyError::TooLong);
    let many = vec!["{}"; KEYS_MAX + 1].join(",");
    check(&format!("{{\"keys\":[{many}]}}"), KeyError::TooManyKeys);
}

fn pem(der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN PUBLIC KEY-----\r\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"))
}

#[test]
fn one_public_key_is_read_from_pem() {
    let check = |der: PublicKeyX509Der<'_>, expected: &[Algorithm]| {
        let keys = KeySet::from_pem_public_key(&pem(der.as_ref())).unwrap();
        let usable = |algorithm: &Algorithm| keys.matching(*algorithm, Some("any")).count() == 1;
        let found: Vec<Algorithm> = Algorithm::ALL.into_iter().filter(usable).collect();
        assert_eq!(found, expected);
    };
    let ec = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
    check(ec.public_key().as_der().unwrap(), &[Algorithm::Es256]);
    let ed = Ed25519KeyPair::generate().unwrap();
    check(ed.public_key().as_der().unwrap(), &[Algorithm::EdDsa]);
    let rsa = KeyPair::generate(KeySize::Rsa2048).unwrap();
    use Algorithm::{Ps256, Ps384, Ps512, Rs256, Rs384, Rs512};
    check(rsa.public_key().as_der().unwrap(), &[Rs256, Rs384, Rs512, Ps256, Ps384, Ps512]);
}

#[test]
fn what_is_no_public_key_is_refused() {
    let check = |text: &str, error| {
        assert_eq!(KeySet::from_pem_public_key(text).unwrap_err(), error, "{text}");
    };
    check("", KeyError::NotPem);
    check("-----BEGIN PUBLIC KEY-----\nAQAB", KeyError::NotPem);
    check("-----BEGIN PUBLIC KEY-----\n!\n-----END PUBLIC KEY-----", KeyError::NotPem);
    check(&pem(&[1, 2, 3]), KeyError::UnknownKey);
    check(&pem(&[]), KeyError::UnknownKey);
    check("-----BEGIN PRIVATE KEY-----\nAQAB\n-----END PRIVATE KEY-----", KeyError::NotPem);
    // RSA of 1024 bits.
    check(
        "-----BEGIN PUBLIC KEY-----\nMIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDdlatRjRjogo3WojgGHFHYLugd\n\
         UWAY9iR3fy4arWNA1KoS8kVw33cJibXr8bvwUAUparCwlvdbH6dvEOfou0/gCFQs\nHUfQrSDv+MuSUMAe8jzKE4q\
         W+jK+xQU9a03GUnKHkkle+Q0pX/g6jXZ7r1/xAK5D\no2kQ+X5xK9cipRgEKwIDAQAB\n\
         -----END PUBLIC KEY-----",
        KeyError::UnknownKey,
    );
}

proptest! {
    #[test]
    fn no_text_is_a_panic(text in "\\PC{0,80}", members in prop::collection::vec(
        ("(kty|crv|n|e|x|y|k|alg|use|kid)", "(RSA|EC|OKP|oct|P-256|[A-Za-z0-9_-]{0,12})"), 0..6,
    )) {
        let members: serde_json::Map<_, _> =
            members.into_iter().map(|(name, value)| (name, value.into())).collect();
        let set = serde_json::json!({ "keys": [members] }).to_string();
        prop_assert!(KeySet::from_jwks_with_secrets(&set).is_ok());
        let _ = KeySet::from_jwks(&text);
        let _ = KeySet::from_pem_public_key(&text);
        let _ = KeySet::from_pem_public_key(&pem(text.as_bytes()));
    }
}
