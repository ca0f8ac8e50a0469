//! Retry, CircuitBreaker, fallbacks and `forward:` end to end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use weir_testkit::{Answer, Client, Gate, Gateway, Origin, Response, closed_port, spawn_weir};

/// A gateway whose first route, `/a/**`, leads to `uri` through `filters`.
fn gateway(uri: &str, filters: &str, more: &str) -> Gateway {
    gateway_at("/a/**", uri, filters, more)
}

fn gateway_at(path: &str, uri: &str, filters: &str, more: &str) -> Gateway {
    let config = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}\nweir.admin.port: 0\n\
         management.endpoints.web.exposure.include: '*'\n\
         spring.cloud.gateway.server.webflux.routes:\n\
         - id: a\n  uri: '{uri}'\n  predicates: [ 'Path={path}' ]\n  filters:\n{filters}\n{more}\n",
    );
    spawn_weir(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &config)
}

async fn get(address: SocketAddr, path: &str) -> Response {
    let get = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    Client::connect(address).await.exchange(get).await
}

async fn metric(gateway: &Gateway, row: &str) -> Option<String> {
    let metrics = get(gateway.admin(), "/actuator/prometheus").await.text();
    metrics.lines().find_map(|line| line.strip_prefix(row)).map(|rest| rest.trim().to_owned())
}

/// Answers with these statuses in turn, then with 200.
async fn answering(statuses: &'static [u16]) -> Origin {
    let turn = AtomicUsize::new(0);
    Origin::answering(move |_| {
        let status = statuses.get(turn.fetch_add(1, Ordering::Relaxed)).copied().unwrap_or(200);
        Answer::status(status, &[], format!("status {status}"))
    })
    .await
}

#[tokio::test]
async fn a_failed_request_is_sent_again_until_it_is_answered() {
    let origin = answering(&[503, 500]).await;
    let gateway = gateway(&origin.uri(), "  - Retry=3", "");
    let mut client = Client::connect(gateway.address()).await;
    let answer = client.get("/a/x?q=1").await;
    assert_eq!((answer.status, answer.text().as_str()), (200, "status 200"));
    let seen: Vec<String> = origin.requests().iter().map(|one| one.head()).collect();
    assert_eq!(seen.len(), 3);
    assert!(seen.iter().all(|head| *head == seen[0]), "{seen:?}");
    assert_eq!(origin.connections(), 1, "the connection serves on");
    assert_eq!(metric(&gateway, "weir_upstream_retries_total").await.as_deref(), Some("2"));
}

#[tokio::test]
async fn the_last_answer_goes_to_the_client_and_other_methods_are_sent_once() {
    let origin = answering(&[503; 100]).await;
    let gateway = gateway(&origin.uri(), "  - Retry=2", "");
    let mut client = Client::connect(gateway.address()).await;
    let answer = client.get("/a").await;
    assert_eq!((answer.status, answer.text().as_str()), (503, "status 503"));
    assert_eq!(origin.requests().len(), 3);
    let post = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab";
    assert_eq!(client.exchange(post).await.status, 503);
    assert_eq!(origin.requests().len(), 4);
}

const POSTS: &str = "  - { name: Retry, args: { retries: 2, methods: [ POST, PUT ] } }";

#[tokio::test]
async fn bodies_are_sent_again_and_what_follows_them_is_not_lost() {
    let origin = answering(&[500, 500, 200, 502, 200]).await;
    let gateway = gateway(&origin.uri(), POSTS, "");
    let mut client = Client::connect(gateway.address()).await;
    let chunked = "POST /a/1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                   3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    let plain = "PUT /a/2 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nfghij";
    let last = "GET /a/3 HTTP/1.1\r\nHost: a\r\n\r\n";
    client.send_split(format!("{chunked}{plain}{last}"), 7).await;
    for _ in 0..3 {
        assert_eq!(client.read_response().await.status, 200);
    }
    let requests = origin.requests();
    let seen: Vec<(String, &[u8])> =
        requests.iter().map(|one| (one.target(), one.body.as_slice())).collect();
    let (first, second) = (b"abcde".as_slice(), b"fghij".as_slice());
    let one = |target: &str, body| (target.to_owned(), body);
    let expected = [
        one("/a/1", first),
        one("/a/1", first),
        one("/a/1", first),
        one("/a/2", second),
        one("/a/2", second),
        one("/a/3", b"".as_slice()),
    ];
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn a_body_too_large_to_keep_is_sent_once() {
    let origin = answering(&[500, 500]).await;
    let gateway = gateway(&origin.uri(), POSTS, "spring.http.codecs.max-in-memory-size: 10B");
    let mut client = Client::connect(gateway.address()).await;
    let body = "x".repeat(5_000);
    let sized = format!("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n{body}");
    assert_eq!(client.exchange(sized).await.status, 500);
    let chunked = format!(
        "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n{body}\r\n\
         0\r\n\r\n"
    );
    assert_eq!(client.exchange(chunked).await.status, 500);
    let seen: Vec<usize> = origin.requests().iter().map(|one| one.body.len()).collect();
    assert_eq!(seen, [5_000, 5_000]);
    let row = "weir_upstream_retries_without_body_total";
    assert_eq!(metric(&gateway, row).await.as_deref(), Some("2"));
}

#[tokio::test]
async fn a_client_that_waits_for_100_is_told_to_go_on() {
    let origin = answering(&[500]).await;
    let gateway = gateway(&origin.uri(), POSTS, "");
    let mut client = Client::connect(gateway.address()).await;
    client
        .send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        .await;
    assert_eq!(client.read_interim().await.status, 100);
    client.send("ab").await;
    assert_eq!(client.read_response().await.status, 200);
    assert_eq!(origin.requests().len(), 2);
}

#[tokio::test]
async fn each_attempt_goes_to_another_instance() {
    let (sick, well) = (answering(&[503; 100]).await, answering(&[]).await);
    let services = format!(
        "spring.cloud.discovery.client.simple.instances.s: [ {{ uri: '{}' }}, {{ uri: '{}' }} ]",
        sick.uri(),
        well.uri()
    );
    let gateway = gateway("lb://s", "  - Retry=1", &services);
    let mut client = Client::connect(gateway.address()).await;
    for _ in 0..4 {
        assert_eq!(client.get("/a").await.status, 200);
    }
    let hosts: Vec<Option<String>> =
        well.requests().iter().map(|request| request.field("host")).collect();
    assert!(hosts.iter().all(|host| host.as_deref() == Some(&*well.address().to_string())));
}

#[tokio::test]
async fn no_answer_in_time_and_a_broken_connection_are_reasons_too() {
    let turn = AtomicUsize::new(0);
    let never = Gate::new();
    let held = never.clone();
    let origin = Origin::answering(move |_| match turn.fetch_add(1, Ordering::Relaxed) {
        0 => Answer::nothing().pause(&held),
        1 => Answer::nothing().reset(),
        _ => Answer::ok(),
    })
    .await;
    let more = "  metadata: { response-timeout: 200 }";
    let gateway = gateway(&origin.uri(), "  - Retry=2", more);
    assert_eq!(get(gateway.address(), "/a").await.status, 200);
    assert_eq!(origin.requests().len(), 3);
    never.open();
}

#[tokio::test]
async fn an_upstream_that_is_sick_is_not_drowned() {
    let origin = answering(&[503; 100_000]).await;
    let gateway = gateway(&origin.uri(), "  - Retry=3", "weir.retry.budget: 0");
    let mut client = Client::connect(gateway.address()).await;
    let requests = 400;
    for _ in 0..requests {
        assert_eq!(client.get("/a").await.status, 503);
    }
    // A hundred at once, and ten a second; without a budget there would be 1,200.
    let retries = origin.requests().len() - requests;
    assert!((100..600).contains(&retries), "{retries} retries of {requests} requests");
    assert!(metric(&gateway, "weir_upstream_retries_over_budget_total").await.is_some());
}

const BREAKER: &str = "
resilience4j.circuitbreaker.instances.b:
  slidingWindowSize: 4
  minimumNumberOfCalls: 2
  waitDurationInOpenState: 1h
";

fn fallback(other: &Origin) -> String {
    format!(
        "- id: fallback\n  uri: '{}'\n  predicates: [ 'Path=/away/**' ]\n  filters:\n  \
         - FallbackHeaders\n{BREAKER}",
        other.uri()
    )
}

async fn breaker(gateway: &Gateway, name: &str) -> Value {
    let all = get(gateway.admin(), "/actuator/circuitbreakers").await;
    let all: Value = serde_json::from_str(&all.text()).expect("JSON");
    all["circuitBreakers"][name].clone()
}

#[tokio::test]
async fn a_breaker_opens_and_stays_so_over_a_reload() {
    let nobody = format!("http://{}", closed_port());
    let gateway = gateway(&nobody, "  - CircuitBreaker=b", BREAKER);
    for expected in [502, 502, 503, 503] {
        assert_eq!(get(gateway.address(), "/a").await.status, expected);
    }
    let shown = breaker(&gateway, "b").await;
    assert_eq!(shown["state"], "OPEN");
    assert_eq!(shown["notPermittedCalls"], 2);
    let row = "resilience4j_circuitbreaker_state{name=\"b\",state=\"open\"}";
    assert_eq!(metric(&gateway, row).await.as_deref(), Some("1"));
    gateway.hang_up();
    gateway.wait_for_output("reloaded");
    assert_eq!(get(gateway.address(), "/a").await.status, 503);
    assert_eq!(breaker(&gateway, "b").await["state"], "OPEN");
}

#[tokio::test]
async fn a_failed_request_goes_to_its_fallback_with_its_body() {
    let other = Origin::start().await;
    let nobody = format!("http://{}", closed_port());
    let filters = "  - AddRequestHeader=X-Before,1\n  - name: CircuitBreaker\n    args: { name: b, \
                   fallbackUri: 'forward:/away/{rest}' }\n  - AddResponseHeader=X-Not,1";
    let routes = format!("{}\nweir.forward.via: edge\n", fallback(&other));
    let gateway = gateway_at("/a/{rest}", &nobody, filters, &routes);
    let post = "POST /a/r?q=1 HTTP/1.1\r\nHost: gw\r\nOrigin: http://gw\r\nContent-Length: 3\r\n\
                \r\nabc";
    let mut client = Client::connect(gateway.address()).await;
    for _ in 0..3 {
        let answer = client.exchange(post).await;
        assert_eq!((answer.status, answer.field("x-not")), (200, None));
    }
    let requests = other.requests();
    assert_eq!(requests.len(), 3);
    for request in &requests {
        assert_eq!(request.line(), "POST /away/r?q=1 HTTP/1.1");
        assert_eq!(request.body, b"abc");
        assert_eq!(request.field("host").as_deref(), Some(&*other.address().to_string()));
        assert_eq!(request.field("origin"), None);
        assert_eq!(request.all("x-before"), ["1"]);
        assert_eq!(request.all("via"), ["1.1 edge"]);
    }
    let class = |at: usize| requests[at].field("execution-exception-type").expect("a class");
    assert!(class(0).ends_with("AnnotatedConnectException"), "{}", class(0));
    assert!(class(2).ends_with("CallNotPermittedException"), "{}", class(2));
    let root = requests[0].field("root-cause-exception-type");
    assert_eq!(root.as_deref(), Some("java.net.ConnectException"));
}

#[tokio::test]
async fn statuses_may_count_as_failures() {
    let (sick, other) = (answering(&[500, 404, 200]).await, Origin::start().await);
    let filters = "  - name: CircuitBreaker\n    args: { name: b, fallbackUri: 'forward:/away', \
                   statusCodes: [ 500 ] }";
    let gateway = gateway(&sick.uri(), filters, &fallback(&other));
    assert_eq!(get(gateway.address(), "/a").await.status, 200);
    let why = other.only_request().field("execution-exception-message");
    assert_eq!(why.as_deref(), Some("500 INTERNAL_SERVER_ERROR"));
    assert_eq!(get(gateway.address(), "/a").await.status, 404);
    assert_eq!(breaker(&gateway, "b").await["failedCalls"], 0, "it opened, and saw nothing since");
}

#[tokio::test]
async fn without_a_fallback_failures_may_be_swallowed() {
    let sick = answering(&[500]).await;
    let args = "{ name: b, statusCodes: [ 500 ], resumeWithoutError: true }";
    let filters = format!("  - name: CircuitBreaker\n    args: {args}");
    let one = gateway(&sick.uri(), &filters, BREAKER);
    assert_eq!(get(one.address(), "/a").await.text(), "status 500");
    let nobody = format!("http://{}", closed_port());
    let other = gateway(&nobody, &filters, BREAKER);
    let answer = get(other.address(), "/a").await;
    assert_eq!((answer.status, answer.text().as_str()), (200, ""));
}

#[tokio::test]
async fn a_call_that_takes_longer_than_its_limit_is_504() {
    let never = Gate::new();
    let held = never.clone();
    let origin = Origin::answering(move |_| Answer::nothing().pause(&held)).await;
    let limit = "resilience4j.timelimiter.configs.default.timeoutDuration: 100ms";
    let gateway = gateway(&origin.uri(), "  - CircuitBreaker=b\n  - Retry=3", limit);
    assert_eq!(get(gateway.address(), "/a").await.status, 504);
    assert_eq!(origin.requests().len(), 1, "there was no time for another attempt");
    never.open();
}

#[tokio::test]
async fn a_client_that_leaves_gives_the_place_of_its_call_back() {
    let gate = Gate::new();
    let held = gate.clone();
    let turn = Arc::new(AtomicUsize::new(0));
    let origin = Origin::answering(move |_| match turn.fetch_add(1, Ordering::Relaxed) {
        0 => Answer::status(500, &[], ""),
        1 => Answer::nothing().pause(&held),
        _ => Answer::ok(),
    })
    .await;
    let settings = "
resilience4j.circuitbreaker.instances.b:
  slidingWindowSize: 1
  minimumNumberOfCalls: 1
  waitDurationInOpenState: 1ms
  permittedNumberOfCallsInHalfOpenState: 1
resilience4j.timelimiter.instances.b.timeoutDuration: 1h
";
    let filters = "  - name: CircuitBreaker\n    args: { name: b, statusCodes: [ 500 ] }";
    let gateway = gateway(&origin.uri(), filters, settings);
    assert_eq!(get(gateway.address(), "/a").await.status, 500);
    assert_eq!(breaker(&gateway, "b").await["state"], "OPEN");
    // Longer than it stays open, however fast the machine is.
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    let mut leaves = Client::connect(gateway.address()).await;
    leaves.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n").await;
    origin.wait_for_requests(2).await;
    assert_eq!(get(gateway.address(), "/a").await.status, 503, "the one permit is taken");
    drop(leaves);
    let start = std::time::Instant::now();
    while get(gateway.address(), "/a").await.status != 200 {
        assert!(start.elapsed() < weir_testkit::PATIENCE, "the permit is not given back");
    }
    assert_eq!(breaker(&gateway, "b").await["state"], "CLOSED");
    gate.open();
}

#[tokio::test]
async fn forward_leads_to_another_route_and_never_in_a_circle() {
    let origin = Origin::start().await;
    let more = format!(
        "  - AddRequestHeader=X-First,1\n\
         - id: b\n  uri: '{}'\n  predicates: [ 'Path=/b' ]\n  filters: [ 'AddRequestHeader=X-Second,2' ]\n\
         - id: c\n  uri: 'forward:/c'\n  predicates: [ 'Path=/c' ]\n\
         - id: d\n  uri: 'forward:/nowhere'\n  predicates: [ 'Path=/d' ]\n\
         - id: e\n  uri: 'forward:/f'\n  predicates: [ 'Path=/e' ]\n\
         - id: f\n  uri: 'no://op'\n  predicates: [ 'Path=/f' ]\n  filters: [ SetStatus=503 ]\n",
        origin.uri()
    );
    let gateway = gateway("forward:/b", "", &more);
    assert_eq!(get(gateway.address(), "/a/x?q=1").await.status, 200);
    let request = origin.only_request();
    assert_eq!(request.line(), "GET /b?q=1 HTTP/1.1");
    assert_eq!((request.all("x-first").len(), request.all("x-second").len()), (1, 1));
    assert_eq!(get(gateway.address(), "/c").await.status, 508);
    assert_eq!(get(gateway.address(), "/d").await.status, 404);
    assert_eq!(get(gateway.address(), "/e").await.status, 503);
}
