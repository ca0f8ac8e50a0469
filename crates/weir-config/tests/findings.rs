//! Rendered findings about configurations with errors, unusual parts or unsupported features.

use weir_config::{Category, Format, Loader, Severity, Source, Style, render};

/// Every finding of a file except notes on differences, rendered, in the order of the text.
fn findings(text: &str) -> String {
    let mut loader = Loader::new(Vec::new(), &[], Vec::new());
    loader.add(Source::new("application.yml", text, Format::Yaml));
    let mut loaded = loader.load();
    loaded.check();
    loaded.sort_findings();
    let rendered: Vec<String> = loaded
        .diagnostics
        .iter()
        .filter(|finding| is_told(finding))
        .map(|finding| render(finding, loaded.sources(), Style::Plain))
        .collect();
    rendered.join("\n\n")
}

fn is_told(finding: &weir_config::Diagnostic) -> bool {
    finding.code.category() != Category::Deviation || finding.severity > Severity::Note
}

/// `code line` of each finding except notes on differences.
fn codes(text: &str) -> Vec<String> {
    let mut loader = Loader::new(Vec::new(), &[], Vec::new());
    loader.add(Source::new("application.yml", text, Format::Yaml));
    let mut loaded = loader.load();
    loaded.check();
    loaded.sort_findings();
    let told = loaded.diagnostics.iter().filter(|finding| is_told(finding));
    told.map(|finding| {
        let line = finding.at.map_or(0, |at| loaded.sources().place(at).line);
        format!("{} {line}", finding.code.as_str())
    })
    .collect()
}

#[test]
fn routes_that_are_scanned_are_named_with_the_reason() {
    let route = |n: usize| {
        format!("- {{ id: r{n}, uri: 'http://h', predicates: ['Query=q,[a-z]{{{n}}}'] }}\n")
    };
    let routes: String = (0..9).map(route).collect();
    let mut loader = Loader::new(Vec::new(), &[], Vec::new());
    let text = format!("spring.cloud.gateway.server.webflux.routes:\n{routes}");
    loader.add(Source::new("application.yml", text, Format::Yaml));
    let mut loaded = loader.load();
    let checked = loaded.check();
    assert_eq!((checked.routes, checked.scanned), (9, 9));
    let found = loaded.diagnostics.iter().find(|found| found.code.as_str() == "scanned-routes");
    let found = found.expect("a finding");
    assert_eq!(found.severity, Severity::Note);
    assert_eq!(found.message, "9 routes are tried one after the other: `r0`, `r1`, `r2`, …");
    assert!(found.help.starts_with("nothing but trying their `Query` tells them apart"));
    assert_eq!(loaded.sources().place(found.at.expect("a place")).line, 2);
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(codes(text), expected, "{}", findings(text));
}

/// One route with `rest` in place of its filters.
fn route(rest: &str) -> String {
    format!(
        "spring.cloud.gateway.routes:\n- id: a\n  uri: http://h:80\n  predicates:\n  - \
             Path=/x/{{v}}\n{rest}"
    )
}

#[test]
fn a_misspelt_property() {
    insta::assert_snapshot!(findings("weir:\n  sever:\n    workers: 2\n"));
}

#[test]
fn a_value_of_the_wrong_kind() {
    insta::assert_snapshot!(findings("server:\n  port: http\n"));
}

#[test]
fn a_misplaced_property() {
    insta::assert_snapshot!(findings(
        "spring:\n  cloud:\n    gateway:\n      globalcors:\n        default-filters:\n        - \
             StripPrefix=1\n"
    ));
}

#[test]
fn a_filter_to_come() {
    insta::assert_snapshot!(findings(&route("  filters:\n  - name: ModifyRequestBody\n")));
}

#[test]
fn a_filter_in_java() {
    insta::assert_snapshot!(findings(&route("  filters:\n  - AuthorizationFilter\n")));
}

#[test]
fn an_argument_that_is_wrong() {
    insta::assert_snapshot!(findings(&route("  filters:\n  - StripPrefix=one\n")));
}

#[test]
fn a_host_without_a_scheme() {
    insta::assert_snapshot!(findings(
        "spring.cloud.gateway.routes:\n- id: a\n  uri: localhost:8080\n  predicates: [Path=/x]\n"
    ));
}

#[test]
fn no_yaml() {
    insta::assert_snapshot!(findings("a:\n  b:\n#    c:\n      - x\n    d: 1\n"));
}

#[test]
fn sound_configurations_have_no_findings() {
    check(&route(""), &[]);
    check(&route("  filters:\n  - SetPath=/{v}\n  - PreserveHostHeader\n"), &[]);
    check("", &[]);
    check("spring:\n  application:\n    name: x\nlogging.level.root: DEBUG\nfoo: bar\n", &[]);
    check(
        "spring.cloud.discovery.client.simple.instances:\n  svc:\n  - uri: http://a:1\n  - host: \
             b\n    port: 2\n\
         spring.cloud.gateway.routes:\n- id: a\n  uri: lb://svc\n  predicates: [Path=/x]\n",
        &[],
    );
}

#[test]
fn routes() {
    check(&route("- id: a\n  uri: http://h\n  predicates: [Path=/y]\n"), &["duplicate-route 6"]);
    check(
        &route("- id: b\n  uri: http://h\n  predicates: ['Path=/x/{v}']\n"),
        &["shadowed-route 6"],
    );
    check(
        &route("  order: 1\n- id: b\n  uri: http://h\n  predicates: ['Path=/x/{v}']\n"),
        &["shadowed-route 2"],
    );
    check(&route("- id: b\n  uri: http://h\n"), &["no-predicates 6"]);
    check(
        &route("  order: 5\n- id: b\n  uri: http://h\n  predicates: [Path=/**]\n"),
        &["shadowed-route 2"],
    );
    check(&route("  predicate: x\n"), &["unknown-property 6"]);
    check(
        &route("  filters:\n  - ModifyRequestBody=\n  - Hystrix=x\n"),
        &["filter-later 7", "filter-later 8"],
    );
    check(&route("  filters:\n  - SetPath=/{w}\n"), &["suspicious 7"]);
    check(&route("  filters:\n  - SetStatus=401, x\n"), &["suspicious 7"]);
    check(&route("  filters:\n  - DedupeResponseHeader=A RETAIN_FIRST\n"), &["suspicious 7"]);
    check(
        &route("  filters:\n  - name: AddRequestHeader\n    args: {name: X, value: '#{@x}'}\n"),
        &["spring-expression 8"],
    );
    check(
        &route("  filters:\n  - name: SetPath\n    args: {template: /y, tmplate: z}\n"),
        &["suspicious 8"],
    );
    check(&route("  metadata: {connect-timeout: soon}\n"), &["invalid-value 6"]);
    check(&route("  metadata: {response-timeout: -1}\n"), &[]);
}

#[test]
fn uris() {
    let uri = |uri: &str| {
        format!("spring.cloud.gateway.routes:\n- id: a\n  uri: {uri}\n  predicates: [Path=/x]\n")
    };
    check(&uri("https://h"), &["uri-unsupported 3"]);
    check(&uri("lb://svc"), &["no-instances 2"]);
    check(&(uri("lb://svc") + "eureka.client.enabled: true\n"), &[]);
    check(&uri("forward:/x"), &[]);
    check(&uri("forward:x"), &["invalid-uri 3"]);
    check(&uri("grayLb://svc"), &["suspicious 3"]);
    check(&uri("no://op"), &[]);
    check(&uri("http://h/path"), &["suspicious 3"]);
    check(&uri("http://${HOST_OF_IT}:80"), &["invalid-uri 3"]);
    check(&uri("http://${HOST_OF_IT:h}:80"), &[]);
    check(&uri("''"), &["invalid-uri 3"]);
}

#[test]
fn a_bad_route_may_be_left_out() {
    let text = "spring.cloud.gateway.fail-on-route-definition-error: false\n\
                spring.cloud.gateway.routes:\n- {id: a, uri: x, predicates: [Path=/x]}\n\
                - {id: b, uri: 'http://h', predicates: [Path=/y]}\n";
    let mut loader = Loader::new(Vec::new(), &[], Vec::new());
    loader.add(Source::new("a.yml", text, Format::Yaml));
    let mut loaded = loader.load();
    let compiled = loaded.compile();
    assert!(!loaded.is_refused());
    let ids: Vec<&str> = compiled.routes.iter().map(|route| &*route.id).collect();
    assert_eq!(ids, ["b"]);
    assert_eq!(compiled.routes.first().map(|route| route.position), Some(1));
    assert_eq!(compiled.definitions.len(), 2);
}

#[test]
fn switched_off_filters_are_errors() {
    let off = "spring.cloud.gateway.filter.strip-prefix.enabled: false\n";
    check(&format!("{off}{}", route("  filters: [StripPrefix=1]\n")), &["switched-off 7"]);
    check(&format!("{off}{}", route("")), &[]);
}

#[test]
fn names_of_java_mean_what_the_configuration_says() {
    let java = route("  filters:\n  - name: JwtAuth\n    args: { secured: true }\n");
    check(&java, &["unknown-filter 7"]);
    check(&format!("weir.filters.JwtAuth: ['AddRequestHeader=X-A, b']\n{java}"), &[]);
    check(&format!("weir.filters.JwtAuth: [Nobody=1]\n{java}"), &["unknown-filter 8"]);
    check(&format!("weir.filters.JwtAuth:\n- Throttle=5/s\n- StripPrefix=1\n{java}"), &[]);
    let java = "spring.cloud.gateway.routes:\n- {id: a, uri: 'http://h', predicates: [Tenant=x]}\n";
    check(java, &["unknown-predicate 2"]);
    check(&format!("weir.predicates.Tenant: [Header=X-Tenant]\n{java}"), &[]);
}

#[test]
fn default_filters_are_judged_once() {
    let defaults = "spring.cloud.gateway.default-filters:\n- ModifyRequestBody\n";
    check(
        &format!("{defaults}{}", route("- id: b\n  uri: http://h\n  predicates: [Path=/y]\n")),
        &["filter-later 2"],
    );
}

#[test]
fn properties() {
    check("spring.cloud.gateway.httpclient.wiretap: true\n", &["property-unsupported 1"]);
    check("spring.cloud.gateway.httpclient.wiretap: false\n", &[]);
    check("server:\n  ssl:\n    key-store: x\n", &["property-unsupported 2"]);
    check("server:\n  ssl:\n    enabled: false\n    key-store: x\n", &[]);
    check("spring.cloud.gateway.httpclient.pool.max-connections: 5\n", &["suspicious 1"]);
    check("spring.cloud.gateway.httpclient.pool: {max-connections: 5, type: FIXED}\n", &[]);
    check("spring.cloud.gateway.mvc.http-client.type: jdk\n", &["property-unsupported 1"]);
    check("spring.cloud.gateway.request-log: true\n", &["unknown-property 1"]);
    check("spring.cloud.gateway.custom:\n  routes: []\n", &["unknown-property 1"]);
    check("spring.cloud.gateway.connect-timeout: 1\n", &["misplaced-property 1"]);
    check("spring.cloud.gateway.globalcors.cors-configurations:\n  '/**': {}\n", &["suspicious 2"]);
    check("a: ${b}\nb: ${a}\nserver.port: ${a}\n", &["placeholder-loop 3", "invalid-value 3"]);
    check("server.port: ${NOWHERE_SET}\n", &["placeholder-unknown 1", "invalid-value 1"]);
}

#[test]
fn cross_origin_rules() {
    let global = |rule: &str| {
        format!("spring.cloud.gateway.globalcors.cors-configurations:\n  '[/**]':\n    {rule}\n")
    };
    check(&global("allowedOrigins: '*'"), &[]);
    check(
        &global(
            "allowed-origins: ['http://a', 'http://b']\n    allowedmethods: GET,POST\n    maxAge: \
                 1h",
        ),
        &[],
    );
    check(&global("allowedOrigins: '*'\n    allowCredentials: true"), &["cors-grants-nothing 3"]);
    check(&global("allowedOrigin: '*'"), &["invalid-cors 3"]);
    check(&global("maxAge: soon"), &["invalid-cors 3"]);
    check(&global("allowedMethods: [G T]"), &["invalid-cors 3"]);
    let pattern =
        "spring.cloud.gateway.globalcors.cors-configurations:\n  '[/{a]':\n    maxAge: 1\n";
    check(pattern, &["invalid-cors 2"]);
    check(&route("  metadata:\n    cors: {allowedOrigins: [x], maxAge: 30}\n"), &[]);
    check(
        &route("  metadata:\n    cors: {allowedOrigins: '*', allowCredentials: true}\n"),
        &["cors-grants-nothing 7"],
    );
    check(&route("  metadata:\n    cors: x\n"), &["invalid-cors 7"]);
}

#[test]
fn forwarding() {
    check("spring.cloud.gateway.trusted-proxies: '10\\..*'\n", &[]);
    check("spring.cloud.gateway.trusted-proxies: '10(.*'\n", &["invalid-proxies 1"]);
    check(
        "spring.cloud.gateway.filter.remove-hop-by-hop.headers: ['a b']\n",
        &["invalid-proxies 1"],
    );
}

#[test]
fn both_prefixes_in_one_file() {
    let old = "spring.cloud.gateway.default-filters: [StripPrefix=1]\n";
    check(old, &[]);
    let new = "spring.cloud.gateway.server.webflux.metrics.enabled: true\n";
    check(&format!("{old}{new}"), &["old-prefix 1"]);
    check(&format!("weir.compat.scg: 4.2\n{old}{new}"), &[]);
}

#[test]
fn what_is_read_of_zookeeper() {
    let text = "spring.cloud.zookeeper:\n  connect-string: zk:2181\n  dependencies.mail.path: /m\n";
    check(text, &[]);
    let found = findings("spring.cloud.zookeeper.config.enabled: true\n");
    assert!(found.contains("weir does not follow `spring.cloud.zookeeper.config`"), "{found}");
    check("spring.cloud.zookeeper.discovery.instance-port: 0\n", &["invalid-value 1"]);
}

#[test]
fn no_finding_shows_a_secret() {
    let text = format!(
        "weir.admin.token: [hunter2]\nserver.port: ${{x.password}}\nx.password: hunter2\n{}",
        route(
            "  filters:
  - AddRequestHeader=X-Api-Key, hunter2, hunter2
  - name: SetStatus
    args: {status: hunter2, secret: hunter2}
- id: b
  uri: http://me:hunter2@h:1/hunter
  predicates: [Path=/y]
- id: c
  uri: http://me:hunter2@h:hunter
  predicates: [Path=/z]
"
        )
    );
    let said = findings(&text);
    assert!(said.contains("the value is not a value of `server.port`"), "{said}");
    assert!(said.contains("no valid port"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}

#[test]
fn routes_of_the_mvc_server_run_and_what_differs_is_said() {
    for prefix in ["spring.cloud.gateway.mvc", "spring.cloud.gateway.server.webmvc"] {
        let text = format!(
            "{prefix}:\n  http-client.connect-timeout: 1s\n  routes:\n  - id: a\n    uri: \
             http://h:80\n    predicates: [Path=/a]\n  routes-map:\n    b:\n      uri: \
             http://h:80\n      predicates: [Path=/b]\n      filters: [LoadBalancer=x]\n"
        );
        let mut loader = Loader::new(Vec::new(), &[], Vec::new());
        loader.add(Source::new("application.yml", text, Format::Yaml));
        let mut loaded = loader.load();
        let compiled = loaded.compile();
        let served: Vec<&str> = compiled.routes.iter().map(|route| &*route.id).collect();
        assert_eq!((served, compiled.definitions.len()), (vec!["a"], 2), "{prefix}");
        let said = |message: &str| {
            let found = loaded.diagnostics.iter().find(|finding| finding.message.contains(message));
            found.map(|finding| (finding.severity, finding.help.as_str()))
        };
        let (severity, help) = said("of the MVC server runs as").expect("a note");
        assert!(severity == Severity::Note && help.contains("Retry its own arguments"), "{help}");
        let (severity, help) = said("weir does not follow").expect("a warning");
        let twin = "webflux.httpclient.connect-timeout`";
        assert!(severity == Severity::Warning && help.contains(twin), "{help}");
        let (severity, help) = said("`LoadBalancer` is a filter of the MVC server").expect("one");
        assert!(severity == Severity::Error && help.contains("lb://NAME"), "{help}");
    }
}

#[test]
fn fallbacks_lead_to_a_route() {
    let with = |fallback: &str, more: &str| {
        format!(
            "spring.cloud.gateway.server.webflux.routes:\n- id: a\n  uri: http://h:80\n  \
             predicates: [Path=/a]\n  filters:\n  - name: CircuitBreaker\n    args: {{ name: b, \
             fallbackUri: 'forward:{fallback}' }}\n{more}"
        )
    };
    check(&with("/away", ""), &["forward-astray 2"]);
    let taken = "- id: b\n  uri: http://h:80\n  predicates: ['Path=/away/**', Method=POST]\n";
    check(&with("/away", taken), &[]);
    check(&with("/away/x", taken), &[]);
    check(&with("/b", taken), &["forward-astray 2"]);
    let uri = "- { id: c, uri: 'forward:/nowhere', predicates: [Path=/c] }\n";
    check(&with("/c", uri), &["forward-astray 8"]);
    let text = findings(&with("/away", ""));
    assert!(text.contains("goes to `forward:/away`, and no route takes that path"), "{text}");
    assert!(text.contains("write a route with the predicate `Path=/away`"), "{text}");
}

/// `s3cret`, encrypted under `key` by Spring's own class.
const ENCRYPTED: &str = "9dd7885e7e380746f63027e0a7efb89a4813e7a68bca4ad4613f6a3a135c10e7";

#[test]
fn encrypted_values_are_plain_to_weir_and_to_no_finding() {
    let text = format!(
        "pass: '{{cipher}}{ENCRYPTED}'\nserver.port: ${{pass}}\nspring.cloud.gateway.routes:\n\
         - {{ id: a, uri: 'http://h', predicates: [ 'Path=/a' ] }}\n"
    );
    let load = |variables: &[(&str, &str)]| {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut loader = Loader::new(variables.iter().map(own).collect(), &[], Vec::new());
        loader.add(Source::new("application.yml", text.as_str(), Format::Yaml));
        let loaded = loader.load();
        let told = loaded.diagnostics.iter().filter(|found| is_told(found));
        let told: Vec<_> =
            told.map(|found| render(found, loaded.sources(), Style::Plain)).collect();
        told.join("\n")
    };
    let told = load(&[("ENCRYPT_KEY", "key")]);
    assert!(told.contains("error[invalid-value]") && told.contains("******"), "{told}");
    assert!(!told.contains("s3cret"), "{told}");
    for (variables, help) in [
        (&[][..], "set `encrypt.key`"),
        (&[("ENCRYPT_KEY", "other")], "another `encrypt.key`"),
        (&[("ENCRYPT_KEY", "key"), ("ENCRYPT_SALT", "x")], "hexadecimal"),
        (&[("ENCRYPT_KEY", "-----BEGIN RSA PRIVATE KEY-----")], "is an RSA key"),
    ] {
        let told = load(variables);
        assert!(told.contains("error[cipher-unreadable]") && told.contains(help), "{told}");
        assert!(told.contains("application.yml:1:7"), "{told}");
    }
}
