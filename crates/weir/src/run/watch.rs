//! Notices that a configuration file has changed.

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
}

impl<'a> Watch<'a> {
    pub fn new(config: &'a ConfigArgs) -> Self {
        let mut watch = Self { config, seen: Vec::new() };
        watch.seen = watch.look();
        watch
    }

    /// Returns when something has changed, and is the same at two looks: a file half written is
    /// left alone.
    pub async fn changed(&mut self) {
        let mut last = self.look();
        loop {
            tokio::time::sleep(PERIOD).await;
            let now = self.look();
            if now == last && now != self.seen {
                self.seen = now;
                return;
            }
            last = now;
        }
    }

    fn look(&self) -> Vec<Trace> {
        let files = self.config.watched();
        let trace = |path: PathBuf| {
            let found = std::fs::metadata(&path).ok();
            let size = found.as_ref().map_or(0, std::fs::Metadata::len);
            (path, found.and_then(|found| found.modified().ok()), size)
        };
        files.into_iter().map(trace).collect()
    }
}
