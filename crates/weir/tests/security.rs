//! Authentication and authorization: tokens of an issuer whose keys are fetched, scopes, API keys.

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use weir_testkit::{Answer, Client, Gateway, Origin, Response};

/// Keys by their id; the last one signs.
type Keys = Arc<Mutex<Vec<(&'static str, Arc<EcdsaKeyPair>)>>>;

/// An issuer with keys that can change, and that can be away.
struct Issuer {
    origin: Origin,
    keys: Keys,
    is_away: Arc<AtomicBool>,
    /// Bytes of white space behind its keys.
    padding: Arc<AtomicUsize>,
}

fn part(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs()
}

fn pair() -> Arc<EcdsaKeyPair> {
    Arc::new(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key"))
}

impl Issuer {
    async fn start() -> Self {
        let keys = Arc::new(Mutex::new(vec![("first", pair())]));
        let is_away = Arc::new(AtomicBool::new(false));
        let (shown, away) = (Arc::clone(&keys), Arc::clone(&is_away));
        let padding = Arc::new(AtomicUsize::new(0));
        let padded = Arc::clone(&padding);
        let origin = Origin::answering(move |asked| {
            let host = asked.field("host").unwrap_or_default();
            let body = match asked.target().as_str() {
                _ if away.load(Ordering::Relaxed) => return Answer::status(503, &[], ""),
                "/realm/.well-known/openid-configuration" => json!({
                    "issuer": format!("http://{host}/realm"),
                    "jwks_uri": format!("http://{host}/realm/keys"),
                }),
                "/realm/keys" => {
                    let keys = shown.lock().expect("keys");
                    let keys: Vec<Value> = keys.iter().map(|(kid, pair)| {
                        let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                        json!({ "kty": "EC", "crv": "P-256", "kid": kid, "x": part(x), "y": part(y) })
                    }).collect();
                    let keys = json!({ "keys": keys }).to_string();
                    let body = keys + &" ".repeat(padded.load(Ordering::Relaxed));
                    return Answer::status(200, &["Content-Type: application/json"], body);
                }
                _ => return Answer::status(404, &[], ""),
            };
            Answer::status(200, &["Content-Type: application/json"], body.to_string())
        })
        .await;
        Self { origin, keys, is_away, padding }
    }

    fn uri(&self) -> String {
        format!("http://{}/realm", self.origin.address())
    }

    /// A token of the last key, good for a minute unless `claims` say otherwise.
    fn token(&self, claims: Value) -> String {
        let keys = self.keys.lock().expect("keys");
        let (kid, pair) = keys.last().expect("a key");
        let mut payload = json!({ "iss": self.uri(), "sub": "alice", "exp": now_s() + 60 });
        let more = claims.as_object().expect("claims").clone();
        payload.as_object_mut().expect("claims").extend(more);
        let header = part(json!({ "alg": "ES256", "kid": kid }).to_string());
        let signed = format!("{header}.{}", part(payload.to_string()));
        let signature = pair.sign(&SystemRandom::new(), signed.as_bytes()).expect("signed");
        format!("{signed}.{}", part(signature))
    }
}

fn start(issuer: &Issuer, upstream: &Origin) -> Gateway {
    start_with(issuer, upstream, &[])
}

fn start_with(issuer: &Issuer, upstream: &Origin, settings: &[&str]) -> Gateway {
    let config = format!(
        "server.port: 0
weir: {{ admin.port: -1, security.permit: [ '/public/**' ] }}
spring.security.oauth2.resourceserver.jwt:
  issuer-uri: {issuer}
  jws-algorithms: [ ES256 ]
spring.cloud.gateway.server.webflux:
  globalcors:
    cors-configurations:
      '[/**]': {{ allowed-origins: https://a.example, allowed-methods: GET }}
  routes:
  - {{ id: admin, uri: '{upstream}', predicates: [ Path=/admin/** ], filters: [ 'Authorize=scope:admin' ] }}
  - {{ id: public, uri: '{upstream}', predicates: [ Path=/public/** ] }}
  - {{ id: all, uri: '{upstream}', predicates: [ Path=/all/** ] }}
",
        issuer = issuer.uri(),
        upstream = upstream.uri(),
    );
    let args = [&["run", "{config}"], settings].concat();
    Gateway::start(env!("CARGO_BIN_EXE_weir"), &args, &config)
}

async fn get(gateway: &Gateway, path: &str, token: Option<&str>) -> Response {
    let field = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let get = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{field}\r\n");
    Client::connect(gateway.address()).await.exchange(get).await
}

fn challenge(response: &Response) -> String {
    response.field("www-authenticate").unwrap_or_default().to_owned()
}

#[tokio::test]
async fn tokens_open_what_they_may() {
    let (issuer, upstream) = (Issuer::start().await, Origin::start().await);
    let gateway = start(&issuer, &upstream);
    let plain = issuer.token(json!({}));
    let nobody = get(&gateway, "/all/1", None).await;
    assert_eq!((nobody.status, challenge(&nobody)), (401, "Bearer".to_owned()));
    assert_eq!(
        get(&gateway, "/no/such/route", None).await.status,
        401,
        "which there are is not said"
    );
    assert_eq!(get(&gateway, "/public/1", None).await.status, 200);
    assert_eq!(get(&gateway, "/all/1", Some(&plain)).await.status, 200);
    assert_eq!(get(&gateway, "/all/2", Some(&plain)).await.status, 200, "remembered");
    assert_eq!(get(&gateway, "/no/such/route", Some(&plain)).await.status, 404);
    let denied = get(&gateway, "/admin/1", Some(&plain)).await;
    assert_eq!(denied.status, 403);
    assert!(challenge(&denied).contains("insufficient_scope"), "{}", challenge(&denied));
    let admin = issuer.token(json!({ "scope": "openid admin" }));
    assert_eq!(get(&gateway, "/admin/1", Some(&admin)).await.status, 200);
    let sent = upstream.requests().len();
    for (claims, why) in [
        (json!({ "exp": now_s() - 61 }), "Jwt expired at"),
        (json!({ "nbf": now_s() + 120 }), "Jwt used before"),
        (json!({ "iss": "http://other" }), "iss claim is not valid"),
    ] {
        let token = issuer.token(claims);
        let refused = get(&gateway, "/all/1", Some(&token)).await;
        assert_eq!(refused.status, 401);
        assert!(challenge(&refused).contains(why), "{}", challenge(&refused));
        assert_eq!(get(&gateway, "/public/1", Some(&token)).await.status, 401, "as in Spring");
    }
    let mut forged = admin.clone();
    forged.replace_range(admin.len() - 4.., "AAAA");
    for token in [forged.as_str(), "nonsense", "a b", "eyJhbGciOiJub25lIn0.e30."] {
        assert_eq!(get(&gateway, "/all/1", Some(token)).await.status, 401, "{token}");
    }
    assert_eq!(upstream.requests().len(), sent);
}

#[tokio::test]
async fn responses_have_the_headers_of_spring_security_unless_they_have_their_own() {
    let issuer = Issuer::start().await;
    let upstream = Origin::answering(|asked| match asked.target().as_str() {
        "/public/own" => Answer::status(200, &["X-Frame-Options: SAMEORIGIN", "Expires: 1"], ""),
        _ => Answer::status(200, &[], ""),
    })
    .await;
    let names = ["cache-control", "expires", "x-frame-options", "x-xss-protection"];
    let check = async |settings: &[&str], path: &str, expected: [Option<&str>; 4]| {
        let gateway = start_with(&issuer, &upstream, settings);
        let answer = get(&gateway, path, None).await;
        let found = names.map(|name| answer.field(name));
        assert_eq!(found.each_ref().map(Option::as_deref), expected, "{path}");
    };
    let kept = Some("no-cache, no-store, max-age=0, must-revalidate");
    check(&[], "/public/1", [kept, Some("0"), Some("DENY"), Some("0")]).await;
    check(&[], "/all/1", [kept, Some("0"), Some("DENY"), Some("0")]).await;
    check(&[], "/public/own", [None, Some("1"), Some("SAMEORIGIN"), Some("0")]).await;
    let off = ["--set=weir.security.response-headers=false"];
    check(&off, "/public/1", [None; 4]).await;
}

#[tokio::test]
async fn a_preflight_needs_no_token_and_reaches_nobody() {
    let (issuer, upstream) = (Issuer::start().await, Origin::start().await);
    let gateway = start(&issuer, &upstream);
    let preflight = "OPTIONS /all/1 HTTP/1.1\r\nHost: localhost\r\nOrigin: https://a.example\r\n\
                     Access-Control-Request-Method: GET\r\n\r\n";
    let response = Client::connect(gateway.address()).await.exchange(preflight.to_owned()).await;
    assert_eq!(response.status, 200);
    assert_eq!(response.field("access-control-allow-origin").as_deref(), Some("https://a.example"));
    let plain = "OPTIONS /all/1 HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let response = Client::connect(gateway.address()).await.exchange(plain.to_owned()).await;
    assert_eq!(response.status, 401);
    assert_eq!(upstream.requests().len(), 0);
}

#[tokio::test]
async fn a_new_key_is_fetched_when_a_token_has_it() {
    let (issuer, upstream) = (Issuer::start().await, Origin::start().await);
    let gateway = start(&issuer, &upstream);
    assert_eq!(get(&gateway, "/all/1", Some(&issuer.token(json!({})))).await.status, 200);
    let old = issuer.token(json!({}));
    issuer.keys.lock().expect("keys").push(("second", pair()));
    assert_eq!(get(&gateway, "/all/1", Some(&issuer.token(json!({})))).await.status, 200);
    assert_eq!(get(&gateway, "/all/1", Some(&old)).await.status, 200);
    let known = issuer.token(json!({}));
    // So soon after that, another unknown key is taken for an invented one.
    issuer.keys.lock().expect("keys").push(("third", pair()));
    assert_eq!(get(&gateway, "/all/1", Some(&issuer.token(json!({})))).await.status, 401);
    issuer.is_away.store(true, Ordering::Relaxed);
    assert_eq!(get(&gateway, "/all/1", Some(&known)).await.status, 200);
}

#[tokio::test]
async fn without_keys_nothing_is_open() {
    let (issuer, upstream) = (Issuer::start().await, Origin::start().await);
    issuer.is_away.store(true, Ordering::Relaxed);
    let gateway = start(&issuer, &upstream);
    let token = issuer.token(json!({}));
    assert_eq!(get(&gateway, "/all/1", Some(&token)).await.status, 503);
    assert_eq!(get(&gateway, "/all/1", None).await.status, 401);
    issuer.is_away.store(false, Ordering::Relaxed);
    let mut status = 0;
    while status != 200 {
        status = get(&gateway, "/all/1", Some(&token)).await.status;
        assert!(matches!(status, 200 | 503), "{status}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

/// A set of keys is read up to 512 KiB.
#[tokio::test]
async fn keys_without_end_are_not_taken_and_the_last_ones_stay() {
    let (issuer, upstream) = (Issuer::start().await, Origin::start().await);
    issuer.padding.store(500_000, Ordering::Relaxed);
    let gateway = start(&issuer, &upstream);
    let known = issuer.token(json!({}));
    assert_eq!(get(&gateway, "/all/1", Some(&known)).await.status, 200);
    issuer.keys.lock().expect("keys").push(("second", pair()));
    issuer.padding.store(512 * 1024, Ordering::Relaxed);
    assert_eq!(get(&gateway, "/all/1", Some(&issuer.token(json!({})))).await.status, 401);
    // The issuer answers on this thread meanwhile.
    let until = std::time::Instant::now() + weir_testkit::PATIENCE;
    while !gateway
        .output()
        .contains("no keys of the issuer: its answer is longer than 524288 bytes")
    {
        assert!(std::time::Instant::now() < until, "{}", gateway.output());
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(get(&gateway, "/all/1", Some(&known)).await.status, 200);
}

/// An nginx that adds TLS to `upstream`, and the file with its certificate.
async fn nginx(upstream: std::net::SocketAddr, folder: &std::path::Path) -> Option<Nginx> {
    let program = |name: &str, flag: &str| {
        let found = Command::new(name).arg(flag).output();
        found.inspect_err(|error| eprintln!("left out: {name}: {error}")).is_ok()
    };
    if !program("nginx", "-v") || !program("openssl", "version") {
        return None;
    }
    certificate(folder);
    let (address, place) = (weir_testkit::closed_port(), folder.display());
    let port = address.port();
    let text = format!(
        "daemon off; master_process off; pid {place}/pid; error_log /dev/null;
events {{}}
http {{
  access_log off; client_body_temp_path {place}/a; proxy_temp_path {place}/b;
  fastcgi_temp_path {place}/c; uwsgi_temp_path {place}/d; scgi_temp_path {place}/e;
  server {{
    listen 127.0.0.1:{port} ssl; ssl_certificate {place}/certificate; ssl_certificate_key {place}/key;
    location / {{ proxy_pass http://{upstream}; }}
  }}
}}
"
    );
    std::fs::write(folder.join("nginx.conf"), text).expect("a file");
    let child = Command::new("nginx").arg("-c").arg(folder.join("nginx.conf")).spawn();
    let nginx = Nginx { child: child.expect("nginx"), port };
    while tokio::net::TcpStream::connect(address).await.is_err() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    Some(nginx)
}

struct Nginx {
    child: std::process::Child,
    port: u16,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn keys_come_by_tls_from_whom_the_system_trusts() {
    let (issuer, upstream) = (Issuer::start().await, Origin::start().await);
    let folder = tempfile::tempdir().expect("a folder");
    let Some(nginx) = nginx(issuer.origin.address(), folder.path()).await else { return };
    let config = format!(
        "server.port: 0
weir.admin.port: -1
spring.security.oauth2.resourceserver.jwt:
  jwk-set-uri: https://localhost:{}/realm/keys
  jws-algorithms: [ ES256 ]
spring.cloud.gateway.routes: [ {{ id: a, uri: '{}', predicates: [ Path=/** ] }} ]
",
        nginx.port,
        upstream.uri(),
    );
    let start = |trusted: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command.env("SSL_CERT_FILE", folder.path().join(trusted));
        Gateway::launch(command, &["run", "{config}"], &[("application.yml", config.as_bytes())])
    };
    let token = issuer.token(json!({}));
    let trusting = start("certificate");
    assert_eq!(get(&trusting, "/a", Some(&token)).await.status, 200);
    // Another authority does not do.
    std::fs::create_dir(folder.path().join("other")).expect("a folder");
    certificate(&folder.path().join("other"));
    let doubting = start("other/certificate");
    assert_eq!(get(&doubting, "/a", Some(&token)).await.status, 503);
    doubting.wait_for_output("no keys of the issuer");
}

/// Writes a certificate for `localhost`, signed by itself, and its key.
fn certificate(folder: &std::path::Path) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
        .args(["-keyout", "key", "-out", "certificate", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .current_dir(folder)
        .output();
    assert!(made.expect("openssl").status.success());
}

#[tokio::test]
async fn api_keys_say_who_it_is() {
    let upstream = Origin::start().await;
    let config = format!(
        "server.port: 0
weir:
  admin.port: -1
  api-keys: {{ alice: open-sesame }}
  limits.each: {{ rate: 1/h, queue: 0, key: principal }}
spring.cloud.gateway.server.webflux.routes:
- {{ id: a, uri: '{}', predicates: [ Path=/** ], filters: [ ApiKey=X-Key, Throttle=each ] }}
",
        upstream.uri()
    );
    let gateway = Gateway::start(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &config);
    let ask = async |key: &str| {
        let get = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX-Key: {key}\r\n\r\n");
        Client::connect(gateway.address()).await.exchange(get).await.status
    };
    assert_eq!(ask("guessed").await, 401);
    // The first one counts, none is passed on, and the target is not searched.
    assert_eq!(ask("guessed\r\nX-Key: open-sesame").await, 401);
    let get = "GET /?X-Key=open-sesame HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned();
    assert_eq!(Client::connect(gateway.address()).await.exchange(get).await.status, 401);
    assert_eq!(ask("open-sesame\r\nX-Key: guessed").await, 200);
    assert_eq!(ask("open-sesame").await, 429);
    assert_eq!(upstream.only_request().field("x-key"), None);
}

#[test]
fn explain_tells_what_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = "spring.security.oauth2.resourceserver.jwt.issuer-uri: http://idp.example
weir.security.permit: /public/**
spring.cloud.gateway.routes:
- { id: a, uri: 'http://h', predicates: [ Path=/** ], filters: [ 'Authorize=role:admin', SetPath=/x ] }
";
    std::fs::write(folder.path().join("a.yml"), config).expect("a file");
    let explain = |path: &str| {
        let mut weir = Command::new(env!("CARGO_BIN_EXE_weir"));
        let output = weir.args(["explain", "a.yml", path]).current_dir(folder.path()).output();
        String::from_utf8_lossy(&output.expect("an output").stdout).into_owned()
    };
    let told = explain("/a");
    assert!(told.contains("token      needed") && told.contains("role:admin"), "{told}");
    assert!(told.contains("+ GET /x HTTP/1.1"), "{told}");
    assert!(explain("/public/a").contains("token      not needed"), "{}", explain("/public/a"));
}

#[test]
fn what_cannot_be_followed_is_said_with_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let check = |text: &str| {
        std::fs::write(folder.path().join("a.yml"), text).expect("a file");
        let mut weir = Command::new(env!("CARGO_BIN_EXE_weir"));
        let output = weir.args(["check", "a.yml"]).current_dir(folder.path()).output();
        let output = output.expect("an output");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let jwt = "spring.security.oauth2.resourceserver.jwt";
    for (text, place, message) in [
        (format!("{jwt}.issuer-uri: idp.example"), "a.yml:1:", "is no URL"),
        (format!("{jwt}.audiences: a"), "a.yml:1:", "no token issuer"),
        (format!("{jwt}:\n  issuer-uri: http://a\n  jws-algorithms: RS255"), "a.yml:3:", "RS255"),
        (format!("{jwt}.public-key-location: classpath:a.pub"), "a.yml:1:", "Java application"),
        (format!("{jwt}.public-key-location: file:no.pem"), "a.yml:1:", "no public key"),
        (
            "spring.cloud.gateway.routes: [ { id: a, uri: 'http://a', filters: [ \
             'Authorize=scope:a' ] } ]"
                .to_owned(),
            "a.yml:1:",
            "nothing identifies the client of a request",
        ),
        ("weir.api-keys.alice: 'sha256:xyz'".to_owned(), "a.yml:1:", "key of `alice`"),
    ] {
        let (code, output) = check(&text);
        assert_eq!(code, Some(1), "{text}: {output}");
        assert!(output.contains(place) && output.contains(message), "{text}: {output}");
        assert!(!output.contains("xyz"), "{output}");
    }
    let (code, output) = check(&format!("{jwt}.issuer-uri: http://idp.example/realm"));
    assert_eq!(code, Some(0), "{output}");
}
