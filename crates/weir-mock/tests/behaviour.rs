//! Overrides, envelopes, several definitions, and explanations.

mod asked;

use std::sync::Arc;

use asked::{Served, api, with_call};
use serde_json::{Value, json};
use weir_mock::{
    BodyCondition, Condition, Delay, Enforcement, Envelope, InjectedFault, MockSource, MockTable,
    Mocks, Mount, Mounted, Options, Override, Settings, Step, StoredPart,
};

const PETS: &str = r"
openapi: 3.1.0
info: { title: Pets, version: '1' }
servers: [ { url: /old } ]
paths:
  /pets/{petId}:
    get:
      operationId: showPet
      parameters:
      - { name: petId, in: path, required: true, schema: { type: string } }
      - { name: n, in: query, schema: { type: integer } }
      responses:
        '200': { description: d, content: { application/json: { examples: {
          cat: { value: { a: cat } }, dog: { value: { a: dog } } } } } }
        '404': { description: d }
  /pets:
    post: { responses: { '201': { description: d } } }
";

fn served(overrides: Vec<Override>, options: Options) -> Result<Served, String> {
    let api = Arc::new(api(PETS).expect("a definition"));
    let settings = Settings { overrides, ..Settings::default() };
    let mount = Mount { settings, ..Mount::from(api) };
    Mocks::mount(vec![mount], options).map(Served)
}

fn of(operation: &str) -> Override {
    Override { operation: operation.to_owned(), ..Override::default() }
}

#[test]
fn overrides_choose_and_wait() {
    let dog = Override { example: Some("dog".to_owned()), ..of("showPet") };
    let gone = Override {
        when: Condition { query: vec![("n".into(), "1".into())], ..Condition::default() },
        code: Some(404),
        delay: Some(Delay::Fixed(30)),
        body_ms: 40,
        ..of("GET /pets/{petId}")
    };
    let off = Override { validation: Some(Enforcement::Off), code: Some(200), ..of("*") };
    let all =
        served(vec![off, dog, gone], Options { delay: Delay::Fixed(5), ..Options::default() });
    let all = all.expect("overrides");
    let dog = all.ask("GET /pets/1", &[], "");
    assert_eq!((dog.text().as_str(), dog.delay_ms), ("{\"a\":\"dog\"}", 5));
    let gone = all.ask("GET /pets/1?n=1", &[], "");
    assert_eq!((gone.status, gone.delay_ms, gone.body_ms), (404, 30, 40));
    let cat = all.ask("GET /pets/1?n=1", &["prefer: code=200, example=cat, delay=1"], "");
    assert_eq!((cat.text().as_str(), cat.delay_ms), ("{\"a\":\"cat\"}", 1));
    assert_eq!(all.ask("GET /pets/1?n=x", &[], "").status, 422);
    assert_eq!(all.ask("POST /pets", &[], "").status, 201);
}

#[test]
fn conditions_look_at_every_part() {
    let text = |name: &str| (name.to_owned(), "x".to_owned());
    let check = |when: Condition, line: &str, fields: &[&str], body: &str, is: bool| {
        let own = Override { when, faults: vec![(10_000, InjectedFault::Status(599))], ..of("*") };
        let all = served(vec![own], Options::default()).expect("overrides");
        assert_eq!(all.ask(line, fields, body).status == 599, is, "{line} {fields:?} {body}");
    };
    let path = || Condition { path: vec![text("petId")], ..Condition::default() };
    check(path(), "GET /pets/x", &[], "", true);
    check(path(), "GET /pets/y", &[], "", false);
    let header = || Condition { headers: vec![text("X-A")], ..Condition::default() };
    check(header(), "GET /pets/1", &["x-a: x"], "", true);
    check(header(), "GET /pets/1", &["x-a: y"], "", false);
    let cookie = || Condition { cookies: vec![text("c")], ..Condition::default() };
    check(cookie(), "GET /pets/1", &["cookie: c=x"], "", true);
    check(cookie(), "GET /pets/1", &["cookie: d=x"], "", false);
    let body = |value: Value| Condition {
        body: Some(BodyCondition::Holds(value)),
        ..Condition::default()
    };
    let sent = r#"{"a":{"b":1,"c":2},"l":[1,2]}"#;
    check(body(json!({ "a": { "b": 1 }, "l": [2] })), "POST /pets", &[], sent, true);
    check(body(json!({ "a": { "b": 2 } })), "POST /pets", &[], sent, false);
}

#[test]
fn sequences_go_round() {
    let step = |code: u16, times: u32| Step { code: Some(code), example: None, times };
    let own = Override { sequence: vec![step(404, 2), step(200, 0)], ..of("showPet") };
    let all = served(vec![own], Options::default()).expect("overrides");
    let status = |fields: &[&str]| all.ask("GET /pets/1", fields, "").status;
    assert_eq!([status(&[]), status(&[])], [404, 404]);
    assert_eq!(status(&["prefer: code=404"]), 404);
    assert_eq!([status(&[]), status(&[]), status(&[]), status(&[])], [200, 404, 404, 200]);
}

#[test]
fn faults_are_told() {
    let own = Override { faults: vec![(10_000, InjectedFault::Truncated(3))], ..of("*") };
    let all = served(vec![own], Options::default()).expect("overrides");
    let asked = all.ask("GET /pets/1", &[], "");
    assert_eq!((asked.status, asked.fault), (200, Some(InjectedFault::Truncated(3))));
    let all = served(Vec::new(), Options::default()).expect("overrides");
    let fault = |value: &str| all.ask("GET /pets/1", &[&format!("prefer: fault={value}")], "");
    assert_eq!(fault("reset").fault, Some(InjectedFault::Reset));
    assert_eq!(fault("timeout").fault, Some(InjectedFault::Timeout));
    assert_eq!((fault("503").status, fault("503").fault), (503, None));
    assert_eq!(fault("fire").status, 422);
    assert_eq!(all.ask("GET /pets/1", &[], "").fault, None);
}

#[test]
fn overrides_that_mean_nothing_are_refused() {
    let check = |own: Override, part: &str| {
        let error = served(vec![own], Options::default()).map(|_| ()).expect_err(part);
        assert!(error.contains(part), "{error}");
    };
    check(of("nobody"), "there is no operation `nobody`");
    check(Override { code: Some(500), ..of("showPet") }, "declares no response 500");
    let faults = vec![(9_000, InjectedFault::Reset), (2_000, InjectedFault::Timeout)];
    check(Override { faults, ..of("*") }, "more than all answers");
    let delay = Some(Delay::LogNormal { median_ms: 1, sigma: f64::NAN });
    check(Override { delay, ..of("*") }, "`sigma`");
}

#[test]
fn envelopes_are_put_around() {
    let envelope = Envelope {
        success: Some(json!({ "errcode": 0, "data": "{{body}}" })),
        failure: Some(
            json!({ "errcode": "{{status}}", "errmsg": "{{name}}: {{detail}}", "all": "{{violations}}" }),
        ),
        failure_status: Some(200),
    };
    let options = Options { envelope: Some(envelope), ..Options::default() };
    let all = served(Vec::new(), options).expect("overrides");
    let check = |line: &str, status: u16, pointer: &str, expected: Value| {
        let asked = all.ask(line, &[], "");
        let body: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
        assert_eq!((asked.status, body.pointer(pointer)), (status, Some(&expected)), "{body}");
        assert_eq!(asked.field("content-type"), Some("application/json"));
    };
    check("GET /pets/1", 200, "/data/a", json!("cat"));
    check("POST /pets", 201, "/data", Value::Null);
    check("GET /nothing", 200, "/errcode", json!(404));
    check("GET /pets/1?n=x", 200, "/all/0/location/1", json!("n"));
    check("GET /pets/1?__code=500", 200, "/errcode", json!(404));
    let declared = all.ask("GET /pets/1?__code=404", &[], "");
    assert_eq!((declared.status, declared.text().as_str()), (404, ""));
}

#[test]
fn definitions_are_mounted_below_their_base_paths() {
    let none = |file: &str| Err(file.to_owned());
    let named = |name: &str, base: Option<&str>| {
        let api = weir_mock::Api::read(name, "file", PETS, &none).expect("a definition");
        Mount { base_path: base.map(str::to_owned), ..Mount::from(Arc::new(api)) }
    };
    let mounts = vec![named("a", Some("/a/")), named("b", Some("/b")), named("c", None)];
    let all = Served(Mocks::mount(mounts, Options::default()).expect("paths"));
    let api = |line: &str| {
        let asked = all.ask(line, &[], "");
        asked.field("weir-mock").and_then(|why| Some(why.split(';').next()?.to_owned()))
    };
    assert_eq!(api("GET /a/pets/1").as_deref(), Some("api=a"));
    assert_eq!(api("GET /b/pets/1").as_deref(), Some("api=b"));
    assert_eq!(api("GET /old/pets/1").as_deref(), Some("api=c"));
    assert_eq!(api("GET /a/old/pets/1"), None);
    assert_eq!(api("GET /pets/1").as_deref(), Some("api=c"));
    assert_eq!(all.0.operations().next().map(|one| one.base_path), Some("/a"));
    let wrong = Mocks::mount(vec![named("a", Some("x"))], Options::default());
    assert!(wrong.expect_err("refused").contains("`x` does not start with `/`"));
}

#[test]
fn requests_are_explained() {
    let all = served(Vec::new(), Options::default()).expect("overrides");
    let explain = |line: &str| {
        let explained = with_call(line, &[], "", |call| all.0.explain(call, 7, 1_700_000_000_000));
        (explained.to_string(), explained.document())
    };
    let (text, document) = explain("GET /pets/7?n=x");
    assert!(text.starts_with("GET /pets/{petId} of api: the path fits"), "{text}");
    assert!(text.contains("query.n: ") && text.contains("answered 422"), "{text}");
    assert_eq!(document["variables"], json!({ "petId": "7" }));
    assert_eq!(document["problem"]["status"], 422);
    let (text, _) = explain("GET /pets/7");
    assert!(text.contains("answered 200: api=api; operation=showPet; response=200"), "{text}");
    let check = |line: &str, expected: &str, difference: &str| {
        let (text, document) = explain(line);
        let first = &document["didYouMean"][0];
        let found = format!("{} {}", first["method"], first["path"]).replace('"', "");
        assert_eq!(found, expected, "{line}: {text}");
        assert!(text.contains(&format!("did you mean {expected}")), "{text}");
        assert_eq!(first["difference"], difference, "{line}");
    };
    check("GET /pet/7", "GET /pets/{petId}", "`pets` instead of `pet`");
    check("GET /pets/7/toys", "GET /pets/{petId}", "2 segments instead of 3");
    check("DELETE /pets", "POST /pets", "the method is POST");
    check("GET /pets/7/", "GET /pets/{petId}", "the slash at the end or the query");
    let (_, document) = explain(&format!("GET {}", "/x".repeat(5_000)));
    assert_eq!((&document["didYouMean"], &document["status"]), (&json!([]), &json!(404)));
}

#[test]
fn overrides_have_bodies_that_give_back_what_the_request_holds() {
    let own = Override {
        when: Condition { query: vec![("n".into(), "1".into())], ..Condition::default() },
        code: Some(299),
        headers: vec![("X-Echo".into(), "<{{path.petId}}>".into())],
        body: Some(json!({ "id": "{{path.petId}}", "list|2": ["{{query.n}}"], "other": "{{x}}" })),
        ..of("showPet")
    };
    let all = served(vec![own], Options::default()).expect("overrides");
    let asked = all.ask("GET /pets/7?n=1", &[], "");
    let expected = r#"{"id":"7","list":["1","1"],"other":"{{x}}"}"#;
    assert_eq!((asked.status, asked.text().as_str()), (299, expected));
    assert_eq!(asked.field("x-echo"), Some("<7>"));
    assert_eq!(all.ask("GET /pets/7", &[], "").text(), r#"{"a":"cat"}"#);
    assert_eq!(all.ask("GET /pets/7?n=1&__code=404", &[], "").status, 404);
    let text = Override { body: Some(json!("plain")), ..of("showPet") };
    let all = served(vec![text], Options::default()).expect("overrides");
    assert_eq!(all.ask("GET /pets/7", &[], "").text(), "plain");
}

#[test]
fn definitions_say_how_they_are_served() {
    let root = "x-weir-mock: { validate: 'off', envelope: { success: { data: '{{body}}' } } }\n";
    let own =
        "operationId: showPet\n      x-weir-mock: [ { when: { query: { n: 1 } }, code: 404 } ]";
    let text = format!("{root}{}", PETS.trim_start().replace("operationId: showPet", own));
    let all = asked::mocks(&text);
    assert_eq!(all.ask("GET /pets/1?n=x", &[], "").text(), r#"{"data":{"a":"cat"}}"#);
    assert_eq!(all.ask("GET /pets/1?n=1", &[], "").status, 404);
    let wrong = text.replace("code: 404", "cod: 404");
    let error = api(&wrong).expect_err("refused").to_string();
    let place = "file#/paths/~1pets~1{petId}/get/x-weir-mock/0/cod: there is no `cod`";
    assert!(error.starts_with(place), "{error}");
}

#[test]
fn what_is_said_outside_goes_before_what_a_definition_says() {
    let text = format!("x-weir-mock: {{ delay: 7, seed: 1 }}\n{}", PETS.trim_start());
    let settings = Settings { delay: Some(Delay::Fixed(9)), ..Settings::default() };
    let mount = Mount { settings, ..Mount::from(Arc::new(api(&text).expect("a definition"))) };
    let options = Options { delay: Delay::Fixed(5), ..Options::default() };
    let all = Served(Mocks::mount(vec![mount], options).expect("paths"));
    assert_eq!(all.ask("GET /pets/1", &[], "").delay_ms, 9);
    assert_eq!(asked::mocks(&text).ask("GET /pets/1", &[], "").delay_ms, 7);
}

#[test]
fn definitions_for_a_host_are_apart_from_those_for_all() {
    let named = |name: &str, hosts: &[&str]| {
        let none = |file: &str| Err(file.to_owned());
        let api = weir_mock::Api::read(name, "file", PETS, &none).expect("a definition");
        let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        Mount { hosts, ..Mount::from(Arc::new(api)) }
    };
    let mounts = vec![named("a", &["A.example:80", "c.example"]), named("b", &["b.example"])];
    let check = |all: &Served, fields: &[&str], expected: Option<&str>| {
        let asked = all.ask("GET /pets/1", fields, "");
        let found = asked.field("weir-mock").and_then(|why| why.split(';').next());
        assert_eq!(found, expected, "{fields:?}");
    };
    let header = || Options { select_header: Some("X-Api".to_owned()), ..Options::default() };
    let all = Served(Mocks::mount(mounts.clone(), header()).expect("paths"));
    check(&all, &["host: a.EXAMPLE:8080"], Some("api=a"));
    check(&all, &["host: c.example"], Some("api=a"));
    check(&all, &["host: b.example"], Some("api=b"));
    check(&all, &["host: d.example"], None);
    check(&all, &["host: d.example", "x-api: b"], Some("api=b"));
    let more = [mounts, vec![named("d", &[])]].concat();
    let all = Served(Mocks::mount(more, header()).expect("paths"));
    check(&all, &["host: d.example"], Some("api=d"));
    check(&all, &["host: b.example"], Some("api=b"));
}

#[test]
fn a_table_is_swapped_below_the_routes_that_lead_to_it() {
    let table = Arc::new(MockTable::default());
    let (any, only) = (
        MockSource::Stored(table.clone(), StoredPart::default()),
        MockSource::Stored(table.clone(), StoredPart { tenant: None, name: Some("b".into()) }),
    );
    let status = |source: &MockSource| {
        with_call("GET /pets/1", &[], "", |call| source.answer(call, 7, 0).status)
    };
    assert_eq!([status(&any), status(&only)], [404, 404]);
    let mounted = |name: &str| {
        let none = |file: &str| Err(file.to_owned());
        let api = weir_mock::Api::read(name, "file", PETS, &none).expect("a definition");
        Arc::new(Mounted::new(Mount::from(Arc::new(api)), &Options::default()).expect("a mount"))
    };
    let serve = |all: Vec<Arc<Mounted>>| {
        let mocks = Mocks::of_mounted(all, Options::default(), true).expect("paths");
        table.swap(Arc::new(mocks.into()));
    };
    serve(vec![mounted("a")]);
    assert_eq!([status(&any), status(&only)], [200, 404]);
    serve(vec![mounted("a"), mounted("b")]);
    assert_eq!([status(&any), status(&only)], [200, 200]);
}
