//! Where a document stands among the others: its level first, then its place within the level.
//!
//! A place is a path of numbers. What a document imports lies below its own path, and so comes
//! right over it and below whatever comes over that document (Spring Boot's tree of
//! `ConfigDataEnvironmentContributor`s).

/// What kind of document it is; later ones win.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// `bootstrap.yml`.
    Bootstrap,
    /// `bootstrap-{profile}.yml`.
    BootstrapProfile,
    /// From a server that lets all files win (`spring.cloud.config.override-none`).
    Beneath,
    /// `application.yml`, and what it imports.
    Plain,
    /// `application-{profile}.yml`, and what it imports.
    Profile,
    /// What a server has for one profile.
    Remote,
    /// From a server that even the environment does not override.
    OverEnvironment,
}

impl Level {
    /// Whether it is of a bootstrap file.
    pub fn is_bootstrap(self) -> bool {
        matches!(self, Self::Bootstrap | Self::BootstrapProfile)
    }
}

/// Where a document stands; the greater one wins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    pub level: Level,
    path: Vec<u32>,
}

impl Rank {
    /// A place within a level.
    pub fn new(level: Level, path: &[u32]) -> Self {
        Self { level, path: path.to_vec() }
    }

    /// The `n`-th place right over this one.
    pub fn below(&self, n: u32) -> Self {
        let mut path = self.path.clone();
        path.push(n);
        Self { level: self.level, path }
    }

    /// The same place at another level.
    pub fn at(&self, level: Level) -> Self {
        Self { level, path: self.path.clone() }
    }

    /// How many imports lead to it.
    pub fn depth(&self) -> usize {
        self.path.len()
    }
}
