//! Answers of definitions: requests as text in, answers as text out.

use std::sync::Arc;

use serde_json::{Value, json};
use weir_mock::{Api, Call, Enforcement, Mocks, Options, Reply};
use weir_wire::Fields;

fn api(text: &str) -> Result<Api, String> {
    let none = |file: &str| Err(format!("there is no {file}"));
    Api::read("api", "api.yaml", text, &none).map_err(|error| error.to_string())
}

fn mocks_with(text: &str, options: Options) -> Mocks {
    let api = api(text).unwrap_or_else(|error| panic!("{error}"));
    Mocks::new(vec![Arc::new(api)], options).expect("paths")
}

/// The answer to `METHOD target`, with fields as `name: value` and a body.
fn ask(mocks: &Mocks, line: &str, fields: &[&str], body: &str) -> Reply {
    let (method, target) = line.split_once(' ').expect("a method and a target");
    let (path, query) = target.split_once('?').map_or((target, None), |(p, q)| (p, Some(q)));
    let mut all = Fields::default();
    for field in fields {
        let (name, value) = field.split_once(": ").expect("a field");
        all.append(name.as_bytes(), value.as_bytes());
    }
    let call = Call {
        method: method.as_bytes(),
        path: path.as_bytes(),
        prefix: b"",
        query: query.map(str::as_bytes),
        fields: &all,
        body: body.as_bytes(),
    };
    mocks.answer(&call, 7, 1_700_000_000_000)
}

fn operation(parameters: &str) -> String {
    format!(
        "openapi: 3.0.3\ninfo: {{ title: t, version: '1' }}\npaths:\n  /a/{{p}}:\n    get:\n      \
         parameters:\n      - {{ name: p, in: path, required: true, schema: {{ type: string }} }}\n\
         {parameters}\n      responses: {{ '204': {{ description: d }} }}\n"
    )
}

/// Checks whether a request with this query, header and cookie matches such a parameter.
fn check_parameter(parameter: &str, target: &str, fields: &[&str], status: u16) {
    let text = operation(&format!("      - {{ {parameter} }}"));
    let mocks = mocks_with(&text, Options::default());
    let reply = ask(&mocks, &format!("GET {target}"), fields, "");
    let body = String::from_utf8_lossy(&reply.body);
    assert_eq!(reply.status, status, "{parameter} {target} {fields:?}: {body}");
}

#[test]
fn parameters_of_every_style() {
    let query = |rest: &str| format!("name: c, in: query, {rest}");
    let ints = "schema: { type: array, items: { type: integer } }";
    let object = "schema: { type: object, required: [R], properties: { R: { type: integer }, G: \
                  { type: integer } }, additionalProperties: false }";
    let check =
        |parameter: &str, target: &str, status| check_parameter(parameter, target, &[], status);
    check(&query("required: true, schema: { type: integer }"), "/a/x", 422);
    check(&query("schema: { type: integer, maximum: 5 }"), "/a/x?c=5", 204);
    check(&query("schema: { type: integer, maximum: 5 }"), "/a/x?c=6", 422);
    check(&query("schema: { type: integer }"), "/a/x?c=", 422);
    check(&query("allowEmptyValue: true, schema: { type: integer }"), "/a/x?c=", 204);
    check(&query("schema: { type: boolean }"), "/a/x?c=yes", 422);
    check(&query(ints), "/a/x?c=1&c=2", 204);
    check(&query(ints), "/a/x?c=1&c=x", 422);
    check(&query(&format!("explode: false, {ints}")), "/a/x?c=1,2", 204);
    check(&query(&format!("style: spaceDelimited, explode: false, {ints}")), "/a/x?c=1%202", 204);
    check(&query(&format!("style: pipeDelimited, explode: false, {ints}")), "/a/x?c=1|2", 204);
    check(&query(object), "/a/x?R=1&G=2", 204);
    check(&query(object), "/a/x?R=x", 422);
    check(&query(&format!("style: deepObject, {object}")), "/a/x?c%5BR%5D=1", 204);
    check(&query(&format!("style: deepObject, {object}")), "/a/x?c[G]=1", 422);
    check(
        &query("content: { application/json: { schema: { type: array } } }"),
        "/a/x?c=%5B1%5D",
        204,
    );
    let header = format!("name: X-C, in: header, {ints}");
    check_parameter(&header, "/a/x", &["x-c: 1, 2"], 204);
    check_parameter(&header, "/a/x", &["x-c: 1, b"], 422);
    check_parameter(
        "name: s, in: cookie, required: true, schema: { type: string }",
        "/a/x",
        &[],
        422,
    );
    check_parameter(
        "name: s, in: cookie, required: true, schema: { type: integer }",
        "/a/x",
        &["cookie: a=b; s=7"],
        204,
    );
}

const SHOP: &str = r##"
swagger: "2.0"
info: { title: Shop, version: "1" }
basePath: /v1
consumes: [ application/json ]
produces: [ application/json, application/xml ]
securityDefinitions: { basic: { type: basic } }
paths:
  /orders/{id}:
    parameters: [ { $ref: "#/parameters/Id" } ]
    get:
      responses: { 200: { description: one, schema: { $ref: "#/definitions/Order" } } }
    put:
      security: [ { basic: [] } ]
      parameters: [ { in: body, name: order, required: true, schema: { $ref: "#/definitions/Order" } } ]
      responses: { 200: { description: done }, default: { description: other } }
  /login:
    post:
      consumes: [ application/x-www-form-urlencoded ]
      parameters:
      - { in: formData, name: user, type: string, required: true }
      - { in: formData, name: age, type: integer }
      responses: { 204: { description: done } }
parameters:
  Id: { name: id, in: path, required: true, type: integer }
definitions:
  Order:
    type: object
    required: [ id, items ]
    properties:
      id: { type: integer, minimum: 10, exclusiveMinimum: true, xml: { attribute: true } }
      note: { type: string, x-nullable: true }
      items: { type: array, minItems: 2, xml: { wrapped: true }, items: { type: string, xml: { name: item } } }
"##;

#[test]
fn swagger_2_is_understood() {
    let mocks = mocks_with(SHOP, Options::default());
    let check = |line: &str, fields: &[&str], body: &str, status: u16, part: &str| {
        let reply = ask(&mocks, line, fields, body);
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        assert_eq!(reply.status, status, "{line} {body}: {text}");
        assert!(text.contains(part), "{line}: {text}");
    };
    check(
        "GET /v1/orders/1",
        &[],
        "",
        200,
        r#"{"id":11,"note":"string","items":["string","string"]}"#,
    );
    check("GET /orders/1", &[], "", 200, "items");
    let xml = "<Order id=\"11\"><note>string</note><items><item>string</item><item>string</item></items></Order>";
    check("GET /v1/orders/1", &["accept: application/xml"], "", 200, xml);
    let json = "content-type: application/json";
    let basic = "authorization: Basic eDp5";
    check("PUT /v1/orders/1", &[json], "{}", 401, "");
    let strict = Options { errors: true, ..Options::default() };
    let mocks = mocks_with(SHOP, strict);
    let status = |line: &str, fields: &[&str], body: &str| ask(&mocks, line, fields, body).status;
    assert_eq!(status("PUT /v1/orders/1", &[json], "{}"), 401);
    assert_eq!(status("PUT /v1/orders/1", &[json, basic], r#"{"id":9,"items":[]}"#), 422);
    assert_eq!(status("PUT /v1/orders/1", &[json, basic], r#"{"id":11,"items":["a","b"]}"#), 200);
    assert_eq!(status("PUT /v1/orders/1", &[json, basic], "{"), 422);
    assert_eq!(status("PUT /v1/orders/1", &["content-type: text/csv", basic], "a"), 415);
    let form = "content-type: application/x-www-form-urlencoded";
    assert_eq!(status("POST /v1/login", &[form], "user=a+b&age=7"), 204);
    assert_eq!(status("POST /v1/login", &[form], "user=a&age=old"), 422);
    assert_eq!(status("POST /v1/login", &[form], "age=7"), 422);
}

/// A definition whose one response has this schema, in the form of 3.1.
fn of_schema(schema: &Value) -> String {
    json!({
        "openapi": "3.1.0",
        "info": { "title": "t", "version": "1" },
        "paths": { "/": { "get": { "responses": { "200": {
            "description": "d",
            "content": { "application/json": { "schema": schema } },
        } } } } },
        "components": { "schemas": {
            "Node": { "type": "object", "required": ["name"], "properties": {
                "name": { "type": "string" },
                "children": { "type": "array", "items": { "$ref": "#/components/schemas/Node" } },
            } },
            "Itself": { "$ref": "#/components/schemas/Itself" },
            "Both": { "allOf": vec![json!({ "$ref": "#/components/schemas/Both" }); 9] },
            "Any": { "oneOf": vec![json!({ "$ref": "#/components/schemas/Any" }); 9] },
            "Wide": { "type": "object", "properties": Value::Object(
                ('a'..='z').map(|c| (c.to_string(), json!({ "$ref": "#/components/schemas/Wide" }))).collect()) },
            "Endless": { "type": "object", "required": ["next"], "properties": {
                "next": { "$ref": "#/components/schemas/Endless" },
            } },
            "Cat": { "type": "object", "required": ["kind"], "properties": {
                "kind": { "type": "string" }, "lives": { "type": "integer", "maximum": 9 } } },
            "Dog": { "type": "object", "required": ["kind", "bark"], "properties": {
                "kind": { "type": "string" }, "bark": { "type": "boolean" } } },
        } },
    })
    .to_string()
}

#[test]
fn every_body_that_is_made_fits_its_schema() {
    let schemas = [
        json!({ "type": "integer", "minimum": 3, "exclusiveMaximum": 5, "multipleOf": 2 }),
        json!({ "type": "number", "multipleOf": 0.01, "minimum": 0.05, "maximum": 0.07 }),
        json!({ "type": ["string", "null"], "minLength": 3, "maxLength": 5 }),
        json!({ "type": "string", "pattern": "^[A-Z]{2}\\d{3,5}$" }),
        json!({ "type": "string", "pattern": "^(?=.*[0-9])[a-z0-9]{8}$", "examples": ["abcd1234"] }),
        json!({ "type": "string", "format": "date-time" }),
        json!({ "type": "string", "format": "uuid" }),
        json!({ "type": "string", "format": "ipv6" }),
        json!({ "enum": [1, "a", null] }),
        json!({ "const": { "a": 1 } }),
        json!({ "type": "array", "items": { "enum": [1, 2, 3] }, "uniqueItems": true, "minItems": 3 }),
        json!({ "type": "array", "prefixItems": [{ "type": "integer" }, { "type": "string" }], "items": false }),
        json!({ "type": "array", "contains": { "const": 5 }, "items": { "type": "integer" } }),
        json!({ "type": "object", "minProperties": 3, "additionalProperties": { "type": "integer" } }),
        json!({ "type": "object", "patternProperties": { "^x-[a-z]+$": { "type": "string" } }, "additionalProperties": false, "minProperties": 1 }),
        json!({ "allOf": [{ "type": "integer", "minimum": 5 }, { "maximum": 6 }] }),
        json!({ "oneOf": [{ "$ref": "#/components/schemas/Cat" }, { "$ref": "#/components/schemas/Dog" }], "discriminator": { "propertyName": "kind" } }),
        json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] }),
        json!({ "type": "array", "items": { "oneOf": [{ "type": "object" }, { "type": "object", "properties": { "a": { "type": "string" } } }] } }),
        json!({ "type": "integer", "not": { "const": 0 } }),
        json!({ "if": { "type": "object", "properties": { "a": { "const": 1 } }, "required": ["a"] }, "then": { "required": ["b"], "properties": { "b": { "type": "string" } } }, "else": false }),
        json!({ "type": "array", "items": { "type": "integer" }, "contains": { "minimum": 90 }, "minContains": 2, "maxContains": 3 }),
        json!({ "type": "object", "patternProperties": { "^x-": { "type": "integer" } }, "additionalProperties": false, "minProperties": 3 }),
        json!({ "type": "object", "patternProperties": { "^x-": { "type": "integer" } }, "required": ["x-a"], "additionalProperties": false }),
        json!({ "type": "object", "propertyNames": { "enum": ["red", "green"] }, "minProperties": 2 }),
        json!({ "type": "object", "propertyNames": { "maxLength": 4 }, "minProperties": 2 }),
        json!({ "type": "object", "required": ["a", "b"], "dependentSchemas": {
            "a": { "required": ["c"], "properties": { "c": { "const": 7 } } }, "b": { "required": ["d"], "properties": { "d": { "const": 8 } } } } }),
        json!({ "type": "object", "required": ["a"], "dependentSchemas": { "a": { "$ref": "#/components/schemas/Node" } } }),
        json!({ "type": "object", "properties": { "a": { "type": "string" } }, "not": { "required": ["a"] } }),
        json!({ "not": { "type": ["object", "string", "null"] } }),
        json!({ "$ref": "#/components/schemas/Node" }),
        json!({ "$ref": "#/components/schemas/Wide" }),
        json!({ "type": "object", "properties": { "secret": { "type": "string", "writeOnly": true }, "id": { "type": "string", "readOnly": true } }, "required": ["secret", "id"] }),
        json!(true),
    ];
    for schema in &schemas {
        for dynamic in [false, true] {
            let mocks = mocks_with(&of_schema(schema), Options { dynamic, ..Options::default() });
            for seed in 0..30 {
                let reply = ask(&mocks, &format!("GET /?__seed={seed}"), &[], "");
                let text = String::from_utf8_lossy(&reply.body).into_owned();
                assert_eq!(reply.status, 200, "{schema} {dynamic}: {text}");
                let again = ask(&mocks, &format!("GET /?__seed={seed}"), &[], "");
                assert_eq!(again.body, reply.body, "{schema}");
                assert!(!text.contains("secret"), "{text}");
            }
        }
    }
}

#[test]
fn what_cannot_be_made_is_said_and_ends() {
    let check = |schema: Value, part: &str| {
        let mocks = mocks_with(&of_schema(&schema), Options::default());
        let reply = ask(&mocks, "GET /", &[], "");
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        assert_eq!(reply.status, 500, "{schema}: {text}");
        assert!(text.contains(part), "{schema}: {text}");
    };
    check(json!(false), "allows nothing");
    check(json!({ "type": "integer", "minimum": 5, "maximum": 4 }), "no whole number");
    check(json!({ "$ref": "#/components/schemas/Endless" }), "no end");
    check(json!({ "$ref": "#/components/schemas/Itself" }), "circle");
    check(json!({ "$ref": "#/components/schemas/Both" }), "circle");
    check(json!({ "$ref": "#/components/schemas/Any" }), "circle");
    check(json!({ "type": "array", "minItems": 1_000_000_000 }), "elements");
    check(json!({ "type": "string", "minLength": 1_000_000_000 }), "length");
}

#[test]
fn definitions_that_are_none_are_refused_with_their_place() {
    let check = |text: &str, part: &str| {
        let error = api(text).map(|_| ()).expect_err(text);
        assert!(error.contains(part), "{text}: {error}");
    };
    check("a: 1", "no API definition");
    check("{", "api.yaml:1:1: no JSON");
    check("openapi: 3.1.0\npaths: { pets: {} }", "api.yaml#/paths/pets");
    check("openapi: 3.1.0\npaths: { /a: { get: { responses: { soon: {} } } } }", "no status");
    check(
        "openapi: 3.1.0\npaths: { /a: { $ref: '#/paths/~1b' }, /b: { $ref: '#/paths/~1a' } }",
        "circle",
    );
    check("openapi: 3.1.0\npaths: { /a: { $ref: '#/nowhere' } }", "nothing is there");
    check("openapi: 3.1.0\npaths: { /a: { $ref: 'http://x/y.yaml' } }", "follows no addresses");
    check("openapi: 3.1.0\npaths: { /a: { $ref: '../y.yaml' } }", "above the folder");
    check("openapi: 3.1.0\npaths: { /a: { $ref: 'y.yaml' } }", "there is no y.yaml");
    let deep =
        format!("{{\"openapi\":\"3.1.0\",\"x\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    check(&deep, "api.yaml");
}

#[test]
fn parameters_whose_schema_is_made_of_itself_end() {
    let wild = "name: c, in: query, schema: { $ref: '#/components/schemas/A' }";
    let text = operation(&format!("      - {{ {wild} }}"));
    let parts = "{ $ref: '#/components/schemas/A' }, ".repeat(10);
    let text = format!(
        "{text}components: {{ schemas: {{ A: {{ anyOf: [ {parts} {{ type: integer }} ] }} }} }}\n"
    );
    let mocks =
        mocks_with(&text, Options { validation: Enforcement::Report, ..Options::default() });
    assert_eq!(ask(&mocks, "GET /a/x?c=7", &[], "").status, 204);
}

#[test]
fn files_may_refer_to_each_other() {
    let load = |file: &str| match file {
        "schemas/pet.yaml" => {
            Ok("type: object\nrequired: [tag]\nproperties: { tag: { $ref: 'tag.yaml#/Tag' } }"
                .to_owned())
        }
        "schemas/tag.yaml" => Ok("Tag: { enum: [ cat ] }".to_owned()),
        other => Err(format!("there is no {other}")),
    };
    let text = "openapi: 3.1.0\npaths: { /a: { get: { responses: { '200': { description: d, content: { application/json: { schema: { $ref: 'schemas/pet.yaml' } } } } } } } }";
    let api = Api::read("a", "api.yaml", text, &load).expect("a definition");
    let mocks = Mocks::new(vec![Arc::new(api)], Options::default()).expect("paths");
    assert_eq!(ask(&mocks, "GET /a", &[], "").body, br#"{"tag":"cat"}"#);
}

#[test]
fn preferences_and_policies() {
    let text =
        operation("      - { name: n, in: query, required: true, schema: { type: integer } }");
    let report = Options {
        validation: Enforcement::Report,
        delay: weir_mock::Delay::Fixed(5),
        ..Options::default()
    };
    let mocks = mocks_with(&text, report);
    let reply = ask(&mocks, "GET /a/x", &[], "");
    let told = reply.fields.iter().any(|(name, _)| name == "sl-violations");
    assert_eq!((reply.status, told, reply.delay_ms), (204, true, 5));
    let prefer = |value: &str| ask(&mocks, "GET /a/x", &[&format!("prefer: {value}")], "");
    assert_eq!(prefer("validate=off, delay=20").delay_ms, 20);
    assert_eq!(prefer("validate=enforce").status, 422);
    assert_eq!(prefer("code=404").status, 404);
    assert_eq!(prefer("code=abc").status, 422);
    assert_eq!(prefer("respond-async").status, 204);
}

#[test]
fn definitions_with_the_same_paths_are_told_apart_by_a_header() {
    let named = |name: &str, code: u16| {
        let text = format!(
            "openapi: 3.1.0\npaths: {{ /a: {{ get: {{ responses: {{ '{code}': {{ description: d }} }} }} }} }}"
        );
        let none = |file: &str| Err(file.to_owned());
        Arc::new(Api::read(name, "a.yaml", &text, &none).expect("a definition"))
    };
    let apis = vec![named("one", 201), named("two", 202)];
    let options = Options { select_header: Some("X-Api".to_owned()), ..Options::default() };
    let mocks = Mocks::new(apis, options).expect("paths");
    assert_eq!(ask(&mocks, "GET /a", &[], "").status, 201);
    assert_eq!(ask(&mocks, "GET /a", &["x-api: two"], "").status, 202);
    assert_eq!(ask(&mocks, "GET /a", &["x-api: three"], "").status, 404);
}

#[test]
fn formats_of_whole_numbers_bound_them() {
    let check = |schema: &str, sent: &str, status| {
        check_parameter(&format!("name: c, in: query, schema: {{ {schema} }}"), sent, &[], status);
    };
    check("type: integer, format: int32", "/a/x?c=2147483647", 204);
    check("type: integer, format: int32", "/a/x?c=2147483648", 422);
    check("type: integer, format: int32", "/a/x?c=-2147483649", 422);
    check("type: integer, format: int32, maximum: 3000000000", "/a/x?c=2147483648", 204);
    check("type: integer, format: uint8", "/a/x?c=-1", 422);
    check("type: integer, format: int64", "/a/x?c=9223372036854775807", 204);
    check("type: integer, format: int64", "/a/x?c=-9223372036854775808", 204);
    check("type: integer, format: int64", "/a/x?c=9223372036854775808", 422);
    check("type: integer, format: int64", "/a/x?c=-9223372036854775809", 422);
    check("type: integer, format: int64", "/a/x?c=-9223372036854777000", 422);
    check("type: integer, format: uint64", "/a/x?c=18446744073709551615", 204);
    check("type: integer, format: uint64", "/a/x?c=18446744073709551616", 422);
    check("type: integer, format: uint32", "/a/x?c=4294967296", 422);
    check("type: integer, format: uint16", "/a/x?c=65536", 422);
    check("type: number, format: float", "/a/x?c=3.4e38", 204);
    check("type: number, format: float", "/a/x?c=3.5e38", 422);
    check("type: number, multipleOf: 0.01", "/a/x?c=1000000.07", 204);
    check("type: number, multipleOf: 0.01", "/a/x?c=1.005", 422);
    check("type: integer, format: other", "/a/x?c=2147483648", 204);
}

#[test]
fn an_empty_form_lacks_what_is_required() {
    let definition = "openapi: 3.1.0
paths:
  /f:
    post:
      requestBody:
        content:
          application/x-www-form-urlencoded: { schema: { type: object, required: [ a ] } }
      responses: { '204': { description: d } }
";
    let mocks = mocks_with(definition, Options::default());
    let form = "content-type: application/x-www-form-urlencoded";
    assert_eq!(ask(&mocks, "POST /f", &[form], "").status, 422);
    assert_eq!(ask(&mocks, "POST /f", &[form], "a=1").status, 204);
    assert_eq!(ask(&mocks, "POST /f", &[], "").status, 204, "no body is announced");
}
