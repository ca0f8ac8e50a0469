//! What a configuration imports, decided without reading anything: `spring.config.import`, the
//! servers that a bootstrap file names, and the variants of imported files for active profiles.
//!
//! [`Loader::imports`](crate::Loader::imports) says what is wanted; whoever reads files and asks
//! servers answers with [`Loader::answer`](crate::Loader::answer), until nothing more is wanted.

mod answers;
mod consul;
mod location;
mod nacos;
mod properties;
mod retry;
mod server;
mod spring_config;
mod url;
mod wanted;

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;

pub use consul::{ConsulFormat, ConsulServer};
pub use nacos::{DataId, DataIdFormat, NacosServer};
pub use retry::Retry;
pub use server::Server;
pub use spring_config::{ConfigServer, Watching};

use crate::source::{Format, Source, Span};
use crate::spring::{Level, Rank};

/// Most imports of one configuration.
pub(crate) const IMPORTS_MAX: usize = 512;
/// Deepest chain of files that import each other.
pub(crate) const DEPTH_MAX: usize = 64;

/// Something to be read from elsewhere.
#[derive(Clone, Debug)]
pub struct Import {
    /// From where.
    pub location: Location,
    /// The gateway starts without it.
    pub optional: bool,
    /// A profile's variant of an imported file: nobody misses it.
    pub(crate) is_variant: bool,
    /// Where it is asked for; `None` for what a bootstrap file implies.
    pub(crate) at: Option<Span>,
    pub(crate) rank: Rank,
    /// Where what servers have for one profile stands.
    pub(crate) specific: Level,
}

/// Where an [`Import`] is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// The first of these files that is there.
    File(Vec<PathBuf>, Option<Format>),
    /// `application.yml` and its like in the first of these directories that is there.
    Folder(Vec<PathBuf>),
    /// A directory in which each file is a value. The last segment `*` means each directory there.
    Tree(Vec<PathBuf>),
    /// A server.
    Server(Box<Server>),
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Name for findings. It holds no password.
    pub name: String,
    /// What there is.
    pub content: Content,
    /// It is for one profile.
    pub is_specific: bool,
}

/// What a [`Fetched`] holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A text in some syntax.
    Text(String, Format),
    /// Keys and values; `[0]` in a key is an element of a list.
    Pairs(Vec<(String, String)>),
}

/// What became of an [`Import`].
#[derive(Debug)]
pub enum Outcome {
    /// Files that were read; none if an optional one is not there.
    Files(Vec<Source>),
    /// A directory of keys, or what a server answered; of two parts the later one wins.
    Parts(Vec<Fetched>),
    /// What a server answered before, as it is away now; the text says why.
    Remembered(Vec<Fetched>, String),
    /// Nothing, and why: in lower case, without a full stop.
    Failed(String),
    /// Nobody looked, as only local files are read.
    NotRead,
}

/// What has been asked for so far.
#[derive(Debug, Default)]
pub(crate) struct Imports {
    /// Places that were asked for: each is read once.
    seen: HashSet<String>,
    files: Vec<ImportedFile>,
    /// Servers that were asked for.
    pub servers: Vec<Server>,
    /// What was not read, for commands that stay off the network.
    pub unread: Vec<String>,
    is_full: bool,
    has_bootstrapped: bool,
}

/// A file that was imported, whose variants for profiles are wanted, too.
#[derive(Debug)]
struct ImportedFile {
    path: PathBuf,
    rank: Rank,
    at: Option<Span>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = |paths: &[PathBuf]| {
            paths.first().map(|path| path.display().to_string()).unwrap_or_default()
        };
        match self {
            Self::File(paths, _) => f.write_str(&first(paths)),
            Self::Folder(paths) => write!(f, "{}/", first(paths).trim_end_matches('/')),
            Self::Tree(paths) => write!(f, "configtree:{}", first(paths)),
            Self::Server(server) => server.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
