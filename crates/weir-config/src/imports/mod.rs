//! Imports of a configuration, determined without I/O: `spring.config.import`, the servers of a
//! bootstrap file, and variants of imported files for active profiles.
//!
//! [`Loader::imports`](crate::Loader::imports) returns the wanted imports. The caller reads files
//! and queries servers, and passes the results to [`Loader::answer`](crate::Loader::answer), until
//! nothing more is wanted.

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

/// Maximum number of imports of one configuration.
pub(crate) const IMPORTS_MAX: usize = 512;
/// Maximum depth of files that import each other.
pub(crate) const DEPTH_MAX: usize = 64;

/// An import.
#[derive(Clone, Debug)]
pub struct Import {
    /// Location of its content.
    pub location: Location,
    /// The gateway starts even if it is missing.
    pub optional: bool,
    /// Variant of an imported file for a profile, which need not exist.
    pub(crate) is_variant: bool,
    /// Place of the import; `None` if it is implied by a bootstrap file.
    pub(crate) at: Option<Span>,
    pub(crate) rank: Rank,
    /// Level of documents of a server that belong to one profile.
    pub(crate) specific: Level,
}

/// Location of an [`Import`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// The first of these files that exists.
    File(Vec<PathBuf>, Option<Format>),
    /// `application.yml` or a similar file in the first of these directories that exists.
    Folder(Vec<PathBuf>),
    /// A directory in which each file is a value. If the last segment is `*`, each subdirectory.
    Tree(Vec<PathBuf>),
    /// A server.
    Server(Box<Server>),
}

/// A part of a server's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Name for findings, without passwords.
    pub name: String,
    /// Its content.
    pub content: Content,
    /// Whether it belongs to one profile.
    pub is_specific: bool,
}

/// Content of a [`Fetched`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A text in this syntax.
    Text(String, Format),
    /// Keys and values; `[0]` in a key is an element of a list.
    Pairs(Vec<(String, String)>),
}

/// Result of an [`Import`].
#[derive(Debug)]
pub enum Outcome {
    /// Files that were read; none if an optional file is missing.
    Files(Vec<Source>),
    /// A directory of keys, or a server's answer; later parts override earlier ones.
    Parts(Vec<Fetched>),
    /// An earlier answer of a server that is unavailable now; the text is the reason.
    Remembered(Vec<Fetched>, String),
    /// An error: lower case, no full stop.
    Failed(String),
    /// Not attempted, because only local files are read.
    NotRead,
}

/// State of the imports.
#[derive(Debug, Default)]
pub(crate) struct Imports {
    /// Locations requested so far: each is read once.
    seen: HashSet<String>,
    files: Vec<ImportedFile>,
    /// Servers requested so far.
    pub servers: Vec<Server>,
    /// Imports that were not read, for commands that do not use the network.
    pub unread: Vec<String>,
    is_full: bool,
    has_bootstrapped: bool,
}

/// An imported file, whose variants for profiles are imported too.
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
