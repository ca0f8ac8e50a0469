//! Notices that a configuration file has changed.

use std::time::Duration;

use crate::configuration::ConfigArgs;
use crate::imports::{Trace, trace};

/// How often the files are looked at. Looking, instead of being told, also sees files that are
/// replaced, mounted or linked anew.
const PERIOD: Duration = Duration::from_secs(1);

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
        let mut last = (self.look(), self.look_at_imports());
        loop {
            tokio::time::sleep(PERIOD).await;
            let now = (self.look(), self.look_at_imports());
            let has_changed = now.0 != self.seen || now.1 != self.config.imported.traces();
            if now == last && has_changed {
                self.seen = now.0;
                return;
            }
            last = now;
        }
    }

    fn look(&self) -> Vec<Trace> {
        self.config.watched().into_iter().map(trace).collect()
    }

    /// The files that the configuration imports; as they were read they are in `imported`.
    fn look_at_imports(&self) -> Vec<Trace> {
        self.config.imported.traces().into_iter().map(|(path, ..)| trace(path)).collect()
    }
}
