//! Which response, media type and example answer a request, one line a case.

mod asked;

use asked::mocks;

const SHOP: &str = "
openapi: 3.1.0
info: { title: Shop, version: '1' }
paths:
  /many:
    get:
      parameters: [ { name: n, in: query, schema: { type: integer } } ]
      responses:
        '404':
          description: none
          content: { application/json: { examples: { lost: { value: lost } } } }
        '202':
          description: later
          content: { application/json: { example: later } }
        '200':
          description: now
          content:
            text/plain: { example: plain }
            application/json: { examples: { a: { value: first }, b: { value: second } } }
            application/xml: { schema: { type: string, xml: { name: x } }, example: xml }
        4XX:
          description: wrong
          content: { application/json: { example: wrong } }
        default:
          description: rest
          content: { application/vnd.rest+json: { example: rest } }
  /range: { get: { responses: { 2XX: { description: d, content: { '*/*': { example: any } } } } } }
  /failure:
    get:
      responses:
        '409': { description: d, content: { text/plain: { example: no } } }
  /empty: { get: { responses: { '204': { description: d } } } }
";

/// The answer as `status media-type body`.
fn answer(target: &str, accept: &str, prefer: &str) -> String {
    let mut fields = Vec::new();
    let (accept, prefer) = (format!("accept: {accept}"), format!("prefer: {prefer}"));
    fields.extend(Some(accept.as_str()).filter(|field| *field != "accept: -"));
    fields.extend(Some(prefer.as_str()).filter(|field| *field != "prefer: -"));
    let asked = mocks(SHOP).ask(&format!("GET {target}"), &fields, "");
    let media_type = asked.field("content-type").unwrap_or("-").to_owned();
    let body = if media_type.contains("problem") { String::new() } else { asked.text() };
    format!("{} {media_type} {body}", asked.status).trim_end().to_owned()
}

#[test]
fn code_media_type_example_and_preference() {
    let table = r#"
        /many | - | - | 200 application/json "first"
        /many | */* | - | 200 application/json "first"
        /many | text/plain | - | 200 text/plain plain
        /many | text/* | - | 200 text/plain plain
        /many | application/json;q=0.1, text/plain;q=0.9 | - | 200 text/plain plain
        /many | application/json, text/plain | - | 200 application/json "first"
        /many | text/plain;q=0, application/json | - | 200 application/json "first"
        /many | image/png, application/json;q=0.2 | - | 200 application/json "first"
        /many | image/png | - | 406 application/problem+json
        /many | - | example=b | 200 application/json "second"
        /many | application/json | example=b | 200 application/json "second"
        /many | - | example=c | 404 application/problem+json
        /many | - | code=200 | 200 application/json "first"
        /many | - | code=200, example=b | 200 application/json "second"
        /many | - | code=202 | 202 application/json "later"
        /many | - | code=404 | 404 application/json "lost"
        /many | - | code=404, example=lost | 404 application/json "lost"
        /many | - | code=410 | 410 application/json "wrong"
        /many | - | code=503 | 503 application/vnd.rest+json "rest"
        /many | text/plain | code=503 | 406 application/problem+json
        /many | - | code=x | 422 application/problem+json
        /many?n=x | - | - | 422 application/json "wrong"
        /many?n=x | - | validate=off | 200 application/json "first"
        /many?__code=202 | - | - | 202 application/json "later"
        /range | - | - | 200 application/json "any"
        /range | text/plain | - | 200 text/plain any
        /range | - | code=201 | 201 application/json "any"
        /range | - | code=404 | 404 application/problem+json
        /failure | - | - | 409 text/plain no
        /empty | - | - | 204 -
        /empty | image/png | - | 204 -
        /empty | - | code=200 | 404 application/problem+json"#;
    let mut wrong = Vec::new();
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let parts: Vec<&str> = line.split(" | ").collect();
        let [target, accept, prefer, expected] = parts.as_slice() else { panic!("{line}") };
        let found = answer(target, accept, prefer);
        if found != *expected {
            wrong.push(format!("{line}\n  answered: {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
