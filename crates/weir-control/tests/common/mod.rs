//! Route tables to test with, made from real configurations.

#![allow(dead_code)]

use weir_config::{Format, Loader, Source};
use weir_control::{Control, Loaded};
use weir_route::RouteDefinition;
use weir_store::{Options, Store};

/// A configuration with these routes of files.
pub fn loaded(files: &[(&str, &str)]) -> Loaded {
    read(&yaml(files))
}

/// A configuration as YAML.
pub fn read(yaml: &str) -> Loaded {
    let mut loader = Loader::new(Vec::new(), &[], Vec::new());
    loader.add(Source::new("application.yml", yaml.to_owned(), Format::Yaml));
    let mut config = loader.load();
    let compiled = config.compile();
    assert!(!config.is_refused(), "{:?}", config.diagnostics);
    Loaded::new(&config, compiled)
}

/// YAML with these routes, each on a path of its id.
pub fn yaml(files: &[(&str, &str)]) -> String {
    let mut text = "spring.cloud.gateway.server.webflux.routes:\n".to_owned();
    for (id, uri) in files {
        text.push_str(&format!("- {{ id: {id}, uri: '{uri}', predicates: [ 'Path=/{id}' ] }}\n"));
    }
    if files.is_empty() {
        text = "server.port: 0\n".to_owned();
    }
    text
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
