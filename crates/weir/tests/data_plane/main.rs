//! The data plane end to end: a raw client, the gateway as a process, a scripted origin.

mod base_path;
mod bodies;
mod connections;
mod failures;
mod groups;
mod life;
mod upgrades;

use weir_testkit::{Gateway, Origin, spawn_weir};

/// A gateway with one route for everything to `origin`; `more` is added to the configuration.
fn gateway(origin: &Origin, more: &str) -> Gateway {
    with_routes(
        &format!("[ {{ id: all, uri: '{}', predicates: [ 'Path=/**' ] }} ]", origin.uri()),
        more,
    )
}

/// A gateway with these routes (YAML flow) and this further configuration.
fn with_routes(routes: &str, more: &str) -> Gateway {
    let config = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}\n\
         weir.admin.port: 0\n\
         spring.cloud.gateway.server.webflux.routes: {routes}\n{more}\n"
    );
    spawn_weir(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &config)
}
