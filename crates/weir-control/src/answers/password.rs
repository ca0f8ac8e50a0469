//! Passwords against bcrypt hashes: tens of milliseconds of work each, so on threads of their own.

use std::sync::Arc;

use tokio::sync::Semaphore;
use weir_filter::Answer;

/// Checks at the same time. More would take the cores from the workers.
const AT_ONCE: usize = 2;

/// Bounds how many passwords are checked at a time.
#[derive(Debug)]
pub(super) struct Passwords(Arc<Semaphore>);

impl Default for Passwords {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl Passwords {
    /// Whether `hash` was made of `password`.
    pub async fn check(&self, hash: &Arc<str>, password: &str) -> Answer {
        let Ok(turn) = Arc::clone(&self.0).acquire_owned().await else {
            return Answer::Nobody("nobody checks passwords any more".to_owned());
        };
        let (hash, password) = (Arc::clone(hash), password.to_owned());
        let checking = tokio::task::spawn_blocking(move || {
            // Kept until the work is done, also when nobody waits for it any more.
            let _turn = turn;
            bcrypt::verify(password, &hash)
        });
        match checking.await {
            Ok(Ok(right)) => Answer::Password(right),
            Ok(Err(error)) => Answer::Nobody(error.to_string()),
            Err(error) => Answer::Nobody(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Passwords;
    use weir_filter::Answer;

    #[tokio::test]
    async fn passwords_are_checked() {
        let passwords = Passwords::default();
        // The example of Spring's documentation.
        let hash = "$2a$10$dXJ3SW6G7P50lGmMkkmwe.20cQQubK3.HZWzG3YB1tlRy.fqvM/BG".into();
        assert_eq!(passwords.check(&hash, "password").await, Answer::Password(true));
        assert_eq!(passwords.check(&hash, "Password").await, Answer::Password(false));
    }
}
