//! The keys that a limit holds back most, in bounded memory: the Space-Saving sketch (Metwally,
//! Agrawal and El Abbadi, 2005).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Keys that are watched. A key that is more than this share of all is among them for certain.
const WATCHED: usize = 64;
/// Keys that are told.
const TOLD: usize = 10;
/// How often a key is held back before its name is asked for, and then again and again until it is
/// told: keys that come once cost nothing, and none of several waits for another.
const ASKED_EACH: u64 = 4;
/// Longest name that is kept, in characters.
const NAME_CHARS_MAX: usize = 64;

/// What a limit did to the requests of a key since the key was one of those it holds back most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyCounts {
    /// The key, at most 64 characters of it.
    pub name: String,
    /// Requests that had to wait, or would have been held back if the limit were enforced.
    pub waited: u64,
    /// Requests that were refused on arrival.
    pub refused: u64,
}

/// The sketch, where several valves share it.
#[derive(Debug, Default)]
pub(crate) struct Top {
    keys: Mutex<TopKeys>,
    /// [`TopKeys::nameless`].
    nameless: AtomicU64,
}

impl Top {
    /// Counts a request of a key that is held back; 0 is no key.
    pub fn add(&self, hash: u64, is_refused: bool) {
        if hash != 0 {
            self.with(|keys| keys.add(hash, is_refused));
        }
    }

    /// Whether the name of a key is to be told.
    pub fn wants(&self, hash: u64) -> bool {
        hash != 0 && self.nameless.load(Ordering::Relaxed) == hash
    }

    pub fn name(&self, hash: u64, text: &[u8]) {
        self.with(|keys| keys.name(hash, text));
    }

    pub fn told(&self) -> Vec<KeyCounts> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).top()
    }

    fn with(&self, work: impl FnOnce(&mut TopKeys)) {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut keys);
        self.nameless.store(keys.nameless, Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
struct TopKeys {
    watched: Vec<Watched>,
    /// The key whose name is asked for; 0 is none.
    nameless: u64,
}

#[derive(Debug)]
struct Watched {
    hash: u64,
    /// What the key that was here before it had: it may have been held back as often earlier.
    inherited: u64,
    waited: u64,
    refused: u64,
    name: Option<Box<str>>,
}

impl Watched {
    fn own(&self) -> u64 {
        self.waited + self.refused
    }

    fn rank(&self) -> u64 {
        self.inherited + self.own()
    }
}

impl TopKeys {
    fn add(&mut self, hash: u64, is_refused: bool) {
        let Some(watched) = self.place(hash) else { return };
        watched.waited += u64::from(!is_refused);
        watched.refused += u64::from(is_refused);
        if watched.name.is_none() && watched.own().is_multiple_of(ASKED_EACH) {
            self.nameless = hash;
        }
    }

    /// The place of a key: its own, a free one, or that of the key with the lowest count.
    fn place(&mut self, hash: u64) -> Option<&mut Watched> {
        if let Some(at) = self.watched.iter().position(|watched| watched.hash == hash) {
            return self.watched.get_mut(at);
        }
        let new = |inherited| Watched { hash, inherited, waited: 0, refused: 0, name: None };
        if self.watched.len() < WATCHED {
            self.watched.push(new(0));
            return self.watched.last_mut();
        }
        let least = self.watched.iter_mut().min_by_key(|watched| watched.rank())?;
        *least = new(least.rank());
        Some(least)
    }

    /// Keeps the name of a key, if it is watched.
    fn name(&mut self, hash: u64, text: &[u8]) {
        self.nameless = 0;
        if let Some(watched) = self.watched.iter_mut().find(|watched| watched.hash == hash) {
            let text = String::from_utf8_lossy(text);
            let shown = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
            let name: String = text.chars().take(NAME_CHARS_MAX).map(shown).collect();
            watched.name = Some(name.into_boxed_str());
        }
    }

    /// Those with the highest counts, in that order.
    fn top(&self) -> Vec<KeyCounts> {
        let mut named: Vec<(&Watched, &str)> =
            self.watched.iter().filter_map(|one| Some((one, one.name.as_deref()?))).collect();
        named.sort_by_key(|(one, _)| std::cmp::Reverse(one.own()));
        let counts = |(one, name): &(&Watched, &str)| KeyCounts {
            name: (*name).to_owned(),
            waited: one.waited,
            refused: one.refused,
        };
        named.iter().take(TOLD).map(counts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(top: &mut TopKeys, hash: u64, is_refused: bool) {
        top.add(hash, is_refused);
        if top.nameless == hash {
            top.name(hash, format!("key {hash}").as_bytes());
        }
    }

    #[test]
    fn those_that_come_most_are_told_among_many_that_come_once() {
        let mut top = TopKeys::default();
        for n in 0..10_000 {
            add(&mut top, 1_000_000 + n, false);
            if n % 10 == 0 {
                add(&mut top, 1, n % 20 == 0);
            }
            if n % 25 == 0 {
                add(&mut top, 2, true);
            }
        }
        let told = top.top();
        let names: Vec<&str> = told.iter().map(|key| key.name.as_str()).collect();
        assert_eq!(names, ["key 1", "key 2"], "{told:?}");
        let counts: Vec<(u64, u64)> = told.iter().map(|key| (key.waited, key.refused)).collect();
        assert_eq!(counts, [(500, 500), (0, 400)]);
        assert_eq!(top.watched.len(), WATCHED);
    }

    #[test]
    fn only_the_few_with_the_highest_counts_are_told() {
        let mut top = TopKeys::default();
        for hash in 0..40 {
            (0..=hash).for_each(|_| add(&mut top, hash, false));
        }
        let told = top.top();
        assert_eq!(told.len(), TOLD);
        assert_eq!(told.first().map(|key| (key.name.as_str(), key.waited)), Some(("key 39", 40)));
    }

    #[test]
    fn a_name_is_short_and_has_no_control_characters() {
        let mut top = TopKeys::default();
        top.add(1, false);
        top.name(1, format!("a\nb\u{0}{}", "c".repeat(1_000)).as_bytes());
        let told = top.top();
        let name = told.first().map_or("", |key| &key.name);
        assert_eq!(name.chars().count(), NAME_CHARS_MAX);
        assert!(name.starts_with("a\u{fffd}b\u{fffd}c"), "{name:?}");
    }
}
