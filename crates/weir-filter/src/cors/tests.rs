//! Table tests of CORS, mostly from observed behaviour of SCG 5.0.4.

use std::sync::Arc;

use weir_route::index::Scratch;
use weir_route::predicate::PredicateOptions;
use weir_route::{Request, RequestParts};

use super::{
    CorsChange, CorsConfiguration, CorsDecision, CorsField, CorsPolicy, CorsRoute, CorsRule,
};
use crate::test_exchange::request_head;

const VARY: &str = "Vary: Origin|Vary: Access-Control-Request-Method|\
                    Vary: Access-Control-Request-Headers";

fn list(texts: &str) -> Vec<String> {
    texts.split_whitespace().map(str::to_owned).collect()
}

fn rule(configuration: CorsConfiguration) -> Arc<CorsRule> {
    Arc::new(configuration.compile().expect("a rule"))
}

fn strict() -> CorsConfiguration {
    CorsConfiguration {
        allowed_origins: list("https://docs.example https://two.example/"),
        allowed_methods: list("GET POST"),
        allowed_headers: list("X-One Content-Type"),
        exposed_headers: list("X-Out X-More"),
        allow_credentials: true,
        max_age_s: Some(30),
        ..CorsConfiguration::default()
    }
}

fn of_origin(origin: &str) -> CorsConfiguration {
    CorsConfiguration { allowed_origins: list(origin), ..CorsConfiguration::default() }
}

fn policy() -> CorsPolicy {
    let any = list("*");
    let open = CorsConfiguration {
        allowed_origins: any.clone(),
        allowed_methods: any.clone(),
        allowed_headers: any,
        ..CorsConfiguration::default()
    };
    let patterns = CorsConfiguration {
        allowed_origin_patterns: list("https://*.pattern.example http://localhost:[*]"),
        allowed_methods: list("GET"),
        allow_credentials: true,
        ..CorsConfiguration::default()
    };
    let own =
        CorsConfiguration { allowed_methods: list("PUT"), ..of_origin("https://own.example") };
    let global = [
        ("/strict/**".to_owned(), rule(strict())),
        ("/open/**".to_owned(), rule(open)),
        ("/pattern/**".to_owned(), rule(patterns)),
        ("/bare/**".to_owned(), rule(of_origin("https://docs.example"))),
    ];
    let route = CorsRoute {
        order: 0,
        position: 7,
        group: None,
        pattern: Some("/open/own"),
        rule: rule(own),
    };
    let options = PredicateOptions::default();
    CorsPolicy::build(&global, [route], false, &options).expect("a policy")
}

fn decide(policy: &CorsPolicy, request: &str, matched: bool) -> String {
    let head = request_head(request);
    let parts = RequestParts::of(&head);
    let peer = "127.0.0.1".parse().expect("an address");
    let request = Request { head: &head, parts: &parts, peer, now_ms: 0, dice: 0 };
    match policy.decide(&request, false, matched, &mut Scratch::default()) {
        CorsDecision::NotCors => "not cors".to_owned(),
        CorsDecision::Proceed(fields) => {
            let line =
                |(name, value): &CorsField| format!("{name}: {}", String::from_utf8_lossy(value));
            fields.iter().map(line).collect::<Vec<_>>().join("|")
        }
        CorsDecision::Respond(local) => {
            assert!(local.body.is_empty());
            let mut text = local.status.to_string();
            for (name, value) in &local.fields {
                text += &format!("|{name}: {}", String::from_utf8_lossy(value));
            }
            text
        }
    }
}

/// Checks the result; `VARY` in `expected` stands for the full Vary fields.
fn check(request: &str, expected: &str) {
    let expected = expected.replace("VARY", VARY);
    assert_eq!(decide(&policy(), request, true), expected, "{request}");
}

#[test]
fn simple_requests() {
    let docs = "VARY|Access-Control-Allow-Origin: https://docs.example|\
                Access-Control-Expose-Headers: X-Out, X-More|\
                Access-Control-Allow-Credentials: true";
    check("GET /strict/x HTTP/1.1", "VARY");
    check("GET /strict/x HTTP/1.1\nOrigin: https://docs.example", docs);
    check(
        "GET /strict/x HTTP/1.1\nOrigin: https://TWO.example/",
        &docs.replace("https://docs.example", "https://TWO.example/"),
    );
    check("GET /strict/x HTTP/1.1\nOrigin: http://gw.example", "VARY");
    for origin in ["https://evil.example", "null", "nonsense", "https://docs.example:1"] {
        check(&format!("GET /strict/x HTTP/1.1\nOrigin: {origin}"), "403|VARY");
    }
    check("DELETE /strict/x HTTP/1.1\nOrigin: https://docs.example", "403|VARY");
    check("OPTIONS /strict/x HTTP/1.1\nOrigin: https://docs.example", "403|VARY");
    check("GET /else/x HTTP/1.1\nOrigin: https://evil.example", "not cors");
    check(
        "GET /open/x HTTP/1.1\nOrigin: https://any.example",
        "VARY|Access-Control-Allow-Origin: *",
    );
}

#[test]
fn preflights() {
    let ask = |path: &str, origin: &str, method: &str, more: &str| {
        let line = "Access-Control-Request-Method";
        format!("OPTIONS {path} HTTP/1.1\nOrigin: {origin}\n{line}: {method}{more}")
    };
    let docs = |headers: &str| {
        format!(
            "200|VARY|Access-Control-Allow-Origin: https://docs.example|\
             Access-Control-Allow-Methods: GET,POST{headers}|\
             Access-Control-Expose-Headers: X-Out, X-More|Access-Control-Allow-Credentials: true|\
             Access-Control-Max-Age: 30"
        )
    };
    let asked = "\nAccess-Control-Request-Headers: x-one, x-three";
    let docs_ask =
        |method: &str, more: &str| ask("/strict/x", "https://docs.example", method, more);
    check(&docs_ask("GET", ""), &docs(""));
    check(&docs_ask("POST", asked), &docs("|Access-Control-Allow-Headers: x-one"));
    check(&docs_ask("POST", &asked.replace("x-one, ", "")), "403|VARY");
    check(&docs_ask("DELETE", ""), "403|VARY");
    check(&docs_ask("HEAD", ""), "403|VARY");
    check(&ask("/strict/x", "https://evil.example", "GET", ""), "403|VARY");
    check(&ask("/else/x", "https://docs.example", "GET", ""), "200");
    check(
        &ask(
            "/open/x",
            "https://any.example",
            "PATCH",
            "\nAccess-Control-Request-Headers: X-A,X-B",
        ),
        "200|VARY|Access-Control-Allow-Origin: *|Access-Control-Allow-Methods: PATCH|\
         Access-Control-Allow-Headers: X-A, X-B",
    );
    check(&ask("/bare/x", "https://docs.example", "POST", ""), "403|VARY");
    check(&ask("/bare/x", "https://docs.example", "GET", asked), "403|VARY");
    check(
        &ask("/bare/x", "https://docs.example", "HEAD", ""),
        "200|VARY|Access-Control-Allow-Origin: https://docs.example|\
         Access-Control-Allow-Methods: GET,HEAD",
    );
}

#[test]
fn origin_patterns_answer_the_origin() {
    let allowed = "VARY|Access-Control-Allow-Origin: https://a.pattern.example|\
                   Access-Control-Allow-Credentials: true";
    check("GET /pattern/x HTTP/1.1\nOrigin: https://a.pattern.example", allowed);
    check(
        "GET /pattern/x HTTP/1.1\nOrigin: http://localhost:3000",
        &allowed.replace("https://a.pattern.example", "http://localhost:3000"),
    );
    check("GET /pattern/x HTTP/1.1\nOrigin: https://pattern.example", "403|VARY");
}

#[test]
fn a_route_overrides_the_global_rules() {
    let ask = "OPTIONS /open/own HTTP/1.1\nAccess-Control-Request-Method: PUT\nOrigin: https://";
    check(
        &format!("{ask}own.example"),
        "200|VARY|Access-Control-Allow-Origin: https://own.example|\
         Access-Control-Allow-Methods: PUT",
    );
    check(&format!("{ask}any.example"), "403|VARY");
}

#[test]
fn without_a_route_a_preflight_is_granted_nothing() {
    let simple = "GET /bare/x HTTP/1.1\nOrigin: https://docs.example";
    let preflight = simple.replace("GET", "OPTIONS") + "\nAccess-Control-Request-Method: GET";
    assert_eq!(decide(&policy(), simple, false), "not cors");
    assert_eq!(decide(&policy(), &preflight, false), "200");
    let global = [("/**".to_owned(), rule(of_origin("https://docs.example")))];
    let policy = CorsPolicy::build(&global, [], true, &PredicateOptions::default());
    let decided = decide(&policy.expect("a policy"), simple, false);
    assert!(decided.ends_with("Access-Control-Allow-Origin: https://docs.example"), "{decided}");
}

#[test]
fn no_rules_at_all() {
    let none = CorsPolicy::default();
    assert!(none.is_empty());
    let origin = "Origin: https://docs.example";
    assert_eq!(decide(&none, &format!("GET / HTTP/1.1\n{origin}"), true), "not cors");
    let preflight = format!("OPTIONS / HTTP/1.1\n{origin}\nAccess-Control-Request-Method: GET");
    assert_eq!(decide(&none, &preflight, false), "200");
    let plain = "OPTIONS / HTTP/1.1\nAccess-Control-Request-Method: GET";
    assert_eq!(decide(&none, plain, true), "not cors");
}

#[test]
fn rules_of_routes_change_one_by_one() {
    let options = PredicateOptions::default();
    let put = |position, pattern, origin: &str| {
        let rule = rule(of_origin(origin));
        CorsChange::Put(CorsRoute { order: 0, position, group: None, pattern, rule })
    };
    let request = "GET /bare/x HTTP/1.1\nOrigin: https://own.example";
    let before = policy();
    let after = before.apply(&[put(3, None, "https://own.example")], &options).expect("a policy");
    assert!(decide(&before, request, true).starts_with("403"));
    assert!(decide(&after, request, true).ends_with("https://own.example"));
    let replaced = after.apply(&[put(3, Some("/x"), "https://own.example")], &options);
    assert!(decide(&replaced.expect("a policy"), request, true).starts_with("403"));
    let removed = after.apply(&[CorsChange::Remove(3), CorsChange::Remove(99)], &options);
    assert!(decide(&removed.expect("a policy"), request, true).starts_with("403"));
    assert!(after.apply(&[put(4, Some("/{a"), "https://own.example")], &options).is_err());
}

#[test]
fn configurations_that_cannot_work_are_refused() {
    let refused = |configuration: CorsConfiguration, property: &str| {
        let error = configuration.compile().expect_err("not a rule");
        assert_eq!(error.arg, property);
        assert!(error.help.is_some());
    };
    let useless = CorsConfiguration { allow_credentials: true, ..of_origin("*") };
    assert!(useless.grants_nothing() && useless.compile().is_ok());
    let names = vec!["X-A,X-B".to_owned()];
    let base = CorsConfiguration::default;
    refused(CorsConfiguration { allowed_methods: names.clone(), ..base() }, "allowedMethods");
    refused(CorsConfiguration { allowed_headers: names.clone(), ..base() }, "allowedHeaders");
    refused(CorsConfiguration { exposed_headers: names, ..base() }, "exposedHeaders");
    let global = [("/{a".to_owned(), rule(strict())), ("/**/x/**".to_owned(), rule(strict()))];
    let built = CorsPolicy::build(&global, [], false, &PredicateOptions::default());
    assert_eq!(built.map_err(|problems| problems.len()).err(), Some(2));
}
