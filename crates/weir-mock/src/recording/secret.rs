//! What must not get from traffic into a definition: credentials, by the names that they go under
//! and by their looks. Personal data is not looked for.

use serde_json::Value;

/// What stands in the place of a secret.
pub(super) const REDACTED: &str = "redacted";

/// Names of secrets, wherever they are in a name; in lower case, letters and digits alone.
const IN_NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "authorization",
    "authenticat",
    "cookie",
    "sessionid",
    "signature",
    "otpcode",
];
/// Names of secrets as a whole.
const WHOLE_NAMES: &[&str] =
    &["pwd", "pass", "pin", "otp", "auth", "jwt", "sid", "session", "sig", "cvv", "cvc"];
/// Names of secrets in a query, where other values have them too.
const QUERY_NAMES: &[&str] = &["key", "hmac", "code"];
/// How keys of well-known services begin.
const PREFIXES: &[&str] =
    &["sk_", "sk-", "rk_live_", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xox", "AKIA"];
const PREFIXED_BYTES_MIN: usize = 16;
/// A value of this length in a path or a query may be a key.
const OPAQUE_BYTES_MIN: usize = 40;

/// Whether a header field, a property or a field of a form of this name is a secret.
pub(super) fn is_name(name: &str) -> bool {
    let plain = plain(name);
    WHOLE_NAMES.contains(&plain.as_str()) || IN_NAMES.iter().any(|part| plain.contains(part))
}

/// Whether a parameter or header field is a secret, by its name or by its looks.
pub fn is_parameter(name: &str, value: &str) -> bool {
    is_name(name) || QUERY_NAMES.contains(&plain(name).as_str()) || is_in_address(value)
}

/// Whether a value of a path or a query looks like a secret.
pub(super) fn is_in_address(value: &str) -> bool {
    let is_opaque = value.len() >= OPAQUE_BYTES_MIN
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~=+/".contains(&byte));
    is_opaque || is_text(value)
}

/// Whether a text looks like a secret.
pub(super) fn is_text(value: &str) -> bool {
    let value = value.trim();
    let is_scheme = |scheme: &str| {
        let begins = value.get(..scheme.len()).is_some_and(|own| own.eq_ignore_ascii_case(scheme));
        begins && value.len() > scheme.len()
    };
    let is_jwt = value.starts_with("eyJ") && value.matches('.').count() >= 2;
    let is_key = value.len() >= PREFIXED_BYTES_MIN
        && !value.contains(' ')
        && PREFIXES.iter().any(|prefix| value.starts_with(prefix));
    // A line of the access log has it where a secret was.
    value == REDACTED
        || is_jwt
        || is_key
        || is_scheme("bearer ")
        || is_scheme("basic ")
        || value.contains("-----BEGIN")
        || has_password_of_url(value)
        || has_secret_parameter(value)
}

/// Whether a text that is neither JSON nor a form may hold a secret somewhere.
pub(super) fn is_suspect(text: &str) -> bool {
    let plain = plain(text);
    IN_NAMES.iter().any(|part| plain.contains(part)) || text.contains("eyJ") || is_text(text)
}

/// Replaces the secrets in `value`; gives how many there were.
pub(super) fn redact(value: &mut Value) -> usize {
    match value {
        Value::Object(members) => members
            .iter_mut()
            .map(|(name, member)| if is_name(name) { blank(member) } else { redact(member) })
            .sum(),
        Value::Array(all) => all.iter_mut().map(redact).sum(),
        Value::String(text) if is_text(text) => blank(value),
        _ => 0,
    }
}

/// Removes the secrets from what a request must hold: nobody sends what stands in their place.
pub(super) fn strip(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, member| !is_name(name) && !member.as_str().is_some_and(is_text));
            members.values_mut().for_each(strip);
        }
        Value::Array(all) => {
            all.retain(|one| !one.as_str().is_some_and(is_text));
            all.iter_mut().for_each(strip);
        }
        _ => {}
    }
}

/// Replaces all texts and numbers, in whatever they are.
fn blank(value: &mut Value) -> usize {
    match value {
        Value::String(text) => {
            REDACTED.clone_into(text);
            1
        }
        Value::Number(number) => {
            *number = 0.into();
            1
        }
        Value::Array(all) => all.iter_mut().map(blank).sum(),
        Value::Object(members) => members.values_mut().map(blank).sum(),
        Value::Null | Value::Bool(_) => 0,
    }
}

fn has_password_of_url(value: &str) -> bool {
    let after = value.split_once("://").map(|(_, rest)| rest);
    let authority = after.and_then(|rest| rest.split(['/', '?', '#']).next());
    authority.is_some_and(|own| own.split_once('@').is_some_and(|(user, _)| user.contains(':')))
}

/// Whether an address names a secret in its query or fragment. Links, as in `Link`, are in `<>`.
fn has_secret_parameter(value: &str) -> bool {
    let is_address = value.starts_with(['/', '<', '?']) || value.contains("://");
    let parts = value.split(['?', '#', '&']).skip(1);
    let mut names = parts.filter_map(|part| part.split_once('=')).map(|(name, _)| name);
    is_address && names.any(|name| is_name(name) || QUERY_NAMES.contains(&plain(name).as_str()))
}

fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{is_in_address, is_name, is_parameter, redact, strip};

    #[test]
    fn names_tell_secrets() {
        let check = |name, expected| assert_eq!(is_name(name), expected, "{name}");
        for name in ["password", "newPassword", "X-Api-Key", "access_token", "PIN", "Set-Cookie"] {
            check(name, true);
        }
        for name in ["name", "pinned", "passenger", "key", "author", "session_count"] {
            check(name, false);
        }
        assert!(is_parameter("key", "1") && is_parameter("q", "eyJhbGciOi.eyJzdWIi.c2ln"));
        assert!(!is_parameter("page", "1"));
    }

    #[test]
    fn looks_tell_secrets() {
        let check = |value: &str, expected| assert_eq!(is_in_address(value), expected, "{value}");
        check("eyJhbGciOi.eyJzdWIi.c2ln", true);
        check("Bearer abc", true);
        check("ghp_0123456789abcdef0123", true);
        check("postgres://user:pass@db/x", true);
        check("5f2b8c0a9d3e4f61728394a5b6c7d8e9f0011223344", true);
        check("0190c2a4-7c1e-7d2b-9a3f-5b6c7d8e9f00", false);
        check("a-slug-with-many-words-that-is-rather-long-indeed", false);
        check("http://a.example/x:y@z", false);
        check("https://a.example/cb#access_token=1&x=2", true);
        check("/next?page=2&key=1", true);
        check("<https://a.example/?page=2>; rel=next", false);
        check("why? key=1", false);
    }

    #[test]
    fn values_are_replaced_or_removed() {
        let body = json!({ "user": "ann", "password": "p", "cards": [ { "cvv": 123 } ],
            "secrets": { "a": ["x", true] }, "note": "Bearer abc" });
        let mut redacted = body.clone();
        assert_eq!(redact(&mut redacted), 4);
        assert_eq!(
            redacted,
            json!({ "user": "ann", "password": "redacted", "cards": [ { "cvv": 0 } ],
                "secrets": { "a": ["redacted", true] }, "note": "redacted" })
        );
        let mut stripped = body;
        strip(&mut stripped);
        assert_eq!(stripped, json!({ "user": "ann", "cards": [ {} ] }));
    }
}
