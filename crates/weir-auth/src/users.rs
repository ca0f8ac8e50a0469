//! A list of users with their passwords: lines of `htpasswd`.

use std::collections::HashMap;

use crate::{Secret, SecretError};

/// Most users of one list.
pub const USERS_MAX: usize = 100_000;

/// A hash that no password is expected to fit; its cost is put in.
const NOBODY: (&str, &str) = ("$2b$", "$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy");

/// Users and their passwords.
#[derive(Debug, Default)]
pub struct Users {
    secrets: HashMap<String, Secret>,
    /// The highest bcrypt cost of the list.
    cost: Option<u32>,
}

/// A line that names no user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserError {
    /// It has no `user:` before the secret.
    NoUser {
        /// Its number, from 1.
        line: usize,
    },
    /// Its secret cannot be used.
    Secret {
        /// Its number, from 1.
        line: usize,
        /// Why.
        error: SecretError,
    },
    /// Its user is in the list already.
    Twice {
        /// Its number, from 1.
        line: usize,
    },
    /// The list has more than [`USERS_MAX`] users.
    TooMany,
}

impl Users {
    /// Reads lines `user:secret`; empty ones and those that begin with `#` are skipped. A secret
    /// is whatever [`Secret::parse`] reads.
    ///
    /// # Errors
    /// Every line that cannot be used.
    pub fn parse(text: &str) -> Result<Self, Vec<UserError>> {
        let (mut users, mut errors) = (Self::default(), Vec::new());
        for (at, line) in text.lines().enumerate() {
            let line_text = line.trim();
            if line_text.is_empty() || line_text.starts_with('#') {
                continue;
            }
            if users.secrets.len() == USERS_MAX {
                errors.push(UserError::TooMany);
                break;
            }
            if let Err(error) = users.add(line_text, at + 1) {
                errors.push(error);
            }
        }
        if errors.is_empty() { Ok(users) } else { Err(errors) }
    }

    fn add(&mut self, text: &str, line: usize) -> Result<(), UserError> {
        let (user, secret) = text.split_once(':').ok_or(UserError::NoUser { line })?;
        if user.is_empty() {
            return Err(UserError::NoUser { line });
        }
        let secret = Secret::parse(secret).map_err(|error| UserError::Secret { line, error })?;
        self.cost = self.cost.max(secret.bcrypt_cost());
        match self.secrets.insert(user.to_owned(), secret) {
            None => Ok(()),
            Some(_) => Err(UserError::Twice { line }),
        }
    }

    /// Number of users.
    pub fn len(&self) -> usize {
        self.secrets.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// Whether a check may take tens of milliseconds and more: then ask a
    /// [`PasswordCache`](crate::PasswordCache) first, and check away from the event loop.
    pub fn is_costly(&self) -> bool {
        self.cost.is_some()
    }

    /// Whether `password` is that of `user`.
    ///
    /// A check that fails takes one bcrypt of the highest cost in the list, whether the user is
    /// unknown or has a cheap secret: the time does not tell who is a user. Only in a list with
    /// several bcrypt costs is a wrong password of a user with a lower one refused sooner.
    pub fn check(&self, user: &str, password: &str) -> bool {
        let secret = self.secrets.get(user);
        let good = secret.is_some_and(|secret| secret.is(password));
        let paid = secret.is_some_and(|secret| secret.bcrypt_cost().is_some());
        if !good
            && !paid
            && let Some(cost) = self.cost
        {
            let nobody = format!("{}{cost:02}{}", NOBODY.0, NOBODY.1);
            // What it says does not matter, only how long it takes.
            let _ = std::hint::black_box(bcrypt::verify(password, &nobody));
        }
        good
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{UserError, Users};
    use crate::SecretError;

    #[test]
    fn users_are_read_and_checked() {
        let hash = bcrypt::hash("pw", 4).unwrap();
        let text = format!(
            "# staff\n\n eve:{hash}\r\nbob:{{noop}}a:b\nåsa:{{SHA}}5en6G6MezRroT3XKqkdPOmY/BfQ=\n"
        );
        let users = Users::parse(&text).unwrap();
        assert_eq!((users.len(), users.is_costly()), (3, true));
        let check = |user, password, good| assert_eq!(users.check(user, password), good, "{user}");
        check("eve", "pw", true);
        check("eve", "a:b", false);
        check("bob", "a:b", true);
        check("bob", "a", false);
        check("åsa", "secret", true);
        check("Eve", "pw", false);
        check("", "", false);
        check("nobody", "password", false);
    }

    #[test]
    fn every_bad_line_is_named() {
        let text = "a:{noop}x\nb\n:{noop}x\nc:plain\na:{noop}y\n";
        let expected = [
            UserError::NoUser { line: 2 },
            UserError::NoUser { line: 3 },
            UserError::Secret { line: 4, error: SecretError::UnknownNotation },
            UserError::Twice { line: 5 },
        ];
        assert_eq!(Users::parse(text).unwrap_err(), expected);
    }

    #[test]
    fn unknown_users_cost_as_much_as_known_ones() {
        let text = format!("eve:{}\nbob:{{noop}}x", bcrypt::hash("pw", 8).unwrap());
        let users = Users::parse(&text).unwrap();
        // The shortest of some runs: what else the machine does only makes a run longer.
        let cost = |user| {
            let run = |_| {
                let start = Instant::now();
                assert!(!users.check(user, "wrong"));
                start.elapsed()
            };
            (0..5).map(run).min().unwrap()
        };
        let known = cost("eve");
        for user in ["nobody", "bob"] {
            assert!(cost(user) * 2 > known && cost(user) < known * 2, "{user}");
        }
    }
}
