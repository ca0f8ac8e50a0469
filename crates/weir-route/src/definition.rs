//! Route definitions: the JSON form of Spring Cloud Gateway's `RouteDefinition`.

mod arguments;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use smol_str::{SmolStr, format_smolstr};

pub use arguments::Arguments;

/// A route as written (SCG class `RouteDefinition`). Serialises to SCG's JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RouteDefinition {
    /// Identifier; unique within a source.
    #[serde(default)]
    pub id: String,
    /// Conditions, all of which must hold, evaluated left to right.
    #[serde(default)]
    pub predicates: Vec<NamedArgs>,
    /// Filters; run in order on the request, in reverse on the response.
    #[serde(default)]
    pub filters: Vec<NamedArgs>,
    /// Target of matched requests.
    #[serde(default)]
    pub uri: String,
    /// Free data; `connect-timeout`, `response-timeout` and `cors` have a meaning.
    #[serde(default)]
    pub metadata: Map<String, Value>,
    /// Lower is tried first.
    #[serde(default)]
    pub order: i32,
    /// `false` disables a route of a file.
    #[serde(default = "enabled")]
    pub enabled: bool,
    /// Id of its group (`weir.groups`); empty if it has none. weir's own field, omitted in the JSON
    /// of routes without a group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
}

fn enabled() -> bool {
    true
}

/// A predicate or filter as written: its name and its arguments in order.
///
/// Arguments of a shortcut are named `_genkey_0`, `_genkey_1`, …; nested arguments have dotted keys
/// (`redis-rate-limiter.replenishRate`), list elements numbered ones (`patterns.0`).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NamedArgs {
    /// SCG's name, such as `Path` or `AddRequestHeader`.
    pub name: SmolStr,
    /// Argument name to text, in the order written.
    pub args: Arguments,
}

/// Reason for which a shortcut such as `Path=/a` is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShortcutError {
    /// A predicate without `=`, which is required even if no value follows.
    NoEquals,
    /// An empty name before the `=`.
    NoName,
}

/// Parses `Name=a,b` (scg.md 1.3). `bare` allows `Name` without `=` (filters, not predicates).
///
/// # Errors
/// See [`ShortcutError`].
pub fn parse_shortcut(text: &str, bare: bool) -> Result<NamedArgs, ShortcutError> {
    let (name, values) = match text.split_once('=') {
        Some((name, values)) => (name, values),
        None if bare => (text, ""),
        None => return Err(ShortcutError::NoEquals),
    };
    if name.trim().is_empty() {
        return Err(ShortcutError::NoName);
    }
    let tokens = values.split(',').map(str::trim).filter(|token| !token.is_empty());
    let generated = |n: usize| match n {
        0 => SmolStr::new_static("_genkey_0"),
        1 => SmolStr::new_static("_genkey_1"),
        n => format_smolstr!("_genkey_{n}"),
    };
    let args = tokens.enumerate().map(|(n, token)| (generated(n), Value::from(token))).collect();
    Ok(NamedArgs { name: name.into(), args })
}

impl<'de> Deserialize<'de> for NamedArgs {
    /// Accepts `{"name": …, "args": {…}}` or a shortcut string.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Shortcut(String),
            Long {
                name: String,
                #[serde(default)]
                args: Arguments,
            },
        }
        match Written::deserialize(deserializer)? {
            Written::Long { name, args } => Ok(Self { name: name.into(), args }),
            Written::Shortcut(text) => parse_shortcut(&text, true)
                .map_err(|_| serde::de::Error::custom(format!("`{text}` is not Name=args"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ShortcutError, parse_shortcut};

    fn check(text: &str, name: &str, args: &str) {
        let parsed = parse_shortcut(text, true).expect("a shortcut");
        assert_eq!(parsed.name, name);
        assert_eq!(serde_json::to_string(&parsed.args).expect("json"), args);
    }

    #[test]
    fn shortcuts_split_at_the_first_equals_and_at_commas() {
        check("Path=/a, /b", "Path", r#"{"_genkey_0":"/a","_genkey_1":"/b"}"#);
        check("Header=X, a=b", "Header", r#"{"_genkey_0":"X","_genkey_1":"a=b"}"#);
        check(
            "RewriteLocationResponseHeader=A, L, ,",
            "RewriteLocationResponseHeader",
            r#"{"_genkey_0":"A","_genkey_1":"L"}"#,
        );
        check("PreserveHostHeader", "PreserveHostHeader", "{}");
        check("Path=", "Path", "{}");
    }

    #[test]
    fn a_predicate_needs_an_equals() {
        assert_eq!(parse_shortcut("Path", false), Err(ShortcutError::NoEquals));
        assert_eq!(parse_shortcut("=x", true), Err(ShortcutError::NoName));
    }
}
