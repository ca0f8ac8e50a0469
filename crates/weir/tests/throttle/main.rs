//! The throttle end to end. No test measures time: rates are so low that no turn comes during the
//! test, or the test raises them.

mod bandwidth;
mod crowd;
mod keys;

use std::net::SocketAddr;

use serde_json::{Value, json};
use weir_testkit::{Answer, Client, Gate, Gateway, Origin, Response, spawn_weir};

fn gateway(origin: &Origin, filter: &str, more: &str) -> Gateway {
    let config = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}\nweir.admin.port: 0\n\
         spring.cloud.gateway.server.webflux.routes:\n\
         - id: a\n  uri: '{}'\n  predicates: [ 'Path=/a/**' ]\n  filters:\n  - {filter}\n{more}\n",
        origin.uri()
    );
    spawn_weir(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &config)
}

async fn get(address: SocketAddr, path: &str) -> Response {
    let get = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    Client::connect(address).await.exchange(get).await
}

/// A request that is on its way, and whose answer is not awaited yet.
async fn begin(gateway: &Gateway, head: &str) -> Client {
    let mut client = Client::connect(gateway.address()).await;
    client.send(format!("{head}\r\n\r\n")).await;
    client
}

async fn limit(gateway: &Gateway, name: &str) -> Value {
    let found = get(gateway.admin(), &format!("/actuator/gateway/limits/{name}")).await;
    assert_eq!(found.status, 200, "{}", found.text());
    serde_json::from_str(&found.text()).expect("JSON")
}

async fn change(gateway: &Gateway, name: &str, body: Value) -> Response {
    let body = body.to_string();
    let post = format!(
        "POST /actuator/gateway/limits/{name} HTTP/1.1\r\nHost: localhost\r\nContent-Type: \
         application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    Client::connect(gateway.admin()).await.exchange(post).await
}

/// Waits until the limit has this value under `key`.
async fn until(gateway: &Gateway, name: &str, key: &str, value: u64) {
    let start = std::time::Instant::now();
    loop {
        let now = limit(gateway, name).await;
        if now[key] == value {
            return;
        }
        assert!(start.elapsed() < weir_testkit::PATIENCE, "{key} is not {value}: {now}");
        tokio::task::yield_now().await;
    }
}

/// Waits until what the limit has under `key` is more than that.
async fn until_more(gateway: &Gateway, name: &str, key: &str, than: u64) {
    let start = std::time::Instant::now();
    while limit(gateway, name).await[key].as_u64() <= Some(than) {
        assert!(start.elapsed() < weir_testkit::PATIENCE, "{key} stays {than}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn who_would_wait_too_long_is_refused_with_the_time_to_come_back() {
    let origin = Origin::start().await;
    let gateway = gateway(&origin, "{ name: Throttle, args: { rate: 1/h, max-wait: 1s } }", "");
    assert_eq!(get(gateway.address(), "/a").await.status, 200);
    let refused = get(gateway.address(), "/a").await;
    assert_eq!(refused.status, 503);
    let seconds: u64 = refused.field("retry-after").expect("a time").parse().expect("seconds");
    assert!((3_500..=3_599).contains(&seconds), "{seconds}");
    assert_eq!(refused.field("ratelimit-policy").as_deref(), Some("\"route:a\";q=1;w=3600"));
    assert_eq!(origin.requests().len(), 1);
    let metrics = get(gateway.admin(), "/actuator/prometheus").await.text();
    let row = "weir_limit_refused_total{limit=\"route:a\",reason=\"wait\"} 1";
    assert!(metrics.contains(row), "{metrics}");
}

#[tokio::test]
async fn who_has_no_time_is_refused_with_the_wait_that_it_would_have_been() {
    let origin = Origin::start().await;
    let limits = "weir.limits:\n  slow: { rate: 1/h, max-wait: 10h, cost: 'header:X-Cost', \
                  deadline: grpc-timeout }";
    let gateway = gateway(&origin, "Throttle=slow", limits);
    let address = gateway.address();
    let ask = async |fields: &str| {
        let get = format!("GET /a HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n");
        Client::connect(address).await.exchange(get).await
    };
    assert_eq!(ask("X-Cost: 3").await.status, 200);
    let refused = ask("grpc-timeout: 2H").await;
    assert_eq!(refused.status, 503);
    let timing = refused.field("server-timing").expect("how long it would have waited");
    let wait_ms = timing.strip_prefix("queue;dur=").expect("a queue");
    let wait_s = wait_ms.parse::<f64>().expect("a number") / 1e3;
    assert!((3.0 * 3_600.0 - 100.0..=3.0 * 3_600.0).contains(&wait_s), "{wait_s}");
    let _waiting = begin(&gateway, "GET /a HTTP/1.1\r\nHost: a\r\ngrpc-timeout: 4H").await;
    until(&gateway, "slow", "depth", 1).await;
    let metrics = get(gateway.admin(), "/actuator/prometheus").await.text();
    let row = "weir_limit_refused_total{limit=\"slow\",reason=\"deadline\"} 1";
    assert!(metrics.contains(row), "{metrics}");
}

#[tokio::test]
async fn who_waits_beyond_its_deadline_is_refused() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::answering(move |_| Answer::nothing().pause(&held).and(Answer::ok())).await;
    let limits = "weir.limits:\n  one: { concurrency: 1, deadline: 'header:X-Timeout' }";
    let gateway = gateway(&origin, "Throttle=one", limits);
    let mut first = begin(&gateway, "GET /a/1 HTTP/1.1\r\nHost: a").await;
    until(&gateway, "one", "inService", 1).await;
    let mut late = begin(&gateway, "GET /a/2 HTTP/1.1\r\nHost: a\r\nX-Timeout: 50ms").await;
    assert_eq!(late.read_response().await.status, 503);
    assert_eq!(limit(&gateway, "one").await["refused"], 1);
    gate.open();
    assert_eq!(first.read_response().await.status, 200);
    assert_eq!(origin.requests().len(), 1);
}

#[tokio::test]
async fn an_urgent_request_passes_before_others() {
    let origin = Origin::start().await;
    let limits = "weir.limits:\n  slow: { rate: 1/h, max-wait: 10h, ageing: 1h, \
                  priority: 'header:X-Priority' }";
    let gateway = gateway(&origin, "Throttle=slow", limits);
    assert_eq!(get(gateway.address(), "/a/first").await.status, 200);
    let mut waiting = Vec::new();
    for (n, priority) in ["low", "normal", "high"].iter().enumerate() {
        let head = format!("GET /a/{priority} HTTP/1.1\r\nHost: a\r\nX-Priority: {priority}");
        waiting.push(begin(&gateway, &head).await);
        until(&gateway, "slow", "depth", n as u64 + 1).await;
    }
    // One at a time, so that the order in which they pass is that in which they arrive.
    change(&gateway, "slow", json!({ "concurrency": 1 })).await;
    change(&gateway, "slow", json!({ "rate": "1000/s" })).await;
    for client in &mut waiting {
        assert_eq!(client.read_response().await.status, 200);
    }
    let targets: Vec<String> = origin.requests().iter().map(|one| one.target()).collect();
    assert_eq!(targets, ["/a/first", "/a/high", "/a/normal", "/a/low"]);
}

#[tokio::test]
async fn a_limit_with_a_key_answers_429_and_knows_keys_apart() {
    let origin = Origin::start().await;
    let limits = "weir.limits:\n  tenants: { concurrency: 1, queue: 0, key: 'header:X-Tenant' }";
    let gate = Gate::new();
    let held = gate.clone();
    let slow = Origin::answering(move |_| Answer::nothing().pause(&held).and(Answer::ok())).await;
    let gateway = gateway(&slow, "Throttle=tenants", limits);
    let mut first = begin(&gateway, "GET /a HTTP/1.1\r\nHost: a\r\nX-Tenant: x").await;
    until(&gateway, "tenants", "inService", 1).await;
    let mut client = Client::connect(gateway.address()).await;
    let refused = client.exchange("GET /a HTTP/1.1\r\nHost: a\r\nX-Tenant: y\r\n\r\n").await;
    assert_eq!(refused.status, 429);
    gate.open();
    assert_eq!(first.read_response().await.status, 200);
    until(&gateway, "tenants", "inService", 0).await;
    drop(origin);
}

#[tokio::test]
async fn who_waits_passes_when_the_rate_is_raised() {
    let origin = Origin::start().await;
    let limits = "weir.limits:\n  slow: { rate: 1/h, max-wait: 10h }";
    let gateway = gateway(&origin, "Throttle=slow", limits);
    assert_eq!(get(gateway.address(), "/a/1").await.status, 200);
    let body = "x".repeat(100_000);
    let head = "POST /a/2 HTTP/1.1\r\nHost: a\r\nContent-Length: 100000";
    let mut waiting = begin(&gateway, head).await;
    waiting.send(&body).await;
    until(&gateway, "slow", "depth", 1).await;
    assert_eq!(origin.requests().len(), 1);
    assert_eq!(change(&gateway, "slow", json!({ "rate": "1000/s" })).await.status, 200);
    let answer = waiting.read_response().await;
    assert_eq!(answer.status, 200);
    let timing = answer.field("server-timing").expect("how long it waited");
    assert!(timing.starts_with("queue;dur="), "{timing}");
    assert_eq!(origin.wait_for_requests(2).await[1].body.len(), body.len());
    let bad = change(&gateway, "slow", json!({ "rate": "0/s", "burst": 5 })).await;
    assert_eq!(bad.status, 400);
    for (name, wrong) in [("paused", json!("yes")), ("flush", json!(1)), ("paused", json!(null))] {
        let bad = change(&gateway, "slow", json!({ name: wrong, "burst": 5 })).await;
        let told = format!(
            "{name}: `{}` is no boolean; write true or false",
            wrong.as_str().map_or(wrong.to_string(), str::to_owned)
        );
        let body = String::from_utf8_lossy(&bad.body);
        assert!(bad.status == 400 && body.contains(&told), "{body}");
    }
    assert_eq!(limit(&gateway, "slow").await["burst"], 1, "all or nothing");
    assert_eq!(change(&gateway, "nobody", json!({})).await.status, 404);
}

#[tokio::test]
async fn who_leaves_is_taken_out_of_the_queue() {
    let origin = Origin::start().await;
    let gateway = gateway(&origin, "{ name: Throttle, args: { rate: 1/h, max-wait: 10h } }", "");
    assert_eq!(get(gateway.address(), "/a").await.status, 200);
    let first = begin(&gateway, "GET /a/gone HTTP/1.1\r\nHost: a").await;
    until(&gateway, "route:a", "depth", 1).await;
    let mut second = begin(&gateway, "GET /a/stays HTTP/1.1\r\nHost: a").await;
    until(&gateway, "route:a", "depth", 2).await;
    drop(first);
    until(&gateway, "route:a", "cancelled", 1).await;
    change(&gateway, "route:a", json!({ "rate": "1000/s" })).await;
    assert_eq!(second.read_response().await.status, 200);
    let targets: Vec<String> = origin.requests().iter().map(|one| one.target()).collect();
    assert_eq!(targets, ["/a", "/a/stays"]);
}

#[tokio::test]
async fn concurrency_lets_the_next_one_in_when_one_has_ended() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::answering(move |_| Answer::nothing().pause(&held).and(Answer::ok())).await;
    let gateway = gateway(&origin, "{ name: Throttle, args: { concurrency: 1 } }", "");
    let mut first = begin(&gateway, "GET /a/1 HTTP/1.1\r\nHost: a").await;
    until(&gateway, "route:a", "inService", 1).await;
    let mut second = begin(&gateway, "GET /a/2 HTTP/1.1\r\nHost: a").await;
    until(&gateway, "route:a", "depth", 1).await;
    assert_eq!(origin.wait_for_requests(1).await.len(), 1);
    gate.open();
    assert_eq!(first.read_response().await.status, 200);
    assert_eq!(second.read_response().await.status, 200);
    until(&gateway, "route:a", "inService", 0).await;
}

#[tokio::test]
async fn each_throttle_of_a_route_is_a_limit_and_nobody_waits_for_itself() {
    let origin = Origin::start().await;
    let filters = "Throttle=100/s\n  - { name: Throttle, args: { concurrency: 1 } }\n  \
                   - Throttle=one\n  - Throttle=one";
    let gateway = gateway(&origin, filters, "weir.limits:\n  one: { concurrency: 1 }");
    for _ in 0..3 {
        assert_eq!(get(gateway.address(), "/a").await.status, 200);
    }
    for name in ["route:a", "route:a%232", "one"] {
        let counts = limit(&gateway, name).await;
        assert_eq!((&counts["admitted"], &counts["depth"]), (&json!(3), &json!(0)), "{counts}");
    }
}

#[tokio::test]
async fn who_waits_for_concurrency_waits_no_longer_than_the_maximum() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::answering(move |_| Answer::nothing().pause(&held).and(Answer::ok())).await;
    let limits = "weir.limits:\n  one: { concurrency: 1, max-wait: 50ms }";
    let gateway = gateway(&origin, "Throttle=one", limits);
    let mut first = begin(&gateway, "GET /a/1 HTTP/1.1\r\nHost: a").await;
    until(&gateway, "one", "inService", 1).await;
    assert_eq!(get(gateway.address(), "/a/2").await.status, 503);
    let metrics = get(gateway.admin(), "/actuator/prometheus").await.text();
    let row = "weir_limit_refused_total{limit=\"one\",reason=\"wait\"} 1";
    assert!(metrics.contains(row), "{metrics}");
    gate.open();
    assert_eq!(first.read_response().await.status, 200);
}

#[tokio::test]
async fn a_concurrency_that_finds_itself_is_shown() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::answering(move |_| Answer::nothing().pause(&held).and(Answer::ok())).await;
    let limits = "weir.limits:\n  own: { concurrency: adaptive, concurrency-max: 2 }";
    let gateway = gateway(&origin, "Throttle=own", limits);
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(begin(&gateway, "GET /a HTTP/1.1\r\nHost: a").await);
    }
    until(&gateway, "own", "inService", 2).await;
    until(&gateway, "own", "depth", 1).await;
    let shown = limit(&gateway, "own").await;
    assert_eq!((&shown["concurrency"], &shown["concurrencyNow"]), (&"adaptive".into(), &2.into()));
    let metrics = get(gateway.admin(), "/actuator/prometheus").await.text();
    assert!(metrics.contains("weir_limit_concurrency{limit=\"own\"} 2\n"), "{metrics}");
    gate.open();
    for client in &mut clients {
        assert_eq!(client.read_response().await.status, 200);
    }
    until(&gateway, "own", "inService", 0).await;
}

#[tokio::test]
async fn bodies_of_requests_that_wait_arrive_whole() {
    let origin = Origin::start().await;
    let gateway =
        gateway(&origin, "Throttle=slow", "weir.limits:\n  slow: { rate: 1/h, max-wait: 1000h }");
    assert_eq!(get(gateway.address(), "/a").await.status, 200);
    let body = "y".repeat(20_000);
    let post = format!("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n{body}");
    let next = "GET /a/next HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut waiting = Vec::new();
    // With so many, no more than their heads is read.
    let count = 150;
    for depth in 1..=count {
        let mut client = Client::connect(gateway.address()).await;
        // Some heads come in pieces.
        if depth % 8 == 0 {
            client.send("POST /a HTTP/1.1\r\n").await;
            get(gateway.admin(), "/actuator/gateway/limits/slow").await;
            client.send(post.strip_prefix("POST /a HTTP/1.1\r\n").expect("its rest")).await;
        } else {
            client.send(&post).await;
        }
        client.send(next).await;
        until(&gateway, "slow", "depth", depth).await;
        waiting.push(client);
    }
    assert_eq!(change(&gateway, "slow", json!({ "rate": "1000/s" })).await.status, 200);
    for client in &mut waiting {
        assert_eq!(client.read_response().await.status, 200);
        assert_eq!(client.read_response().await.status, 200);
    }
    let requests = origin.requests();
    let whole = requests.iter().filter(|one| one.body == body.as_bytes()).count();
    let behind = requests.iter().filter(|one| one.raw_head.starts_with(b"GET /a/next ")).count();
    assert_eq!((whole, behind), (150, 150));
}

#[tokio::test]
async fn answers_that_pass_say_what_is_left_if_they_are_to() {
    let origin = Origin::start().await;
    let limits = "weir.limits:\n  told: { rate: 3/h, burst: 2, max-wait: 1s, fields: always }\n  \
                  silent: { rate: 1/h, max-wait: 1s, fields: never }";
    let routes = format!(
        "- {{ id: b, uri: '{}', predicates: [ 'Path=/b' ], filters: [ Throttle=silent ] }}\n",
        origin.uri()
    );
    let gateway = gateway(&origin, "Throttle=told", &format!("{routes}{limits}"));
    let fields = |answer: &Response| {
        ["ratelimit-policy", "ratelimit"].map(|name| answer.field(name).unwrap_or_default())
    };
    let policy = "\"told\";q=3;w=3600".to_owned();
    let first = get(gateway.address(), "/a").await;
    assert_eq!(fields(&first), [policy.clone(), "\"told\";r=1".to_owned()]);
    let [named, left] = fields(&get(gateway.address(), "/a").await);
    assert_eq!(named, policy);
    let seconds = left.strip_prefix("\"told\";r=0;t=").expect("when there is more");
    assert!((1_100..=1_200).contains(&seconds.parse::<u64>().expect("seconds")), "{left}");
    assert_eq!(get(gateway.address(), "/b").await.field("ratelimit"), None);
    let refused = get(gateway.address(), "/b").await;
    assert_eq!((refused.status, refused.field("ratelimit-policy")), (503, None));
    assert!(refused.field("retry-after").is_some());
}

#[tokio::test]
async fn a_queue_survives_a_reload_and_can_be_paused_and_emptied() {
    let origin = Origin::start().await;
    let limits = "weir.limits:\n  slow: { rate: 1/h, max-wait: 10h }";
    let gateway = gateway(&origin, "Throttle=slow", limits);
    assert_eq!(get(gateway.address(), "/a").await.status, 200);
    let mut waiting = begin(&gateway, "GET /a HTTP/1.1\r\nHost: a").await;
    until(&gateway, "slow", "depth", 1).await;
    gateway.hang_up();
    gateway.wait_for_output("reloaded");
    until(&gateway, "slow", "depth", 1).await;
    change(&gateway, "slow", json!({ "paused": true, "rate": "1000/s" })).await;
    assert_eq!(limit(&gateway, "slow").await["depth"], 1);
    let flushed = change(&gateway, "slow", json!({ "flush": true })).await;
    assert!(flushed.text().contains("\"flushed\":1"), "{}", flushed.text());
    let refused = waiting.read_response().await;
    assert_eq!((refused.status, refused.field("retry-after").as_deref()), (503, Some("1")));
    assert_eq!(limit(&gateway, "slow").await["refused"], 1);
    change(&gateway, "slow", json!({ "paused": false })).await;
    assert_eq!(get(gateway.address(), "/a").await.status, 200);
}

/// The message of `weir check` for a wrong configuration.
fn refusal(config: &str) -> String {
    let directory = tempfile::tempdir().expect("a folder");
    let file = directory.path().join("application.yml");
    std::fs::write(&file, config).expect("a file");
    let told = std::process::Command::new(env!("CARGO_BIN_EXE_weir"))
        .arg("check")
        .arg(&file)
        .output()
        .expect("weir runs");
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    assert_eq!(told.status.code(), Some(1), "{text}");
    text
}

#[test]
fn a_pipeline_refuses_a_limit_that_it_cannot_keep() {
    let check = |protocol: &str, limit: &str, expected: &str| {
        let text = refusal(&format!(
            "weir.limits:\n  a: {limit}\nweir.pipelines:\n- {{ id: p, listen: '127.0.0.1:0', \
             {protocol}, upstream: '127.0.0.1:1', limit: a }}\n"
        ));
        assert!(text.contains(expected) && text.contains("application.yml:4:"), "{text}");
    };
    let tcp = "protocol: tcp";
    check(tcp, "{ rate: 5/s, key: host }", "here a key is `none` or `ip`");
    check(tcp, "{ rate: 5/s, cost: 'header:X-Cost' }", "here `cost` is a number");
    check(tcp, "{ concurrency: adaptive }", "here `concurrency` is a number");
    check(tcp, "{ rate: 5/s, deadline: grpc-timeout }", "no `priority` and no `deadline`");
}

#[test]
fn nonsense_is_refused_with_its_place() {
    let check = |limits: &str, expected: &str| {
        let config = format!(
            "weir.limits:\n  a: {limits}\nspring.cloud.gateway.routes:\n- {{ id: a, uri: \
             'http://h', predicates: [ Path=/a ], filters: [ Throttle=a ] }}\n"
        );
        let text = refusal(&config);
        assert!(text.contains(expected) && text.contains("application.yml:2:"), "{text}");
    };
    check("{ rate: 0/s }", "`0/s` is not a rate: it lets nothing pass");
    check("{ rate: -5/s }", "`-5/s` is not a rate");
    check("{ rate: NaN }", "`NaN` is not a rate");
    check("{ rate: 5/s, key: soul }", "header:NAME");
    check("{ rate: 5/s, burts: 2 }", "a limit has no `burts`");
    check("{ queue: 5 }", "it limits nothing");
    check("{ rate: 5/s, cost: 0 }", "`0` is no cost");
    check("{ rate: 5/s, priority: high }", "write `header:NAME`");
    check("{ rate: 5/s, deadline: soon }", "write `grpc-timeout` or `header:NAME`");
    check("{ concurrency: adaptive, concurrency-min: 2000 }", "higher than `concurrency-max`");
    check("{ bandwidth: 10/min }", "`10/min` is no bandwidth");
    check("{ rate: 5/s, fields: often }", "`often` is not one of refused, always, never");
    check("{ concurrency: 5, warm-up: 10s }", "`warm-up` is for a rate");
}

#[tokio::test]
async fn a_rate_limiter_answers_429_with_the_headers_of_spring() {
    let origin = Origin::start().await;
    let filter = "{ name: RequestRateLimiter, args: { key-resolver: '#{@userKeyResolver}', \
                  redis-rate-limiter.replenishRate: 1, redis-rate-limiter.burstCapacity: 2, \
                  redis-rate-limiter.requestedTokens: 2 } }";
    let more = "weir.key-resolvers.userKeyResolver: query:user";
    let gateway = gateway(&origin, filter, more);
    let first = get(gateway.address(), "/a?user=x").await;
    assert_eq!((first.status, first.field("x-ratelimit-remaining").as_deref()), (200, Some("0")));
    assert_eq!(first.field("x-ratelimit-burst-capacity").as_deref(), Some("2"));
    let mut refused = get(gateway.address(), "/a?user=x").await;
    // The second may have turned between the two, at most once in a row.
    if refused.status == 200 {
        refused = get(gateway.address(), "/a?user=x").await;
    }
    assert_eq!((refused.status, refused.text()), (429, String::new()));
    assert_eq!(refused.field("x-ratelimit-replenish-rate").as_deref(), Some("1"));
    assert_eq!(get(gateway.address(), "/a?user=y").await.status, 200);
    assert_eq!(get(gateway.address(), "/a").await.status, 403);
}
