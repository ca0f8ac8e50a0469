//! Requests beside more than 128 others that wait at a limit: they are kept small while they wait,
//! and are served as all others.

use serde_json::json;
use weir_testkit::{Client, Gateway, Origin, spawn_weir};

use super::{begin, change, get, until};

/// More than make a crowd of one worker.
const CROWD: u64 = 130;

/// A gateway with one worker, where `/a` waits at a limit, and `/b` at two, with filters around
/// them.
fn gateway(origin: &Origin) -> Gateway {
    let config = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}\nweir: {{ admin.port: 0, server.workers: 1 }}\n\
         weir.limits:\n  \
           first: {{ rate: 1/h, max-wait: 1000h }}\n  \
           last: {{ rate: 1/h, max-wait: 1000h }}\n\
         spring.cloud.gateway.server.webflux.routes:\n\
         - id: a\n  uri: '{uri}'\n  predicates: [ 'Path=/a/**' ]\n  filters: [ Throttle=last ]\n\
         - id: b\n  uri: '{uri}'\n  predicates: [ 'Path=/b/{{name}}' ]\n  filters:\n  \
           - SetPath=/of/{{name}}\n  - AddRequestHeader=X-Before, {{name}}\n  \
           - AddResponseHeader=X-Early, {{name}}\n  - Throttle=first\n  - Throttle=last\n  \
           - AddRequestHeader=X-After, {{name}}\n  - AddResponseHeader=X-Late, {{name}}\n",
        uri = origin.uri()
    );
    spawn_weir(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &config)
}

/// As many clients as make a crowd, all waiting at the last limit; the first turn of both limits is
/// taken.
async fn crowd(gateway: &Gateway) -> Vec<Client> {
    assert_eq!(get(gateway.address(), "/b/first").await.status, 200);
    let mut clients = Vec::new();
    for _ in 0..CROWD {
        clients.push(begin(gateway, "GET /a HTTP/1.1\r\nHost: a").await);
    }
    until(gateway, "last", "depth", CROWD).await;
    clients
}

async fn set_rate(gateway: &Gateway, name: &str, rate: &str) {
    assert_eq!(change(gateway, name, json!({ "rate": rate })).await.status, 200);
}

#[tokio::test]
async fn filters_around_limits_see_one_request() {
    let origin = Origin::start().await;
    let gateway = gateway(&origin);
    // One connection is there before the crowd, one comes into it.
    let mut before = Client::connect(gateway.address()).await;
    assert_eq!(before.get("/elsewhere").await.status, 404);
    let mut clients = crowd(&gateway).await;
    let mut within = Client::connect(gateway.address()).await;
    let body = "y".repeat(50_000);
    for (client, name) in [(&mut before, "jo"), (&mut within, "kim")] {
        let head = format!("POST /b/{name} HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n");
        client.send(head + &body).await;
        client.send("GET /a/behind HTTP/1.1\r\nHost: a\r\n\r\n").await;
    }
    until(&gateway, "first", "depth", 2).await;
    set_rate(&gateway, "first", "1000/s").await;
    until(&gateway, "last", "depth", CROWD + 2).await;
    set_rate(&gateway, "last", "10000/s").await;
    for (client, name) in [(&mut before, "jo"), (&mut within, "kim")] {
        let got = client.read_response().await;
        assert_eq!(got.status, 200, "{name}");
        for field in ["x-early", "x-late"] {
            assert_eq!(got.field(field).as_deref(), Some(name), "{field}");
        }
        assert_eq!(got.all("server-timing").len(), 2, "both waits: {:?}", got.fields());
        assert_eq!(client.read_response().await.status, 200, "behind {name}");
        let requests = origin.requests();
        let sent = requests.iter().find(|one| one.target() == format!("/of/{name}"));
        let sent = sent.expect("the request");
        assert!(sent.body == body.as_bytes(), "{name}: {} bytes", sent.body.len());
        for field in ["x-before", "x-after"] {
            assert_eq!(sent.field(field).as_deref(), Some(name), "{field}");
        }
    }
    for client in &mut clients {
        assert_eq!(client.read_response().await.status, 200);
        assert_eq!(client.get("/a").await.status, 200, "its connection stays");
    }
}

#[tokio::test]
async fn who_leaves_a_crowd_or_is_sent_away_is_forgotten() {
    let origin = Origin::start().await;
    let gateway = gateway(&origin);
    let mut clients = crowd(&gateway).await;
    let mut more = Vec::new();
    for _ in 0..10 {
        more.push(begin(&gateway, "GET /a HTTP/1.1\r\nHost: a").await);
    }
    until(&gateway, "last", "depth", CROWD + 10).await;
    drop(more);
    until(&gateway, "last", "depth", CROWD).await;
    let flushed = change(&gateway, "last", json!({ "flush": true })).await;
    assert!(flushed.text().contains("\"flushed\":130"), "{}", flushed.text());
    for client in &mut clients {
        let got = client.read_response().await;
        assert_eq!(got.status, 503);
        assert!(got.field("server-timing").is_some(), "{:?}", got.fields());
    }
    set_rate(&gateway, "last", "1000/s").await;
    for client in &mut clients {
        assert_eq!(client.get("/a").await.status, 200, "its connection stays");
    }
    assert_eq!(origin.requests().len() as u64, CROWD + 1);
}
