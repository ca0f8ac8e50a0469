//! Definitions of tenants: a request is answered from those of its own tenant, or not at all.

mod asked;

use std::collections::BTreeMap;
use std::sync::Arc;

use asked::with_call;
use weir_mock::{
    Api, ApiSources, MockSet, MockSource, MockTable, Mount, Mounted, Options, StoredPart,
    TenantForm, check_tenant,
};

/// A definition with these paths, whose answers say whose it is.
fn mounted(owner: &str, name: &str, paths: &[&str], options: &Options) -> Arc<Mounted> {
    let example = format!("{{ content: {{ application/json: {{ example: '{owner}/{name}' }} }} }}");
    let paths = paths
        .iter()
        .map(|path| format!("  '{path}': {{ get: {{ responses: {{ '200': {example} }} }} }}\n"));
    let text = format!("openapi: 3.1.0\npaths:\n{}", paths.collect::<String>());
    let api = Api::read(name, name, &text, &|_: &str| Err("alone".to_owned())).expect("sound");
    Arc::new(Mounted::new(Mount::from(Arc::new(api)), options).expect("sound"))
}

fn stored(set: MockSet, part: StoredPart) -> MockSource {
    let table = Arc::new(MockTable::default());
    table.swap(Arc::new(set));
    MockSource::Stored(table, part)
}

/// The status, and the body of an answer with 200 or the name of the fault.
fn ask(source: &MockSource, line: &str, fields: &[&str]) -> (u16, String) {
    let reply = with_call(line, fields, "", |call| source.answer(call, 7, 0));
    let body: serde_json::Value = serde_json::from_slice(&reply.body).expect("JSON");
    let told = body.as_str().or_else(|| body["type"].as_str()).unwrap_or_default();
    (reply.status, told.trim_start_matches("urn:weir:mock:").to_owned())
}

fn set(form: Option<TenantForm>) -> MockSet {
    let options = Options { select_header: Some("X-Api".to_owned()), ..Options::default() };
    let mut set = MockSet::named(&options, form);
    let all = [("", "shop"), ("acme", "shop"), ("globex", "shop"), ("globex", "other")];
    for (tenant, name) in all {
        set.put(tenant, mounted(tenant, name, &["/items", "/items/{id}"], &options)).expect("few");
    }
    set.put("acme", mounted("acme", "more", &["/more"], &options)).expect("few");
    set
}

#[test]
fn each_form_leads_to_the_tenant_and_to_nobody_else() {
    const NOBODY: &str = "NO_TENANT_PATH_MATCHED_ERROR";
    let check = |form: &TenantForm, line: &str, fields: &[&str], expected: (u16, &str)| {
        let source = stored(set(Some(form.clone())), StoredPart::default());
        let found = ask(&source, line, fields);
        assert_eq!((found.0, found.1.as_str()), expected, "{form}: {line} {fields:?}");
    };
    let form = TenantForm::header("X-Tenant").expect("a name");
    for (tenant, expected) in [
        ("acme", (200, "acme/shop")),
        ("globex", (200, "globex/other")),
        ("Acme", (404, NOBODY)),
        ("nobody", (404, NOBODY)),
        ("acme/shop", (404, NOBODY)),
        ("", (200, "/shop")),
    ] {
        check(&form, "GET /items/1", &[&format!("X-Tenant: {tenant}")], expected);
    }
    check(&form, "GET /items/1", &["X-Tenant: acme", "X-Tenant: acme"], (200, "acme/shop"));
    check(&form, "GET /items/1", &["X-Tenant: acme", "X-Tenant: globex"], (404, NOBODY));
    check(&form, "GET /items", &["X-Tenant: globex", "X-Api: shop"], (200, "globex/shop"));
    check(&form, "GET /items", &["X-Tenant: acme", "X-Api: other"], (404, NOBODY));
    check(&form, "GET /items", &[], (200, "/shop"));
    check(&form, "GET /more", &["X-Tenant: acme"], (200, "acme/more"));
    check(&form, "GET /more", &["X-Tenant: globex"], (404, NOBODY));
    check(&form, "GET /more", &[], (404, "NO_TENANT_NAMED_ERROR"));

    let form = TenantForm::host("{tenant}.mock.example").expect("a host");
    check(&form, "GET /items", &["Host: ACME.mock.example:8080"], (200, "acme/shop"));
    check(&form, "GET /items", &["Host: globex.mock.example"], (200, "globex/other"));
    check(&form, "GET /items", &["Host: a.acme.mock.example"], (404, NOBODY));
    check(&form, "GET /items", &["Host: mock.example"], (200, "/shop"));
    check(&form, "GET /items", &[], (200, "/shop"));

    let form = TenantForm::path("/mock/{tenant}").expect("a path");
    check(&form, "GET /mock/acme/items/1", &[], (200, "acme/shop"));
    check(&form, "GET /mock/globex/items", &[], (200, "globex/other"));
    check(&form, "GET /mock/acme", &[], (404, NOBODY));
    check(&form, "GET /mock/nobody/items", &[], (404, NOBODY));
    check(&form, "GET /items", &["X-Tenant: acme"], (200, "/shop"));
    check(&form, "GET /mocks/acme/items", &[], (404, "NO_TENANT_NAMED_ERROR"));
}

#[test]
fn a_tenant_that_does_not_exist_is_answered_like_a_path_that_does_not() {
    let form = TenantForm::header("X-Tenant").expect("a name");
    let source = stored(set(Some(form)), StoredPart::default());
    let whole = |line: &str, tenant: &str| {
        let field = format!("X-Tenant: {tenant}");
        with_call(line, &[&field], "", |call| source.answer(call, 7, 0))
    };
    assert_eq!(whole("GET /none", "acme"), whole("GET /none", "nobody"));
    let told = String::from_utf8(whole("GET /none", "acme").body).expect("text");
    assert!(told.contains("X-Tenant") && !told.contains("globex"), "{told}");
}

#[test]
fn a_route_can_lead_to_one_tenant_or_to_one_of_its_definitions() {
    let table = Arc::new(MockTable::default());
    table.swap(Arc::new(set(TenantForm::header("X-Tenant").ok())));
    let sources = ApiSources::new(Default::default(), table);
    let status = |uri: &str, line: &str| {
        let source = sources.source(uri).unwrap_or_else(|why| panic!("{why:?}"));
        ask(&source, line, &["X-Tenant: globex"]).1
    };
    assert_eq!(status("store", "GET /items"), "globex/other");
    assert_eq!(status("store/shop", "GET /items"), "globex/shop");
    assert_eq!(status("store/acme/*", "GET /more"), "acme/more");
    assert_eq!(status("store/acme/shop", "GET /items"), "acme/shop");
    assert_eq!(status("store/acme/shop/", "GET /more"), "NO_TENANT_PATH_MATCHED_ERROR");
    for wrong in ["store/ACME/shop", "store/acme/shop/more", "store//shop", "store/all/*"] {
        assert!(sources.source(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_answer_names_the_tenant_and_so_does_its_explanation() {
    let source = stored(set(TenantForm::header("X-Tenant").ok()), StoredPart::default());
    let told = |fields: &[&str]| {
        let reply = with_call("GET /items", fields, "", |call| source.answer(call, 7, 0));
        let field = reply.fields.iter().find(|(name, _)| name == "Weir-Mock");
        (field.map(|(_, value)| String::from_utf8_lossy(value).into_owned()), reply)
    };
    let (field, reply) = told(&["X-Tenant: acme"]);
    let field = field.expect("a field");
    assert!(field.starts_with("tenant=acme; api=shop; "), "{field}");
    assert_eq!(field, reply.why);
    let (field, _) = told(&[]);
    assert!(field.is_some_and(|field| field.starts_with("api=shop; ")));
    let (_, reply) = told(&["X-Tenant: acme", "Prefer: explain=true"]);
    let document: serde_json::Value = serde_json::from_slice(&reply.body).expect("JSON");
    assert_eq!((&document["tenant"], &document["api"]), (&"acme".into(), &"shop".into()));
}

#[test]
fn the_same_definition_answers_alike_in_each_tenant_and_keeps_state_apart() {
    let text = "openapi: 3.1.0
paths:
  /items:
    get:
      responses: { '200': { content: { application/json: { schema: { type: array, maxItems: 9, items: &item { type: object, required: [ id, n ], properties: { id: { type: integer }, n: { type: number } } } } } } } }
    post:
      requestBody: { content: { application/json: { schema: *item } } }
      responses: { '201': { content: { application/json: { schema: *item } } } }
  /items/{id}:
    get:
      parameters: [ { name: id, in: path, required: true, schema: { type: integer } } ]
      responses: { '200': { content: { application/json: { schema: *item } } } }
";
    let options = Options { seed: Some(3), dynamic: true, ..Options::default() };
    let run = |options: &Options| {
        let mut set = MockSet::named(options, TenantForm::header("X-Tenant").ok());
        for tenant in ["acme", "globex"] {
            let api = Api::read("shop", "file", text, &|_: &str| Err("alone".to_owned()));
            let mount = Mount::from(Arc::new(api.expect("sound")));
            set.put(tenant, Arc::new(Mounted::new(mount, options).expect("sound"))).expect("few");
        }
        stored(set, StoredPart::default())
    };
    let body = |source: &MockSource, line: &str, tenant: &str, body: &str| {
        let tenant = format!("X-Tenant: {tenant}");
        let fields = [tenant.as_str(), "Content-Type: application/json"];
        let reply = with_call(line, &fields, body, |call| source.answer(call, 7, 0));
        String::from_utf8(reply.body).expect("text")
    };
    let generated = run(&options);
    let one = body(&generated, "GET /items", "acme", "");
    assert_eq!(one, body(&generated, "GET /items", "globex", ""));
    let stateful = run(&Options { stateful: true, ..options });
    let empty = body(&stateful, "GET /items", "globex", "");
    body(&stateful, "POST /items", "acme", r#"{ "id": 1, "n": 77 }"#);
    assert!(body(&stateful, "GET /items", "acme", "").contains("77"));
    assert_eq!(body(&stateful, "GET /items", "globex", ""), empty);
    body(&stateful, "POST /__weir/reset", "globex", "");
    assert!(body(&stateful, "GET /items", "acme", "").contains("77"), "another's reset");
    body(&stateful, "POST /__weir/reset", "acme", "");
    assert!(!body(&stateful, "GET /items", "acme", "").contains("77"));
}

/// Whatever is written and removed, a request of a tenant is answered from what this tenant has,
/// as a model of one map for each tenant says.
#[test]
fn random_changes_never_show_in_the_answers_of_others() {
    const TENANTS: [&str; 4] = ["", "a", "b", "c-d"];
    const PATHS: [&str; 4] = ["/x", "/{v}", "/x/{v}", "/y/z"];
    const ASKED: [&str; 4] = ["/x", "/w", "/x/1", "/y/z"];
    let options = Options::default();
    let mut set = MockSet::named(&options, TenantForm::header("T").ok());
    let mut model: BTreeMap<(&str, String), Vec<&str>> = BTreeMap::new();
    let mut dice = 9_u64;
    let mut roll = |sides: usize| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(dice >> 33).expect("31 bits") % sides
    };
    let mut answered = 0;
    for n in 0..300 {
        let (tenant, name) = (TENANTS[roll(4)], format!("d{}", roll(3)));
        if roll(3) == 0 {
            let gone = set.remove(tenant, &name).is_some();
            assert_eq!(gone, model.remove(&(tenant, name)).is_some());
        } else {
            let bits = roll(15) + 1;
            let chosen = PATHS.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
            let paths: Vec<&str> = chosen.map(|(_, path)| *path).collect();
            set.put(tenant, mounted(tenant, &name, &paths, &options)).expect("few shapes");
            model.insert((tenant, name), paths);
        }
        let source = stored(set.clone(), StoredPart::default());
        for tenant in TENANTS {
            let mut alone = MockSet::named(&options, None);
            for ((_, name), paths) in model.iter().filter(|((own, _), _)| *own == tenant) {
                alone.put("", mounted(tenant, name, paths, &options)).expect("few shapes");
            }
            let alone = stored(alone, StoredPart::default());
            for path in ASKED {
                let line = format!("GET {path}");
                let field = format!("T: {tenant}");
                let fields: &[&str] = if tenant.is_empty() { &[] } else { &[&field] };
                let (expected, found) = (ask(&alone, &line, fields), ask(&source, &line, fields));
                assert_eq!(found.0, expected.0, "change {n}: {tenant} {path}");
                if found.0 == 200 {
                    answered += 1;
                    assert_eq!(found.1, expected.1, "change {n}: {tenant} {path}");
                    assert!(found.1.starts_with(&format!("{tenant}/")), "{}", found.1);
                }
            }
        }
    }
    assert!(answered > 1_000, "{answered} answers of 4,800 are from definitions");
}

#[test]
fn forms_and_names_that_cannot_work_are_refused() {
    for host in
        ["mock.example", "{tenant}", "{tenant}.{tenant}.example", "{tenant}./x.y", "{tenant}:80"]
    {
        assert!(TenantForm::host(host).is_err(), "{host}");
    }
    for path in
        ["/mock", "{tenant}", "/{tenant}/x", "//{tenant}", "/a?{tenant}", "/{tenant}{tenant}"]
    {
        assert!(TenantForm::path(path).is_err(), "{path}");
    }
    assert!(TenantForm::path("/{tenant}").is_ok());
    for name in ["", "X Tenant", "X:T"] {
        assert!(TenantForm::header(name).is_err(), "{name}");
    }
    let long = "a".repeat(64);
    for name in ["", "A", "a.b", "a/b", "*", "é", "all", "store", &long] {
        assert!(check_tenant(name).is_err(), "{name}");
    }
    assert!(check_tenant("team_a-1").is_ok());
}
