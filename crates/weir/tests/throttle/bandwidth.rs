//! Bodies that wait for their bandwidth.

use serde_json::json;
use weir_testkit::{Answer, Origin};

use super::{begin, change, gateway, get, limit, until, until_more};

#[tokio::test]
async fn bodies_wait_for_their_bandwidth_both_ways() {
    let body = "y".repeat(300_000);
    let sent = body.clone();
    let origin = Origin::answering(move |_| Answer::status(200, &[], &sent)).await;
    let limits = "weir.limits:\n  big: { bandwidth: 2KB/s, stream-bandwidth: 1KB/s, key: ip }";
    let gateway = gateway(&origin, "Throttle=big", limits);
    let mut down = begin(&gateway, "GET /a/down HTTP/1.1\r\nHost: a").await;
    until_more(&gateway, "big", "bandwidthWaits", 0).await;
    assert!(limit(&gateway, "big").await["movedBytes"].as_u64() < Some(300_000));
    let mut up = begin(&gateway, "POST /a/up HTTP/1.1\r\nHost: a\r\nContent-Length: 300000").await;
    up.send(&body).await;
    until_more(&gateway, "big", "bandwidthWaits", 1).await;
    assert_eq!(origin.requests().iter().filter(|one| one.body.len() == 300_000).count(), 0);
    let fast = json!({ "bandwidth": "1GB/s", "stream-bandwidth": "1GB/s" });
    assert_eq!(change(&gateway, "big", fast).await.status, 200);
    assert_eq!(down.read_response().await.text(), body);
    assert_eq!(up.read_response().await.text(), body);
    assert_eq!(limit(&gateway, "big").await["movedBytes"], 900_000);
    assert!(origin.requests().iter().any(|one| one.body == body.as_bytes()));
    let metrics = get(gateway.admin(), "/actuator/prometheus").await.text();
    assert!(metrics.contains("weir_limit_moved_bytes_total{limit=\"big\"} 900000\n"), "{metrics}");
}

#[tokio::test]
async fn a_response_that_comes_with_its_head_waits_for_its_bandwidth() {
    let body = "y".repeat(50_000);
    let sent = body.clone();
    let origin = Origin::answering(move |_| Answer::status(200, &[], &sent)).await;
    let gateway = gateway(&origin, "Throttle=big", "weir.limits:\n  big: { bandwidth: 2KB/s }");
    let mut client = begin(&gateway, "GET /a HTTP/1.1\r\nHost: a").await;
    until_more(&gateway, "big", "bandwidthWaits", 0).await;
    let moved = limit(&gateway, "big").await["movedBytes"].as_u64();
    assert!(moved < Some(50_000), "{moved:?}");
    assert_eq!(change(&gateway, "big", json!({ "bandwidth": "1GB/s" })).await.status, 200);
    assert_eq!(client.read_response().await.text(), body);
}

#[tokio::test]
async fn a_response_that_a_filter_collects_waits_for_its_bandwidth() {
    let body = format!("{{\"a\":1,\"b\":\"{}\"}}", "y".repeat(100_000));
    let fields = ["Content-Type: application/json"];
    let origin = Origin::answering(move |_| Answer::status(200, &fields, &body)).await;
    let filters = "Throttle=big\n  - RemoveJsonAttributesResponseBody=a";
    let gateway = gateway(&origin, filters, "weir.limits:\n  big: { bandwidth: 1KB/s }");
    let mut down = begin(&gateway, "GET /a/down HTTP/1.1\r\nHost: a").await;
    until_more(&gateway, "big", "bandwidthWaits", 0).await;
    assert!(limit(&gateway, "big").await["movedBytes"].as_u64() < Some(100_000));
    assert_eq!(change(&gateway, "big", json!({ "bandwidth": "1GB/s" })).await.status, 200);
    let expected = format!("{{\"b\":\"{}\"}}", "y".repeat(100_000));
    assert_eq!(down.read_response().await.text(), expected);
    until(&gateway, "big", "movedBytes", expected.len() as u64).await;
}
