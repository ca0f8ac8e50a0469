//! `weir mock` end to end.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use weir_testkit::{Client, Gateway, Response};

const PETS: &str = include_str!("../../../examples/petstore.yaml");

fn mock(args: &[&str]) -> Gateway {
    let binary = env!("CARGO_BIN_EXE_weir");
    let mut all = vec!["mock", "--port", "0"];
    all.extend(args);
    all.push("{config}");
    Gateway::launch(Command::new(binary), &all, &[("pets.yaml", PETS.as_bytes())])
}

async fn ask(gateway: &Gateway, request: &str) -> Response {
    Client::connect(gateway.address()).await.exchange(request).await
}

/// With the real curl; CI installs it.
#[test]
fn the_printed_command_lines_work() {
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("skipped: there is no curl");
        return;
    }
    let example = include_bytes!("../../../examples/petstore.yaml");
    let args = ["mock", "--port", "0", "{config}"];
    let binary = Command::new(env!("CARGO_BIN_EXE_weir"));
    let gateway = Gateway::launch(binary, &args, &[("petstore.yaml", example)]);
    gateway.wait_for_output("listening");
    let output = gateway.output();
    let lines = output.lines().filter_map(|line| line.trim().strip_prefix("curl "));
    let statuses = lines.map(|line| {
        let line = line.split("  # ").next().unwrap_or(line);
        let line = format!("curl -s -o /dev/null -w '%{{http_code}}' {line}");
        let sent = Command::new("sh").args(["-c", &line]).output().expect("a shell");
        String::from_utf8_lossy(&sent.stdout).into_owned()
    });
    assert_eq!(statuses.collect::<Vec<_>>(), ["200", "201", "200", "204"], "{output}");
}

#[tokio::test]
async fn requests_are_validated_and_answered_on_one_connection() {
    let gateway = mock(&[]);
    let mut client = Client::connect(gateway.address()).await;
    let list = client.get("/pets").await;
    assert_eq!(list.status, 200);
    assert_eq!(list.field("content-type").as_deref(), Some("application/json"));
    let wrong = "POST /pets HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\
                 Content-Length: 13\r\n\r\n{\"tag\":\"cow\"}";
    let refused = client.exchange(wrong).await;
    assert_eq!(refused.status, 422);
    assert!(refused.text().contains("\"location\":[\"body\",\"tag\"]"), "{}", refused.text());
    let chunked = "POST /pets HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\
                   Transfer-Encoding: chunked\r\n\r\n8\r\n{\"name\":\r\n6\r\n\"Tom\"}\r\n0\r\n\r\n";
    assert_eq!(client.exchange(chunked).await.status, 201);
    let head = "HEAD /pets HTTP/1.1\r\nHost: a\r\n\r\n";
    client.send(head).await;
    assert_eq!(client.read_response_to("HEAD").await.status, 200);
    assert_eq!(client.get("/nothing").await.status, 404);
    assert_eq!(
        client.get("/pets/1?__example=dog").await.text(),
        r#"{"id":2,"name":"Rex","tag":"dog"}"#
    );
}

#[tokio::test]
async fn browsers_may_ask_unless_that_is_switched_off() {
    let preflight = "OPTIONS /pets HTTP/1.1\r\nHost: a\r\nOrigin: http://page\r\n\
                     Access-Control-Request-Method: POST\r\n\r\n";
    let granted = ask(&mock(&[]), preflight).await.field("access-control-allow-origin");
    assert_eq!(granted.as_deref(), Some("http://page"));
    let refused = ask(&mock(&["--cors", "false"]), preflight).await;
    assert_eq!(refused.field("access-control-allow-origin"), None);
}

#[tokio::test]
async fn a_seed_gives_the_same_answers_after_a_restart() {
    let get = "GET /pets HTTP/1.1\r\nHost: a\r\n\r\n";
    let args = ["--dynamic", "--seed", "7"];
    let first = ask(&mock(&args), get).await;
    let again = ask(&mock(&args), get).await;
    assert_eq!(first.text(), again.text());
    assert_ne!(first.text(), ask(&mock(&["--dynamic", "--seed", "8"]), get).await.text());
}

/// Bodies depend on the seed, the definition and the request alone, whichever worker makes them.
#[tokio::test]
async fn a_seed_gives_the_same_answers_with_any_number_of_workers() {
    // Each connection asks in another order.
    const PATHS: [&str; 4] = ["/pets", "/pets/1", "/pets/2", "/pets?limit=3"];
    let mut expected: Option<Vec<String>> = None;
    for workers in [1, 2, 4, 4] {
        let config = format!("weir.server.workers: {workers}\n");
        let gateway = configured(&["--dynamic", "--seed", "7"], &config);
        let mut clients = Vec::new();
        for _ in 0..3 * workers {
            clients.push(Client::connect(gateway.address()).await);
        }
        for (n, client) in clients.iter_mut().enumerate() {
            let mut bodies = vec![String::new(); PATHS.len()];
            for at in (0..PATHS.len()).map(|at| (at + n) % PATHS.len()) {
                let made = client.get(PATHS[at]).await;
                assert_eq!(made.status, 200, "{}: {}", PATHS[at], made.text());
                bodies[at] = made.text();
            }
            let first = expected.get_or_insert_with(|| bodies.clone());
            assert_eq!(*first, bodies, "{workers} workers, connection {n}");
        }
    }
}

#[test]
fn what_is_no_definition_is_said_and_nothing_starts() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("x.yaml");
    std::fs::write(&file, "openapi: 3.1.0\npaths: { pets: {} }\n").expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_weir")).arg("mock").arg(&file).output();
    let output = output.expect("weir runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("x.yaml:2:1\n") && text.contains("#/paths/pets: "), "{text}");
}

/// Starts `weir run` with this configuration beside `apis/pets.json` and `apis/shop.json`.
fn beside_definitions(config: &str) -> Gateway {
    let define = |path: &str, text: &str| {
        format!(
            r#"{{ "openapi": "3.0.3", "info": {{ "title": "t", "version": "1" }}, "paths": {{
            "{path}": {{ "get": {{ "parameters": [ {{ "name": "n", "in": "query",
            "schema": {{ "type": "integer" }} }} ], "responses": {{ "200": {{ "description": "d",
            "content": {{ "application/json": {{ "schema": {{ "type": "string" }},
            "example": "{text}" }} }} }} }} }} }} }} }}"#
        )
    };
    let (pets, shop) = (define("/pets", "a pet"), define("/items/{id}", "an item"));
    let files: [(&str, &[u8]); 3] = [
        ("application.yml", config.as_bytes()),
        ("apis/pets.json", pets.as_bytes()),
        ("apis/shop.json", shop.as_bytes()),
    ];
    Gateway::launch(Command::new(env!("CARGO_BIN_EXE_weir")), &["run", "{config}"], &files)
}

#[tokio::test]
async fn routes_of_the_gateway_answer_from_definitions() {
    let gateway = beside_definitions(
        "server.port: 0
weir.admin.port: -1
weir.mock.apis: [ { file: apis/*.json, base-path: /v1 } ]
spring.cloud.gateway.server.webflux.routes:
- { id: pets, uri: 'mock://pets', predicates: [ Path=/mocked/** ], filters: [ StripPrefix=1, 'AddResponseHeader=X-Mocked, yes' ] }
- { id: rest, uri: 'mock:', predicates: [ Path=/** ] }
",
    );
    let ask = async |path: &str| {
        let get = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        Client::connect(gateway.address()).await.exchange(get).await
    };
    let pet = ask("/mocked/v1/pets").await;
    assert_eq!((pet.status, pet.text().as_str()), (200, "\"a pet\""));
    assert_eq!(pet.field("x-mocked").as_deref(), Some("yes"));
    assert_eq!(ask("/mocked/v1/items/1").await.status, 404, "another definition");
    assert_eq!(ask("/v1/items/1").await.text(), "\"an item\"");
    assert_eq!(ask("/v1/pets").await.status, 200);
    assert_eq!(ask("/pets").await.status, 404, "without the base path");
    assert_eq!(ask("/v1/pets?n=x").await.status, 422);
}

#[tokio::test]
async fn a_changed_definition_is_served_after_a_reload() {
    let gateway = beside_definitions(
        "server.port: 0
weir.admin.port: -1
weir.mock: { validate: off, apis: { pets: apis/pets.json } }
spring.cloud.gateway.routes: [ { id: a, uri: 'mock://pets', predicates: [ Path=/** ] } ]
",
    );
    let ask = async || {
        let get = "GET /pets?n=x HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned();
        Client::connect(gateway.address()).await.exchange(get).await.text()
    };
    assert_eq!(ask().await, "\"a pet\"");
    let file = gateway.directory().join("apis/pets.json");
    let text = std::fs::read_to_string(&file).expect("the definition");
    std::fs::write(&file, text.replace("a pet", "two pets")).expect("another one");
    gateway.hang_up();
    gateway.wait_for_output("reloaded");
    assert_eq!(ask().await, "\"two pets\"");
    // One that is broken changes nothing.
    std::fs::write(&file, "{ \"openapi\": ").expect("a broken one");
    gateway.hang_up();
    gateway.wait_for_output("pets.json");
    assert_eq!(ask().await, "\"two pets\"");
}

#[test]
fn what_is_wrong_with_definitions_is_said_with_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("broken.json"), "{ \"openapi\": \"3.0.0\" ").expect("a file");
    let good = r#"{ "openapi": "3.0.0", "info": { "title": "t", "version": "1" }, "paths": {} }"#;
    std::fs::write(folder.path().join("good.json"), good).expect("a file");
    let check = |text: &str| {
        std::fs::write(folder.path().join("a.yml"), text).expect("a file");
        let mut weir = Command::new(env!("CARGO_BIN_EXE_weir"));
        let output = weir.args(["check", "a.yml"]).current_dir(folder.path()).output();
        let output = output.expect("an output");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let route = |name: &str| {
        format!(
            "spring.cloud.gateway.routes: [ {{ id: a, uri: 'mock://{name}', predicates: [ Path=/** ] }} ]"
        )
    };
    for (text, message) in [
        ("weir.mock.apis: [ broken.json ]".to_owned(), " broken.json:1:21"),
        ("weir.mock.apis: [ no.json ]".to_owned(), "no.json"),
        ("weir.mock.apis: [ '*.yaml' ]".to_owned(), "there is no definition in"),
        ("weir.mock.apis: [ good.json, { file: good.json } ]".to_owned(), "two definitions"),
        ("weir.mock: { apis: [ good.json ], valdate: off }".to_owned(), "did you mean `validate`"),
        (format!("weir.mock.apis: [ good.json ]\n{}", route("god")), "there are all, good"),
        (
            "weir.mock: { apis: [ good.json ], overrides: [ { operation: x } ] }".to_owned(),
            "a.yml:1:61",
        ),
        (
            "weir.mock.apis: [ good.json ]\nspring.cloud.gateway.routes: [ { id: a, uri: 'no://op', \
             filters: [ ValidateRequest=god ] } ]"
                .to_owned(),
            "ValidateRequest: there is no definition `god`",
        ),
        (
            "weir.mock.apis: [ { file: good.json, delay: { mean: 1 } } ]".to_owned(),
            "there is no `mean`",
        ),
    ] {
        let (code, output) = check(&text);
        assert_eq!(code, Some(1), "{text}: {output}");
        // The place is in the definition, or where the configuration names it.
        let has_place = message.contains(".json:") || output.contains("a.yml:");
        assert!(output.contains(message) && has_place, "{text}: {output}");
    }
    let (code, output) = check(&format!("weir.mock.apis: [ good.json ]\n{}", route("good")));
    assert_eq!(code, Some(0), "{output}");
}

#[tokio::test]
async fn it_tells_why_and_what_may_have_been_meant() {
    let gateway = mock(&[]);
    let told = ask(&gateway, "GET /pet HTTP/1.1\r\nHost: a\r\nPrefer: explain=true\r\n\r\n").await;
    assert_eq!(told.status, 200);
    assert!(told.text().contains("\"path\":\"/pets\""), "{}", told.text());
    let told = ask(&gateway, "GET /pets/x?__explain=true HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(told.text().contains("\"status\":422"), "{}", told.text());
}

#[tokio::test]
async fn faults_are_what_was_asked_for() {
    let gateway = mock(&[]);
    let spoilt = async |fault: &str| {
        let get = format!("GET /pets HTTP/1.1\r\nHost: a\r\nPrefer: fault={fault}\r\n\r\n");
        let mut client = Client::connect(gateway.address()).await;
        client.send(get).await;
        client.try_read_response_to("GET").await
    };
    assert_eq!(spoilt("503").await.expect("an answer").status, 503);
    for fault in ["reset", "truncated", "malformed"] {
        assert!(spoilt(fault).await.is_err(), "{fault}");
    }
    // A client that gives up waiting affects no other.
    let mut waiting = Client::connect(gateway.address()).await;
    waiting.send("GET /pets HTTP/1.1\r\nHost: a\r\nPrefer: fault=timeout\r\n\r\n").await;
    drop(waiting);
    assert_eq!(ask(&gateway, "GET /pets HTTP/1.1\r\nHost: a\r\n\r\n").await.status, 200);
}

#[tokio::test]
async fn a_collection_of_postman_is_served_too() {
    let text = r#"{ "info": { "name": "c", "schema":
        "https://schema.getpostman.com/json/collection/v2.1.0/collection.json" }, "item": [ {
        "name": "one", "request": { "method": "GET", "url": "{{base}}/cats/:id" },
        "response": [ { "name": "ok", "code": 200, "header": [ { "key": "Content-Type",
        "value": "application/json" } ], "body": "{\"name\":\"Tom\"}" } ] } ] }"#;
    let binary = env!("CARGO_BIN_EXE_weir");
    let files = [("cats.json", text.as_bytes())];
    let gateway =
        Gateway::launch(Command::new(binary), &["mock", "--port", "0", "{config}"], &files);
    let cat = ask(&gateway, "GET /cats/7 HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!((cat.status, cat.text().as_str()), (200, r#"{"name":"Tom"}"#));
}

/// `weir mock` on `pets.yaml`, with `mock.yml` as its configuration.
fn configured(args: &[&str], config: &str) -> Gateway {
    let mut all = vec!["mock", "--port", "0", "--config", "mock.yml"];
    all.extend(args);
    all.push("{config}");
    let files = [("pets.yaml", PETS.as_bytes()), ("mock.yml", config.as_bytes())];
    Gateway::launch(Command::new(env!("CARGO_BIN_EXE_weir")), &all, &files)
}

#[tokio::test]
async fn answers_are_overridden_and_wrapped_as_a_configuration_says() {
    let gateway = configured(
        &[],
        "weir.mock:
  envelope: { success: { errcode: 0, data: '{{body}}' }, failure: { errcode: '{{status}}' },
              failure-status: 200 }
  overrides:
  - operation: GET /pets/{id}
    when: { query: { mine: 1 } }
    body: { id: '{{path.id}}' }
    headers: { X-Id: '{{path.id}}' }
  - { operation: 'DELETE /pets/{id}', faults: [ { fault: 503 } ] }
",
    );
    let mine = ask(&gateway, "GET /pets/7?mine=1 HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(mine.text(), r#"{"errcode":0,"data":{"id":"7"}}"#);
    assert_eq!(mine.field("x-id").as_deref(), Some("7"));
    let gone = ask(&gateway, "DELETE /pets/7 HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!((gone.status, gone.text().as_str()), (200, r#"{"errcode":503}"#));
}

#[tokio::test]
async fn a_slow_body_takes_its_time_and_comes_whole() {
    let gateway =
        configured(&[], "weir.mock.overrides: [ { body-time: 300ms, body: 'a slow one' } ]");
    let started = std::time::Instant::now();
    let slow = ask(&gateway, "GET /pets HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(slow.text(), "a slow one");
    assert!(started.elapsed() >= std::time::Duration::from_millis(300));
}

#[tokio::test]
async fn changed_files_are_read_again_if_they_are_watched() {
    let gateway = configured(&["--watch"], "weir.mock.overrides: [ { body: first } ]");
    let get = "GET /pets HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(ask(&gateway, get).await.text(), "first");
    let file = gateway.directory().join("mock.yml");
    std::fs::write(&file, "weir.mock.overrides: [ { body: the second } ]").expect("another one");
    gateway.wait_for_output("reloaded");
    assert_eq!(ask(&gateway, get).await.text(), "the second");
    // A broken definition is reported, and the previous one stays in use.
    std::fs::write(gateway.config(), "openapi: 3.0.0\npaths: { pets: {} }").expect("a broken one");
    gateway.wait_for_output("#/paths/pets: the path `pets` does not start with `/`");
    gateway.wait_for_output("the old configuration stays in use");
    assert_eq!(ask(&gateway, get).await.text(), "the second");
    let other = PETS.replace("/pets:", "/cats:");
    std::fs::write(gateway.config(), other).expect("another definition");
    let cats = "GET /cats HTTP/1.1\r\nHost: a\r\n\r\n";
    let until = std::time::Instant::now() + weir_testkit::PATIENCE;
    while ask(&gateway, cats).await.status != 200 {
        assert!(std::time::Instant::now() < until, "the definition is not read again");
    }
}

#[tokio::test]
async fn heads_of_requests_to_an_upstream_are_compared_with_a_definition() {
    let gateway = beside_definitions(
        "server.port: 0
weir.admin.port: -1
weir.mock.apis: [ { file: apis/*.json } ]
spring.cloud.gateway.server.webflux.routes:
- { id: told, uri: 'no://op', predicates: [ Path=/told/** ],
    filters: [ StripPrefix=1, 'ValidateRequest=pets, report' ] }
- { id: strict, uri: 'no://op', predicates: [ Path=/** ], filters: [ ValidateRequest=pets ] }
",
    );
    let get =
        async |path: &str| ask(&gateway, &format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
    assert_eq!(get("/pets?n=1").await.status, 200);
    let refused = get("/pets?n=x").await;
    assert_eq!(refused.status, 422);
    assert!(refused.text().contains("[\"query\",\"n\"]"), "{}", refused.text());
    assert_eq!(get("/items/1").await.status, 404, "another definition");
    let told = get("/told/pets?n=x").await;
    assert_eq!(told.status, 200);
    let violations = told.field("sl-violations").expect("what is wrong");
    assert!(violations.contains("[\"query\",\"n\"]"), "{violations}");
    assert_eq!(get("/told/pets?n=1").await.field("sl-violations"), None);
}

#[tokio::test]
async fn what_prevents_a_start_is_said_in_words_of_the_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let serving = mock(&[]);
    let port = serving.address().port().to_string();
    let pets = serving.directory().join("pets.yaml");
    let broken = folder.path().join("broken.yaml");
    std::fs::write(&broken, "openapi: [").expect("a file");
    let none = tempfile::tempdir().expect("a folder");
    let check = |args: &[&std::ffi::OsStr], expected: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_weir")).arg("mock").args(args).output();
        let output = output.expect("an output");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains(expected), "{expected}: {told}");
    };
    check(&["--port".as_ref(), port.as_ref(), pets.as_ref()], "choose another `--port`");
    check(&[folder.path().join("none.yaml").as_ref()], "none.yaml: No such file");
    check(&[none.path().as_ref()], "no .yaml, .yml, .json or .har");
    check(&[broken.as_ref()], &format!("{}:1:10\n", broken.display()));
}

#[test]
fn hidden_operations_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = ["first.yaml", "second.yaml"].map(|name| folder.path().join(name));
    files.iter().for_each(|file| std::fs::write(file, PETS).expect("a file"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.args(["mock", "--port", "0"]).args(&files).stdout(Stdio::piped());
    let mut serving = command.spawn().expect("a process");
    let lines = BufReader::new(serving.stdout.take().expect("its output")).lines();
    let mut lines = lines.map(|line| line.expect("a line"));
    let told = lines.find(|line| line.starts_with("warning: ") || line.starts_with("listening"));
    serving.kill().expect("an end");
    serving.wait().expect("an end");
    let told = told.expect("a line");
    assert!(told.contains("operations of second have the method and path"), "{told}");
}
