//! Instances chosen by rules: Spring Cloud LoadBalancer's properties and `weir.upstreams`.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;
use weir_testkit::{Answer, Client, Gateway, Origin, Received};

use crate::{aside, gateway, route, until};

/// Three origins that answer with their number.
async fn origins() -> Vec<Origin> {
    let mut all = Vec::new();
    for n in 0..3 {
        all.push(
            Origin::answering(move |_: &Received| Answer::status(200, &[], n.to_string())).await,
        );
    }
    all
}

/// Static instances of the service `svc`, each with this text in its metadata.
fn instances(origins: &[Origin], metadata: &[&str]) -> String {
    let one = |(origin, metadata): (&Origin, &&str)| {
        format!("- {{ uri: '{}', metadata: {{ {metadata} }} }}\n", origin.uri())
    };
    let list: String = origins.iter().zip(metadata).map(one).collect();
    format!("spring.cloud.discovery.client.simple.instances.svc:\n{list}")
}

/// The origins that answer `count` requests with this additional header line, with the number of
/// answers of each.
async fn answers(gateway: &Gateway, line: &str, count: usize) -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    let mut client = Client::connect(gateway.address()).await;
    for _ in 0..count {
        let get = format!("GET /x HTTP/1.1\r\nHost: localhost\r\n{line}\r\n");
        let response = client.exchange(get).await;
        let text =
            if response.status == 200 { response.text() } else { response.status.to_string() };
        *all.entry(text).or_default() += 1;
    }
    all
}

fn all(of: &[(&str, usize)]) -> BTreeMap<String, usize> {
    of.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

async fn upstream(gateway: &Gateway, name: &str) -> Value {
    let path = format!("/actuator/gateway/upstreams/{name}");
    let text = until(gateway.admin(), &path, |status, _| status == 200).await;
    serde_json::from_str(&text).expect("JSON")
}

#[tokio::test]
async fn zones_and_hints_are_preferred() {
    let origins = origins().await;
    let list = instances(&origins, &["zone: a", "zone: b", "zone: a, hint: green"]);
    let config = format!(
        "spring.cloud.loadbalancer:\n  configurations: zone-preference,hint-based\n  zone: a\n{list}{}",
        route("svc"),
    );
    let gateway = gateway(&config).await;
    assert_eq!(answers(&gateway, "", 8).await, all(&[("0", 4), ("2", 4)]));
    assert_eq!(answers(&gateway, "X-SC-LB-Hint: green\r\n", 8).await, all(&[("2", 8)]));
    assert_eq!(answers(&gateway, "X-SC-LB-Hint: none\r\n", 8).await, all(&[("0", 4), ("2", 4)]));
}

#[tokio::test]
async fn a_session_stays_and_the_instance_is_told_its_id() {
    let origins = origins().await;
    let config = format!(
        "spring.cloud.loadbalancer:\n  configurations: request-based-sticky-session\n  \
         sticky-session.add-service-instance-cookie: true\n{}{}",
        instances(&origins, &["", "", ""]),
        route("svc"),
    );
    let gateway = gateway(&config).await;
    let address = origins[1].address();
    let cookie = format!("Cookie: a=b; sc-lb-instance-id={address}\r\n");
    assert_eq!(answers(&gateway, &cookie, 5).await, all(&[("1", 5)]));
    let expected = format!("a=b; sc-lb-instance-id={address}");
    let cookies: Vec<String> =
        origins[1].requests().iter().filter_map(|received| received.field("cookie")).collect();
    assert_eq!(cookies, vec![expected; 5]);
    let gone = "Cookie: sc-lb-instance-id=gone\r\n";
    assert_eq!(answers(&gateway, gone, 3).await.len(), 3);
    let told = origins[0].requests()[0].field("cookie");
    assert_eq!(told, Some(format!("sc-lb-instance-id={}", origins[0].address())));
}

#[tokio::test]
async fn an_instance_whose_check_fails_is_not_used() {
    let well = Origin::start().await;
    let ill = Origin::answering(|received: &Received| match received.target().as_str() {
        "/health" => Answer::status(503, &[], ""),
        _ => Answer::ok(),
    })
    .await;
    let config = format!(
        "weir.upstreams.svc:\n  targets: [ '{}', '{}' ]\n  check: {{ path: /health, interval: \
         100ms, fall: 1 }}\n{}",
        well.address(),
        ill.address(),
        route("svc").replace("lb://", "upstream://"),
    );
    let gateway = gateway(&config).await;
    let path = "/actuator/gateway/upstreams/svc";
    let text = until(gateway.admin(), path, |_, text| text.contains("its check fails")).await;
    assert!(text.contains("its check fails: status 503"), "{text}");
    assert_eq!(answers(&gateway, "", 6).await.values().sum::<usize>(), 6);
    assert!(ill.requests().iter().all(|received| received.target() == "/health"));
    let question = r#"{"method":"GET","target":"/x"}"#;
    let post = format!(
        "POST /actuator/gateway/explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: \
         application/json\r\nContent-Length: {}\r\n\r\n{question}",
        question.len()
    );
    let told = Client::connect(gateway.admin()).await.exchange(post).await.text();
    assert!(told.contains("is not used: its check fails: status 503"), "{told}");
}

#[tokio::test]
async fn who_fails_is_ejected_and_who_is_away_is_passed_over() {
    let well = Origin::start().await;
    let ill = Origin::answering(|_: &Received| Answer::status(500, &[], "")).await;
    let gone = Origin::start().await;
    let config = format!(
        "weir.upstreams.svc:\n  targets: [ '{}', '{}', '{}' ]\n  outlier: {{ consecutive-errors: 3 \
         }}\n  panic-percent: 0\n{}",
        well.address(),
        ill.address(),
        gone.address(),
        route("svc").replace("lb://", "upstream://"),
    );
    drop(gone);
    let gateway = gateway(&config).await;
    let got = answers(&gateway, "", 30).await;
    assert_eq!(got.get("500"), Some(&3), "{got:?}");
    assert_eq!(got.values().sum::<usize>(), 30);
    assert_eq!(got.len(), 2, "nobody saw the one that is away: {got:?}");
    let shown = upstream(&gateway, "svc").await;
    let why = |n: usize| shown["instances"][n]["why"].as_str().unwrap_or_default().to_owned();
    assert_eq!(why(0), "");
    assert_eq!(why(1), "its requests failed: it is passed over for a while");
    assert_eq!(why(2), "it could not be reached a moment ago");
    let metrics = until(gateway.admin(), "/actuator/prometheus", |status, _| status == 200).await;
    let row =
        format!("weir_upstream_instance_used{{upstream=\"svc\",instance=\"{}\"}} 0", ill.address());
    assert!(metrics.contains(&row), "{metrics}");
}

#[tokio::test]
async fn an_operator_drains_and_resumes() {
    let origins = origins().await;
    let targets: Vec<String> = origins.iter().map(|one| format!("'{}'", one.address())).collect();
    let config = format!(
        "weir.upstreams.svc.targets: [ {} ]\n{}",
        targets.join(", "),
        route("svc").replace("lb://", "upstream://"),
    );
    let gateway = gateway(&config).await;
    let admin = format!("http://{}", gateway.admin());
    let weir = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command.arg("upstreams").arg("--admin").arg(&admin).args(args);
        aside(move || {
            let output = command.output().expect("weir runs");
            let text = [output.stdout, output.stderr].concat();
            (output.status.success(), String::from_utf8_lossy(&text).into_owned())
        })
    };
    let drained = origins[0].address().to_string();
    let (done, text) = weir(&["drain", "svc", &drained]).await;
    assert!(done && text.contains("an operator drains it"), "{text}");
    assert_eq!(answers(&gateway, "", 6).await, all(&[("1", 3), ("2", 3)]));
    gateway.hang_up();
    let gateway = crate::said(gateway, "reloaded").await;
    assert_eq!(answers(&gateway, "", 6).await, all(&[("1", 3), ("2", 3)]));
    let (done, text) = weir(&["list"]).await;
    assert!(done && text.contains("svc"), "{text}");
    let (done, _) = weir(&["resume", "svc", &drained]).await;
    assert!(done);
    assert_eq!(answers(&gateway, "", 6).await.len(), 3);
    let (done, text) = weir(&["drain", "svc", "nowhere:1"]).await;
    assert!(!done && text.contains("weir upstreams show svc"), "{text}");
}

#[tokio::test]
async fn the_same_cookie_goes_to_the_same_instance() {
    let origins = origins().await;
    let targets: Vec<String> = origins.iter().map(|one| format!("'{}'", one.address())).collect();
    let config = format!(
        "weir.upstreams.svc: {{ targets: [ {} ], balance: 'hash:cookie:user' }}\n{}",
        targets.join(", "),
        route("svc").replace("lb://", "upstream://"),
    );
    let gateway = gateway(&config).await;
    let mut seen = BTreeMap::new();
    for user in 0..20 {
        let got = answers(&gateway, &format!("Cookie: user={user}\r\n"), 3).await;
        assert_eq!(got.len(), 1, "{user}: {got:?}");
        seen.extend(got);
    }
    assert_eq!(seen.len(), 3, "users are spread");
}

#[tokio::test]
async fn a_retry_goes_to_another_instance() {
    let well = Origin::start().await;
    let ill = Origin::answering(|_: &Received| Answer::status(503, &[], "")).await;
    let filter =
        "  filters: [ { name: Retry, args: { retries: 1, statuses: SERVICE_UNAVAILABLE } } ]\n";
    let config = format!(
        "weir.upstreams.svc: {{ targets: [ '{}', '{}' ], balance: least-requests }}\n{}{filter}",
        ill.address(),
        well.address(),
        route("svc").replace("lb://", "upstream://"),
    );
    let gateway = gateway(&config).await;
    let got = answers(&gateway, "", 8).await;
    assert!(!got.contains_key("503"), "{got:?}");
    assert!(!ill.requests().is_empty(), "it had its turn");
    // Requests are counted out a moment after their response.
    let path = "/actuator/gateway/upstreams/svc";
    until(gateway.admin(), path, |status, text| status == 200 && !text.contains("\"active\":1"))
        .await;
}
