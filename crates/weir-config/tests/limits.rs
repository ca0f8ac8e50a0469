//! Findings about limits, and the layers of their settings.

use weir_config::{Category, Diagnostic, Format, Loader, Severity, Source, Style, render};

/// Findings of a file with variables and `--set`, except notes on differences.
fn check_with<T>(
    file: String,
    variables: Vec<(String, String)>,
    sets: &[String],
    shown: impl Fn(&Diagnostic, &weir_config::Loaded) -> T,
) -> Vec<T> {
    let mut loader = Loader::new(variables, sets, Vec::new());
    loader.add(Source::new("application.yml", file, Format::Yaml));
    let mut loaded = loader.load();
    loaded.check();
    let is_told = |finding: &&Diagnostic| {
        finding.code.category() != Category::Deviation || finding.severity > Severity::Note
    };
    loaded.diagnostics.iter().filter(is_told).map(|finding| shown(finding, &loaded)).collect()
}

fn findings(file: &str) -> String {
    let shown = |finding: &Diagnostic, loaded: &weir_config::Loaded| {
        render(finding, loaded.sources(), Style::Plain)
    };
    check_with(file.to_owned(), Vec::new(), &[], shown).join("\n\n") + "\n"
}

#[test]
fn limits_are_refused_at_the_place_of_the_mistake() {
    let check = |limit: &str, place: &str, message: &str| {
        let text = format!("weir.limits.a: {{ {limit} }}\n");
        let found = findings(&text);
        let errors = found.matches("error[").count();
        assert_eq!((errors, found.contains("******")), (1, false), "{found}");
        let column = text.find(place).expect("it is there") + 1;
        assert!(found.contains(&format!("application.yml:1:{column}\n")), "{found}");
        assert!(found.contains(message) && found.contains("help: "), "{found}");
    };
    check("rate: 0/s, warm-up: 1s", "0/s", "it lets nothing pass");
    check("rte: 5/s", "5/s", "did you mean `rate`?");
    check("rate: 5/s, key: 'header:bad name'", "'header:", "not the name of a header");
    check("rate: 5/s, key: 'header:X-Api-Key', order: fare", "fare", "neither fifo nor fair");
    check("speed: 5/s", "5/s", "it has rate, mode, burst");
    check("b: { rate: 5/s }", "{ rate", "a name that has a dot in brackets");
    check("rate: 5/s, key: soul", "soul", "write `none`, `ip`");
    check("rate: 5/s, order: fair", "fair }", "has no `key`");
    check("rate: 5/s, mode: window, burst: 5", "5 }", "has no effect with `mode: window`");
    check("rate: 5/s, weights: 4", "4 }", "a number for each key");
    check("rate: 5/s, key: ip, weights: { x: 4 }", "{ x: 4", "`weights` are for `order: fair`");
    let weight = "rate: 5/s, key: 'header:X-Tenant', order: fair, weights: { api-key: 9999999999 }";
    check(weight, "9999999999", "write a whole number");
}

#[test]
fn the_key_of_a_throttle_is_shown_and_no_secret_beside_it() {
    let route = "spring.cloud.gateway.server.webflux.routes:\n- { id: a, password: abc, uri: \
                 'http://h', predicates: [Path=/a], filters: [{ name: Throttle, args: { key: \
                 'header:X-Api-Key', ARGS } }] }\n";
    let found = findings(&route.replace("ARGS", "rate: 5/s, queue: many"));
    assert!(found.contains("`many` is not a whole number"), "{found}");
    assert!(found.contains("password: ******") && !found.contains("abc"), "{found}");
    let found = findings(&route.replace("ARGS", "rate: 5/s, order: fair, weights: 4"));
    assert!(found.contains("`weights` has a number for each key"), "{found}");
    let found = findings(&route.replace("password: abc,", "").replace("ARGS", "rate: 5/min/s"));
    assert!(found.contains("key: 'header:X-Api-Key', rate: 5/min/s } }] }\n"), "{found}");
}

#[test]
fn a_variable_that_nothing_sets_has_the_outcome_of_its_filter() {
    let check = |filter: &str, outcome: &str| {
        let found = findings(&format!(
            "weir.key-resolvers.v: 'path:{{v}}'\nspring.cloud.gateway.server.webflux.routes:\n- \
             id: a\n  uri: http://h\n  predicates: [Path=/a]\n  filters:\n  - {filter}\n"
        ));
        assert!(found.contains("reads `{v}`, which no predicate of the route sets"), "{found}");
        assert!(found.contains(&format!("help: {outcome}; write `{{v}}` in Path")), "{found}");
    };
    check("SetPath=/{v}", "every request fails with 500");
    check(
        "{ name: Throttle, args: { rate: 5/s, key: 'path:{v}' } }",
        "all requests count as one key",
    );
    let limiter = |more: &str| {
        format!(
            "{{ name: RequestRateLimiter, args: {{ key-resolver: '#{{@v}}', {more} \
             redis-rate-limiter.replenishRate: 1, redis-rate-limiter.burstCapacity: 1 }} }}"
        )
    };
    check(&limiter(""), "every request is refused with 403");
    check(&limiter("deny-empty-key: false,"), "no request is limited");
}

#[test]
fn the_key_of_a_default_throttle_is_shown() {
    let file = |args: &str| {
        format!(
            "spring.cloud.gateway.server.webflux.default-filters:\n- {{ name: Throttle, args: {{ \
             key: 'header:X-Api-Key', {args} }} }}\n"
        )
    };
    let found = findings(&file("rate: 0/s"));
    assert!(found.contains("key: 'header:X-Api-Key', rate: 0/s } }\n"), "{found}");
    let found = findings(&file("rate: 5/s").replace("header:X-Api-Key", "headr:X-Api-Key"));
    assert!(found.contains("`headr:X-Api-Key` is not a key: write `none`"), "{found}");
    let found =
        findings(&(file("rate: '${db.password}', password: abc") + "db.password: hunter2\n"));
    assert!(!found.contains("hunter2") && !found.contains("abc"), "{found}");
}

#[test]
fn secrets_that_placeholders_fill_in_are_not_shown() {
    let check = |line: &str, expected: &str| {
        let found = findings(&format!("db.password: hunter2\nplain: soul\n{line}\n"));
        let is_shown = found.contains("hunter2") || found.contains("default");
        assert!(found.contains(expected) && !is_shown, "{found}");
    };
    check("weir.limits.a: { rate: 5/s, key: '${plain}' }", "`soul` is not a key");
    check("weir.limits.a: { rate: 5/s, key: '${db.password}' }", "`******` is not a key");
    check("weir.limits.a.rate: ${db.password}", "`******` is not a rate");
    check("weir.limits.a.rate: ${other.password:default}", "`******` is not a rate");
    let weights = "weir.limits.a: { rate: 5/s, key: ip, weights: { a: '${db.password}' } }";
    check(weights, "`******` is not a weight");
    check("weir.key-resolvers.r: ${db.password}", "`******` is not something");
    let pipeline = |field: &str, expected: &str| {
        check(&format!("weir.pipelines.p:\n  {field}: 'x,${{db.password}}'"), expected);
    };
    pipeline("listen", "`******` is no address");
    pipeline("upstream", "`******` is no address");
    pipeline("limit", "`******` is neither a limit nor a rate");
    pipeline("balance", "`******` is not what `balance` takes");
    check("weir.upstreams.u: { targets: 'h:1', balance: '${db.password}' }", "`******`");
}

#[test]
fn a_limit_by_principal_comes_after_the_filter_that_tells_it() {
    let file = |defaults: &str, filters: &str| {
        format!(
            "weir.limits.who: {{ rate: 5/s, key: principal }}\nweir.users.a: b\n\
             spring.cloud.gateway.server.webflux:\n  default-filters: [{defaults}]\n  \
             routes:\n  - id: r\n    uri: http://h\n    predicates: [Path=/a]\n    filters:\n    \
             - AddRequestHeader=A, b\n{filters}"
        )
    };
    let check = |defaults: &str, filters: &str, expected: &[&str]| {
        let text = file(defaults, filters);
        let found = findings(&text);
        let told = found.matches("counts all requests as one key, by `principal`").count();
        assert_eq!(told, usize::from(!expected.is_empty()), "{text}{found}");
        for part in expected {
            assert!(found.contains(part), "{text}{found}");
        }
    };
    let (basic, limit) = ("    - BasicAuth\n", "    - Throttle=who\n");
    let after = "help: put Throttle after `BasicAuth`, which tells the principal";
    check("", &format!("{limit}{basic}"), &["warning[suspicious]: Throttle", "yml:11:7\n", after]);
    check("", &format!("{basic}{limit}"), &[]);
    let nobody = "no filter of the route tells it";
    check("", limit, &["yml:11:7\n", nobody, "help: put `ApiKey`, `BasicAuth`, or `ForwardAuth`"]);
    check("BasicAuth", limit, &[]);
    check("Throttle=who", basic, &["yml:6:", "`BasicAuth` comes after it"]);
    check("", "    - Throttle=5/s\n", &[]);
    let own = "    - { name: Throttle, args: { rate: 5/s, key: principal, per-key: true } }\n";
    check("", own, &["yml:11:15\n", nobody]);
    let forward = |more: &str| {
        format!("    - {{ name: ForwardAuth, args: {{ uri: 'http://a', {more} }} }}\n{limit}")
    };
    check("", &forward("timeout: 1s"), &["yml:12:7\n", nobody]);
    check("", &forward("principalHeader: X-User"), &[]);
    let token = "spring.security.oauth2.resourceserver.jwt.issuer-uri: http://i\n";
    let found = findings(&(token.to_owned() + &file("", limit)));
    assert!(!found.contains("by `principal`"), "{found}");
}

#[test]
fn a_higher_layer_changes_single_settings_of_a_limit() {
    let check = |variable: (&str, &str), set: &str, file: &str, expected: &[&str]| {
        let variables = vec![(variable.0.to_owned(), variable.1.to_owned())];
        let file = format!("weir.limits:\n  my-orders: {{ {file} }}\n");
        let shown = |finding: &Diagnostic, _: &weir_config::Loaded| finding.message.clone();
        let told = check_with(file, variables, &[set.to_owned()], shown);
        assert_eq!(told, expected, "{variable:?} {set}");
    };
    let (none, fair) = (("OTHER", "1"), "rate: 5/s, key: ip, order: fair, max-wait: soon");
    let soon = "limit `my-orders`: `soon` is not a duration such as `30s`";
    check(none, "other=1", fair, &[soon]);
    check(none, "weir.limits.my-orders.max-wait=3s", fair, &[]);
    check(("WEIR_LIMITS_MYORDERS_MAXWAIT", "3s"), "other=1", fair, &[]);
    check(("WEIR_LIMITS_MY_ORDERS_MAX_WAIT", "3s"), "other=1", fair, &[]);
    check(("WEIR_LIMITS_MYORDERS_RATE", "7/s"), "other=1", fair, &[soon]);
    let key =
        "limit `my-orders`: `order: fair` gives each key its turn, and the limit has no `key`";
    check(("WEIR_LIMITS_MYORDERS_KEY", "none"), "weir.limits.my-orders.max-wait=1s", fair, &[key]);
    let weights = "rate: 5/s, key: ip, order: fair, weights: { 10.0.0.7: 4, a: 0 }";
    let zero = "limit `my-orders`: `0` is not a weight: write a whole number of at least 1";
    check(none, "other=1", weights, &[zero]);
    check(none, "weir.limits.my-orders.weights.a=1", weights, &[]);
    check(("WEIR_LOG", "info"), "weir.limits.my-orders.max-wait=1s", fair, &[]);
    let unknown = "unknown property `weir.limit`";
    check(
        ("WEIR_LIMIT_MYORDERS_RATE", "5/s"),
        "weir.limits.my-orders.max-wait=1s",
        fair,
        &[unknown],
    );
}
