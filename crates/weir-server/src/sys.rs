//! What the operating system allows, and what is asked of it at start.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Limits as found and as raised, for the report at start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open files before.
    pub files_before: u64,
    /// Open files now.
    pub files: u64,
    /// Listen backlog the system grants (`net.core.somaxconn`).
    pub backlog_max: u32,
    /// Why the limit on open files could not be raised further.
    pub refused: Option<String>,
}

/// Raises the soft limit on open files to the hard one.
pub fn raise_limits() -> Limits {
    let found = getrlimit(Resource::Nofile);
    let files_before = found.current.unwrap_or(u64::MAX);
    let wanted = Rlimit { current: found.maximum, maximum: found.maximum };
    let refused = setrlimit(Resource::Nofile, wanted).err().map(|error| error.to_string());
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    Limits { files_before, files, backlog_max: backlog_max(), refused }
}

fn backlog_max() -> u32 {
    let text = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap_or_default();
    text.trim().parse().unwrap_or(4096)
}
