//! A definition made of exchanges answers as they went.

use std::sync::Arc;

use serde_json::{Value, json};
use weir_wire::Fields;

use super::{RecordedBody, RecordedDefinition, RecordedExchange, recorded_definition};
use crate::{Api, Call, Mocks, Options, Reply};

fn body(media_type: &str, content: &str) -> Option<RecordedBody> {
    let content = Some(content.as_bytes().to_vec());
    Some(RecordedBody { media_type: media_type.to_owned(), content })
}

fn json_body(value: &Value) -> Option<RecordedBody> {
    body("application/json; charset=utf-8", &value.to_string())
}

/// `METHOD /path?query` with a JSON body, answered with a status and a JSON body.
fn exchange(
    line: &str,
    sent: Option<&Value>,
    status: u16,
    got: Option<&Value>,
) -> RecordedExchange {
    let (method, target) = line.split_once(' ').expect("a method and a target");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    RecordedExchange {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        request_fields: Vec::new(),
        request: sent.and_then(json_body),
        status,
        fields: Vec::new(),
        response: got.and_then(json_body),
    }
}

fn definition(exchanges: &[RecordedExchange]) -> RecordedDefinition {
    let exchanges: Vec<_> = exchanges.iter().cloned().map(Arc::new).collect();
    recorded_definition("shop", &exchanges).expect("a definition")
}

fn ask(document: &Value, line: &str, media_type: &str, sent: &str) -> Reply {
    let none = |file: &str| Err(format!("there is no {file}"));
    let api = Api::read("shop", "shop", &document.to_string(), &none);
    let api = api.unwrap_or_else(|errors| panic!("{errors}"));
    assert!(api.warnings.is_empty(), "{:?}", api.warnings);
    let mocks = Mocks::new(vec![Arc::new(api)], Options::default()).expect("paths");
    let (method, target) = line.split_once(' ').expect("a method and a target");
    let (path, query) = target.split_once('?').map_or((target, None), |(p, q)| (p, Some(q)));
    let mut fields = Fields::default();
    if !sent.is_empty() {
        fields.append(b"Content-Type", media_type.as_bytes());
    }
    let call = Call {
        method: method.as_bytes(),
        path: path.as_bytes(),
        prefix: b"",
        query: query.map(str::as_bytes),
        fields: &fields,
        body: sent.as_bytes(),
    };
    mocks.answer(&call, 7, 0)
}

fn check(document: &Value, line: &str, sent: &str, status: u16, expected: &str) {
    let reply = ask(document, line, "application/json", sent);
    let text = String::from_utf8_lossy(&reply.body).into_owned();
    assert_eq!((reply.status, text.as_str()), (status, expected), "{line} {sent}: {}", reply.why);
}

#[test]
fn each_request_gets_what_it_got() {
    let made = definition(&[
        exchange("GET /users/1", None, 200, Some(&json!({ "id": 1, "name": "Ann" }))),
        exchange("GET /users/2", None, 200, Some(&json!({ "id": 2, "nick": "B" }))),
        exchange("GET /users/9", None, 404, Some(&json!({ "error": "none" }))),
        exchange("GET /users", None, 200, Some(&json!([1, 2]))),
        exchange("GET /users?page=2", None, 200, Some(&json!([3]))),
        exchange("POST /users", Some(&json!({ "name": "C" })), 201, Some(&json!({ "id": 3 }))),
        exchange("POST /users", Some(&json!({ "nom": 1 })), 422, Some(&json!({ "error": "name" }))),
        exchange("DELETE /users/1", None, 204, None),
    ]);
    assert_eq!((made.operations, made.examples, made.secrets), (4, 7, 0));
    let all = &made.document;
    check(all, "GET /users/1", "", 200, r#"{"id":1,"name":"Ann"}"#);
    check(all, "GET /users/2", "", 200, r#"{"id":2,"nick":"B"}"#);
    check(all, "GET /users/9", "", 404, r#"{"error":"none"}"#);
    check(all, "GET /users/5", "", 200, r#"{"id":1,"name":"Ann"}"#);
    check(all, "GET /users", "", 200, "[1,2]");
    check(all, "GET /users?page=2", "", 200, "[3]");
    check(all, "GET /users?page=x", "", 200, "[1,2]");
    check(all, "POST /users", r#"{"name":"C","age":4}"#, 201, r#"{"id":3}"#);
    check(all, "POST /users", r#"{"nom":1}"#, 422, r#"{"error":"name"}"#);
    check(all, "DELETE /users/1", "", 204, "");
    let own = &all["paths"]["/users/{id}"]["get"];
    let schema = &own["responses"]["200"]["content"]["application/json"]["schema"];
    assert_eq!(schema["required"], json!(["id"]));
    assert_eq!(own["parameters"][0]["schema"], json!({ "type": "integer" }));
}

#[test]
fn secrets_are_nowhere() {
    const SECRETS: &[&str] = &["hunter2", "s3cret", "eyJ", "abc123"];
    let login = json!({ "user": "ann", "password": "hunter2" });
    let token = json!({ "token": "s3cret", "user": { "name": "Ann", "apiKey": "abc123" } });
    let mut found = exchange("POST /login?api_key=abc123", Some(&login), 200, Some(&token));
    let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    found.fields = vec![
        field("Set-Cookie", "sid=s3cret"),
        field("X-Auth-Token", "s3cret"),
        field("Location", "/home?token=s3cret"),
        field("X-Page", "1"),
    ];
    let mut form = exchange("POST /form", None, 200, None);
    form.request = body("application/x-www-form-urlencoded", "user=ann&password=hunter2");
    form.response = body("text/html", "<input name=csrf_token value=s3cret>");
    let signed = exchange("GET /mail/eyJhbGciOi.eyJzdWIi.c2ln", None, 200, Some(&json!("ok")));
    let refused = exchange("POST /login", Some(&json!({ "password": "s3cret" })), 401, None);
    let made = definition(&[found, form, signed, refused]);
    let text = made.document.to_string();
    for secret in SECRETS {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    assert_eq!(made.secrets, 10);
    let all = &made.document;
    let sent = r#"{"user":"ann","password":"mine"}"#;
    let expected = r#"{"token":"redacted","user":{"name":"Ann","apiKey":"redacted"}}"#;
    check(all, "POST /login", sent, 200, expected);
    let reply = ask(all, "POST /login", "application/json", sent);
    assert!(reply.fields.iter().any(|(name, value)| name == "X-Page" && value == b"1"));
    let form = "user=bob&password=x";
    let reply = ask(all, "POST /form", "application/x-www-form-urlencoded", form);
    assert_eq!(reply.status, 200, "{}", reply.why);
    check(all, "GET /mail/other", "", 200, "\"ok\"");
}

#[test]
fn bodies_that_are_not_known_have_no_example() {
    let mut long = exchange("GET /long", None, 200, None);
    long.response = Some(RecordedBody { media_type: "application/json".into(), content: None });
    let mut image = exchange("GET /image", None, 200, None);
    image.response =
        Some(RecordedBody { media_type: "image/png".into(), content: Some(vec![0xff]) });
    let mut page = exchange("GET /page", None, 200, None);
    page.response = body("text/html; charset=utf-8", "<p>hello</p>");
    let mut xml = exchange("GET /xml", None, 200, None);
    xml.response = body("application/xml", "<a><b>1</b></a>");
    let made = definition(&[long, image, page, xml]);
    assert_eq!((made.operations, made.examples), (4, 2));
    let all = &made.document;
    assert_eq!(ask(all, "GET /long", "", "").status, 200);
    assert_eq!(ask(all, "GET /image", "", "").status, 200);
    check(all, "GET /page", "", 200, "<p>hello</p>");
    check(all, "GET /xml", "", 200, "<a><b>1</b></a>");
}

#[test]
fn nothing_comes_of_nothing() {
    assert_eq!(recorded_definition("a", &[]), None);
    assert_eq!(recorded_definition("a", &[exchange("BREW /pot", None, 200, None).into()]), None);
}
