//! `weir.groups`: parsing, findings and compiled routes.

use weir_config::{Compiled, Format, Loaded, Loader, Severity, Source};
use weir_route::index::Scratch;
use weir_route::{Request, RequestParts};
use weir_snapshot::Snapshot;
use weir_wire::RequestHead;

fn load(text: &str) -> Loaded {
    let mut loader = Loader::new(Vec::new(), &[], Vec::new());
    loader.add(Source::new("application.yml", text, Format::Yaml));
    loader.load()
}

fn compile(text: &str) -> (Loaded, Compiled) {
    let mut loaded = load(text);
    let compiled = loaded.compile();
    assert!(!loaded.is_refused(), "{:?}", loaded.diagnostics);
    (loaded, compiled)
}

/// Checks `line: code message` of each finding except notes.
fn check(text: &str, expected: &[&str]) {
    let mut loaded = load(text);
    loaded.check();
    loaded.sort_findings();
    let findings = loaded.diagnostics.iter().filter(|found| found.severity > Severity::Note);
    let told: Vec<String> = findings
        .map(|found| {
            let line = found.at.map_or(0, |at| loaded.sources().place(at).line);
            format!("{line}: {} {}", found.code.as_str(), found.message)
        })
        .collect();
    assert_eq!(told, expected, "{text}");
}

fn winner(snapshot: &Snapshot, host: &str, path: &str) -> Option<String> {
    let mut head = RequestHead::default();
    head.set_method(b"GET");
    head.fields.append(b"Host", host.as_bytes());
    head.receive_target(path.as_bytes(), None, None);
    let parts = RequestParts::of(&head);
    let peer = std::net::Ipv4Addr::LOCALHOST.into();
    let request = Request { head: &head, parts: &parts, peer, now_ms: 0, dice: 0 };
    let found = snapshot.index.lookup(&request, &mut Scratch::default());
    found.map(|route| route.id.to_string())
}

const SHOP: &str = "
weir.groups:
- id: shop
  predicates: [ Host=shop.org ]
  filters: [ 'AddRequestHeader=X-Tenant, shop', { name: SetStatus, args: { status: 201 } } ]
  uri: http://shop
  metadata: { connect-timeout: 100, owner: shop }
  routes:
  - id: cart
    predicates: [ Path=/cart ]
    filters: [ 'AddResponseHeader=X-Own, 1' ]
  - { id: pay, predicates: [ Path=/pay ], uri: 'http://pay', metadata: { owner: pay } }
  - { id: rest, order: 9 }
spring.cloud.gateway:
  default-filters: [ 'AddResponseHeader=X-Default, 1' ]
  routes:
  - { id: free, uri: 'http://free', predicates: [ Path=/** ] }
  - { id: late, group: shop, predicates: [ Path=/late ] }
";

#[test]
fn routes_have_what_their_group_has() {
    let (loaded, compiled) = compile(SHOP);
    let definition = |id: &str| compiled.definitions.iter().find(|route| route.id == id);
    let shown = |id: &str| {
        let definition = definition(id).expect("a definition");
        let whole = loaded.compiler.effective(&definition).into_owned();
        let route = compiled.routes.iter().find(|route| *route.id == *id).expect("a route");
        let predicates: Vec<_> = route.all_predicates().map(ToString::to_string).collect();
        let chain: Vec<_> =
            route.target.chain.entries().iter().map(|entry| entry.filter.spec().name).collect();
        let metadata = serde_json::Value::Object(whole.metadata);
        format!("{} | {} | {} | {metadata}", predicates.join(" & "), chain.join(" "), whole.uri)
    };
    assert_eq!(
        shown("cart"),
        "Hosts: [shop.org] & Paths: [/cart], match trailing slash: true | AddResponseHeader \
         AddRequestHeader SetStatus AddResponseHeader | http://shop | \
         {\"connect-timeout\":100,\"owner\":\"shop\"}"
    );
    assert_eq!(
        shown("pay"),
        "Hosts: [shop.org] & Paths: [/pay], match trailing slash: true | AddResponseHeader \
         AddRequestHeader SetStatus | http://pay | {\"connect-timeout\":100,\"owner\":\"pay\"}"
    );
    assert!(shown("rest").starts_with("Hosts: [shop.org] | "));
    assert!(shown("late").contains("Paths: [/late]") && shown("late").contains("http://shop"));
    assert!(shown("free").starts_with("Paths: [/**], match trailing slash: true | AddResp"));
    let cart = definition("cart").expect("a definition");
    assert_eq!((cart.group.as_str(), cart.predicates.len(), cart.uri.as_str()), ("shop", 1, ""));
}

#[test]
fn what_routes_share_is_kept_once() {
    let (_, compiled) = compile(SHOP);
    let groups: Vec<_> = compiled.routes.iter().filter_map(|route| route.group.clone()).collect();
    assert_eq!(groups.len(), 4);
    assert!(groups.windows(2).all(|pair| std::sync::Arc::ptr_eq(&pair[0], &pair[1])));
    let chain = |id: &str| {
        let route = compiled.routes.iter().find(|route| *route.id == *id).expect("a route");
        route.target.chain.shared().map(std::sync::Arc::as_ptr)
    };
    assert!(chain("rest").is_some());
    assert_eq!(chain("rest"), chain("late"));
    assert!(chain("free").is_none(), "a single filter lies in the route");
}

#[test]
fn a_request_finds_its_route_in_two_levels() {
    let (loaded, compiled) = compile(SHOP);
    let snapshot = loaded.compiler.snapshot(compiled.routes);
    let check = |host: &str, path: &str, expected: &str| {
        assert_eq!(winner(&snapshot, host, path).as_deref(), Some(expected), "{host}{path}");
    };
    check("shop.org", "/cart", "cart");
    check("shop.org", "/late", "late");
    check("shop.org", "/x", "rest");
    check("else.org", "/cart", "free");
}

#[test]
fn a_group_works_as_if_it_were_written_out() {
    let expanded = "
spring.cloud.gateway:
  default-filters: [ 'AddResponseHeader=X-Default, 1' ]
  routes:
  - id: cart
    uri: http://shop
    predicates: [ Host=shop.org, Path=/cart ]
    filters: [ 'AddRequestHeader=X-Tenant, shop', SetStatus=201, 'AddResponseHeader=X-Own, 1' ]
    metadata: { connect-timeout: 100, owner: shop }
";
    let (_, grouped) = compile(SHOP);
    let (_, written_out) = compile(expanded);
    let shown = |compiled: &Compiled| {
        let route = compiled.routes.iter().find(|route| &*route.id == "cart").expect("a route");
        let predicates: Vec<_> = route.all_predicates().map(ToString::to_string).collect();
        format!("{predicates:?} {:?} {:?}", route.target.chain, route.target.timeouts())
    };
    assert_eq!(shown(&grouped), shown(&written_out));
}

#[test]
fn cross_origin_rules_of_a_group_are_those_of_its_routes() {
    let text = "
weir.groups:
- id: g
  order: -1
  uri: http://h
  metadata: { cors: { allowedOrigins: [ 'http://a' ] } }
  routes: [ { id: a, predicates: [ Path=/a ] } ]
";
    let (loaded, compiled) = compile(text);
    let cors = compiled.routes[0].target.cors().expect("rules");
    assert_eq!(cors.pattern.as_deref(), Some("/a"));
    assert_eq!(cors.group.as_ref().map(|group| group.order), Some(-1));
    assert!(!loaded.compiler.snapshot(compiled.routes).cors.is_empty());
}

#[test]
fn what_is_wrong_with_a_group_is_said_once_in_its_place() {
    check(
        "weir.groups:\n- id: a\n  uri: http://h\n  predicates: [ Hst=x ]\n  filters: [ StripPrefix=x ]\n  \
         routes:\n  - { id: r, predicates: [ Path=/a ] }\n  - { id: s, predicates: [ Path=/b ] }\n",
        &[
            "4: unknown-predicate there is no predicate `Hst`",
            "5: invalid-argument StripPrefix: `x` is not a whole number",
        ],
    );
    check(
        "weir.groups:\n- id: a\n  uri: http://h\n  predicates: [ 'Weight=g, 1' ]\n  routes:\n  \
         - { id: r, predicates: [ Path=/a ] }\n",
        &["4: invalid-argument a group cannot have a weight: it is not what a request draws"],
    );
}

#[test]
fn shapes_that_are_none_are_named() {
    check("weir.groups: { a: {} }\n", &["1: route-shape `groups` is not a list"]);
    check(
        "weir.groups:\n- x\n- predicates: [ Path=/a ]\n- id: a\n  routes: { r: {} }\n",
        &[
            "2: route-shape a group must be a map with `id`, `predicates` and `routes`",
            "3: route-shape a group needs an `id`",
            "5: route-shape `routes` of a group is not a list",
        ],
    );
    check(
        "weir.groups:\n- id: a\n  enabled: false\n  filter: []\n",
        &[
            "2: empty-group no route of the files is in the group `a`",
            "3: unknown-property a group has no `enabled`",
            "4: unknown-property a group has no `filter`",
        ],
    );
    check(
        "weir.groups:\n- { id: a, uri: 'http://h', routes: [ 'r=http://h, Path=/r' ] }\n- id: a\n",
        &["3: duplicate-group duplicate group `a`"],
    );
    check(
        "weir.groups:\n- id: a\n  routes:\n  - id: r\n    uri: http://h\n    group: a\n    \
         predicates: [ Path=/r ]\n",
        &["6: route-shape this route is in the group `a` already"],
    );
    check("weir.group: []\n", &["1: unknown-property unknown property `weir.group`"]);
}

#[test]
fn routes_of_a_group_need_what_the_group_does_not_give() {
    check(
        "weir.groups:\n- id: a\n  routes:\n  - id: r\n    predicates: [ Path=/r ]\n  - id: s\n    \
         uri: http://h\n",
        &["4: invalid-uri the uri is empty", "6: no-predicates the route has no predicates"],
    );
    check(
        "spring.cloud.gateway.routes:\n- id: r\n  uri: http://h\n  group: shp\n  \
         predicates: [ Path=/r ]\nweir.groups:\n- id: shop\n",
        &[
            "4: unknown-group there is no group `shp`",
            "7: empty-group no route of the files is in the group `shop`",
        ],
    );
}

#[test]
fn a_route_that_another_of_its_group_takes_is_told() {
    check(
        "weir.groups:\n- id: a\n  uri: http://h\n  predicates: [ Host=a.org ]\n  routes:\n  \
         - { id: all, predicates: [ Path=/** ] }\n  - { id: one, predicates: [ Path=/1 ] }\n\
         spring.cloud.gateway.routes:\n\
         - { id: out, uri: 'http://h', predicates: [ Host=a.org, Path=/2 ] }\n\
         - { id: other, uri: 'http://h', predicates: [ Path=/2 ] }\n",
        &[
            "7: shadowed-route this route never matches: `all` (application.yml:6:11) takes all \
             its requests",
            "9: shadowed-route this route never matches: `all` (application.yml:6:11) takes all \
             its requests",
        ],
    );
}

#[test]
fn variables_of_the_group_are_there_for_filters_of_the_route() {
    check(
        "weir.groups:\n- id: a\n  uri: http://h\n  predicates: [ 'Host={tenant}.org' ]\n  routes:\n  \
         - { id: r, predicates: [ Path=/r ], filters: [ 'AddRequestHeader=X-T, {tenant}' ] }\n",
        &[],
    );
}

#[test]
fn a_reading_without_groups_is_as_ever() {
    let text =
        "spring.cloud.gateway.routes:\n- { id: r, uri: 'http://h', predicates: [ Path=/r ] }\n";
    let (loaded, compiled) = compile(text);
    assert!(loaded.diagnostics.iter().all(|found| found.severity <= Severity::Note));
    assert!(compiled.routes[0].group.is_none());
    let json = serde_json::to_string(&compiled.definitions.get(0)).expect("json");
    assert!(!json.contains("group"), "{json}");
}
