//! Sample requests: each operation accepts its own.

use std::sync::Arc;

use weir_mock::{Api, Call, Mocks, Options, SampleRequest};
use weir_wire::Fields;

/// Checks that every operation of `text` answers its sample, with one of `statuses`; returns the
/// samples.
fn check(text: &str, statuses: &[u16]) -> Vec<SampleRequest> {
    let none = |file: &str| Err(format!("there is no {file}"));
    let api = Api::read("api", "api.yaml", text, &none).unwrap_or_else(|error| panic!("{error}"));
    let mocks = Mocks::new(vec![Arc::new(api)], Options::default()).expect("paths");
    let each = mocks.operations().map(|one| {
        let sample = one.operation.sample_request();
        let mut fields = Fields::default();
        for (name, value) in &sample.fields {
            fields.append(name.as_bytes(), value.as_bytes());
        }
        let call = Call {
            method: one.operation.method.as_bytes(),
            path: sample.path.as_bytes(),
            prefix: b"",
            query: Some(sample.query.as_bytes()).filter(|query| !query.is_empty()),
            fields: &fields,
            body: sample.body.as_deref().unwrap_or_default().as_bytes(),
        };
        let reply = mocks.answer(&call, 7, 1_700_000_000_000);
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        assert!(statuses.contains(&reply.status), "{sample:?}: {} {text}", reply.status);
        sample
    });
    each.collect()
}

#[test]
fn the_example_accepts_its_samples() {
    let text = include_str!("../../../examples/petstore.yaml");
    let samples = check(text, &[200, 201, 204]);
    assert!(samples.iter().any(|one| one.body.is_some()), "{samples:?}");
}

#[test]
fn every_place_and_style_is_filled() {
    let ints = "schema: { type: array, minItems: 2, items: { type: integer } }";
    let object = "schema: { type: object, required: [R, G], properties: { R: { type: integer }, \
                  G: { type: integer } } }";
    let mut parameters = Vec::new();
    for style in ["form", "spaceDelimited", "pipeDelimited"] {
        for explode in [true, false] {
            let name = format!("{style}{explode}");
            parameters.push(format!(
                "{{ name: {name}, in: query, style: {style}, explode: {explode}, {ints} }}"
            ));
        }
    }
    parameters.push(format!("{{ name: o, in: query, explode: false, {object} }}"));
    parameters
        .push(format!("{{ name: d, in: query, style: deepObject, explode: true, {object} }}"));
    parameters
        .push(format!("{{ name: j, in: query, content: {{ application/json: {{ {object} }} }} }}"));
    parameters.push(format!("{{ name: X-H, in: header, {ints} }}"));
    parameters.push("{ name: c, in: cookie, schema: { type: string, enum: [a b] } }".to_owned());
    parameters.push("{ name: q, in: query, schema: { type: string, minLength: 9 } }".to_owned());
    for (name, style) in [("s", "simple"), ("l", "label"), ("m", "matrix")] {
        parameters.push(format!("{{ name: {name}, in: path, style: {style}, {ints} }}"));
    }
    let listed: String = parameters
        .iter()
        .map(|one| format!("\n      - {}", one.replacen(", in:", ", required: true, in:", 1)))
        .collect();
    let text = format!(
        "openapi: 3.0.3
paths:
  '/a/{{s}}/{{l}}/{{m}}.json':
    put:
      security: [ {{ k: [], b: [] }} ]
      parameters:{listed}
      requestBody:
        required: true
        content: {{ application/x-www-form-urlencoded: {{ {object} }} }}
      responses: {{ '204': {{ description: d }} }}
components:
  securitySchemes:
    k: {{ type: apiKey, in: query, name: key }}
    b: {{ type: http, scheme: basic }}
"
    );
    check(&text, &[204]);
}

#[test]
fn recordings_are_asked_for_as_they_were() {
    let entry = |method: &str, url: &str, body: &str| {
        format!(
            r#"{{ "request": {{ "method": "{method}", "url": "{url}" {body} }},
               "response": {{ "status": 200,
               "content": {{ "text": "x", "mimeType": "text/plain" }} }} }}"#
        )
    };
    let posted = r#", "postData": { "mimeType": "application/json", "text": "{\"a\":1}" }"#;
    let entries = [
        entry("GET", "https://a.example/items?q=a%20b", ""),
        entry("POST", "https://a.example/items", posted),
        entry("GET", "data:image/png;base64,AAAA", ""),
    ];
    let text = format!(r#"{{ "log": {{ "entries": [ {} ] }} }}"#, entries.join(", "));
    let samples = check(&text, &[200]);
    let queries: Vec<&str> = samples.iter().map(|one| one.query.as_str()).collect();
    assert_eq!(queries, ["q=a%20b", ""], "a `data:` address is no operation");
}
