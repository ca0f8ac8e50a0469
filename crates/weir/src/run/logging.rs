//! Log events: to standard error, with levels that can be changed while running.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use tracing_subscriber::filter::EnvFilter;
use tracing_subscriber::prelude::*;
use tracing_subscriber::{Registry, fmt, reload};
use weir_admin::{Level, Logger};

type Handle = reload::Handle<EnvFilter, Registry>;

/// The levels in force.
#[derive(Clone)]
pub struct Loggers {
    handle: Handle,
    levels: Arc<Mutex<Levels>>,
}

#[derive(Clone, Debug)]
struct Levels {
    root: Level,
    by_name: BTreeMap<String, Level>,
}

/// Starts logging with the levels of `filter`, such as `info,weir_server=debug`.
///
/// # Errors
/// The filter is not one.
pub fn start(filter: &str) -> anyhow::Result<Loggers> {
    let levels = Levels::parse(filter)?;
    let (layer, handle) = reload::Layer::new(levels.filter());
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let events = fmt::layer().with_writer(std::io::stderr).with_ansi(colours);
    tracing_subscriber::registry().with(layer).with(events).init();
    Ok(Loggers { handle, levels: Arc::new(Mutex::new(levels)) })
}

impl Loggers {
    /// All loggers, `ROOT` first.
    pub fn list(&self) -> Vec<Logger> {
        let levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        let root = Logger {
            name: "ROOT".to_owned(),
            configured: Some(levels.root),
            effective: levels.root,
        };
        let named = levels.by_name.iter().map(|(name, level)| Logger {
            name: name.clone(),
            configured: Some(*level),
            effective: *level,
        });
        std::iter::once(root).chain(named).collect()
    }

    /// Sets or clears the level of one logger.
    ///
    /// # Errors
    /// The name is not a module path.
    pub fn set(&self, name: &str, level: Option<Level>) -> Result<(), String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
        if name.is_empty() || !name.chars().all(plain) {
            return Err(format!("`{name}` is not the name of a logger, such as weir_server"));
        }
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        match (name, level) {
            ("ROOT", level) => levels.root = level.unwrap_or(Level::Info),
            (_, Some(level)) => _ = levels.by_name.insert(name.to_owned(), level),
            (_, None) => _ = levels.by_name.remove(name),
        }
        self.handle.reload(levels.filter()).map_err(|error| error.to_string())
    }
}

impl Levels {
    fn parse(filter: &str) -> anyhow::Result<Self> {
        let mut levels = Self { root: Level::Info, by_name: BTreeMap::new() };
        for part in filter.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, level) = part.split_once('=').unwrap_or(("", part));
            let level = Level::parse(level).with_context(|| {
                format!("`{level}` is no log level; use off, error, warn, info, debug or trace")
            })?;
            match name {
                "" => levels.root = level,
                _ => _ = levels.by_name.insert(name.to_owned(), level),
            }
        }
        Ok(levels)
    }

    fn filter(&self) -> EnvFilter {
        let named = self.by_name.iter().map(|(name, level)| format!(",{name}={}", level.name()));
        EnvFilter::new(self.root.name().to_owned() + &named.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::Levels;

    #[test]
    fn filters_are_read_and_wrong_ones_refused() {
        let check = |text: &str, expected: &str| {
            let levels = Levels::parse(text).expect("a filter");
            assert_eq!(levels.filter().to_string(), expected);
        };
        check("info", "info");
        check("warn, weir_server=debug", "weir_server=debug,warn");
        assert!(Levels::parse("loud").is_err());
    }
}
