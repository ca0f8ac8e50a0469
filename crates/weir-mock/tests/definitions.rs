//! Definitions other than OpenAPI, from their texts to answers.

mod asked;

use asked::{Asked, api, mocks};
use serde_json::{Value, json};

fn yapi(path: &str, more: &Value) -> String {
    let mut one = json!({ "title": "t", "path": path, "method": "GET", "res_body_type": "json" });
    for (key, value) in more.as_object().into_iter().flatten() {
        one[key] = value.clone();
    }
    json!([{ "name": "c", "desc": "", "list": [one] }]).to_string()
}

/// The answer for a template of mock.js.
fn of_template(template: &str) -> Value {
    let asked = mocks(&yapi("/t", &json!({ "res_body": template }))).ask("GET /t", &[], "");
    assert_eq!(asked.status, 200, "{template}: {}", asked.text());
    serde_json::from_slice(&asked.body).expect("JSON")
}

#[test]
fn rules_of_mock_js() {
    for _ in 0..3 {
        let made = of_template(
            "{ // a comment\n 'list|2-4': [{ 'id|+2': 5, name: '@cname', kind: 'a' }], }",
        );
        let list = made["list"].as_array().expect("a list");
        assert!((2..=4).contains(&list.len()), "{made}");
        let ids: Vec<_> = list.iter().map(|one| one["id"].as_i64().unwrap_or(0)).collect();
        assert!(ids.windows(2).all(|pair| pair[1] == pair[0] + 2) && ids[0] == 5, "{made}");
    }
    let check = |template: &str, expected: Value| assert_eq!(of_template(template), expected);
    check("{'a|3': 'xy'}", json!({ "a": "xyxyxy" }));
    check("{'a|3': [1, 2]}", json!({ "a": [1, 2, 1, 2, 1, 2] }));
    check("{'a|2': {b: 1, c: 2}}", json!({ "a": { "b": 1, "c": 2 } }));
    check(
        "{'l|3': [{ 'a|+1': ['x', 'y'] }]}",
        json!({ "l": [{ "a": "x" }, { "a": "y" }, { "a": "x" }] }),
    );
    check(
        "{a: 7, b: '@a', c: { d: '@../a', e: '@/c/f', f: 'z' } }",
        json!({ "a": 7, "b": 7, "c": { "d": 7, "e": "z", "f": "z" } }),
    );
    check("{a: '@b', b: '@a'}", json!({ "a": "@b", "b": "@b" }));
    check(
        "{a: '\\\\@date', b: '@nothing', c: 'x@upper(\"y\")z'}",
        json!({ "a": "@date", "b": "@nothing", "c": "xYz" }),
    );
    check("{'a|b': 1}", json!({ "a|b": 1 }));
    check(
        "['@range(1,4)', '@pick([\"a\"])', '@now(\"year\", \"yyyy\")']",
        json!([[1, 2, 3], "a", "2023"]),
    );
    check("{'l|2': ['@increment(5)']}", json!({ "l": [5, 10] }));
    let number = of_template("{'a|1-5.2-3': 1, 'b|100.2': 1, 'c|1-3': 9, 'd|1': true}");
    assert!((1.0..6.0).contains(&number["a"].as_f64().unwrap_or(0.0)), "{number}");
    assert!((100.0..101.0).contains(&number["b"].as_f64().unwrap_or(0.0)), "{number}");
    assert!((1..=3).contains(&number["c"].as_i64().unwrap_or(0)), "{number}");
    assert!(number["d"].is_boolean());
    let text = of_template("{'a|regexp': '^[a-z]{2}\\\\d{3}$', b: '@string(\"number\", 4)'}");
    let made = text["a"].as_str().unwrap_or_default();
    assert!(made.len() == 5 && made[2..].parse::<u32>().is_ok(), "{text}");
    assert!(text["b"].as_str().is_some_and(|b| b.len() == 4 && b.parse::<u32>().is_ok()), "{text}");
}

#[test]
fn every_placeholder_is_made() {
    const ALL: &str = "boolean natural integer float character string range(3) date time datetime \
        now paragraph sentence word title cparagraph csentence cword ctitle first last name cfirst \
        clast cname url protocol domain tld email ip region province city county zip guid uuid id \
        increment d4 d6 d8 d10 d12 d20 d100 color hex rgb rgba hsl image dataImage capitalize(a) \
        upper(a) lower(A) pick(a,b) shuffle([1,2]) order(a,b) timestamp phone regexp(a{3}) \
        city(true) county(true) date(\"yyyy\") integer(1,9) float(1,2,1,3) name(true) INTEGER \
        image(\"2x2\",\"#fff\",\"#000\",\"png\",\"hi\") string(\"lower\",3,5) cword(\"甲乙\",2)";
    for name in ALL.split_whitespace() {
        let template = json!([format!("@{name}"), format!("x @{name} y")]).to_string();
        let made = of_template(&template);
        let text = made[0].as_str().unwrap_or("0");
        assert!(!text.contains('@') || name == "email", "{name}: {made}");
        assert!(!text.is_empty(), "{name}");
        assert!(
            made[1]
                .as_str()
                .is_some_and(|text| text.starts_with("x ") && !text.contains(&format!("@{name}"))
                    || name == "email"),
            "{name}: {made}"
        );
    }
}

#[test]
fn yapi_is_understood() {
    let schema = json!({ "$schema": "http://json-schema.org/draft-04/schema#", "type": "object",
        "required": ["id", "n"], "properties": {
            "id": { "type": "string", "mock": { "mock": "@guid" } },
            "n": { "type": "integer", "minimum": 1, "exclusiveMinimum": true, "mock": { "mock": "@word" } },
            "who": { "$ref": "#/definitions/who" } },
        "definitions": { "who": { "type": "string", "enum": ["me"] } } });
    let of_schema = |key: &str, more: Value| {
        let mut one = json!({ "method": "POST", "req_body_type": "json" });
        one[key] = Value::from(schema.to_string());
        for (key, value) in more.as_object().into_iter().flatten() {
            one[key] = value.clone();
        }
        mocks(&yapi("/p/:id", &one))
    };
    let all = of_schema("res_body", json!({ "res_body_is_json_schema": true }));
    let asked = all.ask("POST /p/7", &[], "");
    let made: Value = serde_json::from_slice(&asked.body).expect("JSON");
    assert_eq!(made["id"].as_str().map(str::len), Some(36), "{made}");
    assert_eq!((made["n"].as_i64() > Some(1), &made["who"]), (true, &json!("me")), "{made}");
    let all = of_schema(
        "req_body_other",
        json!({ "req_body_is_json_schema": true, "res_body": "{a: '${path.id} ${body.n}', b: '${body.n}'}",
        "req_query": [{ "name": "q", "required": "1" }], "req_headers": [{ "name": "Content-Type", "required": "1" }] }),
    );
    let json = ["content-type: application/json"];
    assert_eq!(all.ask("POST /p/7?q=1", &json, r#"{"id":"x","n":1}"#).status, 422);
    assert_eq!(all.ask("POST /p/7", &json, r#"{"id":"x","n":2}"#).status, 422);
    let good = all.ask("POST /p/7?q=1", &json, r#"{"id":"x","n":2}"#);
    assert_eq!(good.text(), r#"{"a":"7 2","b":2}"#);
    let form = mocks(&yapi(
        "/f",
        &json!({ "method": "POST", "req_body_type": "form", "res_body_type": "raw", "res_body": "@ok",
        "req_body_form": [{ "name": "a", "required": "1" }, { "name": "b", "required": "0" }] }),
    ));
    let kind = ["content-type: application/x-www-form-urlencoded"];
    assert_eq!(form.ask("POST /f", &kind, "b=1").status, 422);
    assert_eq!(form.ask("POST /f", &kind, "a=1").text(), "@ok");
    let fixed =
        json!({ "query_path": { "path": "/q", "params": [{ "name": "k", "value": "v" }] } });
    // Exports have the query in the path too.
    for path in ["/q", "/q?k=v"] {
        let fixed = mocks(&yapi(path, &fixed));
        assert_eq!(fixed.ask("GET /q?k=v", &[], "").status, 200, "{path}");
        assert_eq!(fixed.ask("GET /q", &[], "").status, 405, "{path}");
    }
}

#[test]
fn seeds_make_equal_answers() {
    let all = mocks(&yapi("/t", &json!({ "res_body": "{'a|3': ['@guid', '@integer']}" })));
    let seeded = |seed: u32| all.ask(&format!("GET /t?__seed={seed}"), &[], "").body.clone();
    assert_eq!(seeded(3), seeded(3));
    assert_ne!(seeded(3), seeded(4));
}

fn postman() -> String {
    let answer = |name: &str, code: u16, id: &str, query: Value, body: &str| {
        json!({ "name": name, "code": code, "body": body, "_postman_previewlanguage": "json",
            "header": [{ "key": "X-A", "value": "1" }, { "key": "Content-Length", "value": "99" }],
            "originalRequest": { "method": "GET", "url": { "raw": "{{baseUrl}}/pets/:id",
                "host": ["{{baseUrl}}"], "path": ["pets", ":id"], "query": query,
                "variable": [{ "key": "id", "value": id }] } } })
    };
    json!({
        "info": { "name": "Pets", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json" },
        "variable": [{ "key": "baseUrl", "value": "https://api.example.com/v2" }],
        "item": [{ "name": "folder", "item": [
            { "name": "one pet", "event": [{ "listen": "test" }],
              "request": { "method": "GET", "url": { "raw": "{{baseUrl}}/pets/:id", "path": ["pets", ":id"] } },
              "response": [
                answer("missing", 404, "9", json!([]), "{\"e\":1}"),
                answer("cat", 200, "", json!([]), "{ \"cat\": 1 }"),
                answer("long", 200, "", json!([{ "key": "full", "value": "yes" }]), "{\"long\":1}"),
              ] },
            { "name": "made", "request": { "method": "POST", "url": "{{baseUrl}}/pets" }, "response": [] },
            { "name": "of an owner", "request": "https://x/owners/{{ownerId}}/pets" },
        ] }],
    })
    .to_string()
}

#[test]
fn postman_answers_as_saved() {
    let all = mocks(&postman());
    let check = |line: &str, status: u16, body: &str| {
        let asked = all.ask(line, &[], "");
        assert_eq!((asked.status, asked.text().as_str()), (status, body), "{line}");
        asked
    };
    let cat = check("GET /pets/1", 200, "{ \"cat\": 1 }");
    assert_eq!(cat.field("X-A"), Some("1"));
    assert_eq!(cat.field("Content-Length"), None);
    assert_eq!(cat.field("Content-Type"), Some("application/json"));
    check("GET /v2/pets/1", 200, "{ \"cat\": 1 }");
    check("GET /pets/9", 404, "{\"e\":1}");
    check("GET /pets/1?full=yes&x=1", 200, "{\"long\":1}");
    check("GET /pets/1?__example=long", 200, "{\"long\":1}");
    check("GET /pets/1?__code=404", 404, "{\"e\":1}");
    check("POST /pets", 200, "");
    check("GET /owners/3/pets", 200, "");
    assert_eq!(all.ask("GET /pets/1", &["accept: text/csv"], "").status, 406);
    assert_eq!(all.ask("GET /pets/1?__code=500", &[], "").status, 404);
    let warned: Vec<String> = all.apis()[0].warnings.iter().map(ToString::to_string).collect();
    assert!(warned.iter().any(|one| one.contains("#/item/0/item/0/event: scripts")), "{warned:?}");
}

fn har(entries: &Value) -> String {
    json!({ "log": { "version": "1.2", "entries": entries } }).to_string()
}

fn entry(method: &str, url: &str, sent: Option<&str>, body: &str) -> Value {
    let mut one = json!({
        "request": { "method": method, "url": url, "headers": [] },
        "response": { "status": 200, "headers": [{ "name": "ETag", "value": "a" }, { "name": "Content-Encoding", "value": "br" }],
            "content": { "mimeType": "application/json", "text": body } },
    });
    if let Some(sent) = sent {
        one["request"]["postData"] = json!({ "mimeType": "application/json", "text": sent });
    }
    one
}

#[test]
fn archives_are_replayed() {
    let all = mocks(&har(&json!([
        entry("GET", "https://a.example/list?page=1", None, "[1]"),
        entry("GET", "https://a.example/list?page=2", None, "[2]"),
        entry("GET", "https://a.example/time", None, "1"),
        entry("GET", "https://a.example/time", None, "2"),
        entry("POST", "https://a.example/q", Some("{\"a\": 1}"), "\"one\""),
        entry("POST", "https://a.example/q", Some("{\"a\": 2}"), "\"two\""),
        { "request": { "method": "GET", "url": "https://b.example/p.gif" }, "response": { "status": 200,
            "content": { "mimeType": "image/gif", "text": "AP8=", "encoding": "base64" } } },
        { "request": { "method": "GET", "url": "https://a.example/lost" }, "response": { "status": 0 } },
    ])));
    let text = |line: &str, body: &str| all.ask(line, &[], body).text();
    assert_eq!(text("GET /list?page=2", ""), "[2]");
    assert_eq!(text("GET /list?page=1&x=1", ""), "[1]");
    let times: Vec<String> = (0..3).map(|_| text("GET /time", "")).collect();
    assert_eq!(times, ["1", "2", "1"]);
    assert_eq!(text("POST /q", "{\"a\":2}"), "\"two\"");
    let other: Vec<String> = (0..2).map(|_| text("POST /q", "{\"a\":3}")).collect();
    assert_eq!(other, ["\"one\"", "\"two\""]);
    let picture = all.ask("GET /p.gif", &[], "");
    assert_eq!(
        (picture.body.clone(), all.ask("GET /time", &[], "").field("Content-Encoding")),
        (vec![0, 255], None)
    );
    assert_eq!(all.ask("GET /lost", &[], "").status, 404);
    let warned: Vec<String> = all.apis()[0].warnings.iter().map(ToString::to_string).collect();
    assert!(
        warned.iter().any(|one| one.contains("/log/entries/7: there was no answer")),
        "{warned:?}"
    );
}

#[test]
fn apifox_projects_are_understood() {
    let project = json!({
        "apifoxProject": "1.0.0", "info": { "name": "Shop" },
        "apiCollection": [{ "name": "root", "items": [{ "name": "users", "items": [{ "name": "one", "api": {
            "path": "/users/{id}", "method": "post",
            "parameters": { "query": [{ "name": "n", "required": true, "schema": { "type": "integer" } }] },
            "requestBody": { "type": "application/json", "jsonSchema": { "$ref": "#/definitions/7" } },
            "responses": [{ "id": "1", "code": 201, "contentType": "json", "jsonSchema": { "$ref": "#/definitions/7" } }],
            "responseExamples": [],
        } }] }] }],
        "schemaCollection": [{ "name": "s", "items": [{ "name": "User", "id": "#/definitions/7",
            "schema": { "jsonSchema": { "type": "object", "required": ["name"], "properties": {
                "name": { "type": "string", "mock": { "mock": "@cname" } },
                "tel": { "type": "string", "x-apifox-mock": "{{$phone.mobile}}" } } } } }] }],
    });
    let all = mocks(&project.to_string());
    let json = ["content-type: application/json"];
    assert_eq!(all.ask("POST /users/1?n=x", &json, "{\"name\":\"a\"}").status, 422);
    assert_eq!(all.ask("POST /users/1?n=1", &json, "{}").status, 422);
    let asked = all.ask("POST /users/1?n=1", &json, "{\"name\":\"a\"}");
    let made: Value = serde_json::from_slice(&asked.body).expect("JSON");
    assert_eq!(asked.status, 201);
    assert!(made["name"].as_str().is_some_and(|name| name != "string"), "{made}");
    assert!(all.apis()[0].warnings[0].to_string().contains("phone.mobile"));
}

#[test]
fn what_is_broken_is_refused_with_its_place() {
    let check = |text: &str, part: &str| {
        let error = api(text).map(|_| ()).expect_err(text).to_string();
        assert!(error.contains(part), "{error}");
    };
    let body = |body: &str| yapi("/t", &json!({ "res_body": body }));
    check(&body("{a: 1\n b: 2}"), "file#/0/list/0/res_body: line 2, column 2");
    check(
        &body("{a: ?,\n b: 2\n c: 3}"),
        "`?` is no value\nfile#/0/list/0/res_body: line 3, column 2",
    );
    check("{\"a\": }", "file:1:7: no JSON: expected value");
    check("a: [\nb: 1", "no YAML: ");
    check(&body("{a: function() {}}"), "scripts are not run");
    check(
        &body("{'a|1-1000000000': [1]}"),
        "/0/list/0/res_body: in the template at `/a|1-1000000000`",
    );
    check(&body("{'a|regexp': '('}"), "unclosed group");
    check(&body(&"[".repeat(100_000)), "within each other");
    check(&yapi("", &json!({})), "/0/list/0/path: an interface needs");
    check(
        &yapi("/t", &json!({ "res_body_is_json_schema": true, "res_body": "[]" })),
        "a schema is an object",
    );
    check(
        &yapi("/t", &json!({ "res_body_is_json_schema": true, "res_body": "{\"$ref\":\"#/x\"}" })),
        "leads nowhere",
    );
    check(&json!([{ "list": 3 }, { "list": [] }]).to_string(), "file#/0: a category");
    check(r#"{"info":{},"item":[{"name":"a"}]}"#, "file#/item/0/request: an item needs");
    check(
        r#"{"info":{},"item":[{"request":"x/a","response":[{"code":7}]}]}"#,
        "/item/0/response/0/code",
    );
    check(&har(&json!([{ "request": {} }])), "/log/entries/0/request/url");
    let coded = json!([{ "request": { "url": "x/a" }, "response": { "status": 200, "content": { "text": "!", "encoding": "base64" } } }]);
    check(&har(&coded), "/log/entries/0/response/content/text: no base64");
    check(
        r#"{"apifoxProject":"1","apiCollection":[{"items":[{"api":{}}]}]}"#,
        "/apiCollection/0/items/0/api/path",
    );
}

#[test]
fn templates_without_end_are_bounded() {
    let check = |template: &str, part: &str| {
        let asked: Asked =
            mocks(&yapi("/t", &json!({ "res_body": template }))).ask("GET /t", &[], "");
        assert_eq!(asked.status, 500, "{template}");
        assert!(asked.text().contains(part), "{template}: {}", asked.text());
    };
    check("{'a|9999': [{ 'b|9999': [1] }]}", "more than an answer may hold");
    check("{'a|9999': '@paragraph(9999)'}", "more than an answer may hold");
    check("['@string(1000000000)']", "10000 are allowed");
    check("['@range(1000000000)']", "more than 10000 numbers");
    check("{'a|regexp': '(a|b){1000000000}'}", "no text was found");
    let deep = format!("{}{}", "@upper(".repeat(10_000), ")".repeat(10_000));
    let asked = mocks(&yapi("/t", &json!({ "res_body": json!([deep]).to_string() }))).ask(
        "GET /t",
        &[],
        "",
    );
    assert_eq!(asked.status, 200);
}

#[test]
fn all_that_is_wrong_is_told_with_its_line() {
    let text = "openapi: 3.1.0
paths:
  /a:
    get: { parameters: [ { in: query } ] }
    post: { responses: { '9x': {} } }
  b: {}
x-weir-mock: { sed: 1 }
";
    let errors = api(text).expect_err("refused");
    let places = errors.located(&|_| Some(text.to_owned())).into_iter().map(|one| one.place());
    let expected = [
        "file:7#/x-weir-mock/sed",
        "file:4#/paths/~1a/get/parameters/0",
        "file:5#/paths/~1a/post/responses/9x",
        "file:6#/paths/b",
    ];
    assert_eq!(places.collect::<Vec<_>>(), expected, "{errors}");
}
