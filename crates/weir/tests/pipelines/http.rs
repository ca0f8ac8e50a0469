//! HTTP pipelines: what operators see of them.

use std::net::SocketAddr;

use tokio::net::TcpListener;
use weir_testkit::{Client, Origin};

use super::{gateway, get, status, until};

fn config(upstreams: &[SocketAddr], more: &str) -> String {
    let upstreams: Vec<_> = upstreams.iter().map(ToString::to_string).collect();
    let upstreams = upstreams.join(", ");
    format!("- id: h\n  protocol: http\n  listen: 127.0.0.1:0\n  upstream: [ {upstreams} ]\n{more}")
}

/// An address where nobody listens.
async fn nobody() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    listener.local_addr().expect("its address")
}

#[tokio::test]
async fn refused_and_broken_requests_are_counted() {
    let origin = Origin::start().await;
    let gateway = gateway(&config(&[origin.address()], "  limit: 1/h\n"));
    let at = gateway.pipeline("h");
    let mut client = Client::connect(at).await;
    assert_eq!(client.get("/ok").await.status, 200);
    assert_eq!(client.get("/ok").await.status, 503);
    let broken = "GET /ok HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n".to_owned();
    assert_eq!(Client::connect(at).await.exchange(broken).await.status, 400);
    until(&gateway, "h", |now| now["counts"]["broken"] == 1 && now["counts"]["limited"] == 1).await;
    let now = status(&gateway, "h").await;
    assert_eq!(
        (&now["counts"]["unreached"], &now["upstreams"][0]["taken"]),
        (&0.into(), &1.into())
    );
}

#[tokio::test]
async fn upstreams_that_are_away_are_shown() {
    let (origin, away) = (Origin::start().await, nobody().await);
    let gateway = gateway(&config(&[origin.address(), away], ""));
    let mut client = Client::connect(gateway.pipeline("h")).await;
    for _ in 0..4 {
        assert_eq!(client.get("/ok").await.status, 200);
    }
    until(&gateway, "h", |now| now["upstreams"][0]["active"] == 0).await;
    let now = status(&gateway, "h").await;
    let (here, gone) = (&now["upstreams"][0], &now["upstreams"][1]);
    assert_eq!((&here["taken"], &here["passedOver"]), (&4.into(), &false.into()), "{now}");
    assert_eq!((&gone["unreached"], &gone["passedOver"]), (&1.into(), &true.into()), "{now}");
    // Another one answered: nothing was lost.
    assert_eq!(now["counts"]["unreached"], 0);
    let metrics = get(gateway.admin(), "/actuator/prometheus").await.text();
    let up = format!("weir_pipeline_upstream_up{{pipeline=\"h\",upstream=\"{away}\"}} 0");
    assert!(metrics.contains(&up), "{metrics}");
}

#[tokio::test]
async fn requests_without_any_upstream_are_counted() {
    let gateway = gateway(&config(&[nobody().await], ""));
    let status = get(gateway.pipeline("h"), "/").await.status;
    assert!(status >= 500, "{status}");
    until(&gateway, "h", |now| {
        let member = &now["upstreams"][0];
        now["counts"]["unreached"] == 1 && member["unreached"] == 1 && member["passedOver"] == true
    })
    .await;
}
