//! Users with passwords.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::constant_time::verify_slices_are_equal;

use crate::SecretError;
use crate::recent::Recent;
use crate::secret::{Secret, sha256};

/// Costs of bcrypt that are taken: a check of the highest takes about a second, and each step
/// doubles it.
const COSTS: std::ops::RangeInclusive<u32> = 4..=14;
/// Passwords that are remembered at most once they have been checked.
const KNOWN_MAX: usize = 4096;
/// How long a verified password is remembered, in milliseconds.
const KNOWN_MS: i64 = 3_600_000;

/// Users by name, with their passwords or hashes of them.
#[derive(Debug, Default)]
pub struct Users {
    passwords: HashMap<String, Password>,
    /// Hash to check for unknown users, so that the duration does not reveal whether a user exists.
    decoy: Option<Arc<str>>,
    /// Expiry of verified passwords, in milliseconds since 1970: by the SHA-256 of user, stored
    /// hash (whose salt is unique) and password.
    known: Mutex<Option<Recent<[u8; 32], i64>>>,
}

#[derive(Debug)]
enum Password {
    Secret(Secret),
    Bcrypt(Arc<str>),
}

/// Result of a password check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checked {
    /// The password is the user's.
    Right,
    /// The password is wrong, or there is no such user.
    Wrong,
    /// To be verified against this bcrypt hash, which is slow.
    Ask(Arc<str>),
}

impl Users {
    /// Adds a user: `$2y$…` and `{bcrypt}$2a$…` as `htpasswd -B` and Spring write them,
    /// `sha256:HEX`, `{noop}PLAIN`, or a plain password.
    ///
    /// # Errors
    /// `stored` is malformed.
    pub fn add(&mut self, name: &str, stored: &str) -> Result<(), SecretError> {
        let bcrypt = stored.strip_prefix("{bcrypt}").unwrap_or(stored);
        let password = if bcrypt.starts_with("$2") {
            let hash: Arc<str> = bcrypt_hash(bcrypt)?.into();
            self.decoy = Some(Arc::clone(&hash));
            Password::Bcrypt(hash)
        } else if stored.starts_with("{noop}") || stored.starts_with("sha256:") {
            Password::Secret(Secret::parse(stored)?)
        } else if stored.starts_with('{') || stored.starts_with('$') {
            return Err(SecretError::UnknownNotation);
        } else {
            Password::Secret(Secret::of_plain(stored)?)
        };
        self.passwords.insert(name.to_owned(), password);
        Ok(())
    }

    /// Whether there are no users.
    pub fn is_empty(&self) -> bool {
        self.passwords.is_empty()
    }

    /// Whether there is a user of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.passwords.contains_key(name)
    }

    /// Checks a password as far as possible without a slow hash, `now_ms` milliseconds after 1970.
    pub fn check(&self, name: &str, password: &str, now_ms: i64) -> Checked {
        match self.passwords.get(name) {
            Some(Password::Secret(secret)) => {
                let same = verify_slices_are_equal(&secret.0, &sha256(password)).is_ok();
                if same { Checked::Right } else { Checked::Wrong }
            }
            Some(Password::Bcrypt(hash)) => {
                let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
                let digest = digest(name, hash, password);
                let until_ms = known.as_mut().and_then(|known| known.get(&digest).copied());
                let is_known = until_ms.is_some_and(|until_ms| now_ms < until_ms);
                if is_known { Checked::Right } else { Checked::Ask(Arc::clone(hash)) }
            }
            None => {
                self.decoy.as_ref().map_or(Checked::Wrong, |decoy| Checked::Ask(Arc::clone(decoy)))
            }
        }
    }

    /// Remembers for an hour that a password was right, so that it is not asked about again.
    pub fn remember(&self, name: &str, password: &str, now_ms: i64) {
        // A match of the decoy's password is not remembered for any user.
        if let Some(Password::Bcrypt(hash)) = self.passwords.get(name) {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let known = known.get_or_insert_with(|| Recent::new(KNOWN_MAX, KNOWN_MAX * 64));
            known.put(digest(name, hash, password), now_ms.saturating_add(KNOWN_MS), 64);
        }
    }
}

/// The hashed text is unique for a name and password: a stored hash always has 60 characters.
fn digest(name: &str, hash: &str, password: &str) -> [u8; 32] {
    sha256(&format!("{}:{name}{hash}{password}", name.len()))
}

/// `$2y$10$` and 53 characters.
fn bcrypt_hash(text: &str) -> Result<&str, SecretError> {
    let mut parts = text.split('$').skip(1);
    let (version, cost, rest) = (parts.next(), parts.next(), parts.next().unwrap_or_default());
    let is_version = matches!(version, Some("2a" | "2b" | "2x" | "2y"));
    let is_coded = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'/';
    let cost = cost.filter(|cost| cost.len() == 2).and_then(|cost| cost.parse::<u32>().ok());
    let is_whole = rest.len() == 53 && rest.bytes().all(is_coded) && parts.next().is_none();
    match cost {
        Some(cost) if cost > *COSTS.end() => Err(SecretError::CostlyBcrypt),
        Some(cost) if is_version && is_whole && COSTS.contains(&cost) => Ok(text),
        _ => Err(SecretError::BadBcrypt),
    }
}

#[cfg(test)]
mod tests {
    use super::{Checked, KNOWN_MS, Users};
    use crate::SecretError;

    /// The example of Spring's documentation: `password`.
    const HASH: &str = "$2a$10$dXJ3SW6G7P50lGmMkkmwe.20cQQubK3.HZWzG3YB1tlRy.fqvM/BG";

    #[test]
    fn passwords_are_checked() {
        let mut users = Users::default();
        users.add("plain", "pw").expect("a password");
        users.add("noop", "{noop}pw").expect("a password");
        let hex = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
        users.add("hashed", &format!("sha256:{hex}")).expect("a password");
        assert_eq!(users.check("plain", "pw", 0), Checked::Right);
        assert_eq!(users.check("noop", "pw", 0), Checked::Right);
        assert_eq!(users.check("hashed", "secret", 0), Checked::Right);
        assert_eq!(users.check("plain", "pw ", 0), Checked::Wrong);
        assert_eq!(users.check("nobody", "pw", 0), Checked::Wrong);
    }

    #[test]
    fn bcrypt_is_asked_about_once() {
        let mut users = Users::default();
        users.add("slow", &format!("{{bcrypt}}{HASH}")).expect("a password");
        let ask = Checked::Ask(HASH.into());
        assert_eq!(users.check("slow", "password", 0), ask);
        users.remember("slow", "password", 0);
        assert_eq!(users.check("slow", "password", KNOWN_MS - 1), Checked::Right);
        assert_eq!(users.check("slow", "password", KNOWN_MS), ask, "an hour is over");
        assert_eq!(users.check("slow", "other", 0), ask);
        assert_eq!(users.check("nobody", "password", 0), ask, "it takes as long");
        users.remember("nobody", "password", 0);
        assert_eq!(users.check("nobody", "password", 0), ask, "and makes nobody known");
    }

    #[test]
    fn what_cannot_be_a_password_is_refused() {
        let check = |stored: &str, error| {
            assert_eq!(Users::default().add("x", stored), Err(error), "{stored}");
        };
        check("", SecretError::Empty);
        check("$apr1$x$y", SecretError::UnknownNotation);
        check("{MD5}x", SecretError::UnknownNotation);
        check("$2y$10$short", SecretError::BadBcrypt);
        check(&HASH.replace("$10$", "$15$"), SecretError::CostlyBcrypt);
        check(&HASH.replace("$10$", "$03$"), SecretError::BadBcrypt);
        check(&format!("{HASH}x"), SecretError::BadBcrypt);
    }
}
