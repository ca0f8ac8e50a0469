//! Passwords that were checked: bcrypt is paid for once, not with every request.

use aws_lc_rs::hmac;

use crate::recent::Recent;

/// Keyed hash of a user and a password: no secret stays in memory.
type Digest = [u8; 32];

/// Answers of each kind that are remembered at most.
const ANSWERS_MAX: usize = 4096;
/// What one of them takes in memory, about, in bytes.
const ANSWER_BYTES: usize = 64;

/// Whether a user has a password, by an HMAC of both. One owner, no locks: each worker has its own.
///
/// The HMAC key is the caller's and random, so that a copy of this memory is of no use to guess
/// passwords with. Wrong passwords are remembered too: a client that repeats one costs a bcrypt
/// only once. They are kept apart, so that nobody drives out good ones by guessing.
#[derive(Debug)]
pub struct PasswordCache {
    key: hmac::Key,
    generation: u64,
    good: Recent<Digest, ()>,
    bad: Recent<Digest, ()>,
}

impl PasswordCache {
    /// An empty one with a random key.
    pub fn new(key: &[u8; 32]) -> Self {
        let answers = || Recent::new(ANSWERS_MAX, ANSWERS_MAX * ANSWER_BYTES);
        let key = hmac::Key::new(hmac::HMAC_SHA256, key);
        Self { key, generation: 0, good: answers(), bad: answers() }
    }

    /// What [`Users::check`](crate::Users::check) said of `user` and `password`, if that is
    /// remembered for this `generation` of the user list.
    pub fn get(&mut self, user: &str, password: &str, generation: u64) -> Option<bool> {
        self.turn_to(generation);
        let key = self.digest(user, password);
        if self.good.get(&key).is_some() {
            return Some(true);
        }
        self.bad.get(&key).map(|()| false)
    }

    /// Remembers what [`Users::check`](crate::Users::check) said.
    pub fn put(&mut self, user: &str, password: &str, generation: u64, good: bool) {
        self.turn_to(generation);
        let key = self.digest(user, password);
        let answers = if good { &mut self.good } else { &mut self.bad };
        answers.put(key, (), ANSWER_BYTES);
    }

    fn turn_to(&mut self, generation: u64) {
        if generation != self.generation {
            self.good.clear();
            self.bad.clear();
            self.generation = generation;
        }
    }

    fn digest(&self, user: &str, password: &str) -> Digest {
        let mut context = hmac::Context::with_key(&self.key);
        // With its length before it, no user can end where another's password begins.
        context.update(&(user.len() as u64).to_be_bytes());
        context.update(user.as_bytes());
        context.update(password.as_bytes());
        context.sign().as_ref().try_into().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::{ANSWERS_MAX, PasswordCache};

    #[test]
    fn answers_are_remembered_for_one_generation() {
        let mut cache = PasswordCache::new(&[7; 32]);
        cache.put("eve", "pw", 1, true);
        cache.put("eve", "no", 1, false);
        assert_eq!(cache.get("eve", "pw", 1), Some(true));
        assert_eq!(cache.get("eve", "no", 1), Some(false));
        assert_eq!(cache.get("ev", "epw", 1), None);
        assert_eq!(cache.get("eve", "pw", 2), None);
    }

    #[test]
    fn guesses_do_not_drive_out_good_answers() {
        let mut cache = PasswordCache::new(&[7; 32]);
        cache.put("eve", "pw", 1, true);
        for n in 0..2 * ANSWERS_MAX {
            cache.put("eve", &n.to_string(), 1, false);
        }
        assert_eq!(cache.get("eve", "pw", 1), Some(true));
        assert!(cache.bad.len() <= ANSWERS_MAX);
    }
}
