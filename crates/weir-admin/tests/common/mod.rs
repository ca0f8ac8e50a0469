//! A configuration to test with.

use std::sync::Arc;

use weir_admin::{Control, Loaded, Problem};
use weir_config::{RouteTarget, Settings, Upstream};
use weir_filter::Chain;
use weir_filter::cors::CorsPolicy;
use weir_filter::forwarding::Forwarding;
use weir_route::{Route, RouteDefinition};
use weir_store::{Options, Store};

/// A configuration with these routes of files, which refuses uris without a scheme.
pub fn loaded(files: &[(&str, &str)]) -> Loaded {
    Loaded {
        compile: Box::new(compile),
        routes: files.iter().map(|(id, uri)| route(id, uri)).collect(),
        default_filters: Vec::new(),
        skip_invalid: false,
        settings: Arc::new(Settings::default()),
        forwarding: Arc::new(Forwarding::default()),
        cors: Arc::new(CorsPolicy::default()),
    }
}

fn compile(
    definition: &RouteDefinition,
    position: u64,
) -> Result<Arc<Route<RouteTarget>>, Vec<Problem>> {
    if !definition.uri.contains("://") {
        return Err(vec![Problem::new("uri", "no scheme").help("write http://…")]);
    }
    let chain = Arc::new(Chain::default());
    Ok(Arc::new(Route {
        id: definition.id.as_str().into(),
        order: definition.order,
        position,
        predicates: Box::default(),
        target: RouteTarget { chain, upstream: Upstream::None, timeouts: None },
    }))
}

pub fn route(id: &str, uri: &str) -> RouteDefinition {
    RouteDefinition { id: id.into(), uri: uri.into(), enabled: true, ..Default::default() }
}

pub fn store(directory: &tempfile::TempDir) -> Store {
    Store::open(directory.path(), Options::default()).expect("a store")
}

pub fn control(directory: &tempfile::TempDir, files: &[(&str, &str)]) -> Control {
    Control::start(loaded(files), store(directory)).expect("a control")
}

/// Ids in order of trial, as the data plane sees them.
pub fn ids(control: &Control) -> Vec<String> {
    control.published().load().index.iter().map(|route| route.id.to_string()).collect()
}
