//! LocalResponseCache end to end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use weir_testkit::{Answer, Client, Gate, Gateway, Origin, PATIENCE, Response, spawn_weir};

fn gateway(origin: &Origin, filters: &str, more: &str) -> Gateway {
    let config = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}\nweir: {{ admin.port: 0, server.workers: 2 }}\n\
         {more}\nspring.cloud.gateway.server.webflux.routes:\n\
         - id: a\n  uri: '{}'\n  predicates: [ 'Path=/a/**' ]\n  filters:\n{filters}\n",
        origin.uri()
    );
    spawn_weir(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &config)
}

async fn get(address: SocketAddr, path: &str, fields: &str) -> Response {
    let get = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n");
    Client::connect(address).await.exchange(get).await
}

/// Answers each request with its number.
async fn numbering(fields: &'static [&'static str]) -> Origin {
    let count = AtomicUsize::new(0);
    Origin::answering(move |_| {
        let number = count.fetch_add(1, Ordering::Relaxed).to_string();
        Answer::status(200, fields, number)
    })
    .await
}

#[tokio::test]
async fn the_same_request_is_sent_once() {
    let origin = numbering(&["ETag: \"v\"", "Cache-Control: public"]).await;
    let filters = "  - LocalResponseCache=30m\n  - AddResponseHeader=X-Own, 1";
    let gateway = gateway(&origin, filters, "");
    let address = gateway.address();
    let first = get(address, "/a/1?x", "").await;
    assert_eq!((first.text().as_str(), first.field("age")), ("0", None));
    let again = get(address, "/a/1?x", "").await;
    assert_eq!((again.text().as_str(), again.all("x-own").len()), ("0", 1));
    assert_eq!(again.field("age").as_deref(), Some("0"));
    let control = again.field("cache-control").expect("a lifetime");
    assert_eq!(control, "public,max-age=1800");
    assert_eq!(first.field("cache-control"), again.field("cache-control"));
    let known = get(address, "/a/1?x", "If-None-Match: \"v\"\r\n").await;
    assert_eq!((known.status, known.text().as_str()), (304, ""));
    assert_eq!(get(address, "/a/1", "").await.text(), "1");
    assert_eq!(get(address, "/a/1?x", "Cookie: s=1\r\n").await.text(), "2");
    assert_eq!(get(address, "/a/1?x", "Authorization: Bearer a\r\n").await.text(), "3");
    assert_eq!(get(address, "/a/1?x", "Cache-Control: no-cache\r\n").await.text(), "4");
    assert_eq!(get(address, "/a/1?x", "").await.text(), "0");
    let mut client = Client::connect(address).await;
    let post = "POST /a/1?x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(client.exchange(post).await.text(), "5");
    let metrics = get(gateway.admin(), "/actuator/prometheus", "").await.text();
    assert!(metrics.contains("weir_cache_hits_total{cache=\"\"} 3"), "{metrics}");
}

#[tokio::test]
async fn what_is_somebodys_own_is_not_kept() {
    for line in ["Set-Cookie: s=1", "Cache-Control: private, max-age=60", "Vary: *"] {
        let fields: &'static [&'static str] = Box::leak(Box::new([line]));
        let origin = numbering(fields).await;
        let gateway = gateway(&origin, "  - LocalResponseCache=30m", "");
        for number in ["0", "1"] {
            assert_eq!(get(gateway.address(), "/a", "").await.text(), number, "{line}");
        }
    }
}

#[tokio::test]
async fn one_fetch_for_all_who_wait() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::answering(move |_| Answer::nothing().pause(&held).and(Answer::ok())).await;
    let gateway = gateway(&origin, "  - LocalResponseCache=30m", "");
    let address = gateway.address();
    let all: Vec<_> =
        (0..30).map(|_| tokio::spawn(async move { get(address, "/a", "").await.status })).collect();
    let start = std::time::Instant::now();
    loop {
        let metrics = get(gateway.admin(), "/actuator/prometheus", "").await.text();
        if metrics.contains("weir_cache_waited_total{cache=\"\"} 29") {
            break;
        }
        assert!(start.elapsed() < PATIENCE, "{metrics}");
    }
    gate.open();
    for one in all {
        assert_eq!(one.await.expect("an answer"), 200);
    }
    assert_eq!(origin.requests().len(), 1);
}

#[tokio::test]
async fn an_old_response_stands_in_for_an_error() {
    let fails = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&fails);
    let origin = Origin::answering(move |_| match told.load(Ordering::Relaxed) {
        false => Answer::status(200, &["Cache-Control: max-age=0, stale-if-error=600"], "good"),
        true => Answer::status(503, &[], "bad"),
    })
    .await;
    let gateway = gateway(&origin, "  - LocalResponseCache=30m", "");
    assert_eq!(get(gateway.address(), "/a", "").await.text(), "good");
    fails.store(true, Ordering::Relaxed);
    let answer = get(gateway.address(), "/a", "").await;
    assert_eq!((answer.status, answer.text().as_str()), (200, "good"));
    assert_eq!(get(gateway.address(), "/a/other", "").await.status, 503);
    drop(origin);
    let answer = get(gateway.address(), "/a", "").await;
    assert_eq!(
        (answer.status, answer.text().as_str()),
        (200, "good"),
        "and for an upstream that left"
    );
}

#[tokio::test]
async fn guards_come_first_and_large_bodies_pass() {
    let body = "x".repeat(200_000);
    let origin = Origin::answering(move |_| Answer::status(200, &[], &body)).await;
    let filters = "  - LocalResponseCache=30m,100KB\n  - ApiKey=X-Key";
    let gateway = gateway(&origin, filters, "weir.api-keys.alice: open-sesame");
    for _ in 0..2 {
        let answer = get(gateway.address(), "/a", "X-Key: open-sesame\r\n").await;
        assert_eq!((answer.status, answer.body.len()), (200, 200_000));
    }
    assert_eq!(origin.requests().len(), 2, "it does not fit");
    assert_eq!(get(gateway.address(), "/a", "").await.status, 401);
}

#[tokio::test]
async fn every_route_has_a_cache_where_it_is_switched_on() {
    let origin = numbering(&[]).await;
    let on = "spring.cloud.gateway.server.webflux.filter.local-response-cache.enabled: true";
    let gateway = gateway(&origin, "  - AddResponseHeader=X-Own, 1", on);
    for _ in 0..2 {
        assert_eq!(get(gateway.address(), "/a", "").await.text(), "0");
    }
}

#[tokio::test]
async fn where_a_filter_sends_a_request_tells_responses_apart() {
    let (own, other) = (numbering(&["X-From: own"]).await, numbering(&["X-From: other"]).await);
    let config = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}\nweir.admin.port: 0\n\
         spring.cloud.discovery.client.simple.instances.s: [ {{ uri: '{}' }} ]\n\
         spring.cloud.gateway.server.webflux.routes:\n\
         - {{ id: a, uri: 'lb://s', predicates: [ Path=/a ], filters: [ LocalResponseCache=30m, \
         RequestHeaderToRequestUri=X-To ] }}\n",
        own.uri()
    );
    let gateway = spawn_weir(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &config);
    let sent = get(gateway.address(), "/a", &format!("X-To: {}/a\r\n", other.uri())).await;
    assert_eq!(sent.field("x-from").as_deref(), Some("other"));
    for _ in 0..2 {
        let answer = get(gateway.address(), "/a", "").await;
        assert_eq!(answer.field("x-from").as_deref(), Some("own"), "one client chose for others");
    }
    assert_eq!(own.requests().len(), 1);
}

#[tokio::test]
async fn an_old_response_is_given_at_once_while_another_is_fetched() {
    let gate = Gate::new();
    let (held, count) = (gate.clone(), AtomicUsize::new(0));
    let origin = Origin::answering(move |_| {
        let number = count.fetch_add(1, Ordering::Relaxed);
        let control = "Cache-Control: max-age=0, stale-while-revalidate=600";
        let answer = Answer::status(200, &[control], number.to_string());
        if number == 0 { answer } else { Answer::nothing().pause(&held).and(answer) }
    })
    .await;
    let gateway = gateway(&origin, "  - LocalResponseCache=30m\n  - Retry=1", "");
    let mut client = Client::connect(gateway.address()).await;
    let ask = "GET /a HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: \"v\"\r\n\r\n";
    for _ in 0..4 {
        // The connection remains usable, too, while the origin is silent.
        assert_eq!(client.exchange(ask).await.text(), "0");
    }
    let start = std::time::Instant::now();
    while origin.requests().len() < 2 {
        assert!(start.elapsed() < PATIENCE, "nothing is fetched");
        tokio::task::yield_now().await;
    }
    assert!(origin.requests()[1].field("if-none-match").is_none(), "it is for all");
    gate.open();
    while client.exchange(ask).await.text() == "0" {
        assert!(start.elapsed() < PATIENCE, "what was fetched is not used");
    }
    let metrics = get(gateway.admin(), "/actuator/prometheus", "").await.text();
    assert!(metrics.contains("weir_cache_misses_total{cache=\"\"} 1"), "{metrics}");
}

#[tokio::test]
async fn an_upstream_that_fails_leaves_the_old_response() {
    let count = AtomicUsize::new(0);
    let origin = Origin::answering(move |_| match count.fetch_add(1, Ordering::Relaxed) {
        0 => Answer::status(200, &["Cache-Control: max-age=0, stale-while-revalidate=600"], "old"),
        1 => Answer::status(503, &[], "bad"),
        2 => Answer::nothing().close(),
        _ => Answer::status(200, &["Cache-Control: max-age=600"], "new"),
    })
    .await;
    let gateway = gateway(&origin, "  - LocalResponseCache=30m", "");
    let start = std::time::Instant::now();
    loop {
        let answer = get(gateway.address(), "/a", "").await;
        assert_eq!(answer.status, 200);
        if answer.text() == "new" {
            break;
        }
        assert_eq!(answer.text(), "old");
        assert!(start.elapsed() < PATIENCE, "{} requests", origin.requests().len());
    }
    assert_eq!(origin.requests().len(), 4);
}

#[tokio::test]
async fn caches_are_emptied() {
    let origin = numbering(&[]).await;
    let gateway = gateway(&origin, "  - LocalResponseCache=30m,1MB", "");
    let (address, admin) = (gateway.address(), gateway.admin());
    let delete = async |path: &str| {
        let delete = format!("DELETE {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        Client::connect(admin).await.exchange(delete).await.status
    };
    for (number, path) in [("0", "/actuator/caches/a"), ("1", "/actuator/caches")] {
        for _ in 0..2 {
            assert_eq!(get(address, "/a", "").await.text(), number);
        }
        assert_eq!(delete("/actuator/caches/other").await, 404);
        assert_eq!(delete(path).await, 204);
    }
    assert_eq!(get(address, "/a", "").await.text(), "2");
    let all = get(admin, "/actuator/caches", "").await.text();
    let one = "{\"cacheManagers\":{\"gatewayCacheManager\":{\"caches\":{\"a\":{\"target\":";
    assert!(all.starts_with(one) && all.contains("\"entries\":1,"), "{all}");
    let one = get(admin, "/actuator/caches/a", "").await.text();
    assert!(one.contains("\"cacheManager\":\"gatewayCacheManager\""), "{one}");
    assert_eq!(get(admin, "/actuator/caches/other", "").await.status, 404);
    let weir = |args: &[&str]| {
        let mut weir = std::process::Command::new(env!("CARGO_BIN_EXE_weir"));
        let output = weir.arg("caches").args(["--admin", &admin.to_string()]).args(args).output();
        let output = output.expect("weir runs");
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (done, listed) = weir(&["list"]);
    assert!(done && listed.lines().count() == 2 && listed.contains("1048576"), "{listed}");
    assert_eq!(weir(&["purge", "a"]), (true, "emptied a\n".to_owned()));
    assert_eq!(get(address, "/a", "").await.text(), "3");
    assert!(!weir(&["purge", "other"]).0 && weir(&["purge", "--all"]).0 && !weir(&["purge"]).0);
    assert_eq!(get(address, "/a", "").await.text(), "4");
}
