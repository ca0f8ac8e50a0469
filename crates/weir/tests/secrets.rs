//! No secret leaves a gateway: canaries wherever a secret may be configured or sent, and a search
//! of all its output, at the finest log level.
//!
//! Not searched: lists of routes, which show the arguments of filters as Spring Cloud Gateway's do.

use std::process::Command;

use weir_testkit::{Client, Gateway, Origin, closed_port};

/// Stands in every secret and nowhere else.
const CANARY: &str = "canary-4711";

fn secret(name: &str) -> String {
    format!("{CANARY}-{name}")
}

fn configuration(origin: &Origin) -> String {
    let (token, basic, key, cookie) =
        (secret("token"), secret("basic"), secret("api-key"), secret("cookie"));
    let user = secret("user");
    let host = origin.address();
    let refused = closed_port();
    format!(
        "server: {{ port: 0, address: 127.0.0.1 }}
weir.admin.port: 0
weir.admin.token: {token}
weir.access-log.format: json
spring.redis.password: {password}
spring.data.redis.url: redis://{user}:x@127.0.0.1:1
my.api-key: {key}
server.error.include-message: always
spring.cloud.gateway.routes:
- id: a
  uri: http://{user}:{user}@{host}
  predicates:
  - Path=/a/**
  - Cookie=session, {cookie}.*
  filters:
  - AddRequestHeader=Authorization, Basic {basic}
  - SetRequestHeader=X-Api-Key, {key}
  - AddResponseHeader=Set-Cookie, session={cookie}
- id: refused
  uri: http://{user}:{user}@{refused}
  predicates:
  - Path=/refused/**
- id: broken
  uri: http://{host}
  predicates:
  - Path=/broken/{{x}}
  filters:
  - AddRequestHeader=Authorization, Bearer {basic}
  - SetPath=/{{missing}}
",
        password = secret("password"),
    )
}

fn weir(directory: &std::path::Path, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    let output = command.args(args).current_dir(directory).output().expect("run weir");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn search(what: &str, text: &str) {
    if let Some(line) = text.lines().find(|line| line.contains(CANARY)) {
        panic!("{what} tells a secret: {line}");
    }
}

async fn ask_admin(gateway: &Gateway, request: &str, body: &str) -> String {
    let mut client = Client::connect(gateway.admin()).await;
    client
        .send(format!(
            "{request}\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\
             \r\n\r\n{body}",
            body.len()
        ))
        .await;
    let response = client.read_response().await;
    format!("{:?} {}", response.fields(), response.text())
}

#[tokio::test]
async fn no_secret_comes_out() {
    let origin = Origin::start().await;
    let config = configuration(&origin);
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.env("SPRING_DATASOURCE_PASSWORD", secret("environment"));
    let set = format!("spring.security.user.password={}", secret("set"));
    let ignore = "weir.security.ignore-spring-security=true";
    let args = ["run", "{config}", "--log", "trace", "--set", &set, "--set", ignore];
    let gateway = Gateway::launch(command, &args, &[("weir.yaml", config.as_bytes())]);

    let mut client = Client::connect(gateway.address()).await;
    let fields = format!(
        "Host: a\r\nAuthorization: Bearer {}\r\nCookie: session={}; b={}\r\n\r\n",
        secret("bearer"),
        secret("cookie"),
        secret("other")
    );
    for (target, status) in [("/a/b", 200), ("/refused/b", 502), ("/broken/b", 500), ("/no", 404)] {
        let response = client.exchange(format!("GET {target} HTTP/1.1\r\n{fields}")).await;
        assert_eq!(response.status, status, "{target}");
        search(target, &response.text());
    }
    let got = origin.requests().first().expect("a request").all("authorization").join(" ");
    assert!(got.contains(&secret("basic")), "the canary is not where it is meant to be: {got}");

    search_admin(&gateway).await;
    search_reloads(&gateway, &config).await;
    std::fs::write(gateway.config(), &config).expect("write");
    search("weir check", &weir(gateway.directory(), &["check", "weir.yaml"]));
    let cookie = format!("Cookie: session={}", secret("cookie"));
    let bearer = format!("Authorization: Bearer {}", secret("bearer"));
    let explain = ["explain", "weir.yaml", "/a/b", "--header", &cookie, "--header", &bearer];
    let told = weir(gateway.directory(), &explain);
    assert!(told.contains("******"), "{told}");
    search("weir explain", &told);
    search("the log", &gateway.output());
}

/// Asks the admin API whatever it answers, and what it refuses.
async fn search_admin(gateway: &Gateway) {
    let question = format!(
        r#"{{"method":"GET","target":"/a/b","headers":[["Authorization","Bearer {}"],["Cookie","session={}"]]}}"#,
        secret("bearer"),
        secret("cookie")
    );
    let bearer = |token: &str| format!("Authorization: Bearer {token}");
    let right = bearer(&secret("token"));
    let wrong = bearer(&secret("wrong"));
    let requests = [
        ("GET /actuator HTTP/1.1".to_owned(), ""),
        ("GET /actuator/info HTTP/1.1".to_owned(), ""),
        ("GET /actuator/health HTTP/1.1".to_owned(), ""),
        ("GET /actuator/loggers HTTP/1.1".to_owned(), ""),
        ("GET /actuator/env HTTP/1.1".to_owned(), ""),
        ("GET /actuator/configprops HTTP/1.1".to_owned(), ""),
        ("GET /actuator/prometheus HTTP/1.1".to_owned(), ""),
        ("GET /actuator/gateway/globalfilters HTTP/1.1".to_owned(), ""),
        ("GET /actuator/gateway/routefilters HTTP/1.1".to_owned(), ""),
        (format!("DELETE /actuator/gateway/routes/none HTTP/1.1\r\n{right}"), ""),
        (format!("DELETE /actuator/gateway/routes/none HTTP/1.1\r\n{wrong}"), ""),
        (format!("POST /actuator/gateway/routes/n HTTP/1.1\r\n{right}"), "{"),
        ("POST /actuator/gateway/explain HTTP/1.1".to_owned(), question.as_str()),
        ("GET /actuator/gateway/audit HTTP/1.1".to_owned(), ""),
        ("GET /openapi.json HTTP/1.1".to_owned(), ""),
    ];
    for (request, body) in &requests {
        search(
            request.lines().next().unwrap_or_default(),
            &ask_admin(gateway, request, body).await,
        );
    }
    let explained = ask_admin(gateway, &requests[12].0, &question).await;
    assert!(explained.contains("******") && explained.contains("X-Api-Key"), "{explained}");
}

/// Reloads that are refused because of the very lines that hold secrets.
async fn search_reloads(gateway: &Gateway, config: &str) {
    for broken in [
        config.replace("weir.admin.token: ", "weir.admin.token: ["),
        config.replace("my.api-key: ", "my.api-key: {x: ["),
        config.replace("http://canary", "ftp:\\//canary"),
        config.replace("AddRequestHeader=Authorization", "AddRequestHeadr=Authorization"),
        config.replace("spring.redis.password: ", "spring.redis.password: *"),
    ] {
        assert_ne!(broken, config);
        let before = gateway.output().matches("reload").count();
        std::fs::write(gateway.config(), &broken).expect("write");
        gateway.hang_up();
        let mut waited = 0;
        while gateway.output().matches("reload").count() < before + 2 && waited < 1_000 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            waited += 1;
        }
        let told = weir(gateway.directory(), &["check", "weir.yaml"]);
        search("weir check of a broken file", &told);
        assert!(told.contains("weir.yaml"), "{told}");
    }
}
