//! Service registries end to end: the gateway as a process, mock registries and origins as
//! instances. The answers of Eureka were recorded from Spring Cloud's server
//! (`crates/weir-control/tests/eureka`).

mod dns;
mod eureka;
mod kubernetes;
mod others;
mod registry;
mod upstreams;
mod zookeeper;

use std::net::SocketAddr;

use serde_json::Value;
use weir_testkit::{Client, Gateway, spawn_weir};

/// A gateway with this configuration besides its ports.
async fn gateway(config: &str) -> Gateway {
    let config = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}\nweir.admin.port: 0\n\
         spring.application.name: gate\n{config}\n"
    );
    start(config).await
}

/// Starts weir while the registries of the test go on answering.
async fn start(config: String) -> Gateway {
    aside(move || spawn_weir(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &config)).await
}

/// Runs what waits for a process, while the registries of the test go on answering.
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

/// Ends the gateway as its operator would.
async fn ended(mut gateway: Gateway) -> Gateway {
    gateway.terminate();
    aside(move || {
        assert!(gateway.wait_for_exit().success());
        gateway
    })
    .await
}

/// A route `/x/**` to `lb://` and the name.
fn route(name: &str) -> String {
    format!(
        "spring.cloud.gateway.routes:\n- id: x\n  uri: lb://{name}\n  predicates: [ 'Path=/x/**' ]\n"
    )
}

/// Asks for `path` until the answer is what `holds` wants.
///
/// # Panics
/// If it does not come to that within [`weir_testkit::PATIENCE`].
async fn until(
    address: SocketAddr,
    path: &str,
    mut holds: impl FnMut(u16, &str) -> bool,
) -> String {
    let start = std::time::Instant::now();
    loop {
        let get = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let response = Client::connect(address).await.exchange(get).await;
        let text = response.text();
        if holds(response.status, &text) {
            return text;
        }
        let given_up = start.elapsed() > weir_testkit::PATIENCE;
        assert!(!given_up, "{path}: {} {text}", response.status);
        tokio::task::yield_now().await;
    }
}

/// The services according to the admin API.
async fn services(gateway: &Gateway, rest: &str) -> Value {
    let path = format!("/actuator/gateway/services{rest}");
    let text = until(gateway.admin(), &path, |status, _| status == 200).await;
    serde_json::from_str(&text).expect("JSON")
}
