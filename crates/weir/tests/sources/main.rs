//! Configuration servers end to end: the gateway as a process, and mock servers with the answers of
//! the real ones. Those of Spring Cloud Config were recorded from its server
//! (`crates/weir-control/tests/config-server`).

mod consul;
mod files;
mod nacos;
mod server;
mod spring;

use std::net::SocketAddr;
use std::process::Command;

use weir_testkit::{Client, Gateway, Response};

/// The properties of every gateway here.
const PORTS: &str = "server: { address: 127.0.0.1, port: 0 }\nweir.admin.port: 0\n\
                     weir.store.path: data\nspring.application.name: gate\n";

/// Starts weir with these files, the first of which is `application.yml`, while servers of the
/// test go on answering.
async fn launch(files: &[(&str, &str)]) -> Gateway {
    let files: Vec<(String, String)> =
        files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    aside(move || {
        let files: Vec<(&str, &[u8])> =
            files.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
        let command = Command::new(env!("CARGO_BIN_EXE_weir"));
        Gateway::launch(command, &["run", "{config}"], &files)
    })
    .await
}

/// The same; returns once it listens.
async fn gateway(files: &[(&str, &str)]) -> Gateway {
    let gateway = launch(files).await;
    aside(move || {
        gateway.address();
        gateway
    })
    .await
}

/// The message of a gateway that refuses to start.
async fn refusal(files: &[(&str, &str)]) -> String {
    let mut gateway = launch(files).await;
    aside(move || {
        assert!(!gateway.wait_for_exit().success());
        gateway.output()
    })
    .await
}

/// Runs what waits for a process, while the servers of the test go on answering.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("no panic")
}

/// Waits for a line of the gateway.
async fn said(gateway: Gateway, text: &'static str) -> Gateway {
    aside(move || {
        gateway.wait_for_output(text);
        gateway
    })
    .await
}

/// Runs a command of weir in the folder of `gateway`; returns its exit code and output.
async fn weir(gateway: &Gateway, args: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.args(args).current_dir(gateway.directory());
    aside(move || {
        let output = command.output().expect("run weir");
        let text = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text)
    })
    .await
}

/// The status that a path is answered with.
async fn status(gateway: &Gateway, path: &str) -> u16 {
    Client::connect(gateway.address()).await.get(path).await.status
}

/// `POST /actuator/refresh`.
async fn refresh(gateway: &Gateway) -> Response {
    let post = "POST /actuator/refresh HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
    Client::connect(gateway.admin()).await.exchange(post).await
}

/// Asks for `path` until the status is `wanted`.
///
/// # Panics
/// If it does not come to that within [`weir_testkit::PATIENCE`].
async fn until(address: SocketAddr, path: &str, wanted: u16) {
    let start = std::time::Instant::now();
    loop {
        let status = Client::connect(address).await.get(path).await.status;
        if status == wanted {
            return;
        }
        assert!(start.elapsed() < weir_testkit::PATIENCE, "{path}: {status}");
        tokio::task::yield_now().await;
    }
}

/// YAML with one route.
fn route(path: &str, uri: &str) -> String {
    format!(
        "spring.cloud.gateway.server.webflux.routes:\n- id: r\n  uri: {uri}\n  predicates: [ \
         'Path={path}' ]\n"
    )
}
