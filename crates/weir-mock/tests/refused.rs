//! Definitions that are refused: everything that is wrong is told at once, each with its line.

mod asked;

use asked::api;

fn check(text: &str, expected: &[&str]) {
    let errors = api(text).map(|_| ()).expect_err("refused");
    let places: Vec<String> =
        errors.located(&|_| Some(text.to_owned())).into_iter().map(|one| one.place()).collect();
    assert_eq!(places, expected, "{errors}");
}

#[test]
fn all_problems_of_yapi() {
    check(
        r#"[
{ "name": "one", "list": [
  { "title": "no path", "res_body": "{" },
  { "path": "/a", "res_body": "{" },
  { "path": "/b", "method": "POST", "req_body_type": "json", "req_body_is_json_schema": true,
    "req_body_other": "[]",
    "res_body": "{'a|regexp': '(', b: { 'c|regexp': 1 }}" },
  { "path": "/good", "res_body": "{}" } ] },
{ "name": "two" }
]"#,
        &[
            "file:3#/0/list/0/path",
            "file:3#/0/list/0/res_body",
            "file:4#/0/list/1/res_body",
            "file:6#/0/list/2/req_body_other",
            "file:7#/0/list/2/res_body",
            "file:7#/0/list/2/res_body",
            "file:9#/1",
        ],
    );
}

#[test]
fn all_problems_of_postman() {
    check(
        r#"{ "info": { "name": "n" }, "item": [
  { "name": "none", "response": [ { "code": 1 } ] },
  { "name": "folder", "item": [ { "request": { "method": "GET" } } ] },
  { "request": "/a", "response": [
    { "code": 20 },
    { "code": 200 },
    { "code": "x" } ] }
] }"#,
        &[
            "file:2#/item/0/request",
            "file:2#/item/0/response/0/code",
            "file:3#/item/1/item/0/request/url",
            "file:5#/item/2/response/0/code",
            "file:7#/item/2/response/2/code",
        ],
    );
}

#[test]
fn all_problems_of_archives() {
    check(
        r#"{ "log": { "entries": [
  { "request": { "method": "GET" }, "response": { "status": 200, "content": { "text": "x",
    "encoding": "rot13" } } },
  { "request": { "url": "http://a/b" }, "response": { "status": 200,
    "content": { "text": "%", "encoding": "base64" } } },
  { "request": { "url": "http://a/c" }, "response": { "status": 200,
    "content": { "text": "x", "encoding": "rot13" } } }
] } }"#,
        &[
            "file:2#/log/entries/0/request/url",
            "file:3#/log/entries/0/response/content/encoding",
            "file:5#/log/entries/1/response/content/text",
            "file:7#/log/entries/2/response/content/encoding",
        ],
    );
}

#[test]
fn all_problems_of_apifox() {
    check(
        r##"{ "apifoxProject": "1.0.0", "apiCollection": [ { "items": [
  { "api": { "method": "get" } },
  { "api": { "path": "/a", "responses": [
    { "code": 7 },
    { "code": 200, "jsonSchema": { "$ref": "#/definitions/9" } },
    { "code": "x" } ] } }
] } ] }"##,
        &[
            "file:2#/apiCollection/0/items/0/api/path",
            "file:4#/apiCollection/0/items/1/api/responses/0/code",
            "file:6#/apiCollection/0/items/1/api/responses/2/code",
            "file:5#/apiCollection/0/items/1/api/responses/1/jsonSchema",
        ],
    );
}

#[test]
fn references_that_lead_nowhere() {
    check(
        "openapi: 3.0.3
paths:
  /a:
    get:
      parameters: [ { $ref: '#/components/parameters/No' } ]
      responses: { '200': { description: d, content: { application/json: {
        schema: { $ref: '#/components/schemas/A' },
        examples: { data: { value: { $ref: '#/nothing' } } } } } } }
components:
  schemas:
    A: { type: object, properties: { b: { $ref: '#/components/schemas/B' },
      c: { $ref: '#/components/schemas/A' } } }
    Unused: { $ref: 'http://elsewhere/a.json' }
x-ours: { $ref: '#/anything' }
",
        &[
            "file:13#/components/schemas/Unused",
            "file:5#/paths/~1a/get/parameters/0",
            "file:11#/components/schemas/A/properties/b",
        ],
    );
    check(
        "swagger: '2.0'
paths:
  /a: { get: { responses: { '200': { $ref: '#/responses/No' } } } }
definitions:
  A: { properties: { value: { $ref: '#/definitions/B' }, $ref: { type: string } } }
",
        &["file:3#/paths/~1a/get/responses/200", "file:5#/definitions/A/properties/value"],
    );
}

#[test]
fn anchors_and_bases_are_references_too() {
    let text = "openapi: 3.1.0
paths: {}
components:
  schemas:
    A: { $anchor: a, type: string }
    B: { $ref: '#a' }
    C: { $id: 'weir:///c', $defs: { d: { type: string } }, $ref: '#/$defs/d' }
";
    assert!(api(text).is_ok(), "{:?}", api(text).map(|_| ()));
}

const LINE: &str =
    r#"{"time":"2026-11-28T10:00:00Z","method":"GET","path":"/a","status":200,"us":9"#;

#[test]
fn all_problems_of_access_logs() {
    let log = format!(
        "{LINE}}}\n\nnginx: started\n{LINE},\"response\":{{\"body\":{{}}}}}}\n{LINE},\"resp"
    );
    let errors = api(&log).map(|_| ()).expect_err("refused").to_string();
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!(lines.len(), 2, "{errors}");
    assert!(lines[0].contains("line 3: ") && lines[1].contains("line 4: `response`"), "{errors}");
    let bare = api(&format!("{LINE}}}\n")).map(|_| ()).expect_err("refused").to_string();
    assert!(bare.contains("weir.access-log.bodies"), "{bare}");
    let cut = format!("{LINE},\"response\":{{}}}}\n{LINE}}}\n{LINE},\"resp");
    assert_eq!(api(&cut).map(|_| ()), Ok(()), "the last line is still being written");
}
