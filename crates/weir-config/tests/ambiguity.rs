//! Ambiguous paths: policies of routes.

use weir_config::{Format, Loader, Source};
use weir_route::index::Scratch;
use weir_route::{Request, RequestParts};
use weir_wire::RequestHead;

const ROUTES: &str = "
spring.cloud.gateway.routes:
- { id: admin, uri: 'http://a', predicates: [ 'Path=/admin/**' ] }
- { id: id, uri: 'http://a', predicates: [ 'Path=/id/{x}' ] }
- { id: refuse, uri: 'http://a', predicates: [ 'Path=/refuse/**' ],
metadata: { ambiguous-paths: REFUSE } }
- { id: keep, uri: 'http://a', predicates: [ 'Path=/keep/**' ],
metadata: { ambiguous-paths: keep } }
- { id: all, uri: 'http://a', predicates: [ 'Path=/all/**' ] }
";

/// Checks the id of the route that serves `path`, or the reason for which it is refused.
fn check(config: &str, path: &str, expected: &str) {
    let mut loader = Loader::new(Vec::new(), &[], Vec::new());
    loader.add(Source::new("a.yml", format!("{ROUTES}{config}"), Format::Yaml));
    let mut loaded = loader.load();
    let compiled = loaded.compile();
    assert!(!loaded.is_refused(), "{:?}", loaded.diagnostics);
    let snapshot = loaded.compiler.snapshot(compiled.routes);
    let mut head = RequestHead::default();
    head.receive_target(path.as_bytes(), None, None);
    let parts = RequestParts::of(&head);
    let peer = std::net::IpAddr::from([127, 0, 0, 1]);
    let request = Request { head: &head, parts: &parts, peer, now_ms: 0, dice: 0 };
    let mut scratch = Scratch::default();
    let route = snapshot.index.lookup(&request, &mut scratch).expect(path);
    let told = match snapshot.ambiguity(route, &request, &mut scratch) {
        None => route.id.to_string(),
        Some(why) => why.to_string(),
    };
    assert_eq!(told, expected, "{path}");
}

#[test]
fn each_route_has_a_policy() {
    const DOTS: &str = "some servers see `..` segments in the path";
    const TWO: &str = "servers read the path in different ways";
    check("", "/id/a%2Fb", "id");
    check("", "/id/a%2F..", DOTS);
    check("", "/all/a%2Fb;c//d.", "all");
    check("", "/refuse/a%20b", "refuse");
    check("", "/refuse/a%2Fb", TWO);
    check("", "/refuse/a;b", TWO);
    check("", "/keep/a%2F..", "keep");
    let refuse = "weir.server.ambiguous-paths: refuse\n";
    check(refuse, "/id/a%2Fb", TWO);
    check(refuse, "/id/a", "id");
    check(refuse, "/keep/a%2Fb", "keep");
    check("weir.server.ambiguous-paths: keep\n", "/refuse/a%2Fb", TWO);
}

#[test]
fn a_path_of_two_routes_is_refused() {
    const ADMIN: &str = "some servers read the path as one of route admin";
    let rest = "- { id: rest, uri: 'http://a', predicates: [ 'Path=/**' ] }\n";
    for path in ["/admin%2Fx", "//admin/x", "/admin%5cx", "/admin%3bx", "/;/admin", "/admin."] {
        check(rest, path, ADMIN);
    }
    check(rest, "/admin;x/y", "admin");
    check(rest, "/other%2Fx", "rest");
    check(rest, "/id/a%2Fb", "some servers read the path as one of route rest");
}
