//! What configuration servers answered, as fetching and watching share it.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use weir_config::Fetched;

/// Answers by what was asked of whom.
pub(super) type Answers = BTreeMap<String, Vec<Fetched>>;

#[derive(Debug, Default)]
pub(super) struct State {
    answers: Mutex<Kept>,
}

#[derive(Debug, Default)]
pub(super) struct Kept {
    /// What serves.
    pub good: Answers,
    /// What the configuration that is being read was made of.
    pub pending: Answers,
    /// Number of the answer that was fetched last, as a watcher sees it.
    pub seen: HashMap<String, u64>,
    /// Servers that failed since the round began, and why.
    pub failures: BTreeMap<String, String>,
    /// Where good answers are kept for a start.
    pub file: Option<PathBuf>,
}

impl State {
    pub fn lock(&self) -> MutexGuard<'_, Kept> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a watcher's look differs from what was fetched last; from now on it does not.
    pub fn is_news(&self, name: &str, digest: u64) -> bool {
        self.lock().seen.insert(name.to_owned(), digest) != Some(digest)
    }
}
