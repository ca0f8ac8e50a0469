//! `weir.admin.tenant-tokens`: what their holders may see and change over the admin listener.

use std::collections::BTreeSet;
use std::process::{Command, Output};

use serde_json::{Value, json};
use weir_testkit::{Client, Gateway, Response};

const BINARY: &str = env!("CARGO_BIN_EXE_weir");
const CONFIG: &str = "server.port: 0
weir.admin:
  port: 0
  token: of-all
  tenant-tokens:
  - { token: of-acme, tenants: [ acme ] }
  - { token: of-both, tenants: [ globex, test ] }
weir.mock.tenant: { header: X-Tenant }
management.endpoints.web.exposure.include: '*'
spring.cloud.gateway.routes:
- { id: store, uri: 'mock://store', predicates: [ Path=/** ] }
";

/// A definition with one operation and one webhook; `text` is in its answer and its title.
fn shop(text: &str) -> String {
    json!({
        "openapi": "3.1.0",
        "info": { "title": text, "version": "1" },
        "paths": { "/items": { "get": { "responses": { "200": { "description": "d", "content": {
            "application/json": { "example": text },
        } } } } } },
        "webhooks": { "paid": { "post": { "responses": { "200": { "description": "d" } } } } },
    })
    .to_string()
}

fn entry(name: &str, text: &str) -> Value {
    json!({ "name": name, "definition": shop(text) })
}

fn start(data: &std::path::Path) -> Gateway {
    let data = data.to_str().expect("a path");
    let files = [("weir.yaml", CONFIG.as_bytes())];
    Gateway::launch(Command::new(BINARY), &["run", "--data", data, "{config}"], &files)
}

/// A client that is known by its token alone: what a proxy passes on is not local.
async fn ask(gateway: &Gateway, line: &str, token: &str, fields: &str, body: &str) -> Response {
    let (host, length) = (gateway.admin(), body.len());
    let token = match token {
        "" => String::new(),
        token => format!("Authorization: Bearer {token}\r\n"),
    };
    let request = format!(
        "{line} HTTP/1.1\r\nHost: {host}\r\nX-Forwarded-For: 192.0.2.1\r\n{token}{fields}\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    Client::connect(gateway.admin()).await.exchange(request).await
}

async fn get(gateway: &Gateway, target: &str, token: &str) -> Response {
    ask(gateway, &format!("GET {target}"), token, "", "").await
}

async fn import(gateway: &Gateway, target: &str, token: &str, all: &[Value]) -> Response {
    let body = Value::from(all.to_vec()).to_string();
    ask(gateway, &format!("POST {target}"), token, "", &body).await
}

/// Definitions of two tenants, and of none, of equal names.
async fn filled(gateway: &Gateway) {
    for (target, text) in [
        ("/weir/apis?tenant=acme", "acme-text"),
        ("/weir/apis?tenant=globex", "globex-text"),
        ("/weir/apis", "common-text"),
    ] {
        let done = import(gateway, target, "of-all", &[entry("shop", text)]).await;
        assert_eq!(done.status, 200, "{}", done.text());
    }
}

/// Everything in the store.
async fn everything(gateway: &Gateway) -> String {
    get(gateway, "/weir/apis?tenant=*&form=entry", "of-all").await.text()
}

fn weir(gateway: &Gateway, token: &str, args: &[&str]) -> Output {
    let admin = format!("http://{}", gateway.admin());
    let mut weir = Command::new(BINARY);
    weir.args(args).args(["--admin", &admin, "--token", token]);
    weir.output().expect("an output")
}

/// Method, path, body, and the status for the own tenant. A removal is the last one.
const OF_TENANTS: &[(&str, &str, &str, u16)] = &[
    ("get", "/weir/apis", "", 200),
    ("post", "/weir/apis", "[]", 200),
    ("delete", "/weir/apis?q=nothing", "", 200),
    ("get", "/weir/apis/{name}", "", 200),
    ("put", "/weir/apis/{name}", "DEFINITION", 200),
    ("post", "/weir/apis/{name}/try", r#"{"method":"GET","target":"/items"}"#, 200),
    ("post", "/weir/apis/{name}/reset", "", 204),
    // The definition and its webhook are found; the server is none of `weir.mock.callbacks.allow`.
    ("post", "/weir/apis/{name}/webhooks/{webhook}", r#"{"to":"http://192.0.2.1/"}"#, 400),
    ("get", "/weir/tenants", "", 200),
    ("delete", "/weir/apis/{name}", "", 200),
];

#[tokio::test]
async fn each_endpoint_with_a_token_of_its_tenant_of_another_and_without_one() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = start(data.path());
    filled(&gateway).await;
    let before = everything(&gateway).await;
    let document: Value = serde_json::from_str(&get(&gateway, "/openapi.json", "").await.text())
        .expect("an OpenAPI document");
    let mut of_tenants = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            if operation.get("x-weir-tenants").is_some() {
                of_tenants.insert((method.clone(), path.clone()));
                continue;
            }
            let target = path.replace("{id}", "store").replace("{name}", "shop");
            let line = format!("{} {target}", method.to_uppercase());
            let expected = match operation.get("security") {
                Some(_) => [403, 401],
                None => [200, 200],
            };
            for (token, expected) in ["of-acme", ""].into_iter().zip(expected) {
                let answer = ask(&gateway, &line, token, "", "{}").await;
                assert_eq!(answer.status, expected, "{line} {token}: {}", answer.text());
            }
            assert_eq!(ask(&gateway, &line, "wrong", "", "{}").await.status, expected[1]);
        }
    }
    let listed = OF_TENANTS.iter().map(|(method, target, ..)| {
        let path = target.split('?').next().unwrap_or(target);
        ((*method).to_owned(), path.to_owned())
    });
    assert_eq!(of_tenants, listed.collect());
    for (method, target, body, own) in OF_TENANTS {
        let target = target.replace("{name}", "shop").replace("{webhook}", "paid");
        let separator = if target.contains('?') { '&' } else { '?' };
        let body = body.replace("DEFINITION", &shop("acme-text"));
        let asked = async |token: &str, tenant: &str| {
            let line = format!("{} {target}{separator}{tenant}", method.to_uppercase());
            let answer = ask(&gateway, &line, token, "", &body).await;
            (answer.status, answer.text())
        };
        assert_eq!(asked("", "tenant=acme").await.0, 401, "{method} {target}");
        assert_eq!(asked("wrong", "tenant=acme").await.0, 401, "{method} {target}");
        // A name of another tenant is answered like one that nobody has.
        let (other, text) = asked("of-acme", "tenant=globex").await;
        if target != "/weir/tenants" {
            assert_eq!(other, 404, "{method} {target} {text}");
            assert_eq!(asked("of-acme", "tenant=nobody").await.0, 404, "{method} {target}");
            assert_eq!(asked("of-acme", "tenant=").await.0, 404, "{method} {target}");
        }
        assert!(!text.contains("globex-text"), "{method} {target} {text}");
        assert_eq!(asked("of-both", "tenant=acme").await.0 == 404, target != "/weir/tenants");
        if !target.contains("/shop") || *method != "delete" {
            assert_eq!(everything(&gateway).await.len(), before.len(), "{method} {target}");
        }
        let (status, text) = asked("of-acme", "").await;
        assert_eq!(status, *own, "{method} {target} {text}");
        assert!(!text.contains("globex") && !text.contains("common"), "{method} {target} {text}");
    }
    let left = everything(&gateway).await;
    assert!(left.contains("globex-text") && left.contains("common-text"), "{left}");
    assert!(!left.contains("acme-text"), "{left}");
    let audit = get(&gateway, "/actuator/gateway/audit", "of-all").await.text();
    assert!(audit.contains("127.0.0.1 token of acme") && !audit.contains("of-acme"), "{audit}");
}

#[tokio::test]
async fn nothing_that_others_do_shows() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = start(data.path());
    filled(&gateway).await;
    let seen = async || {
        let mut seen = String::new();
        for target in [
            "/weir/apis",
            "/weir/apis?tenant=*",
            "/weir/apis?tenant=*&form=entry",
            "/weir/apis?tenant=*&q=text&page=0&size=1",
            "/weir/apis?page=1&size=1",
            "/weir/apis/shop",
            "/weir/apis?tenant=globex",
            "/weir/tenants",
        ] {
            let answer = get(&gateway, target, "of-acme").await;
            let fields = ["etag", "x-total-count", "link"].map(|name| answer.field(name));
            let text = answer.text();
            // An error has a time and a number of its own.
            let text = if answer.status == 200 { text } else { String::new() };
            seen += &format!("{target} {} {fields:?} {text}\n", answer.status);
        }
        seen
    };
    let before = seen().await;
    assert!(before.contains("acme-text") && !before.contains("globex-text"), "{before}");
    let many: Vec<Value> = (0..20).map(|n| entry(&format!("n{n}"), "globex-text")).collect();
    for (line, token) in [("/weir/apis?tenant=globex", "of-both"), ("/weir/apis", "of-all")] {
        assert_eq!(import(&gateway, line, token, &many).await.status, 200);
        assert_eq!(seen().await, before, "{line}");
    }
    let line = "DELETE /weir/apis?tenant=globex&all=true";
    assert_eq!(ask(&gateway, line, "of-both", "", "").await.status, 200);
    assert_eq!(seen().await, before, "removed");
}

#[tokio::test]
async fn conditions_hold_with_the_revisions_that_a_token_sees() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = start(data.path());
    filled(&gateway).await;
    let plain = get(&gateway, "/weir/apis/shop?tenant=acme", "of-all").await.field("etag");
    let shown = get(&gateway, "/weir/apis/shop", "of-acme").await.field("etag").expect("a tag");
    assert_ne!(plain.as_deref(), Some(shown.as_str()));
    let put = async |tag: &str| {
        let line = "PUT /weir/apis/shop";
        let fields = format!("If-Match: {tag}\r\n");
        ask(&gateway, line, "of-acme", &fields, &shop("acme-text")).await
    };
    assert_eq!(put(&plain.expect("a tag")).await.status, 412, "a guessed revision");
    let done = put(&shown).await;
    assert_eq!(done.status, 200, "{}", done.text());
    let now = get(&gateway, "/weir/apis/shop", "of-acme").await.field("etag");
    assert_eq!(done.field("etag"), now);
    let refused = put(&shown).await;
    assert_eq!((refused.status, refused.field("etag")), (412, now.clone()));
    assert!(refused.text().contains(now.expect("a tag").trim_matches('"')), "{}", refused.text());
}

#[tokio::test]
async fn imports_and_removals_keep_to_the_tenants_of_a_token() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = start(data.path());
    filled(&gateway).await;
    let of = |tenant: &str, name: &str| {
        let mut one = entry(name, "text");
        one["tenant"] = tenant.into();
        one
    };
    let before = everything(&gateway).await;
    let refuses = async |target: &str, token: &str, all: &[Value], part: &str| {
        let answer = import(&gateway, target, token, all).await;
        assert!(answer.status == 400 && answer.text().contains(part), "{}", answer.text());
        assert_eq!(everything(&gateway).await, before, "nothing is written");
    };
    let mixed = [of("acme", "a"), of("globex", "shop")];
    refuses("/weir/apis", "of-acme", &mixed, "definition of `globex`").await;
    let mixed = [of("globex", "a"), of("acme", "shop")];
    refuses("/weir/apis", "of-both", &mixed, "the token has no tenant `acme`").await;
    refuses("/weir/apis", "of-both", &[entry("a", "text")], "names no tenant").await;
    let two = [entry("a", "text"), of("acme", "b")];
    let answer = import(&gateway, "/weir/apis", "of-acme", &two).await;
    assert_eq!((answer.status, answer.field("x-weir-created").as_deref()), (200, Some("2")));
    let both = [of("globex", "a"), of("test", "a")];
    assert_eq!(import(&gateway, "/weir/apis", "of-both", &both).await.status, 200);
    let other = of("globex", "shop").to_string();
    assert_eq!(ask(&gateway, "PUT /weir/apis/shop", "of-acme", "", &other).await.status, 400);
    let line = "DELETE /weir/apis?all=true";
    assert_eq!(ask(&gateway, line, "of-both", "", "").await.status, 400, "which of two");
    let answer = ask(&gateway, line, "of-acme", "", "").await;
    assert_eq!(answer.text(), r#"{"deleted":3}"#);
    let left = get(&gateway, "/weir/tenants", "of-all").await.text();
    assert!(left.contains("globex") && left.contains("test") && !left.contains("acme"), "{left}");
    assert!(everything(&gateway).await.contains("common-text"));
}

#[tokio::test]
async fn the_commands_work_with_the_token_of_a_tenant() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = start(data.path());
    filled(&gateway).await;
    let path = gateway.directory().join("more.json");
    std::fs::write(&path, shop("more-text")).expect("a file");
    let path = path.to_str().expect("a path");
    let ok = |token: &str, args: &[&str]| {
        let output = weir(&gateway, token, &[&["apis"], args].concat());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {told}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let fails = |token: &str, args: &[&str], part: &str| {
        let output = weir(&gateway, token, args);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && told.contains(part), "{args:?}: {told}");
        assert!(!told.contains("is that the admin API?"), "{told}");
    };
    ok("of-acme", &["add", "more", path]);
    assert_eq!(ok("of-acme", &["list"]).lines().count(), 3);
    let export = ok("of-acme", &["export"]);
    assert!(export.lines().count() == 2 && !export.contains("globex"), "{export}");
    assert!(ok("of-acme", &["try", "more", "GET", "/items"]).contains("more-text"));
    assert!(ok("of-acme", &["tenants"]).contains("acme"));
    let backup = gateway.directory().join("acme.jsonl");
    std::fs::write(&backup, export).expect("a file");
    ok("of-acme", &["import", backup.to_str().expect("a path")]);
    ok("of-acme", &["rm", "more"]);
    fails("of-acme", &["apis", "list", "--tenant", "globex"], "has no tenant `globex`");
    fails("of-acme", &["apis", "show", "shop", "--tenant", "globex"], "there is no definition");
    fails("of-acme", &["apis", "add", "x", path, "--tenant", "globex"], "no tenant `globex`");
    fails("of-both", &["apis", "list"], "the token has globex, test");
    fails("of-acme", &["routes", "list"], "its tenants alone");
    fails("wrong", &["apis", "list"], "neither weir.admin.token nor");
}

#[tokio::test]
async fn the_main_port_tells_nothing_of_definitions() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = start(data.path());
    filled(&gateway).await;
    for (path, status) in [("health", 200), ("info", 200), ("gateway/audit", 403)] {
        let request = format!("GET /actuator/{path} HTTP/1.1\r\nHost: x\r\n\r\n");
        let answer = Client::connect(gateway.address()).await.exchange(request).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
    }
}

#[test]
fn mistakes_are_found_by_check() {
    let folder = tempfile::tempdir().expect("a folder");
    let check = |tokens: &str, parts: &[&str]| {
        let text = format!("weir.admin:\n  token: s3cret\n  tenant-tokens: {tokens}\n");
        let path = folder.path().join("weir.yaml");
        std::fs::write(&path, text).expect("a file");
        let output = Command::new(BINARY).arg("check").arg(&path).output().expect("an output");
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8_lossy(&told).into_owned();
        assert_eq!(output.status.success(), parts.is_empty(), "{told}");
        for part in parts {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert!(!told.contains("s3cret") && !told.contains("0f-acme"), "{told}");
    };
    check("[ { token: 0f-acme, tenants: [ acme, test ] }, { token: b, tenants: x } ]", &[]);
    check("[ { token: 0f-acme, tenants: [] } ]", &["weir.yaml:3", "has no `tenants`", "name them"]);
    check("[ { token: 0f-acme } ]", &["has no `tenants`"]);
    check("[ { token: 0f-acme, tenants: [ Acme ] } ]", &["no name of a tenant", "lower-case"]);
    check("[ { token: 0f-acme, tenants: '*' } ]", &["no name of a tenant"]);
    check("[ { token: 0f-acme, tenants: [ a, a ] } ]", &["named twice"]);
    check("[ { token: '', tenants: [ a ] } ]", &["there is no `token`"]);
    check("[ { token: s3cret, tenants: [ a ] } ]", &["is `weir.admin.token` too"]);
    let twice = "[ { token: 0f-acme, tenants: [ a ] }, { token: 0f-acme, tenants: [ b ] } ]";
    check(twice, &["entry 2", "stands in an entry before"]);
    check("[ { token: 0f-acme, tenant: [ a ] } ]", &["did you mean `tenants`?"]);
    check("0f-acme", &["no list of tokens"]);
}
