//! Answers of configuration servers, shared by fetching and watching.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use weir_config::Fetched;

/// Answers by server and request.
pub(super) type Answers = BTreeMap<String, Vec<Fetched>>;

#[derive(Debug, Default)]
pub(super) struct State {
    answers: Mutex<Kept>,
}

#[derive(Debug, Default)]
pub(super) struct Kept {
    /// The answers of the configuration in effect.
    pub good: Answers,
    /// The answers of the configuration that is being read.
    pub pending: Answers,
    /// Number of the answer that was fetched last, as a watcher sees it.
    pub seen: HashMap<String, u64>,
    /// Servers that failed since the round began, and why.
    pub failures: BTreeMap<String, String>,
    /// The file that caches good answers for a start.
    pub file: Option<PathBuf>,
}

impl State {
    pub fn lock(&self) -> MutexGuard<'_, Kept> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the answer differs from the last one recorded for `name`; records it.
    pub fn is_news(&self, name: &str, digest: u64) -> bool {
        self.lock().seen.insert(name.to_owned(), digest) != Some(digest)
    }
}
