//! Filters that query another server before a request is forwarded: ForwardAuth, BasicAuth,
//! TokenRelay.

use std::net::SocketAddr;

use weir_testkit::{Answer, Client, Gateway, Origin, Response, closed_port, spawn_weir};

fn gateway(origin: &Origin, filters: &str, more: &str) -> Gateway {
    gateway_with(origin, filters, more, "--log=info")
}

fn gateway_with(origin: &Origin, filters: &str, more: &str, arg: &str) -> Gateway {
    let config = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}\nweir.admin.port: 0\n{more}\n\
         spring.cloud.gateway.server.webflux.routes:\n\
         - id: a\n  uri: '{}'\n  predicates: [ 'Path=/a/**' ]\n  filters:\n{filters}\n",
        origin.uri()
    );
    spawn_weir(env!("CARGO_BIN_EXE_weir"), &["run", "{config}", arg], &config)
}

async fn get(address: SocketAddr, fields: &str) -> Response {
    let get = format!("GET /a/b?c=d HTTP/1.1\r\nHost: shop.example\r\n{fields}\r\n");
    Client::connect(address).await.exchange(get).await
}

fn forward_auth(uri: &str) -> String {
    format!(
        "  - name: ForwardAuth\n    args: {{ uri: '{uri}/check', responseHeaders: [X-User], \
         principalHeader: X-User, timeout: 500ms }}"
    )
}

#[tokio::test]
async fn another_server_lets_requests_pass_and_says_who_they_are_from() {
    let origin = Origin::start().await;
    let auth =
        Origin::answering(|_| Answer::status(200, &["X-User: alice", "X-Other: y"], "ignored"))
            .await;
    let filters = forward_auth(&auth.uri()) + "\n  - AddResponseHeader=X-Own, 1";
    let gateway = gateway(&origin, &filters, "");
    let answer =
        get(gateway.address(), "Cookie: s=1\r\nX-User: forged\r\nContent-Length: 0\r\n").await;
    assert_eq!((answer.status, answer.field("x-own").as_deref()), (200, Some("1")));
    let asked = auth.only_request();
    assert_eq!(asked.line(), "GET /check HTTP/1.1");
    let field = |name: &str| asked.field(name).unwrap_or_default();
    assert_eq!((field("cookie"), field("x-forwarded-uri")), ("s=1".into(), "/a/b?c=d".into()));
    assert_eq!(field("x-forwarded-host"), "shop.example");
    assert_eq!(
        (field("x-forwarded-method"), field("x-forwarded-for")),
        ("GET".into(), "127.0.0.1".into())
    );
    let sent = origin.only_request();
    assert_eq!(sent.all("x-user"), ["alice"], "what the client claims to be is gone");
    assert_eq!(sent.field("x-other"), None);
}

#[tokio::test]
async fn another_server_is_asked_on_few_connections() {
    let origin = Origin::start().await;
    let (kept, closing) =
        (Origin::start().await, Origin::answering(|_| Answer::ok().close()).await);
    for auth in [&kept, &closing] {
        let gateway = gateway(&origin, &forward_auth(&auth.uri()), "");
        for _ in 0..20 {
            // A connection that was closed meanwhile is not noticed by the client.
            assert_eq!(get(gateway.address(), "").await.status, 200);
        }
    }
    assert_eq!(kept.requests().len(), 20);
    // The moment at which a connection is ready again depends on scheduling.
    assert!(kept.connections() < 10, "{} connections", kept.connections());
}

#[tokio::test]
async fn another_server_turns_requests_away_in_its_own_words() {
    let origin = Origin::start().await;
    let fields = &[
        "Location: https://login.example/?back=1",
        "Set-Cookie: t=2",
        "Connection: X-Hop, keep-alive",
        "Keep-Alive: timeout=5",
        "X-Hop: 1",
    ];
    let auth = Origin::answering(|_| Answer::status(302, fields, "go and log in")).await;
    let gateway = gateway(&origin, &forward_auth(&auth.uri()), "");
    let answer = get(gateway.address(), "").await;
    assert_eq!((answer.status, answer.text().as_str()), (302, "go and log in"));
    assert_eq!(answer.field("location").as_deref(), Some("https://login.example/?back=1"));
    assert_eq!(answer.field("set-cookie").as_deref(), Some("t=2"));
    assert_eq!((answer.field("x-hop"), answer.field("keep-alive")), (None, None));
    assert!(origin.requests().is_empty());
}

#[tokio::test]
async fn nobody_passes_while_the_other_server_cannot_be_asked() {
    let origin = Origin::start().await;
    let away = gateway(&origin, &forward_auth(&format!("http://{}", closed_port())), "");
    assert_eq!(get(away.address(), "").await.status, 503);
    let silent = Origin::answering(|_| Answer::nothing()).await;
    let slow = gateway(&origin, &forward_auth(&silent.uri()), "");
    assert_eq!(get(slow.address(), "").await.status, 503);
    assert!(origin.requests().is_empty());
}

#[tokio::test]
async fn the_admin_api_is_not_asked() {
    let origin = Origin::start().await;
    let port = closed_port().port();
    // It would answer 200.
    let filters = format!(
        "  - name: ForwardAuth\n    args: {{ uri: 'http://127.0.0.1:{port}/actuator/health' }}"
    );
    let gateway = gateway_with(&origin, &filters, "", &format!("--set=weir.admin.port={port}"));
    assert_eq!(get(gateway.address(), "").await.status, 503);
    gateway.wait_for_output("the admin API of this gateway");
    assert!(origin.requests().is_empty());
}

#[tokio::test]
async fn passwords_by_bcrypt() {
    let origin = Origin::start().await;
    // The example of Spring's documentation: "password".
    let users = "weir.users:\n  alice: \"{bcrypt}$2a$10$dXJ3SW6G7P50lGmMkkmwe.20cQQubK3.HZWzG3YB1tlRy.fqvM/BG\"\n  bob: plain";
    let gateway = gateway(&origin, "  - BasicAuth=staff\n  - Authorize=authenticated", users);
    let login = |user: &str| format!("Authorization: Basic {user}\r\n");
    for _ in 0..2 {
        assert_eq!(get(gateway.address(), &login("YWxpY2U6cGFzc3dvcmQ=")).await.status, 200);
    }
    assert_eq!(get(gateway.address(), &login("Ym9iOnBsYWlu")).await.status, 200);
    for wrong in ["YWxpY2U6UGFzc3dvcmQ=", "bm9ib2R5OnBhc3N3b3Jk", "nonsense"] {
        let answer = get(gateway.address(), &login(wrong)).await;
        assert_eq!(answer.status, 401, "{wrong}");
        let asks = answer.field("www-authenticate").expect("a scheme");
        assert_eq!(asks, "Basic realm=\"staff\", charset=\"UTF-8\"");
    }
    assert_eq!(origin.requests().len(), 3);
    assert!(origin.requests().iter().all(|sent| sent.field("authorization").is_none()));
}

fn registration(uri: &str) -> String {
    format!(
        "spring.security.oauth2.client:\n  registration.own: {{ client-id: 'i d', client-secret: \
         s3cret, scope: [ 'a', 'b' ], authorization-grant-type: client_credentials, provider: p }}\n\
         \x20 provider.p.token-uri: {uri}/token"
    )
}

#[tokio::test]
async fn one_token_for_all_who_wait() {
    let origin = Origin::start().await;
    let issuer = Origin::answering(|_| {
        let body = r#"{"access_token":"t0ken","token_type":"Bearer","expires_in":300}"#;
        Answer::nothing().read_body().and(Answer::status(200, &[], body))
    })
    .await;
    let gateway = gateway(&origin, "  - TokenRelay=own", &registration(&issuer.uri()));
    let address = gateway.address();
    let all: Vec<_> =
        (0..20).map(|_| tokio::spawn(async move { get(address, "").await.status })).collect();
    for one in all {
        assert_eq!(one.await.expect("an answer"), 200);
    }
    let asked = issuer.only_request();
    assert_eq!(asked.line(), "POST /token HTTP/1.1");
    // `i%20d:s3cret`.
    assert_eq!(asked.field("authorization").as_deref(), Some("Basic aSUyMGQ6czNjcmV0"));
    assert_eq!(String::from_utf8_lossy(&asked.body), "grant_type=client_credentials&scope=a%20b");
    let sent = origin.requests();
    assert_eq!(sent.len(), 20);
    assert!(sent.iter().all(|one| one.all("authorization") == ["Bearer t0ken"]));
}

#[tokio::test]
async fn no_token_no_request() {
    let origin = Origin::start().await;
    let issuer = Origin::answering(|_| Answer::status(401, &[], "{}")).await;
    let gateway = gateway(&origin, "  - TokenRelay=own", &registration(&issuer.uri()));
    let answer = get(gateway.address(), "Authorization: Bearer theirs\r\n").await;
    assert_eq!((answer.status, answer.field("retry-after").as_deref()), (503, Some("5")));
    assert!(origin.requests().is_empty());
    gateway.wait_for_output("no token for TokenRelay");
    assert!(!gateway.output().contains("s3cret"));
}

#[tokio::test]
async fn faults_where_they_are_asked_for() {
    let origin = Origin::start().await;
    let filters = "  - name: FaultInjection\n    args: { delay: 20ms, abortStatus: 418 }";
    let gateway = gateway(&origin, filters, "");
    let start = std::time::Instant::now();
    let answer = get(gateway.address(), "").await;
    assert_eq!((answer.status, answer.field("x-weir-fault").as_deref()), (418, Some("abort")));
    assert!(start.elapsed() >= std::time::Duration::from_millis(20));
    assert!(origin.requests().is_empty());
}

#[tokio::test]
async fn copies_go_elsewhere_and_are_compared() {
    let origin = Origin::answering(|_| Answer::nothing().read_body().and(Answer::ok())).await;
    let mirror = Origin::answering(|_| {
        Answer::nothing().read_body().and(Answer::status(404, &[], "dropped"))
    })
    .await;
    let filters = format!("  - Mirror={}\n  - AddRequestHeader=X-Own, 1", mirror.uri());
    let gateway = gateway(&origin, &filters, "");
    let post = "POST /a/b?c=d HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\
                3\r\nabc\r\n0\r\n\r\n";
    let answer = Client::connect(gateway.address()).await.exchange(post).await;
    assert_eq!((answer.status, answer.text().as_str()), (200, "ok"));
    let start = std::time::Instant::now();
    let metrics = loop {
        let get = "GET /actuator/prometheus HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let metrics = Client::connect(gateway.admin()).await.exchange(get).await.text();
        if metrics.contains("weir_mirror_total") {
            break metrics;
        }
        assert!(start.elapsed() < weir_testkit::PATIENCE, "{metrics}");
    };
    let row = "weir_mirror_total{route=\"a\",outcome=\"different\"} 1";
    assert!(metrics.contains(row), "{metrics}");
    let copy = mirror.only_request();
    assert_eq!((copy.line().as_str(), &*copy.body), ("POST /a/b?c=d HTTP/1.1", &b"abc"[..]));
    assert_eq!(
        (copy.field("x-own").as_deref(), copy.field("x-weir-mirror").as_deref()),
        (Some("1"), Some("1"))
    );
    assert_eq!(origin.only_request().body, b"abc");
}

#[tokio::test]
async fn a_mirror_that_is_away_is_nobodys_business() {
    let origin = Origin::start().await;
    let filters = format!("  - Mirror=http://{}", closed_port());
    let gateway = gateway(&origin, &filters, "");
    for _ in 0..3 {
        assert_eq!(get(gateway.address(), "").await.status, 200);
    }
    assert_eq!(origin.requests().len(), 3);
}
