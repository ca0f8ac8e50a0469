//! RequestRateLimiter with a real Redis: the keys it keeps there, and its behaviour without Redis.

use std::net::SocketAddr;

use weir_testkit::{Client, Gateway, Origin, PATIENCE, Redis, Response, closed_port, spawn_weir};

/// The password of every Redis here.
const SECRET: &[&str] = &["--requirepass", "pw"];

fn gateway(origin: &Origin, redis: SocketAddr, more: &str) -> Gateway {
    let config = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}\nweir.admin.port: 0\n\
         weir.key-resolvers.who: 'header:X-Who'\n\
         spring.data.redis: {{ host: 127.0.0.1, port: {}, password: pw }}\n{more}\n\
         spring.cloud.gateway.server.webflux.routes:\n\
         - id: a\n  uri: '{}'\n  predicates: [ 'Path=/a/**' ]\n  filters:\n\
         \x20 - name: RequestRateLimiter\n    args:\n      key-resolver: '#{{@who}}'\n\
         \x20     redis-rate-limiter: {{ replenishRate: 1, burstCapacity: 1000, requestedTokens: \
         400 }}\n",
        redis.port(),
        origin.uri()
    );
    spawn_weir(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &config)
}

async fn get(address: SocketAddr, who: &str) -> Response {
    let get = format!("GET /a HTTP/1.1\r\nHost: localhost\r\nX-Who: {who}\r\n\r\n");
    Client::connect(address).await.exchange(get).await
}

fn left(answer: &Response) -> i64 {
    let left = answer.field("x-ratelimit-remaining").expect("what is left");
    left.parse().expect("a number")
}

#[tokio::test]
async fn buckets_are_shared_under_the_names_of_scg() {
    let origin = Origin::start().await;
    let Some(redis) = Redis::start(closed_port(), SECRET) else { return };
    let (first, second) =
        (gateway(&origin, redis.address(), ""), gateway(&origin, redis.address(), ""));
    let answer = get(first.address(), "x").await;
    assert_eq!((answer.status, left(&answer)), (200, 600));
    assert_eq!(answer.field("x-ratelimit-burst-capacity").as_deref(), Some("1000"));
    assert_eq!(answer.field("x-ratelimit-replenish-rate").as_deref(), Some("1"));
    assert_eq!(answer.field("x-ratelimit-requested-tokens").as_deref(), Some("400"));
    // Some seconds may pass, and bring a token each.
    let answer = get(second.address(), "x").await;
    assert_eq!(answer.status, 200);
    assert!((200..300).contains(&left(&answer)), "{}", left(&answer));
    let refused = get(first.address(), "x").await;
    assert_eq!(refused.status, 429);
    assert!((200..300).contains(&left(&refused)), "{}", left(&refused));
    assert_eq!((refused.text().as_str(), origin.requests().len()), ("", 2));
    assert_eq!(get(first.address(), "y").await.status, 200, "keys are told apart");
    let tokens: i64 = redis.command("GET request_rate_limiter.{a.x}.tokens").parse().expect("one");
    assert!((200..300).contains(&tokens), "{tokens}");
    let since: i64 =
        redis.command("GET request_rate_limiter.{a.x}.timestamp").parse().expect("one");
    assert!(since > 1_700_000_000, "seconds since 1970: {since}");
    let life = redis.command("TTL request_rate_limiter.{a.x}.tokens");
    let life: i64 = life.trim_start_matches(':').parse().expect("seconds");
    assert!((1_900..=2_000).contains(&life), "{life}");
}

#[tokio::test]
async fn what_another_gateway_has_taken_counts() {
    let origin = Origin::start().await;
    let Some(redis) = Redis::start(closed_port(), SECRET) else { return };
    let gateway = gateway(&origin, redis.address(), "");
    let now = redis.command("TIME").is_empty();
    assert!(!now);
    redis.command("SET request_rate_limiter.{a.x}.tokens 399");
    redis.command("SET request_rate_limiter.{a.x}.timestamp 99999999999");
    assert_eq!(get(gateway.address(), "x").await.status, 429, "a clock that is ahead adds nothing");
}

#[tokio::test]
async fn without_redis_requests_pass_and_it_is_told() {
    let origin = Origin::start().await;
    let address = closed_port();
    let gateway = gateway(&origin, address, "");
    for _ in 0..5 {
        let answer = get(gateway.address(), "x").await;
        assert_eq!((answer.status, left(&answer)), (200, -1));
    }
    gateway.wait_for_output("Redis does not answer");
    let Some(redis) = Redis::start(address, SECRET) else { return };
    // It is tried again after a rest.
    let start = std::time::Instant::now();
    while left(&get(gateway.address(), "z").await) == -1 {
        assert!(start.elapsed() < PATIENCE, "it is never asked again");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    gateway.wait_for_output("Redis answers again");
    drop(redis);
}

#[tokio::test]
async fn a_redis_that_hangs_holds_up_nobody_for_longer_than_the_bound() {
    let origin = Origin::start().await;
    let Some(redis) = Redis::start(closed_port(), SECRET) else { return };
    let gateway = gateway(&origin, redis.address(), "weir.redis.timeout: 100ms");
    assert_eq!(left(&get(gateway.address(), "x").await), 600);
    redis.signal("STOP");
    let answer = get(gateway.address(), "x").await;
    assert_eq!((answer.status, left(&answer)), (200, -1));
    let metrics = get_metrics(&gateway).await;
    let row = "weir_filter_inquiries_total{kind=\"redis\",answered=\"false\"} 1";
    assert!(metrics.contains(row), "{metrics}");
    redis.signal("CONT");
}

async fn get_metrics(gateway: &Gateway) -> String {
    let get = "GET /actuator/prometheus HTTP/1.1\r\nHost: localhost\r\n\r\n";
    Client::connect(gateway.admin()).await.exchange(get).await.text()
}

#[tokio::test]
async fn a_password_that_is_wrong_is_no_secret_in_the_log() {
    let origin = Origin::start().await;
    let Some(redis) = Redis::start(closed_port(), SECRET) else { return };
    let url = format!("spring.data.redis.url: 'redis://:guessed@{}'", redis.address());
    let gateway = gateway(&origin, redis.address(), &url);
    assert_eq!(left(&get(gateway.address(), "x").await), -1);
    gateway.wait_for_output("Redis does not answer");
    assert!(!gateway.output().contains("guessed"), "{}", gateway.output());
}

/// The port of a cluster's own traffic is that of clients and 10,000 more: both have to be free.
fn cluster_port() -> SocketAddr {
    loop {
        let address = closed_port();
        let bus = address.port().checked_add(10_000);
        if bus.is_some_and(|port| std::net::TcpListener::bind(("127.0.0.1", port)).is_ok()) {
            return address;
        }
    }
}

#[tokio::test]
async fn servers_of_a_cluster_are_found() {
    let origin = Origin::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let node = |name: &str| {
        let file = folder.path().join(name).display().to_string();
        let secret = ["--masterauth", "pw"];
        let more = ["--cluster-enabled", "yes", "--cluster-config-file", &file];
        Redis::start(cluster_port(), &[&more[..], &secret, SECRET].concat())
    };
    let (Some(first), Some(second)) = (node("a"), node("b")) else { return };
    assert_eq!(first.command("CLUSTER ADDSLOTSRANGE 0 8191"), "+OK");
    assert_eq!(second.command("CLUSTER ADDSLOTSRANGE 8192 16383"), "+OK");
    // Two servers that meet must not think that they are of the same age.
    assert_eq!(second.command("CLUSTER SET-CONFIG-EPOCH 2"), "+OK");
    let meet = format!("CLUSTER MEET 127.0.0.1 {}", second.address().port());
    assert_eq!(first.command(&meet), "+OK");
    let start = std::time::Instant::now();
    let is_up = |redis: &Redis| redis.command("CLUSTER INFO").contains("cluster_state:ok");
    while !(is_up(&first) && is_up(&second)) {
        assert!(start.elapsed() < PATIENCE * 3, "{}", first.command("CLUSTER INFO"));
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let nodes = format!("spring.data.redis.cluster.nodes: '{}'", first.address());
    let gateway = gateway(&origin, first.address(), &nodes);
    for key in 0..20 {
        let who = format!("k{key}");
        assert_eq!(left(&get(gateway.address(), &who).await), 600, "{who}");
    }
    let held = [&first, &second].map(|redis| redis.command("DBSIZE") != ":0");
    assert_eq!(held, [true, true], "both servers have keys");
}
