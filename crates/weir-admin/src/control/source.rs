//! Where routes come from: the configuration files, and the compiler they set up.

use std::sync::Arc;

use weir_config::{Compiled, Compiler, Definitions, RouteTarget, Settings, Snapshot};
use weir_route::{Route, RouteDefinition};

use super::refusal::Problem;

/// Position of the first route of the store. Routes of files come first, as SCG puts its properties
/// before its in-memory repository.
pub const STORE_POSITION: u64 = 1 << 32;

/// What the control needs of a configuration that was read and not refused.
pub struct Loaded {
    /// Compiles routes as this configuration has them compiled.
    pub compiler: Arc<Compiler>,
    /// Routes of the files: compiled, and as they were written.
    pub compiled: Compiled,
    /// Settings that apply to all routes.
    pub settings: Arc<Settings>,
}

impl Loaded {
    /// What `config` says, with the routes that its `compile` gave.
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

/// Definitions of the files, to be found by id.
#[derive(Debug, Default)]
pub(crate) struct FileRoutes {
    definitions: Definitions,
    /// Numbers of the definitions, sorted by id.
    by_id: Vec<u32>,
}

impl FileRoutes {
    pub(crate) fn new(definitions: Definitions) -> Self {
        let ids: Vec<String> = definitions.iter().map(|definition| definition.id).collect();
        let mut by_id: Vec<u32> = (0..ids.len() as u32).collect();
        by_id.sort_by_key(|&n| ids.get(n as usize));
        Self { definitions, by_id }
    }

    pub(crate) fn definition(&self, position: u64) -> Option<RouteDefinition> {
        self.definitions.get(usize::try_from(position).ok()?)
    }

    /// Positions of the routes called `id`, in definition order.
    pub(crate) fn find(&self, id: &str) -> Vec<u64> {
        let id_of = |n: u32| self.definition(u64::from(n)).map(|route| route.id);
        let start = self.by_id.partition_point(|&n| id_of(n).as_deref() < Some(id));
        let equal = self.by_id.iter().skip(start).copied();
        let mut found: Vec<u64> =
            equal.take_while(|&n| id_of(n).as_deref() == Some(id)).map(u64::from).collect();
        found.sort_unstable();
        found
    }
}

/// The route table of one moment: what serves, and what it was made from.
pub(crate) struct Table {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) loaded: Arc<Loaded>,
    pub(crate) files: Arc<FileRoutes>,
    /// Number of the configuration: it grows with each reload.
    pub(crate) generation: u64,
    /// Revision of the store that the snapshot shows.
    pub(crate) revision: u64,
}

impl Table {
    /// The same table after a change of the store.
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

#[cfg(test)]
mod tests {
    use weir_config::Definitions;
    use weir_route::RouteDefinition;

    use super::FileRoutes;

    #[test]
    fn file_routes_are_found_by_id_and_position() {
        let ids = ["b", "a", "b", "c"];
        let mut routes = Definitions::default();
        for id in ids {
            routes.push(&RouteDefinition { id: id.into(), ..Default::default() });
        }
        let files = FileRoutes::new(routes.clone());
        assert_eq!(files.find("b"), [0, 2]);
        assert_eq!(files.find("a"), [1]);
        assert_eq!(files.find("c"), [3]);
        assert!(files.find("0").is_empty());
        assert!(files.find("d").is_empty());
        assert_eq!(files.definition(2), routes.get(2));
        assert_eq!(files.definition(4), None);
    }
}
