//! API definitions in the store: `weir apis`, the admin API, and the served operations.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use weir_testkit::{Client, Gateway, Response};

const BINARY: &str = env!("CARGO_BIN_EXE_weir");
const CONFIG: &str = "server.port: 0
weir.admin.port: 0
weir.mock: { select-header: X-Api-Id, overrides: [ { operation: showItem, headers: { X-All: '1' } } ] }
spring.cloud.gateway.routes:
- { id: one, uri: 'mock://store/shop', predicates: [ Path=/only/** ], filters: [ StripPrefix=1 ] }
- { id: all, uri: 'mock://store', predicates: [ Path=/** ] }
";

/// A definition whose answer to `GET /items/{id}` is `text`.
fn shop(text: &str) -> String {
    format!(
        "openapi: 3.1.0
info: {{ title: Shop, version: '1' }}
paths:
  /items/{{id}}:
    get:
      operationId: showItem
      parameters: [ {{ name: id, in: path, required: true, schema: {{ type: integer }} }} ]
      responses: {{ '200': {{ description: d, content: {{ application/json: {{ example: {text} }} }} }} }}
"
    )
}

fn start(data: &Path) -> Gateway {
    let data = data.to_str().expect("a path");
    let files = [("weir.yaml", CONFIG.as_bytes())];
    Gateway::launch(Command::new(BINARY), &["run", "--data", data, "{config}"], &files)
}

fn apis(gateway: &Gateway, args: &[&str]) -> Output {
    let admin = format!("http://{}", gateway.admin());
    let mut weir = Command::new(BINARY);
    weir.arg("apis").args(args).args(["--admin", &admin]).current_dir(gateway.directory());
    weir.output().expect("an output")
}

fn ok(gateway: &Gateway, args: &[&str]) -> String {
    let output = apis(gateway, args);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {told}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn fails(gateway: &Gateway, args: &[&str], parts: &[&str]) {
    let output = apis(gateway, args);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{args:?}: {told}");
    for part in parts {
        assert!(told.contains(part), "{part}: {told}");
    }
}

fn file(gateway: &Gateway, name: &str, text: &str) -> String {
    let path = gateway.directory().join(name);
    std::fs::write(&path, text).expect("a file");
    path.to_str().expect("a path").to_owned()
}

async fn get(gateway: &Gateway, path: &str, field: &str) -> Response {
    let request = format!("GET {path} HTTP/1.1\r\n{field}\r\n\r\n");
    Client::connect(gateway.address()).await.exchange(request).await
}

async fn admin(gateway: &Gateway, line: &str, fields: &str, body: &str) -> Response {
    let (host, length) = (gateway.admin(), body.len());
    let request = format!(
        "{line} HTTP/1.1\r\nHost: {host}\r\n{fields}Content-Length: {length}\r\n\r\n{body}"
    );
    Client::connect(gateway.admin()).await.exchange(request).await
}

#[tokio::test]
async fn definitions_are_added_served_and_removed_without_a_reload() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = start(data.path());
    let plain = "Host: x";
    assert_eq!(get(&gateway, "/items/1", plain).await.status, 404);
    let path = file(&gateway, "shop.yaml", &shop("1"));
    let added = ok(&gateway, &["add", "shop", &path, "--base-path", "/mock/shop"]);
    assert_eq!(added, "added shop, revision 1\n");
    let served = get(&gateway, "/mock/shop/items/7", plain).await;
    assert_eq!((served.status, served.text().as_str()), (200, "1"));
    assert_eq!(served.field("x-all").as_deref(), Some("1"), "an override of all");
    assert_eq!(get(&gateway, "/items/7", plain).await.status, 404);
    assert_eq!(get(&gateway, "/mock/shop/items/x", plain).await.status, 422);
    fails(&gateway, &["add", "shop", &path], &["already", "weir apis set shop"]);
    // Requests by host, by name, and by a route of its own.
    let other = file(&gateway, "other.yaml", &shop("2"));
    ok(&gateway, &["add", "other", &other, "--host", "a.example"]);
    assert_eq!(get(&gateway, "/items/7", "Host: a.example").await.text(), "2");
    assert_eq!(get(&gateway, "/items/7", plain).await.status, 404);
    assert_eq!(get(&gateway, "/items/7", "Host: x\r\nX-Api-Id: other").await.text(), "2");
    assert_eq!(get(&gateway, "/only/mock/shop/items/7", plain).await.text(), "1");
    assert_eq!(get(&gateway, "/only/items/7", "Host: a.example").await.status, 404);
    let listed = ok(&gateway, &["list", "-q", "SHOP.y"]);
    assert_eq!(listed.lines().count(), 1, "{listed}");
    let listed = ok(&gateway, &["list", "-q", "a.ex"]);
    assert!(listed.contains("other  openapi  1           a.example  2         Shop 1"), "{listed}");
    let tried = ok(&gateway, &["try", "shop", "GET", "/mock/shop/items/x"]);
    assert!(tried.contains("422") && tried.contains("id=x"), "{tried}");
    fails(&gateway, &["set", "shop", &other, "--if-revision", "7"], &["at revision 1 now"]);
    ok(&gateway, &["set", "shop", &other, "--if-revision", "1"]);
    assert_eq!(get(&gateway, "/items/7", plain).await.text(), "2");
    ok(&gateway, &["rm", "shop"]);
    assert_eq!(get(&gateway, "/items/7", plain).await.status, 404);
    fails(&gateway, &["rm", "shop"], &["there is no definition `shop`"]);
    let done = admin(&gateway, "GET /actuator/gateway/audit", "", "").await.text();
    assert!(done.contains("\"api:shop\"") && done.contains("\"delete\""), "{done}");
}

#[tokio::test]
async fn what_is_wrong_is_told_at_once_and_nothing_changes() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = start(data.path());
    let text =
        "openapi: 3.0.0\npaths:\n  /a:\n    get: { parameters: [ { in: query } ] }\n  b: {}\n";
    let path = file(&gateway, "bad.yaml", text);
    let places = ["bad:4#/paths/~1a/get/parameters/0", "bad:5#/paths/b", "2 problems"];
    fails(&gateway, &["add", "bad", &path], &places);
    let good = file(&gateway, "good.yaml", &shop("1"));
    fails(&gateway, &["add", "a/b", &good], &["no name of a definition"]);
    let settings = file(&gateway, "s.json", "{ \"sed\": 1 }");
    let add = ["add", "good", &good, "--settings", &settings];
    fails(&gateway, &add, &["/settings/sed: there is no `sed`"]);
    // One invalid definition makes the whole import fail.
    fails(&gateway, &["import", &good, &path], &["definition 2: bad:4#"]);
    assert_eq!(ok(&gateway, &["list", "--json"]), "[]\n");
    let refused = admin(&gateway, "PUT /weir/apis/x?base=1", "", "{}").await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    let refused = admin(&gateway, "DELETE /weir/apis", "", "").await;
    assert_eq!(refused.status, 400, "{}", refused.text());
}

#[tokio::test]
async fn the_api_has_revisions_pages_and_its_own_document() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = start(data.path());
    let yaml = "Content-Type: application/yaml\r\n";
    let put = admin(&gateway, "PUT /weir/apis/b?base-path=/b", yaml, &shop("1")).await;
    assert_eq!((put.status, put.field("etag").as_deref()), (201, Some("\"1\"")));
    let entry = json!({ "definition": shop("2"), "settings": { "overrides": [
        { "operation": "showItem", "code": 200, "body": { "id": "{{path.id}}" } } ] } });
    let json = "Content-Type: application/json\r\n";
    let create = format!("{json}If-None-Match: *\r\n");
    let put = admin(&gateway, "PUT /weir/apis/a", &create, &entry.to_string()).await;
    assert_eq!(put.status, 201, "{}", put.text());
    let put = admin(&gateway, "PUT /weir/apis/a", &create, &entry.to_string()).await;
    assert_eq!(put.status, 412);
    assert_eq!(get(&gateway, "/items/7", "Host: x").await.text(), r#"{"id":"7"}"#);
    let shown = admin(&gateway, "GET /weir/apis/a", "", "").await;
    let document: Value = serde_json::from_str(&shown.text()).expect("json");
    assert_eq!(document["operations"][0]["operationId"], "showItem");
    assert_eq!(document["definition"], entry["definition"]);
    let page = admin(&gateway, "GET /weir/apis?page=1&size=1", "", "").await;
    let document: Value = serde_json::from_str(&page.text()).expect("json");
    assert_eq!(document[0]["name"], "b");
    assert_eq!(page.field("x-total-count").as_deref(), Some("2"));
    assert!(page.field("link").expect("links").contains("page=0&size=1"));
    let stale = admin(&gateway, "DELETE /weir/apis/a", "If-Match: \"1\"\r\n", "").await;
    assert_eq!((stale.status, stale.field("etag").as_deref()), (412, Some("\"2\"")));
    let openapi = admin(&gateway, "GET /openapi.json", "", "").await.text();
    assert!(openapi.contains("\"/weir/apis/{name}/try\""), "{openapi}");
    let gone = admin(&gateway, "DELETE /weir/apis?all=true", "", "").await;
    assert_eq!(gone.text(), "{\"deleted\":2}");
}

#[tokio::test]
async fn definitions_survive_a_kill_and_come_back_from_an_export() {
    let data = tempfile::tempdir().expect("a folder");
    let mut gateway = start(data.path());
    for n in 0..5 {
        let path = file(&gateway, "one.yaml", &shop(&n.to_string()));
        ok(&gateway, &["set", &format!("n{n}"), &path, "--base-path", &format!("/{n}")]);
    }
    // An acknowledged write is durable: the gateway is killed before it can write anything more.
    gateway.kill();
    let gateway = start(data.path());
    for n in 0..5 {
        let served = get(&gateway, &format!("/{n}/items/1"), "Host: x").await;
        assert_eq!((served.status, served.text()), (200, n.to_string()));
    }
    let export = ok(&gateway, &["export"]);
    assert_eq!(export.lines().count(), 5);
    let path = file(&gateway, "all.jsonl", &export);
    ok(&gateway, &["rm", "--all"]);
    assert_eq!(get(&gateway, "/3/items/1", "Host: x").await.status, 404);
    let imported = ok(&gateway, &["import", &path]);
    assert_eq!(imported, "imported 5 definitions: 5 new, 0 replaced\n");
    let empty = file(&gateway, "none.jsonl", "\n");
    fails(&gateway, &["import", &empty], &["none.jsonl: no definition"]);
    assert_eq!(get(&gateway, "/3/items/1", "Host: x").await.text(), "3");
}

#[tokio::test]
async fn state_is_kept_over_changes_of_others_and_reset_by_one_call() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = start(data.path());
    let text = "x-weir-mock: { stateful: true }
openapi: 3.1.0
info: { title: Pets, version: '1' }
paths:
  /pets:
    get: { responses: { '200': { description: d, content: { application/json: { example: [] } } } } }
    post: { responses: { '201': { description: d } } }
  /pets/{id}:
    get: { responses: { '200': { description: d, content: { application/json: { example: {} } } } } }
";
    let path = file(&gateway, "pets.yaml", text);
    ok(&gateway, &["add", "pets", &path]);
    let post = "POST /pets HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n\r\n{\"name\":\"a\"}";
    let posted = Client::connect(gateway.address()).await.exchange(post).await;
    assert_eq!(posted.status, 201);
    let shop = file(&gateway, "shop.yaml", &shop("1"));
    ok(&gateway, &["add", "shop", &shop]);
    assert_eq!(get(&gateway, "/pets", "Host: x").await.text(), r#"[{"name":"a","id":"1"}]"#);
    assert_eq!(admin(&gateway, "POST /weir/apis/pets/reset", "", "").await.status, 204);
    assert_eq!(get(&gateway, "/pets", "Host: x").await.text(), "[]");
    assert_eq!(admin(&gateway, "POST /weir/apis/cats/reset", "", "").await.status, 404);
}

#[tokio::test]
async fn a_definition_of_several_files_is_stored_as_one() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = start(data.path());
    std::fs::create_dir(gateway.directory().join("models")).expect("a folder");
    let first = shop("1").replace("type: integer", "$ref: 'models/id.yaml#/Id'");
    let first = file(&gateway, "shop.yaml", &first);
    fails(&gateway, &["add", "shop", &first], &["shop.yaml:7#", "models/id.yaml"]);
    file(&gateway, "models/id.yaml", "Id: { type: integer }\n");
    ok(&gateway, &["add", "shop", &first]);
    assert_eq!(get(&gateway, "/items/7", "Host: x").await.text(), "1");
    assert_eq!(get(&gateway, "/items/seven", "Host: x").await.status, 422);
    let parameter = "{ name: id, in: path, required: true, schema: { type: integer } }";
    let wrong = shop("1").replace(parameter, "{ $ref: 'models/id.yaml#/Place' }");
    let wrong = file(&gateway, "wrong.yaml", &wrong);
    file(&gateway, "models/id.yaml", "Place: { name: id }\n");
    fails(&gateway, &["set", "shop", &wrong], &["models/id.yaml#/Place"]);
}
