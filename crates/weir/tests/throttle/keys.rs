//! Keys by which requests are counted.

use weir_testkit::{Client, Origin};

use super::{gateway, get, limit};

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
