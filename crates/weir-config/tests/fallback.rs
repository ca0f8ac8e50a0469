//! `fallback` in the metadata of a route: another way to write MockFallback.

use weir_config::{Diagnostic, Format, Loader, Severity, Source};

/// The filters of the route `r`, as they are explained, or the first thing that is wrong with it.
fn check(fields: &str, more: &str, expected: &str) {
    let mut loader = Loader::new(Vec::new(), &[], Vec::new());
    let text = format!(
        "{more}\nspring.cloud.gateway.server.webflux.routes:\n\
         - {{ id: r, uri: 'http://a', predicates: [ 'Path=/**' ], {fields} }}\n"
    );
    loader.add(Source::new("a.yml", text.clone(), Format::Yaml));
    let mut loaded = loader.load();
    let compiled = loaded.compile();
    let is_error = |one: &&Diagnostic| one.severity == Severity::Error;
    let found = match loaded.diagnostics.iter().find(is_error) {
        Some(wrong) => format!("{}; {}", wrong.message, wrong.help),
        None => {
            let route = compiled.routes.first().expect("a route");
            let entries = route.target.chain.entries().iter();
            entries.map(|entry| entry.filter.explain()).collect::<Vec<_>>().join(" | ")
        }
    };
    assert!(found.contains(expected), "{text}: {found}");
    assert_eq!(expected.is_empty(), found.is_empty(), "{text}: {found}");
}

#[test]
fn a_route_names_the_mock_of_what_its_upstream_lacks() {
    let mock = "answers from store/shop what the upstream does not have";
    check("metadata: { fallback: 'mock://store/shop' }", "", mock);
    check("metadata: { fallback: 'mock://store/shop/' }", "", mock);
    check("filters: [ StripPrefix=1 ], metadata: { fallback: 'mock://store' }", "", "| answers");
    check("metadata: { fallback: cached }", "", "");
    check("metadata: { fallback: mocked }", "", "");
    check(
        "metadata: { fallback: mock }",
        "",
        "no definition `all`; there are store; `mock` is all",
    );
    check("metadata: { fallback: 'mock://shop' }", "", "no definition `shop`");
    let both = "filters: [ MockFallback=store ], metadata: { fallback: 'mock://store' }";
    check(both, "", "say the same; keep one of them");
}

#[test]
fn a_group_names_it_for_its_routes() {
    let group = "weir.groups: [ { id: g, metadata: { fallback: 'mock://store/shop' } } ]";
    check("group: g", group, "answers from store/shop");
}
