//! Callbacks of operations and webhooks: which requests are made, and why others are not.

mod asked;

use std::sync::Arc;

use asked::{Asked, Served, api};
use serde_json::{Value, json};
use weir_mock::{CallbackRequest, CallbackTargets, Firing, Mocks, NotFired, Options};

const SHOP: &str = r"
openapi: 3.1.0
info: { title: Shop, version: '1' }
paths:
  /orders/{id}:
    post:
      parameters: [ { name: id, in: path, required: true, schema: { type: string } } ]
      requestBody: { content: { application/json: { schema: { type: object, properties: {
        callbackUrl: { type: string } } } } } }
      responses:
        '201': { description: d, content: { application/json: { example: { ticket: 9 } } } }
        '409': { description: d }
      callbacks:
        paid:
          '{$request.body#/callbackUrl}':
            post:
              parameters:
              - { name: X-Kind, in: header, required: true, schema: { const: order } }
              - { name: Host, in: header, required: true, schema: { const: evil } }
              - { name: at, in: query, required: true, schema: { const: 'a b' } }
              - { name: list, in: query, required: true, schema: { const: [ 1, 2 ] } }
              - { name: maybe, in: query, schema: { const: left out } }
              requestBody: { $ref: '#/components/requestBodies/Paid' }
              responses: { '200': { description: d } }
        seen: { $ref: '#/components/callbacks/Seen' }
webhooks:
  restocked:
    put:
      requestBody: { content: { application/json: {
        schema: { $ref: '#/components/schemas/Amount' },
        examples: { few: { value: { amount: 2 } }, wrong: { value: { amount: two } } } } } }
  plain: { post: { requestBody: { content: { application/json: { example: { item: 5 } } } } } }
components:
  schemas:
    Amount: { type: object, required: [ amount ], properties: {
      amount: { type: integer, minimum: 1, maximum: 1000000 } } }
  requestBodies:
    Paid: { content: { application/json: {
      schema: { $ref: '#/components/schemas/Amount' }, example: { amount: nothing } } } }
  callbacks:
    Seen:
      'http://hook:1/{$request.path.id}/{$response.body#/ticket}/{$statusCode}':
        get: { responses: { '200': { description: d } } }
";

fn shop(text: &str, options: Options) -> Served {
    let list = ["http://hook:1", "http://*.example.org:*"];
    let (callbacks, wrong) = CallbackTargets::read(list.into_iter());
    assert!(wrong.is_empty(), "{wrong:?}");
    let api = Arc::new(api(text).expect("a definition"));
    Served(Mocks::new(vec![api], Options { callbacks, ..options }).expect("paths"))
}

fn order(shop: &Served, url: &str, fields: &[&str]) -> Asked {
    let all = [&["content-type: application/json"], fields].concat();
    shop.ask("POST /orders/a%20b", &all, &json!({ "callbackUrl": url }).to_string())
}

fn made(asked: &Asked, at: usize) -> &CallbackRequest {
    asked.callbacks[at].request.as_ref().expect("a request")
}

fn why_not(asked: &Asked, at: usize) -> &str {
    asked.callbacks[at].request.as_ref().expect_err("no request")
}

#[test]
fn an_answer_sets_off_what_its_operation_declares() {
    let shop = shop(SHOP, Options::default());
    let asked = order(&shop, "http://Hook:1/x?y=1", &[]);
    assert_eq!((asked.status, asked.callbacks.len()), (201, 2));
    let paid = made(&asked, 0);
    assert_eq!((paid.name.as_str(), paid.method.as_str()), ("api: paid", "POST"));
    assert_eq!(paid.url, "http://hook:1/x?y=1&at=a%20b&list=1&list=2");
    let fields: Vec<_> =
        paid.fields.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
    let expected: [(&str, &[u8]); 3] =
        [("X-Kind", b"order"), ("Content-Type", b"application/json"), ("Weir-Mock-Callback", b"1")];
    assert_eq!(fields, expected);
    // The example breaks the schema, so it is not sent.
    assert_eq!(paid.body, br#"{"amount":1}"#);
    assert!(paid.why.contains("breaks it"), "{}", paid.why);
    let seen = made(&asked, 1);
    assert_eq!((seen.method.as_str(), seen.body.as_slice()), ("GET", &b""[..]));
    assert_eq!(seen.url, "http://hook:1/a%20b/9/201");
}

#[test]
fn chance_is_that_of_the_answer() {
    let shop = shop(SHOP, Options { dynamic: true, ..Options::default() });
    let body = |seed: &str| {
        let prefer = format!("prefer: seed={seed}");
        made(&order(&shop, "http://hook:1", &[&prefer]), 0).body.clone()
    };
    assert_eq!(body("1"), body("1"));
    assert_ne!(body("1"), body("2"));
    let amount: Value = serde_json::from_slice(&body("3")).expect("JSON");
    assert!(amount["amount"].as_i64().is_some_and(|amount| (1..=1_000_000).contains(&amount)));
}

#[test]
fn what_must_not_be_sent_is_not() {
    let shop = shop(SHOP, Options::default());
    for (url, part) in [
        ("http://169.254.169.254/", "weir.mock.callbacks.allow does not list"),
        ("http://hook:1@evil.net/", "names a user"),
        ("file:///etc/passwd", "http:// or https://"),
    ] {
        let asked = order(&shop, url, &[]);
        assert_eq!(asked.status, 201);
        assert!(why_not(&asked, 0).contains(part), "{}", why_not(&asked, 0));
    }
    let asked = shop.ask("POST /orders/1", &["content-type: application/json"], "{}");
    assert_eq!(why_not(&asked, 0), "there is no `$request.body#/callbackUrl`");
    let again = order(&shop, "http://hook:1/", &["weir-mock-callback: 1"]);
    assert!(why_not(&again, 0).contains("is a callback itself"));
    // Neither a request that is refused nor an answer that is spoilt sets off anything.
    for prefer in ["prefer: code=409", "prefer: fault=reset"] {
        assert!(order(&shop, "http://hook:1/", &[prefer]).callbacks.is_empty(), "{prefer}");
    }
    let off = asked::mocks(SHOP);
    assert!(why_not(&order(&off, "http://hook:1/", &[]), 0).contains("callbacks are off"));
}

#[test]
fn what_cannot_be_sent_is_told_when_it_is_read() {
    let text = SHOP.replace("{$request.body#/callbackUrl}", "{$request.body.callbackUrl}");
    let api = api(&text).expect("a definition");
    let told: Vec<String> = api.warnings.iter().map(ToString::to_string).collect();
    let [only] = told.as_slice() else { panic!("{told:?}") };
    let place = "#/paths/~1orders~1{id}/post/callbacks/paid/{$request.body.callbackUrl}: not sent";
    assert!(only.starts_with(place), "{only}");
}

#[test]
fn explanations_tell_it_all() {
    let shop = shop(SHOP, Options::default());
    let told = order(&shop, "http://other/", &["prefer: explain=true"]);
    let told: Value = serde_json::from_str(&told.text()).expect("JSON");
    assert_eq!(told["callbacks"][1]["url"], "http://hook:1/a%20b/9/201");
    let why = "weir.mock.callbacks.allow does not list http://other:80";
    assert_eq!(told["callbacks"][0], json!({ "name": "api: paid", "notSent": why }));
}

#[test]
fn webhooks_are_made_on_demand() {
    let shop = shop(SHOP, Options::default());
    let fire = |webhook: &str, firing: &Firing| shop.0.webhook(("api", webhook), firing, 7, 0);
    let to = Firing { to: "http://a.example.org:5/".to_owned(), ..Firing::default() };
    let few = fire("restocked", &to).expect("a request");
    assert_eq!((few.method.as_str(), few.url.as_str()), ("PUT", "http://a.example.org:5/"));
    assert_eq!((few.body.as_slice(), few.why.as_str()), (&br#"{"amount":2}"#[..], "example=few"));
    let wrong = Firing { example: Some("wrong".to_owned()), ..to.clone() };
    let Err(NotFired::Refused(why)) = fire("restocked", &wrong) else { panic!("it is refused") };
    assert_eq!(why, "the example `wrong` breaks its schema");
    let none = Firing { example: Some("none".to_owned()), ..to.clone() };
    assert!(matches!(fire("restocked", &none), Err(NotFired::Refused(why)) if why.contains("few")));
    let nowhere = fire("restocked", &Firing::default());
    assert!(matches!(nowhere, Err(NotFired::Refused(why)) if why.contains("say where it goes")));
    // Without a schema, there is nothing but the example.
    let by_chance = Firing { dynamic: Some(true), ..to.clone() };
    assert_eq!(fire("plain", &by_chance).expect("a request").body, br#"{"item":5}"#);
    let known = vec!["restocked".to_owned(), "plain".to_owned()];
    assert_eq!(fire("x", &to), Err(NotFired::NoWebhook(known)));
    assert_eq!(shop.0.webhook(("x", "restocked"), &to, 7, 0), Err(NotFired::NoApi));
}

#[test]
fn a_post_has_a_webhook_sent() {
    let shop = shop(SHOP, Options::default());
    let asked = shop.ask("POST /__weir/webhooks/restocked?to=http%3A%2F%2Fhook%3A1%2Fa", &[], "");
    assert_eq!(asked.status, 202, "{}", asked.text());
    assert_eq!(made(&asked, 0).url, "http://hook:1/a");
    let other = shop.ask("POST /__weir/webhooks/restocked?to=http://other", &[], "");
    assert_eq!((other.status, other.callbacks.len()), (422, 0), "{}", other.text());
    let none = shop.ask("POST /__weir/webhooks/x?to=http://hook:1", &[], "");
    assert!(none.status == 404 && none.text().contains("restocked"), "{}", none.text());
    let off = asked::mocks(SHOP);
    assert_eq!(off.ask("POST /__weir/webhooks/restocked?to=http://hook:1", &[], "").status, 404);
}
