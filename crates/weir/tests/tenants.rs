//! API definitions of tenants: `weir apis --tenant`, the admin API, files, and the served requests.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use weir_testkit::{Client, Gateway, Response};

const BINARY: &str = env!("CARGO_BIN_EXE_weir");
const CONFIG: &str = "server.port: 0
weir.admin.port: 0
weir.mock:
  select-header: X-Api-Id
  tenant: { header: X-Tenant, definitions-max: 3 }
  apis:
  - { file: one.yaml, name: shop }
  - { file: two.yaml, name: shop, tenant: acme }
spring.cloud.gateway.routes:
- { id: files, uri: 'mock://all', predicates: [ Path=/files/** ], filters: [ StripPrefix=1 ] }
- { id: file, uri: 'mock://acme/shop', predicates: [ Path=/file/** ], filters: [ StripPrefix=1 ] }
- { id: acme, uri: 'mock://store/acme/*', predicates: [ Path=/acme/** ], filters: [ StripPrefix=1 ] }
- { id: store, uri: 'mock://store', predicates: [ Path=/** ] }
";

/// A definition whose answer to `GET /items` is `text`.
fn shop(text: &str) -> String {
    format!(
        "openapi: 3.1.0
info: {{ title: Shop, version: '1' }}
paths:
  /items:
    get:
      responses: {{ '200': {{ description: d, content: {{ application/json: {{ example: {text} }} }} }} }}
"
    )
}

fn start(data: &Path) -> Gateway {
    start_with(data, CONFIG)
}

fn start_with(data: &Path, config: &str) -> Gateway {
    let data = data.to_str().expect("a path");
    let (one, two) = (shop("file"), shop("acmefile"));
    let files = [
        ("weir.yaml", config.as_bytes()),
        ("one.yaml", one.as_bytes()),
        ("two.yaml", two.as_bytes()),
    ];
    Gateway::launch(Command::new(BINARY), &["run", "--data", data, "{config}"], &files)
}

fn weir(gateway: &Gateway, args: &[&str]) -> Output {
    let admin = format!("http://{}", gateway.admin());
    let mut weir = Command::new(BINARY);
    weir.args(args).args(["--admin", &admin]).current_dir(gateway.directory());
    weir.output().expect("an output")
}

fn ok(gateway: &Gateway, args: &[&str]) -> String {
    let output = weir(gateway, args);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {told}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn fails(gateway: &Gateway, args: &[&str], part: &str) {
    let output = weir(gateway, args);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && told.contains(part), "{args:?}: {told}");
}

fn file(gateway: &Gateway, name: &str, text: &str) -> String {
    let path = gateway.directory().join(name);
    std::fs::write(&path, text).expect("a file");
    path.to_str().expect("a path").to_owned()
}

/// The answer to a request of `tenant`, or of none if it is empty.
async fn get(gateway: &Gateway, path: &str, tenant: &str) -> Response {
    let field = if tenant.is_empty() { "".into() } else { format!("X-Tenant: {tenant}\r\n") };
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n{field}\r\n");
    Client::connect(gateway.address()).await.exchange(request).await
}

async fn served(gateway: &Gateway, path: &str, tenant: &str) -> (u16, String) {
    let response = get(gateway, path, tenant).await;
    (response.status, response.text().trim_matches('"').to_owned())
}

async fn admin(gateway: &Gateway, line: &str, body: &str) -> Response {
    let (host, length) = (gateway.admin(), body.len());
    let media = "Content-Type: application/json";
    let request = format!(
        "{line} HTTP/1.1\r\nHost: {host}\r\n{media}\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    Client::connect(gateway.admin()).await.exchange(request).await
}

#[tokio::test]
async fn definitions_of_two_tenants_stay_apart_over_a_crash() {
    let data = tempfile::tempdir().expect("a folder");
    let mut gateway = start(data.path());
    for (tenant, text) in [("acme", "of-acme"), ("globex", "of-globex")] {
        let path = file(&gateway, "shop.yaml", &shop(text));
        ok(&gateway, &["apis", "add", "shop", &path, "--tenant", tenant]);
    }
    gateway.kill();
    gateway = start(data.path());
    assert_eq!(served(&gateway, "/items", "acme").await, (200, "of-acme".into()));
    assert_eq!(served(&gateway, "/items", "globex").await, (200, "of-globex".into()));
    assert_eq!(served(&gateway, "/acme/items", "globex").await, (200, "of-acme".into()));
    let named = get(&gateway, "/items", "acme").await.field("weir-mock").expect("a field");
    assert!(named.starts_with("tenant=acme; api=shop; "), "{named}");
    // A request that names no tenant, one that does not exist, or a path that its tenant lacks.
    let none = get(&gateway, "/items", "").await;
    assert!(none.status == 404 && none.text().contains("NO_TENANT_NAMED_ERROR"));
    let (unknown, missing) =
        (get(&gateway, "/items", "x").await, get(&gateway, "/x", "acme").await);
    assert!(unknown.status == 404 && unknown.text().contains("the header `X-Tenant`"));
    assert_eq!(unknown.text(), missing.text(), "which tenants exist shows");
    let path = file(&gateway, "shop.yaml", &shop("of-none"));
    ok(&gateway, &["apis", "add", "shop", &path]);
    assert_eq!(served(&gateway, "/items", "").await, (200, "of-none".into()));
    assert_eq!(served(&gateway, "/items", "acme").await, (200, "of-acme".into()));
    ok(&gateway, &["apis", "rm", "shop", "--tenant", "acme"]);
    assert_eq!(get(&gateway, "/items", "acme").await.status, 404);
    assert_eq!(served(&gateway, "/items", "globex").await, (200, "of-globex".into()));
    assert_eq!(served(&gateway, "/items", "").await, (200, "of-none".into()));
}

#[tokio::test]
async fn each_tenant_is_listed_exported_and_imported_on_its_own() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = start(data.path());
    let path = file(&gateway, "shop.yaml", &shop("mine"));
    for args in [["a", "acme"], ["b", "acme"], ["a", "globex"]] {
        ok(&gateway, &["apis", "add", args[0], &path, "--tenant", args[1]]);
    }
    ok(&gateway, &["apis", "add", "plain", &path]);
    let names = |args: &[&str]| {
        let listed = ok(&gateway, &[&["apis", "list", "--json"], args].concat());
        let all: Vec<Value> = serde_json::from_str(&listed).expect("JSON");
        all.iter().map(|one| format!("{}{}", one["tenant"], one["name"])).collect::<String>()
    };
    assert_eq!(names(&[]), r#"null"plain""#);
    assert_eq!(names(&["--tenant", "acme", "-q", "B"]), r#""acme""b""#);
    assert_eq!(names(&["--tenant", "nobody"]), "");
    let listed = ok(&gateway, &["apis", "tenants"]);
    let rows: Vec<Vec<&str>> =
        listed.lines().map(|line| line.split_whitespace().collect()).collect();
    let bytes = json!({ "definition": shop("mine") }).to_string().len();
    let [one, two] = [1, 2].map(|count| (bytes * count).to_string());
    assert_eq!(rows[1..], [["acme", "2", &two, "0"], ["globex", "1", &one, "0"]]);
    assert!(ok(&gateway, &["apis", "show", "a", "--tenant", "globex"]).contains("globex"));
    fails(&gateway, &["apis", "show", "b", "--tenant", "globex"], "there is no definition `b`");
    fails(&gateway, &["apis", "list", "--tenant", "No One"], "is no name of a tenant");
    // The backup of one tenant goes into another; a whole one knows whose each definition is.
    let one = ok(&gateway, &["apis", "export", "--tenant", "acme"]);
    let all = ok(&gateway, &["apis", "export"]);
    assert_eq!((one.lines().count(), all.lines().count()), (2, 4));
    let (one, all) = (file(&gateway, "one.jsonl", &one), file(&gateway, "all.jsonl", &all));
    ok(&gateway, &["apis", "import", &one, "--tenant", "copy"]);
    assert_eq!(names(&["--tenant", "copy"]), r#""copy""a""copy""b""#);
    assert_eq!(served(&gateway, "/items", "copy").await, (200, "mine".into()));
    fails(&gateway, &["apis", "import", &all, "--tenant", "copy"], "definition of `acme`");
    for tenant in ["acme", "globex", "copy"] {
        ok(&gateway, &["apis", "rm", "--all", "--tenant", tenant]);
    }
    assert_eq!(names(&[]), r#"null"plain""#, "those of no tenant are left");
    ok(&gateway, &["apis", "import", &all]);
    assert_eq!(names(&["--tenant", "globex"]), r#""globex""a""#);
    let tried = ok(&gateway, &["apis", "try", "a", "GET", "/items", "--tenant", "acme"]);
    assert!(tried.contains("tenant=acme") && tried.contains("mine"), "{tried}");
}

#[tokio::test]
async fn a_tenant_has_no_more_definitions_than_it_may_have() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = start(data.path());
    let entries = |count: usize| {
        let each = (0..count).map(|n| json!({ "name": format!("n{n}"), "definition": shop("1") }));
        Value::Array(each.collect()).to_string()
    };
    let refused = admin(&gateway, "POST /weir/apis?tenant=acme", &entries(4)).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("weir.mock.tenant.definitions-max"), "{}", refused.text());
    assert_eq!(get(&gateway, "/items", "acme").await.status, 404, "all of them, or none");
    assert_eq!(admin(&gateway, "POST /weir/apis?tenant=acme", &entries(3)).await.status, 200);
    let body = json!({ "definition": shop("2") }).to_string();
    let put = |name: &str, tenant: &str| format!("PUT /weir/apis/{name}?tenant={tenant}");
    assert_eq!(admin(&gateway, &put("n3", "acme"), &body).await.status, 400);
    assert_eq!(admin(&gateway, &put("n2", "acme"), &body).await.status, 200, "a replacement");
    let created = admin(&gateway, &put("n3", "globex"), &body).await;
    assert_eq!(created.field("location").as_deref(), Some("/weir/apis/n3?tenant=globex"));
    assert_eq!(admin(&gateway, "POST /weir/apis", &entries(5)).await.status, 200);
    assert_eq!(admin(&gateway, "DELETE /weir/apis?all=true&tenant=*", "").await.status, 400);
    let other = json!({ "definition": shop("2"), "tenant": "globex" }).to_string();
    assert_eq!(admin(&gateway, &put("n2", "acme"), &other).await.status, 400);
}

#[tokio::test]
async fn a_store_beyond_lowered_bounds_is_served_and_does_not_grow() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = start(data.path());
    let put = |name: &str, tenant: &str| format!("PUT /weir/apis/{name}?tenant={tenant}");
    let body = json!({ "definition": shop("1") }).to_string();
    for (name, tenant) in [("a", "acme"), ("b", "acme"), ("a", "globex")] {
        assert_eq!(admin(&gateway, &put(name, tenant), &body).await.status, 201);
    }
    drop(gateway);
    let bounds = format!("tenants-max: 1, bytes-max: {}", body.len() + 10);
    let config = CONFIG.replace("definitions-max: 3", &bounds);
    let gateway = start_with(data.path(), &config);
    for tenant in ["acme", "globex"] {
        assert_eq!(served(&gateway, "/items", tenant).await, (200, "1".into()));
    }
    let refused = async |line: String, part: &str| {
        let answer = admin(&gateway, &line, &body).await;
        assert!(answer.status == 400 && answer.text().contains(part), "{}", answer.text());
    };
    refused(put("a", "third"), "weir.mock.tenant.tenants-max").await;
    refused(put("c", "acme"), "weir.mock.tenant.bytes-max").await;
    refused(put("c", "globex"), "weir.mock.tenant.bytes-max").await;
    assert_eq!(admin(&gateway, &put("a", "acme"), &body).await.status, 200, "a replacement");
    assert_eq!(admin(&gateway, &put("a", "globex"), &body).await.status, 200, "another tenant");
    assert_eq!(admin(&gateway, "PUT /weir/apis/a", &body).await.status, 201, "of no tenant");
    assert_eq!(admin(&gateway, "DELETE /weir/apis/b?tenant=acme", "").await.status, 200);
}

#[tokio::test]
async fn definitions_of_files_belong_to_tenants_and_explain_names_them() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = start(data.path());
    assert_eq!(served(&gateway, "/files/items", "").await, (200, "file".into()));
    assert_eq!(served(&gateway, "/files/items", "acme").await, (200, "acmefile".into()));
    assert_eq!(get(&gateway, "/files/items", "globex").await.status, 404);
    assert_eq!(served(&gateway, "/file/items", "globex").await, (200, "acmefile".into()));
    let config = gateway.config().to_str().expect("a path").to_owned();
    let explain = |fields: &[&str]| {
        let mut weir = Command::new(BINARY);
        weir.args(["explain", &config, "/files/items"]).args(fields);
        String::from_utf8(weir.output().expect("an output").stdout).expect("text")
    };
    let told = explain(&["-H", "X-Tenant: acme"]);
    assert!(told.contains("API definition of tenant acme"), "{told}");
    assert!(!explain(&[]).contains("tenant"));
}

#[test]
fn tenants_that_cannot_be_named_are_found_by_check() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("one.yaml"), shop("1")).expect("a file");
    let check = |tenant: &str, own: &str, parts: &[&str]| {
        let text = format!(
            "weir.mock:\n  tenant: {tenant}\n  apis:\n  - {{ file: one.yaml, tenant: {own} }}\n"
        );
        let path = folder.path().join("weir.yaml");
        std::fs::write(&path, text).expect("a file");
        let output = Command::new(BINARY).arg("check").arg(&path).output().expect("an output");
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8_lossy(&told).into_owned();
        assert_eq!(output.status.success(), parts.is_empty(), "{told}");
        for part in parts {
            assert!(told.contains(part), "{part}: {told}");
        }
    };
    check("{ header: X-Tenant }", "acme", &[]);
    check("{ host: '{tenant}.mock.example', definitions-max: 5 }", "acme", &[]);
    check("X-Tenant", "acme", &["weir.yaml:2", "header: X-Tenant"]);
    check("{ header: X, path: '/{tenant}' }", "acme", &["second place", "keep one of"]);
    check("{ host: mock.example }", "acme", &["does not have `{tenant}` in it", "write `host:"]);
    check("{ header: X, definitions-max: 0 }", "acme", &["definitions-max", "above 0"]);
    check("{ header: X, tenants-max: -1 }", "acme", &["tenants-max", "above 0"]);
    check("{ header: X, bytes-max: 1 apple }", "acme", &["bytes-max", "a size such as"]);
    check("{ headers: X }", "acme", &["did you mean `header`?"]);
    check("{ header: X }", "ACME", &["weir.yaml:4", "no name of a tenant", "lower-case"]);
}
