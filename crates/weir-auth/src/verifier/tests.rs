//! Tokens: the examples of the RFCs, each error in Spring's words, and attacks.

use std::sync::OnceLock;

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256,
    RSA_PKCS1_SHA384, RSA_PSS_SHA256, RsaEncoding,
};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use proptest::prelude::*;

use super::Verifier;
use crate::{Algorithm, AuthoritySettings, Claims, KeySet, TokenError};

const NOW_S: i64 = 1_700_000_000;

/// The issuer of these tests: an RSA key `r` and a P-256 key `e`.
struct Issuer {
    rsa: KeyPair,
    ec: EcdsaKeyPair,
    jwks: String,
}

fn issuer() -> &'static Issuer {
    static ISSUER: OnceLock<Issuer> = OnceLock::new();
    ISSUER.get_or_init(|| {
        let rsa = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let ec = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        // PKCS #1: the modulus follows the header, and 65537 is at the end.
        let modulus = rsa.public_key().as_ref()[9..9 + 256].to_vec();
        let (x, y) = ec.public_key().as_ref()[1..].split_at(32);
        let jwks = serde_json::json!({ "keys": [
            { "kty": "RSA", "kid": "r", "use": "sig", "n": part(modulus), "e": "AQAB" },
            { "kty": "EC", "kid": "e", "crv": "P-256", "x": part(x), "y": part(y) },
        ]});
        Issuer { rsa, ec, jwks: jwks.to_string() }
    })
}

fn keys() -> KeySet {
    let keys = KeySet::from_jwks(&issuer().jwks).unwrap();
    assert_eq!(keys.len(), 2, "{:?}", keys.skipped());
    keys
}

fn part(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

fn rsa_signed(header: &str, payload: &str, by: &'static dyn RsaEncoding) -> String {
    let signed = format!("{}.{}", part(header), part(payload));
    let mut signature = vec![0; 256];
    issuer().rsa.sign(by, &SystemRandom::new(), signed.as_bytes(), &mut signature).unwrap();
    format!("{signed}.{}", part(signature))
}

/// A token of the RSA key.
fn token(payload: &str) -> String {
    rsa_signed(r#"{"alg":"RS256","kid":"r","typ":"JWT"}"#, payload, &RSA_PKCS1_SHA256)
}

fn ec_signed(header: &str, payload: &str) -> String {
    let signed = format!("{}.{}", part(header), part(payload));
    let signature = issuer().ec.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
    format!("{signed}.{}", part(signature))
}

fn mac_signed(header: &str, payload: &str, key: &[u8]) -> String {
    let signed = format!("{}.{}", part(header), part(payload));
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    let signature = hmac::sign(&key, signed.as_bytes());
    format!("{signed}.{}", part(signature))
}

fn verifier() -> Verifier {
    Verifier::new(AuthoritySettings::new(None).unwrap())
}

fn every_algorithm() -> Verifier {
    Verifier { algorithms: Algorithm::ALL.to_vec(), ..verifier() }
}

fn verified(payload: &str) -> Result<Claims, TokenError> {
    verifier().verify(&token(payload), &keys(), NOW_S)
}

#[test]
fn the_examples_of_the_rfcs_hold_until_they_expire() {
    const A2_KEY: &str = r#"{"keys":[{"kty":"RSA","e":"AQAB","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"}]}"#;
    const A2: &str = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
    const A3_KEY: &str = r#"{"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}"#;
    const A3: &str = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
    const EXPIRES_S: i64 = 1_300_819_380;
    for (key, token) in [(A2_KEY, A2), (A3_KEY, A3)] {
        let (keys, verifier) = (KeySet::from_jwks(key).unwrap(), every_algorithm());
        let claims = verifier.verify(token, &keys, EXPIRES_S).unwrap();
        assert_eq!(claims.claim("http://example.com/is_root"), Some(&true.into()));
        assert_eq!(claims.expires_s(), Some(EXPIRES_S));
        let last_s = verifier.valid_until_s(&claims);
        assert_eq!(last_s, EXPIRES_S + 60);
        assert!(verifier.verify(token, &keys, last_s).is_ok());
        let error = verifier.verify(token, &keys, last_s + 1).unwrap_err();
        assert_eq!(error.description(), "Jwt expired at 2011-03-22T18:43:00Z");
    }
}

#[test]
fn every_algorithm_of_a_key_is_checked_as_itself() {
    let check = |token: String, algorithm: Algorithm| {
        let only = |algorithm| Verifier { algorithms: vec![algorithm], ..verifier() };
        assert!(only(algorithm).verify(&token, &keys(), NOW_S).is_ok(), "{algorithm:?}");
        for other in Algorithm::ALL.into_iter().filter(|other| *other != algorithm) {
            let error = only(other).verify(&token, &keys(), NOW_S).unwrap_err();
            assert_eq!(error, TokenError::UnsupportedAlgorithm(algorithm.name().to_owned()));
        }
    };
    let payload = r#"{"sub":"eve"}"#;
    check(rsa_signed(r#"{"alg":"RS256"}"#, payload, &RSA_PKCS1_SHA256), Algorithm::Rs256);
    check(rsa_signed(r#"{"alg":"RS384"}"#, payload, &RSA_PKCS1_SHA384), Algorithm::Rs384);
    check(rsa_signed(r#"{"alg":"PS256"}"#, payload, &RSA_PSS_SHA256), Algorithm::Ps256);
    check(ec_signed(r#"{"alg":"ES256"}"#, payload), Algorithm::Es256);
}

#[test]
fn algorithms_cannot_be_confused() {
    let payload = r#"{"sub":"eve"}"#;
    let check = |token: &str, error: TokenError| {
        let found = every_algorithm().verify(token, &keys(), NOW_S).unwrap_err();
        assert_eq!(found, error, "{token}");
    };
    let no_key = || TokenError::NoKey { unknown_key_id: false };
    for name in ["none", "None", "NONE", "nOnE"] {
        let unsigned = format!("{}.{}.", part(format!(r#"{{"alg":"{name}"}}"#)), part(payload));
        check(&unsigned, TokenError::UnsupportedAlgorithm(name.to_owned()));
    }
    // HMAC with public data as its secret.
    let public = issuer().rsa.public_key().as_ref();
    for header in [r#"{"alg":"HS256"}"#, r#"{"alg":"HS256","kid":"r"}"#] {
        check(&mac_signed(header, payload, public), no_key());
        check(&mac_signed(header, payload, issuer().jwks.as_bytes()), no_key());
    }
    // The kid of a key of another kind.
    check(&ec_signed(r#"{"alg":"ES256","kid":"r"}"#, payload), no_key());
    check(&rsa_signed(r#"{"alg":"RS256","kid":"e"}"#, payload, &RSA_PKCS1_SHA256), no_key());
    // Another algorithm of the same key.
    let header = r#"{"alg":"RS256","kid":"r"}"#;
    check(&rsa_signed(header, payload, &RSA_PKCS1_SHA384), TokenError::BadSignature);
    check(&rsa_signed(header, payload, &RSA_PSS_SHA256), TokenError::BadSignature);
    // A key embedded in the token is ignored.
    let (x, y) = issuer().ec.public_key().as_ref()[1..].split_at(32);
    let own = format!(
        r#"{{"alg":"ES256","kid":"x","jwk":{{"kty":"EC","crv":"P-256","x":"{}","y":"{}"}}}}"#,
        part(x),
        part(y)
    );
    check(&ec_signed(&own, payload), TokenError::NoKey { unknown_key_id: true });
    // Extensions that must be understood are not.
    for header in [r#"{"alg":"ES256","crit":["b64"],"b64":false}"#, r#"{"alg":"ES256","crit":[]}"#]
    {
        check(&ec_signed(header, payload), TokenError::UnsupportedExtension);
    }
}

#[test]
fn a_changed_token_does_not_hold() {
    let good = ec_signed(r#"{"alg":"ES256"}"#, r#"{"sub":"eve","scope":"a"}"#);
    let (keys, verifier) = (keys(), every_algorithm());
    assert!(verifier.verify(&good, &keys, NOW_S).is_ok());
    for at in 0..good.len() {
        let mut changed = good.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        assert!(verifier.verify(&changed, &keys, NOW_S).is_err(), "{at}");
        assert!(verifier.verify(&good[..at], &keys, NOW_S).is_err(), "{at}");
        assert!(verifier.verify(&good[at + 1..], &keys, NOW_S).is_err(), "{at}");
    }
    // The signature of zeros (CVE-2022-21449).
    let (signed, _) = good.rsplit_once('.').unwrap();
    let zeros = format!("{signed}.{}", part([0; 64]));
    assert_eq!(verifier.verify(&zeros, &keys, NOW_S).unwrap_err(), TokenError::BadSignature);
}

#[test]
fn a_token_of_an_unknown_key_asks_for_newer_keys() {
    let header = r#"{"alg":"ES256","kid":"new"}"#;
    let error = every_algorithm().verify(&ec_signed(header, "{}"), &keys(), NOW_S).unwrap_err();
    assert_eq!(error, TokenError::NoKey { unknown_key_id: true });
    let header = r#"{"alg":"ES256"}"#;
    let none = KeySet::default();
    let error = every_algorithm().verify(&ec_signed(header, "{}"), &none, NOW_S).unwrap_err();
    assert_eq!(error, TokenError::NoKey { unknown_key_id: false });
}

#[test]
fn time_is_checked_with_skew() {
    let check = |payload: String, expected: Result<(), &str>| {
        let found = verified(&payload).map(drop).map_err(|error| error.description());
        assert_eq!(found, expected.map_err(str::to_owned), "{payload}");
    };
    let at = |offset: i64| NOW_S + offset;
    check(format!(r#"{{"exp":{}}}"#, at(1)), Ok(()));
    check(format!(r#"{{"exp":{}}}"#, at(-60)), Ok(()));
    check(format!(r#"{{"exp":{}}}"#, at(-61)), Err("Jwt expired at 2023-11-14T22:12:19Z"));
    check(format!(r#"{{"exp":{}.9}}"#, at(-61)), Err("Jwt expired at 2023-11-14T22:12:19Z"));
    check(format!(r#"{{"exp":{}.5e0}}"#, at(0)), Ok(()));
    check(format!(r#"{{"nbf":{}}}"#, at(60)), Ok(()));
    check(format!(r#"{{"nbf":{}}}"#, at(61)), Err("Jwt used before 2023-11-14T22:14:21Z"));
    check(format!(r#"{{"nbf":{}.5}}"#, at(60)), Ok(()));
    check(r#"{"exp":1e300}"#.to_owned(), Ok(()));
    check(r#"{"exp":18446744073709551615}"#.to_owned(), Ok(()));
    check(r#"{"nbf":1e300}"#.to_owned(), Err("Jwt used before 9999-12-31T23:59:59Z"));
    check(r#"{"exp":-1e300}"#.to_owned(), Err("Jwt expired at 0000-01-01T00:00:00Z"));
    check(r#"{"exp":0}"#.to_owned(), Err("Jwt expired at 1970-01-01T00:00:00Z"));
    check(r#"{"exp":null,"sub":"x"}"#.to_owned(), Ok(()));
}

#[test]
fn claims_sets_that_are_none_are_refused() {
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(300), "]".repeat(300));
    for payload in [
        "",
        "x",
        "[]",
        "{}",
        r#"{"exp":"1800000000"}"#,
        r#"{"exp":[1]}"#,
        r#"{"exp":1e999}"#,
        r#"{"nbf":true}"#,
        r#"{"iat":"x"}"#,
        r#"{"iss":1}"#,
        r#"{"sub":{}}"#,
        r#"{"jti":1}"#,
        r#"{"aud":1}"#,
        r#"{"aud":["a",1]}"#,
        r#"{"iat":1800000000,"exp":1800000000}"#,
        r#"{"sub":"a","sub":"b"}"#,
        r#"{"exp":1800000000,"exp":1}"#,
        r#"{"a":{"b":1,"b":2}}"#,
        &deep,
    ] {
        assert_eq!(verified(payload).unwrap_err(), TokenError::BadClaims, "{payload}");
    }
    assert_eq!(TokenError::BadClaims.description(), "Failed to validate the token");
}

#[test]
fn issuer_audience_and_type_are_checked() {
    let rules = Verifier {
        issuer: Some("https://a".to_owned()),
        audiences: vec!["x".to_owned(), "y".to_owned()],
        ..verifier()
    };
    let check = |payload: &str, expected: Result<(), &str>| {
        let found = rules.verify(&token(payload), &keys(), NOW_S).map(drop);
        let found = found.map_err(|error| error.description());
        assert_eq!(found, expected.map_err(str::to_owned), "{payload}");
    };
    check(r#"{"iss":"https://a","aud":"y"}"#, Ok(()));
    check(r#"{"iss":"https://a","aud":["z","x"]}"#, Ok(()));
    check(r#"{"iss":"https://a/","aud":"y"}"#, Err("The iss claim is not valid"));
    check(r#"{"aud":"y"}"#, Err("The iss claim is not valid"));
    check(r#"{"iss":"https://a"}"#, Err("The aud claim is not valid"));
    check(r#"{"iss":"https://a","aud":[]}"#, Err("The aud claim is not valid"));
    check(r#"{"iss":"https://a","aud":"x y"}"#, Err("The aud claim is not valid"));
    check(r#"{"iss":"b","exp":0}"#, Err("Jwt expired at 1970-01-01T00:00:00Z"));
    let check = |kind: &str, types: &[&str], expected: Result<(), &str>| {
        let header = format!(r#"{{"alg":"RS256","typ":{kind}}}"#);
        let token = rsa_signed(&header, r#"{"sub":"eve"}"#, &RSA_PKCS1_SHA256);
        let types = types.iter().map(|kind| (*kind).to_owned()).collect();
        let found = Verifier { types, ..verifier() }.verify(&token, &keys(), NOW_S).map(drop);
        let found = found.map_err(|error| error.description());
        assert_eq!(found, expected.map_err(str::to_owned), "{kind}");
    };
    check(r#""jwt""#, &["JWT"], Ok(()));
    check(r#""""#, &["JWT"], Ok(()));
    check("null", &["JWT"], Ok(()));
    check(r#""at+jwt""#, &["JWT"], Err("the given typ value needs to be one of [JWT]"));
    check(r#""at+jwt""#, &["JWT", "at+jwt"], Ok(()));
}

#[test]
fn a_public_key_from_pem_verifies_tokens_of_any_kid() {
    use aws_lc_rs::encoding::AsDer;
    let der: aws_lc_rs::encoding::PublicKeyX509Der<'_> =
        issuer().rsa.public_key().as_der().unwrap();
    let text = base64::prelude::BASE64_STANDARD.encode(der.as_ref());
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----\n");
    let keys = KeySet::from_pem_public_key(&pem).unwrap();
    let claims = verifier().verify(&token(r#"{"sub":"eve","scope":"a"}"#), &keys, NOW_S).unwrap();
    assert_eq!(
        (claims.principal(), claims.authorities()),
        (Some("eve"), &["SCOPE_a".to_owned()][..])
    );
    // HMAC with the file as its secret.
    let forged = mac_signed(r#"{"alg":"HS256"}"#, r#"{"sub":"eve"}"#, pem.as_bytes());
    let error = every_algorithm().verify(&forged, &keys, NOW_S).unwrap_err();
    assert_eq!(error, TokenError::NoKey { unknown_key_id: false });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_signed_payload_is_a_panic(payload in "\\PC{0,40}", exp in any::<f64>(), now_s: i64) {
        let keys = keys();
        for payload in [payload, format!(r#"{{"exp":{exp:?},"nbf":{exp:?}}}"#)] {
            let token = ec_signed(r#"{"alg":"ES256"}"#, &payload);
            if let Ok(claims) = every_algorithm().verify(&token, &keys, now_s) {
                prop_assert!(every_algorithm().valid_until_s(&claims) >= now_s);
            }
        }
    }
}
