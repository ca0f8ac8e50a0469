//! Stateful definitions return what was written.

mod asked;

use std::sync::Arc;

use asked::{Served, api};
use serde_json::{Value, json};
use weir_mock::{Mocks, Options};

const SHOPS: &str = r"
openapi: 3.1.0
info: { title: Shops, version: '1' }
paths:
  /shops:
    get: { responses: { '200': { description: d, content: { application/json: {
      example: { total: 9, shops: [ { id: 5 } ] } } } } } }
    post: { responses: { '201': { description: d, content: { application/json: { schema: {
      type: object, required: [ id, at ], properties: { id: { type: integer },
      at: { type: string, format: date }, name: { type: string } } } } } } } }
  /shops/{shop}:
    parameters: [ { name: shop, in: path, required: true, schema: { type: integer } } ]
    get: { responses: { '200': &one { description: d, content: { application/json: {
      example: { id: 1 } } } }, '404': { description: d } } }
    put: { responses: { '200': *one, '201': *one } }
    patch: { responses: { '200': *one } }
    delete: { responses: { '204': { description: d } } }
  /shops/{shop}/items:
    get: { responses: { '200': { description: d, content: { application/json: {
      example: [ { id: x } ] } } } } }
    post: { responses: { '201': { description: d } } }
  /shops/{shop}/items/{item}:
    get: { responses: { '200': *one } }
";

fn served() -> Served {
    let options = Options { stateful: true, ..Options::default() };
    let api = Arc::new(api(SHOPS).expect("a definition"));
    Served(Mocks::new(vec![api], options).expect("paths"))
}

fn send(all: &Served, line: &str, body: Value) -> (u16, Value) {
    let json = ["content-type: application/json"];
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let asked = all.ask(line, &json, &text);
    (asked.status, serde_json::from_slice(&asked.body).unwrap_or_default())
}

#[test]
fn a_collection_hangs_together() {
    let all = served();
    let none = Value::Null;
    let list = |all: &Served| send(all, "GET /shops", Value::Null).1;
    assert_eq!(list(&all), json!({ "total": 0, "shops": [] }));
    let (status, made) = send(&all, "POST /shops", json!({ "name": "a" }));
    assert_eq!((status, &made["id"], &made["name"]), (201, &json!(1), &json!("a")));
    assert!(made["at"].is_string(), "what the server adds is made: {made}");
    let posted = all.ask("POST /shops", &["content-type: application/json"], r#"{"id":7}"#);
    assert_eq!(posted.field("location"), Some("/shops/7"));
    assert_eq!(list(&all)["total"], 2);
    assert_eq!(send(&all, "GET /shops/1", none.clone()), (200, made));
    assert_eq!(send(&all, "GET /shops/2", none.clone()).0, 404);
    assert_eq!(send(&all, "PUT /shops/2", json!({ "name": "b" })).0, 201);
    assert_eq!(send(&all, "PUT /shops/2", json!({ "name": "c", "x": { "y": 1, "z": 2 } })).0, 200);
    let patched = send(&all, "PATCH /shops/2", json!({ "name": null, "x": { "y": 3 } }));
    assert_eq!(patched, (200, json!({ "x": { "y": 3, "z": 2 }, "id": 2 })));
    assert_eq!(send(&all, "PATCH /shops/3", json!({})).0, 404);
    assert_eq!(send(&all, "DELETE /shops/2", none.clone()).0, 204);
    assert_eq!(send(&all, "DELETE /shops/2", none.clone()).0, 404);
    assert_eq!(list(&all)["total"], 2);
    // The client's preference comes before stored items.
    assert_eq!(send(&all, "GET /shops/9?__code=200", none.clone()), (200, json!({ "id": 1 })));
    assert_eq!(send(&all, "POST /__weir/reset", none).0, 204);
    assert_eq!(list(&all)["total"], 0);
}

#[test]
fn collections_below_items_are_apart() {
    let all = served();
    assert_eq!(send(&all, "POST /shops", json!({ "id": 1 })).0, 201);
    assert_eq!(send(&all, "POST /shops/1/items", json!({ "n": 1 })).0, 201);
    let items = |shop: u8| send(&all, &format!("GET /shops/{shop}/items"), Value::Null).1;
    assert_eq!((items(1), items(2)), (json!([{ "n": 1, "id": "1" }]), json!([])));
    assert_eq!(send(&all, "GET /shops/1/items/1", Value::Null).0, 200);
    assert_eq!(send(&all, "DELETE /shops/1", Value::Null).0, 204);
    assert_eq!(items(1), json!([]));
}

#[test]
fn nothing_is_kept_unless_it_is_wanted() {
    let all = asked::mocks(SHOPS);
    assert_eq!(send(&all, "POST /shops", json!({ "id": 70 })).0, 201);
    assert_eq!(send(&all, "GET /shops/70", Value::Null), (200, json!({ "id": 1 })));
    assert_eq!(send(&all, "POST /__weir/reset", Value::Null).0, 404);
}
