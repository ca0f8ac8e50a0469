//! Notices that a configuration file, or a file that it names, has changed.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::configuration::ConfigArgs;

/// How often the files are looked at. Looking, instead of being told, also sees files that are
/// replaced, mounted or linked anew.
const PERIOD: Duration = Duration::from_secs(1);

/// What can be seen of a file without reading it.
type Trace = (PathBuf, Option<SystemTime>, u64);

/// The files of a configuration as last seen.
pub struct Watch<'a> {
    config: &'a ConfigArgs,
    seen: Vec<Trace>,
    /// The same of API definitions: which they are is known once a configuration was read.
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
        let mut last = self.look();
        loop {
            tokio::time::sleep(PERIOD).await;
            let now = self.look();
            if now == last && (now.0 != self.seen || now.1 != self.definitions) {
                (self.seen, self.definitions) = now;
                return;
            }
            last = now;
        }
    }

    /// Takes the definitions that were just read for those that are known. Of those looked at
    /// before they were read, a change in between is not missed.
    fn note_definitions(&mut self) {
        let before = std::mem::take(&mut self.definitions);
        let now = traces(self.config.watched_definitions());
        let known = |trace: &Trace| before.iter().find(|(path, ..)| *path == trace.0).cloned();
        self.definitions = now.into_iter().map(|trace| known(&trace).unwrap_or(trace)).collect();
    }

    fn look(&self) -> (Vec<Trace>, Vec<Trace>) {
        (traces(self.config.watched()), traces(self.config.watched_definitions()))
    }
}

fn traces(files: Vec<PathBuf>) -> Vec<Trace> {
    let trace = |path: PathBuf| {
        let found = std::fs::metadata(&path).ok();
        let size = found.as_ref().map_or(0, std::fs::Metadata::len);
        (path, found.and_then(|found| found.modified().ok()), size)
    };
    files.into_iter().map(trace).collect()
}
