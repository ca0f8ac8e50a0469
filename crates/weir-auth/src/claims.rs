//! Claims of a verified token, and the authorities that Spring derives from them.

use regex::Regex;
use serde_json::{Map, Value};

/// Claims that hold scopes, in the order in which they are looked for
/// (Spring's `JwtGrantedAuthoritiesConverter`).
const SCOPE_CLAIMS: [&str; 2] = ["scope", "scp"];
/// Prefix that makes a scope an authority.
const SCOPE_PREFIX: &str = "SCOPE_";

/// Mapping of claims to authorities and principal, by the properties of
/// `spring.security.oauth2.resourceserver.jwt`.
#[derive(Clone, Debug)]
pub struct AuthoritySettings {
    /// `authorities-claim-name`: the claim that holds the authorities, by name or dotted path;
    /// `None`: `scope`, or `scp` if that is missing.
    pub claim: Option<String>,
    /// `authorities-claim-delimiter`: separator of authorities in a string, as a regular
    /// expression.
    pub delimiter: Regex,
    /// `authority-prefix`: prefix of each authority.
    pub prefix: String,
    /// `principal-claim-name`: the claim that names the principal.
    pub principal_claim: String,
}

impl AuthoritySettings {
    /// Spring's defaults: scopes separated by spaces, prefix `SCOPE_`, principal `sub`.
    ///
    /// # Errors
    /// `delimiter` is given and no regular expression.
    pub fn new(delimiter: Option<&str>) -> Result<Self, regex::Error> {
        Ok(Self {
            claim: None,
            delimiter: Regex::new(delimiter.unwrap_or(" "))?,
            prefix: SCOPE_PREFIX.to_owned(),
            principal_claim: "sub".to_owned(),
        })
    }
}

/// Identity of a request's sender.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claims {
    all: Map<String, Value>,
    principal: Option<String>,
    authorities: Vec<String>,
    scopes: Vec<String>,
    expires_s: Option<i64>,
}

impl Claims {
    /// Claims of a client identified without a token: by an API key.
    pub fn of_principal(name: &str, authorities: Vec<String>) -> Self {
        let all = Map::from_iter([("sub".to_owned(), Value::from(name))]);
        let scope = |name: &String| name.strip_prefix(SCOPE_PREFIX).map(str::to_owned);
        let scopes = authorities.iter().filter_map(scope).collect();
        Self { all, principal: Some(name.to_owned()), authorities, scopes, expires_s: None }
    }

    /// Claims of a token whose registered claims have the right types.
    pub(crate) fn new(
        all: Map<String, Value>,
        expires_s: Option<i64>,
        settings: &AuthoritySettings,
    ) -> Self {
        let scope_claim = SCOPE_CLAIMS.into_iter().find(|name| all.contains_key(*name));
        let scopes = words(scope_claim.and_then(|name| all.get(name)), &settings.delimiter);
        let names = match &settings.claim {
            None => scopes.clone(),
            Some(claim) => words(lookup(&all, claim), &settings.delimiter),
        };
        let authorities = names.iter().map(|name| format!("{}{name}", settings.prefix)).collect();
        let principal = lookup(&all, &settings.principal_claim).and_then(shown);
        Self { all, principal, authorities, scopes, expires_s }
    }

    /// `sub`.
    pub fn subject(&self) -> Option<&str> {
        self.all.get("sub")?.as_str()
    }

    /// The name of the principal: `sub`, or the claim that the settings name.
    pub fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }

    /// `exp`, in seconds since 1970, without its fraction.
    pub fn expires_s(&self) -> Option<i64> {
        self.expires_s
    }

    /// The scopes of `scope`, or of `scp` if that is missing, without a prefix.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// The authorities, with their prefix: `SCOPE_read`.
    pub fn authorities(&self) -> &[String] {
        &self.authorities
    }

    /// The claim at a dotted path such as `realm_access.roles`. A claim whose own name has dots is
    /// found too, and takes precedence over a path.
    pub fn claim(&self, path: &str) -> Option<&Value> {
        lookup(&self.all, path)
    }

    /// About how many bytes it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        let lists: usize = self.authorities.iter().chain(&self.scopes).map(String::len).sum();
        size_of::<Self>()
            + lists
            + self.all.iter().map(|(name, v)| name.len() + bytes(v)).sum::<usize>()
    }
}

fn lookup<'a>(members: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    if let Some(value) = members.get(path) {
        return Some(value);
    }
    path.match_indices('.').find_map(|(at, _)| {
        let (name, rest) = (path.get(..at)?, path.get(at + 1..)?);
        lookup(members.get(name)?.as_object()?, rest)
    })
}

/// The words of a string or the strings of a list. Spring keeps empty words; they are dropped here,
/// where they could only grant an authority named like the bare prefix.
fn words(value: Option<&Value>, delimiter: &Regex) -> Vec<String> {
    let owned = |word: &str| (!word.is_empty()).then(|| word.to_owned());
    match value {
        Some(Value::String(text)) => delimiter.split(text).filter_map(owned).collect(),
        Some(Value::Array(list)) => {
            list.iter().filter_map(Value::as_str).filter_map(owned).collect()
        }
        _ => Vec::new(),
    }
}

/// A scalar as text.
pub(crate) fn shown(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn bytes(value: &Value) -> usize {
    let content = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(bytes).sum(),
        Value::Object(members) => members.iter().map(|(name, v)| name.len() + bytes(v)).sum(),
    };
    size_of::<Value>() + content
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{AuthoritySettings, Claims};

    fn claims(value: Value, settings: &AuthoritySettings) -> Claims {
        let Value::Object(all) = value else { panic!("no object") };
        Claims::new(all, None, settings)
    }

    #[test]
    fn scopes_become_authorities() {
        let check = |value, expected: &[&str]| {
            let settings = AuthoritySettings::new(None).unwrap();
            assert_eq!(claims(value, &settings).authorities(), expected);
        };
        check(json!({"scope": "a b:c"}), &["SCOPE_a", "SCOPE_b:c"]);
        check(json!({"scope": ["a", 1, "b c"]}), &["SCOPE_a", "SCOPE_b c"]);
        check(json!({"scp": "a"}), &["SCOPE_a"]);
        check(json!({"scope": "", "scp": "a"}), &[]);
        check(json!({"scope": "a", "scp": "b"}), &["SCOPE_a"]);
        check(json!({"scope": "a  b "}), &["SCOPE_a", "SCOPE_b"]);
        check(json!({"scope": 1}), &[]);
        check(json!({}), &[]);
    }

    #[test]
    fn another_claim_delimiter_and_prefix_can_be_set() {
        let mut settings = AuthoritySettings::new(Some(", *")).unwrap();
        settings.claim = Some("realm.roles".to_owned());
        settings.prefix = "ROLE_".to_owned();
        settings.principal_claim = "email".to_owned();
        let value = json!({"realm": {"roles": "x, y,z"}, "scope": "s", "email": "e@f", "sub": "g"});
        let claims = claims(value, &settings);
        assert_eq!(claims.authorities(), ["ROLE_x", "ROLE_y", "ROLE_z"]);
        assert_eq!(claims.scopes(), ["s"]);
        assert_eq!((claims.principal(), claims.subject()), (Some("e@f"), Some("g")));
        assert!(AuthoritySettings::new(Some("(")).is_err());
    }

    #[test]
    fn claims_are_found_by_path() {
        let settings = AuthoritySettings::new(None).unwrap();
        let claims = claims(
            json!({"a": {"b": {"c": 1}, "b.c": 2}, "https://x.y/z": {"r": 3}, "a.d": 4, "n": 5}),
            &settings,
        );
        let check = |path, expected: Option<i64>| {
            assert_eq!(claims.claim(path).and_then(Value::as_i64), expected, "{path}");
        };
        check("a.b.c", Some(2));
        check("https://x.y/z.r", Some(3));
        check("a.d", Some(4));
        check("n", Some(5));
        for path in ["", ".", "a", "a.", ".a", "n.x", "a.b.c.d"] {
            check(path, None);
        }
    }

    #[test]
    fn a_principal_without_a_token_has_a_name() {
        let claims = Claims::of_principal("eve", vec!["SCOPE_a".to_owned(), "ROLE_b".to_owned()]);
        assert_eq!((claims.principal(), claims.subject()), (Some("eve"), Some("eve")));
        assert_eq!(claims.scopes(), ["a"]);
    }
}
