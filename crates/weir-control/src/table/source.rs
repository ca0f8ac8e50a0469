//! Sources of routes: the configuration files, and the compiler they set up.

use std::sync::Arc;

use weir_config::{Compiled, Compiler, Definitions};
use weir_route::{Route, RouteDefinition};
use weir_snapshot::{RouteTarget, Settings, Snapshot};

use super::refusal::Problem;

/// Position of the first route of the store. Routes of files come first, as SCG puts its properties
/// before its in-memory repository.
pub const STORE_POSITION: u64 = 1 << 32;

/// The parts of an accepted configuration that the control needs.
pub struct Loaded {
    /// Compiles routes as this configuration has them compiled.
    pub compiler: Arc<Compiler>,
    /// Routes of the files: compiled, and as they were written.
    pub compiled: Compiled,
    /// Settings that apply to all routes.
    pub settings: Arc<Settings>,
}

impl Loaded {
    /// The parts of `config`, with the routes that its `compile` returned.
    pub fn new(config: &weir_config::Loaded, compiled: Compiled) -> Self {
        Self {
            compiler: Arc::clone(&config.compiler),
            compiled,
            settings: Arc::clone(&config.settings),
        }
    }

    /// Compiles `definition`, if that is possible.
    pub(crate) fn compile(
        &self,
        definition: &RouteDefinition,
        position: u64,
    ) -> Result<Arc<Route<RouteTarget>>, Vec<Problem>> {
        let compiled = self.compiler.compile(definition, position);
        compiled.map_err(|problems| problems.into_iter().map(Problem::from).collect())
    }
}

/// A version of the route table: the snapshot, and the definitions it was compiled from.
pub(crate) struct Table {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) loaded: Arc<Loaded>,
    /// Definitions of the files; the n-th is that of position n.
    pub(crate) files: Arc<Definitions>,
    /// Number of the configuration: it grows with each reload.
    pub(crate) generation: u64,
    /// Revision of the store that the snapshot shows.
    pub(crate) revision: u64,
}

impl Table {
    /// The same configuration with the snapshot after a change of the store.
    pub(crate) fn with(&self, snapshot: Snapshot, revision: u64) -> Self {
        Self {
            snapshot: Arc::new(snapshot),
            loaded: Arc::clone(&self.loaded),
            files: Arc::clone(&self.files),
            generation: self.generation,
            revision,
        }
    }
}
