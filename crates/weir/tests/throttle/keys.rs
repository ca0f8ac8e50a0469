//! Keys by which requests are counted.

use serde_json::json;
use weir_testkit::{Client, Origin};

use super::{begin, change, gateway, get, limit, until};

#[tokio::test]
async fn the_keys_that_are_held_back_most_have_metrics() {
    let origin = Origin::start().await;
    let limits = "weir.limits:\n  slow: { rate: 1/h, queue: 0, key: 'header:X-Tenant' }";
    let gateway = gateway(&origin, "Throttle=slow", limits);
    let address = gateway.address();
    let ask = async |tenant: &str| {
        let get = format!("GET /a HTTP/1.1\r\nHost: a\r\nX-Tenant: {tenant}\r\n\r\n");
        Client::connect(address).await.exchange(get).await.status
    };
    assert_eq!(ask("first").await, 200);
    for _ in 0..6 {
        assert_eq!(ask("ac\"me").await, 429);
    }
    for _ in 0..5 {
        assert_eq!(ask("Bearer abcdef").await, 429);
    }
    assert_eq!(ask("rare").await, 429);
    let metrics = get(gateway.admin(), "/actuator/prometheus").await.text();
    let row = r#"weir_limit_key_refused_total{limit="slow",key="ac\"me"} 6"#;
    assert!(metrics.contains(row), "{metrics}");
    let mut rows = metrics.lines().filter(|line| line.starts_with("weir_limit_key_refused_total{"));
    assert!(rows.any(|row| row.contains("key=\"hidden ") && row.ends_with(" 5")), "{metrics}");
    assert!(!metrics.contains("abcdef") && !metrics.contains("rare"), "{metrics}");
    let shown = limit(&gateway, "slow").await;
    assert_eq!(shown["topKeys"][0]["key"], "ac\"me");
    assert_eq!(shown["topKeys"][0]["waited"], 0);
}

#[tokio::test]
async fn each_key_can_have_a_limit_for_itself() {
    let origin = Origin::start().await;
    let limits = "weir.limits:\n  slow: { rate: 1/h, burst: 2, key: 'header:X-Tenant', \
                  per-key: true, max-wait: 1000h }";
    let gateway = gateway(&origin, "Throttle=slow", limits);
    let head = |tenant: &str| format!("GET /a HTTP/1.1\r\nHost: a\r\nX-Tenant: {tenant}");
    for tenant in ["gold", "iron", "lead"] {
        for _ in 0..2 {
            let get = format!("{}\r\n\r\n", head(tenant));
            assert_eq!(Client::connect(gateway.address()).await.exchange(get).await.status, 200);
        }
    }
    let mut waiting = [begin(&gateway, &head("gold")).await, begin(&gateway, &head("iron")).await];
    until(&gateway, "slow", "depth", 2).await;
    let shown = limit(&gateway, "slow").await;
    assert_eq!((&shown["keys"], &shown["admitted"]), (&json!(3), &json!(6)), "{shown}");
    let changed = change(&gateway, "slow", json!({ "rate": "1000/s" })).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    for client in &mut waiting {
        assert_eq!(client.read_response().await.status, 200);
    }
    assert_eq!(
        change(&gateway, "slow", json!({ "rate": "1/h", "paused": true })).await.status,
        200
    );
    let mut sent_away = begin(&gateway, &head("iron")).await;
    let mut new = begin(&gateway, &head("new")).await;
    until(&gateway, "slow", "depth", 2).await;
    let flushed = change(&gateway, "slow", json!({ "flush": true, "paused": false })).await;
    assert!(flushed.text().contains("\"flushed\":2"), "{}", flushed.text());
    assert_eq!(sent_away.read_response().await.status, 429);
    assert_eq!(new.read_response().await.status, 429);
}
