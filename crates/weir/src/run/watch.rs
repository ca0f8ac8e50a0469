//! Detects a change of a configuration file, or of a file that it names.

use std::path::PathBuf;
use std::time::Duration;

use crate::configuration::ConfigArgs;
use crate::imports::{Trace, trace};

/// The polling interval. Polling, unlike notification, also detects files that are replaced,
/// mounted or linked anew.
const PERIOD: Duration = Duration::from_secs(1);

/// The files of a configuration as last seen.
pub struct Watch<'a> {
    config: &'a ConfigArgs,
    seen: Vec<Trace>,
    /// The traces of API definitions, known once a configuration was read.
    definitions: Vec<Trace>,
}

impl<'a> Watch<'a> {
    pub fn new(config: &'a ConfigArgs) -> Self {
        let mut watch = Self { config, seen: Vec::new(), definitions: Vec::new() };
        watch.seen = traces(config.watched());
        watch
    }

    /// Returns when something has changed, and is the same at two looks: a file half written is
    /// left alone.
    pub async fn changed(&mut self) {
        self.note_definitions();
        let mut last = (self.look(), self.look_at_imports());
        loop {
            tokio::time::sleep(PERIOD).await;
            let now = (self.look(), self.look_at_imports());
            let (files, definitions) = &now.0;
            let has_changed = *files != self.seen
                || *definitions != self.definitions
                || now.1 != self.config.imported.traces();
            if now == last && has_changed {
                (self.seen, self.definitions) = now.0;
                return;
            }
            last = now;
        }
    }

    /// Records the definitions that were just read. For those traced before the reading, a change
    /// in between is not missed.
    fn note_definitions(&mut self) {
        let before = std::mem::take(&mut self.definitions);
        let now = traces(self.config.watched_definitions());
        let known = |trace: &Trace| before.iter().find(|(path, ..)| *path == trace.0).cloned();
        self.definitions = now.into_iter().map(|trace| known(&trace).unwrap_or(trace)).collect();
    }

    fn look(&self) -> (Vec<Trace>, Vec<Trace>) {
        (traces(self.config.watched()), traces(self.config.watched_definitions()))
    }

    /// The files that the configuration imports; as they were read they are in `imported`.
    fn look_at_imports(&self) -> Vec<Trace> {
        self.config.imported.traces().into_iter().map(|(path, ..)| trace(path)).collect()
    }
}

fn traces(files: Vec<PathBuf>) -> Vec<Trace> {
    files.into_iter().map(trace).collect()
}
