//! Snapshots of compiled routes: built anew, or with some routes changed.

use std::sync::Arc;

use weir_filter::cors::{CorsChange, CorsPolicy, CorsRoute};
use weir_route::Route;
use weir_route::index::{Change, Index};
use weir_snapshot::{RouteTarget, Snapshot};

use super::Compiler;

impl Compiler {
    /// A snapshot of `routes` under this configuration.
    pub fn snapshot(&self, routes: Vec<Arc<Route<RouteTarget>>>) -> Snapshot {
        let brought = routes.iter().filter_map(|route| cors_of(route));
        let global = self.global_cors();
        let policy = CorsPolicy::build(
            &global.rules,
            brought,
            global.without_route,
            self.predicate_options(),
        );
        Snapshot {
            // All patterns have been validated: global ones on reading, a route's on compiling.
            cors: policy.map(Arc::new).unwrap_or_default(),
            index: Index::with_seed(self.seed())
                .apply_with(routes.into_iter().map(Change::Put).collect(), self.beside()),
            settings: Arc::clone(self.settings()),
            forwarding: Arc::clone(self.forwarding()),
            security: self.security().cloned(),
            pipelines: Arc::clone(self.pipelines()),
        }
    }

    /// `snapshot` with `changes` applied in order; unchanged parts are shared.
    pub fn apply(&self, snapshot: &Snapshot, changes: Vec<Change<RouteTarget>>) -> Snapshot {
        Snapshot {
            cors: self.cors_with(&snapshot.cors, &changes),
            index: snapshot.index.apply_with(changes, self.beside()),
            settings: Arc::clone(&snapshot.settings),
            forwarding: Arc::clone(&snapshot.forwarding),
            security: snapshot.security.clone(),
            pipelines: Arc::clone(&snapshot.pipelines),
        }
    }

    fn cors_with(
        &self,
        cors: &Arc<CorsPolicy>,
        changes: &[Change<RouteTarget>],
    ) -> Arc<CorsPolicy> {
        let brings = |change: &Change<RouteTarget>| match change {
            Change::Put(route) => route.target.cors().is_some(),
            Change::Remove(_) => false,
        };
        if cors.is_empty() && !changes.iter().any(brings) {
            return Arc::clone(cors);
        }
        let changes: Vec<CorsChange<'_>> = changes
            .iter()
            .map(|change| match change {
                Change::Put(route) => {
                    cors_of(route).map_or(CorsChange::Remove(route.position), CorsChange::Put)
                }
                Change::Remove(position) => CorsChange::Remove(*position),
            })
            .collect();
        let policy = cors.apply(&changes, self.predicate_options());
        policy.map_or_else(|_| Arc::clone(cors), Arc::new)
    }
}

fn cors_of(route: &Route<RouteTarget>) -> Option<CorsRoute<'_>> {
    let cors = route.target.cors()?;
    Some(CorsRoute {
        order: route.order,
        position: route.position,
        group: cors.group.clone(),
        pattern: cors.pattern.as_deref(),
        rule: Arc::clone(&cors.rule),
    })
}
