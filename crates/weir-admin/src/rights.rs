//! What a caller of the admin API may see and change.
//!
//! The holder of a token of tenants sees their API definitions and nothing that tells of others:
//! no name, no number, and no revision of the store, which counts the changes of all.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use http::StatusCode;
use weir_control::Condition;

use crate::answer::Failure;

/// Bits of half a revision as the holder of a token of tenants sees it. Both halves are a number
/// that JSON carries exactly in every language.
const HALF_BITS: u32 = 26;
const HALF_MASK: u64 = (1 << HALF_BITS) - 1;
/// Rounds of the permutation; four make a strong one of a good function (Luby and Rackoff, 1988).
const ROUNDS: u64 = 4;

/// Whom an endpoint serves once there are tokens of tenants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Everybody: it tells nothing of routes and definitions.
    Open,
    /// Those who may do everything.
    Whole,
    /// Holders of tokens of tenants too; it keeps to their tenants.
    Tenants,
}

/// What a caller may see and change.
#[derive(Clone, Debug)]
pub(crate) enum Rights {
    /// Everything.
    All,
    /// The API definitions of some tenants.
    Tenants(Arc<Scope>),
}

/// The tenants of a token.
#[derive(Debug)]
pub struct Scope {
    tenants: Vec<String>,
    /// Hides the revisions of the store.
    key: u64,
}

impl Scope {
    /// The tenants of `token`.
    pub(crate) fn new(token: &str, tenants: &[String]) -> Self {
        let mut hasher = DefaultHasher::new();
        token.hash(&mut hasher);
        Self { tenants: tenants.to_vec(), key: hasher.finish() }
    }

    /// The tenants, as the audit log names them.
    pub(crate) fn told(&self) -> String {
        match self.tenants.as_slice() {
            [] => "no tenant".to_owned(),
            [only] => only.clone(),
            [first, rest @ ..] => format!("{first} and {} more", rest.len()),
        }
    }

    fn half(&self, round: u64, half: u64) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.key, round, half).hash(&mut hasher);
        hasher.finish() & HALF_MASK
    }

    /// A number for a revision that does not tell how many came before it: a Feistel network.
    fn hidden(&self, revision: u64) -> u64 {
        let (mut left, mut right) = (revision >> HALF_BITS & HALF_MASK, revision & HALF_MASK);
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ self.half(round, right));
        }
        left << HALF_BITS | right
    }

    /// The revision of [`Self::hidden`].
    fn revealed(&self, shown: u64) -> u64 {
        let (mut left, mut right) = (shown >> HALF_BITS & HALF_MASK, shown & HALF_MASK);
        for round in (0..ROUNDS).rev() {
            (left, right) = (right ^ self.half(round, left), left);
        }
        left << HALF_BITS | right
    }
}

impl Rights {
    /// Whether definitions of `tenant` are within them; the empty name stands for those of none.
    pub(crate) fn include(&self, tenant: &str) -> bool {
        match self {
            Self::All => true,
            Self::Tenants(scope) => scope.tenants.iter().any(|own| own == tenant),
        }
    }

    /// The tenant that is meant by the parameter `asked`, if one is.
    ///
    /// # Errors
    /// 404 for one that the caller may not see, whether it exists or not.
    pub(crate) fn asked(&self, asked: Option<String>) -> Result<Option<String>, Failure> {
        match (asked, self) {
            (Some(tenant), _) if !self.include(&tenant) => {
                let what = match tenant.is_empty() {
                    true => "definitions of no tenant".to_owned(),
                    false => format!("tenant `{tenant}`"),
                };
                Err(Failure::new(StatusCode::NOT_FOUND, format!("this token has no {what}")))
            }
            (None, Self::Tenants(scope)) => Ok(match scope.tenants.as_slice() {
                [only] => Some(only.clone()),
                _ => None,
            }),
            (asked, _) => Ok(asked),
        }
    }

    /// The one tenant whose definitions are meant; empty for those of none.
    ///
    /// # Errors
    /// See [`Self::asked`]; or the caller has several, and 400 says so.
    pub(crate) fn tenant(&self, asked: Option<String>) -> Result<String, Failure> {
        match (self.asked(asked)?, self) {
            (Some(tenant), _) => Ok(tenant),
            (None, Self::All) => Ok(String::new()),
            (None, Self::Tenants(scope)) => Err(Failure::bad_request(format!(
                "say which tenant is meant: `?tenant=`, `--tenant`; the token has {}",
                scope.tenants.join(", ")
            ))),
        }
    }

    /// A revision as the caller sees it.
    pub(crate) fn shown(&self, revision: u64) -> u64 {
        match self {
            Self::All => revision,
            Self::Tenants(scope) => scope.hidden(revision),
        }
    }

    /// A condition with the revisions of the store.
    pub(crate) fn condition(&self, condition: Condition) -> Condition {
        match (self, condition) {
            (Self::Tenants(scope), Condition::At(shown)) => {
                // A number that was never shown is at no revision.
                let known = shown.into_iter().filter(|one| one >> (2 * HALF_BITS) == 0);
                Condition::At(known.map(|one| scope.revealed(one)).collect())
            }
            (_, condition) => condition,
        }
    }

    /// The tag of a list of definitions: of the whole store at `revision`, or of those at
    /// `revisions`.
    pub(crate) fn list_tag(&self, revision: u64, revisions: impl Iterator<Item = u64>) -> u64 {
        match self {
            Self::All => revision,
            Self::Tenants(scope) => {
                let mut hasher = DefaultHasher::new();
                scope.key.hash(&mut hasher);
                revisions.for_each(|one| one.hash(&mut hasher));
                hasher.finish() >> (u64::BITS - 2 * HALF_BITS)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_control::Condition;

    use super::{HALF_BITS, Rights, Scope};

    fn rights(tenants: &[&str]) -> Rights {
        let tenants: Vec<String> = tenants.iter().map(|&one| one.to_owned()).collect();
        Rights::Tenants(Arc::new(Scope::new("t0ken", &tenants)))
    }

    #[test]
    fn a_revision_comes_back_and_tells_no_order() {
        let own = rights(&["acme"]);
        let last = (1 << (2 * HALF_BITS)) - 1;
        let all: Vec<u64> = (0..1000).chain([last - 1, last]).collect();
        let shown: Vec<u64> = all.iter().map(|&one| own.shown(one)).collect();
        assert!(shown.iter().all(|one| *one <= last));
        assert_eq!(own.condition(Condition::At(shown.clone())), Condition::At(all.clone()));
        let rising = shown.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((300..700).contains(&rising), "{rising}");
        assert_eq!(own.condition(Condition::At(vec![last + 1])), Condition::At(Vec::new()));
        assert_eq!(Rights::All.shown(7), 7);
        assert_eq!(own.condition(Condition::Exists), Condition::Exists);
    }

    #[test]
    fn a_parameter_names_a_tenant_of_the_token() {
        let check = |rights: &Rights, asked: Option<&str>, expected: Result<&str, u16>| {
            let got = rights.tenant(asked.map(str::to_owned));
            let got = got.map_err(|failure| failure.status.as_u16());
            assert_eq!(got.as_deref(), expected.as_deref(), "{rights:?} {asked:?}");
        };
        check(&Rights::All, None, Ok(""));
        check(&Rights::All, Some("acme"), Ok("acme"));
        check(&rights(&["acme"]), None, Ok("acme"));
        check(&rights(&["acme"]), Some("acme"), Ok("acme"));
        check(&rights(&["acme"]), Some("globex"), Err(404));
        check(&rights(&["acme"]), Some(""), Err(404));
        check(&rights(&["acme", "test"]), None, Err(400));
        check(&rights(&["acme", "test"]), Some("test"), Ok("test"));
        check(&rights(&[]), None, Err(400));
    }
}
