//! Priority of documents: first by level, then by path within the level.
//!
//! A path is a list of numbers. The imports of a document are below its own path: they rank
//! directly above the document, and below every document that ranks above it (Spring Boot's tree of
//! `ConfigDataEnvironmentContributor`s).

/// Kind of a document; later ones override earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// `bootstrap.yml`.
    Bootstrap,
    /// `bootstrap-{profile}.yml`.
    BootstrapProfile,
    /// From a server that all files override (`spring.cloud.config.override-none`).
    Beneath,
    /// `application.yml`, and its imports.
    Plain,
    /// `application-{profile}.yml`, and its imports.
    Profile,
    /// Documents of a server for one profile.
    Remote,
    /// From a server that overrides even the environment.
    OverEnvironment,
}

impl Level {
    /// Whether it is the level of a bootstrap file.
    pub fn is_bootstrap(self) -> bool {
        matches!(self, Self::Bootstrap | Self::BootstrapProfile)
    }
}

/// Priority of a document; the greater one wins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    pub level: Level,
    path: Vec<u32>,
}

impl Rank {
    /// A rank within a level.
    pub fn new(level: Level, path: &[u32]) -> Self {
        Self { level, path: path.to_vec() }
    }

    /// The `n`-th rank directly above this one.
    pub fn below(&self, n: u32) -> Self {
        let mut path = self.path.clone();
        path.push(n);
        Self { level: self.level, path }
    }

    /// The same path at another level.
    pub fn at(&self, level: Level) -> Self {
        Self { level, path: self.path.clone() }
    }

    /// Number of imports that lead to it.
    pub fn depth(&self) -> usize {
        self.path.len()
    }
}
