//! Rules of the filter `Authorize` on a request's claims: `scope:read and not role:guest`.
//!
//! ```text
//! rule   = all *( "or" all )
//! all    = term *( "and" term )
//! term   = "not" term | "(" rule ")" | "authenticated" | kind ":" value
//! kind   = "scope" | "authority" | "role"
//! claim  = "claim:" path [ "=" value ]
//! ```
//!
//! Words are separated by space or parentheses; a value with either stands in double quotes.

mod parse;

use std::fmt;

use serde_json::Value;

use crate::Claims;
use crate::claims::shown;

/// The claim in which Keycloak puts the roles of a realm.
const KEYCLOAK_ROLES: &str = "realm_access.roles";

/// A rule over claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Anybody with a token or key that holds.
    Authenticated,
    /// An authority `SCOPE_` + this (Spring's `hasScope`), or this in `scope` or `scp`.
    Scope(String),
    /// An authority of this name, with its prefix (`hasAuthority`).
    Authority(String),
    /// An authority `ROLE_` + this (`hasRole`), or this in Keycloak's `realm_access.roles`.
    Role(String),
    /// The claim at a dotted path is there and not null.
    Claim(String),
    /// The claim at a dotted path is this text, number or truth value, or a list that holds it.
    ClaimIs(String, String),
    /// Not this.
    Not(Box<Self>),
    /// All of these.
    All(Vec<Self>),
    /// At least one of these.
    Any(Vec<Self>),
}

/// Syntax error in a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// Position of the error, in bytes from the start of the text.
    pub at: usize,
    /// Error text for the operator.
    pub message: String,
}

impl Rule {
    /// Whether `claims` fulfil the rule. A request without claims is refused earlier, with status
    /// 401.
    pub fn allows(&self, claims: &Claims) -> bool {
        match self {
            Self::Authenticated => true,
            Self::Scope(name) => claims.scopes().contains(name) || prefixed(claims, "SCOPE_", name),
            Self::Authority(name) => claims.authorities().contains(name),
            Self::Role(name) => {
                let roles = claims.claim(KEYCLOAK_ROLES);
                prefixed(claims, "ROLE_", name) || roles.is_some_and(|roles| lists(roles, name))
            }
            Self::Claim(path) => claims.claim(path).is_some_and(|value| !value.is_null()),
            Self::ClaimIs(path, value) => {
                let is =
                    |found: &Value| shown(found).as_deref() == Some(value) || lists(found, value);
                claims.claim(path).is_some_and(is)
            }
            Self::Not(rule) => !rule.allows(claims),
            Self::All(rules) => rules.iter().all(|rule| rule.allows(claims)),
            Self::Any(rules) => rules.iter().any(|rule| rule.allows(claims)),
        }
    }
}

fn prefixed(claims: &Claims, prefix: &str, name: &str) -> bool {
    claims.authorities().iter().any(|authority| authority.strip_prefix(prefix) == Some(name))
}

/// Whether `value` is a list that holds `item`.
fn lists(value: &Value, item: &str) -> bool {
    let is = |found: &Value| shown(found).as_deref() == Some(item);
    value.as_array().is_some_and(|list| list.iter().any(is))
}

impl fmt::Display for Rule {
    /// In the syntax that [`Rule::parse`] reads.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Authenticated => to.write_str("authenticated"),
            Self::Scope(name) => write!(to, "scope:{}", Quoted(name)),
            Self::Authority(name) => write!(to, "authority:{}", Quoted(name)),
            Self::Role(name) => write!(to, "role:{}", Quoted(name)),
            Self::Claim(path) => write!(to, "claim:{}", Quoted(path)),
            Self::ClaimIs(path, value) => write!(to, "claim:{}={}", Quoted(path), Quoted(value)),
            Self::Not(rule) => write!(to, "not {}", Term(rule)),
            Self::All(rules) => joined(to, rules, " and "),
            Self::Any(rules) => joined(to, rules, " or "),
        }
    }
}

fn joined(to: &mut fmt::Formatter<'_>, rules: &[Rule], word: &str) -> fmt::Result {
    for (at, rule) in rules.iter().enumerate() {
        if at > 0 {
            to.write_str(word)?;
        }
        write!(to, "{}", Term(rule))?;
    }
    Ok(())
}

/// A rule, in parentheses where it needs them.
struct Term<'a>(&'a Rule);

impl fmt::Display for Term<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Rule::All(_) | Rule::Any(_) => write!(to, "({})", self.0),
            rule => rule.fmt(to),
        }
    }
}

/// A value, in quotes where it needs them.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |c: char| !c.is_whitespace() && !matches!(c, '(' | ')' | '"' | '=');
        if !self.0.is_empty() && self.0.chars().all(plain) {
            return to.write_str(self.0);
        }
        write!(to, "\"{}\"", self.0)
    }
}

#[cfg(test)]
mod tests;
