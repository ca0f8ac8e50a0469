//! HTTP pipelines: the HTTP engine on a listener of its own.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::net::TcpListener;
use weir_testkit::{Client, Gateway, Origin};

use super::{eventually, gateway, get, status, until};

/// An address that nobody listens on.
async fn nobody() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    listener.local_addr().expect("its address")
}

async fn asked(gateway: &Gateway, id: &str, count: usize) -> Vec<u16> {
    let address = gateway.pipeline(id);
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(get(address, "/").await.status);
    }
    all
}

/// `address`, `taken`, `unreached` and `up` of the upstreams of a pipeline.
fn upstreams(status: &Value) -> Vec<(String, u64, u64, bool)> {
    let all = status["upstreams"].as_array().expect("a list");
    let number = |one: &Value, key: &str| one[key].as_u64().expect("a number");
    let row = |one: &Value| {
        let address = one["address"].as_str().expect("an address").to_owned();
        (address, number(one, "taken"), number(one, "unreached"), one["up"] == true)
    };
    all.iter().map(row).collect()
}

#[tokio::test]
async fn its_counters_say_what_became_of_requests() {
    let origin = Origin::start().await;
    let gateway = gateway(&format!(
        "- {{ id: a, listen: '127.0.0.1:0', protocol: http, upstream: '{}', limit: only }}\n\
         - {{ id: b, listen: '127.0.0.1:0', protocol: http, upstream: '{}' }}\n\
         weir.limits.only: {{ rate: 1/h, burst: 2, queue: 0 }}",
        origin.address(),
        nobody().await,
    ));
    assert_eq!(asked(&gateway, "a", 3).await, [200, 200, 503]);
    let mut broken = Client::connect(gateway.pipeline("a")).await;
    assert_eq!(broken.exchange("GET / HTTP/1.1\r\nHost: a b\r\n\r\n").await.status, 400);
    until(&gateway, "a", |now| now["counts"]["broken"] == 1).await;
    let now = status(&gateway, "a").await;
    assert_eq!(
        (&now["counts"]["messages"], &now["counts"]["limited"]),
        (&4.into(), &1.into()),
        "{now}"
    );
    let address = origin.address().to_string();
    assert_eq!(upstreams(&now), [(address, 2, 0, true)], "{now}");

    assert!(asked(&gateway, "b", 1).await[0] >= 500);
    until(&gateway, "b", |now| now["counts"]["unreached"] == 1).await;
    let now = status(&gateway, "b").await;
    let [(_, taken, unreached, _)] = upstreams(&now)[..] else { panic!("{now}") };
    assert_eq!((taken, unreached), (1, 1), "{now}");
}

#[tokio::test]
async fn its_upstreams_share_by_weight_and_those_that_are_down_are_passed_over() {
    let [heavy, light] = [Origin::start().await, Origin::start().await];
    let gone = nobody().await;
    let gateway = gateway(&format!(
        "- id: a\n  listen: 127.0.0.1:0\n  protocol: http\n  check: {{ interval: 100ms, fall: 1 }}\n  \
           upstream: [ {{ address: '{}', weight: 3 }}, '{}', '{gone}' ]",
        heavy.address(),
        light.address(),
    ));
    let is_down = |one: &(String, u64, u64, bool)| !one.3;
    eventually(async || upstreams(&status(&gateway, "a").await).iter().any(is_down)).await;
    let before = upstreams(&status(&gateway, "a").await);
    assert_eq!(asked(&gateway, "a", 8).await, [200; 8]);
    let now = upstreams(&status(&gateway, "a").await);
    let taken: Vec<u64> = now.iter().zip(&before).map(|(now, then)| now.1 - then.1).collect();
    assert_eq!(taken, [6, 2, 0], "{now:?}");
    assert_eq!((heavy.requests().len(), light.requests().len()), (6, 2));
}
