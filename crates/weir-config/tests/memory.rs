//! The reported memory of a table matches the bytes allocated.

use std::alloc::System;
use std::ops::RangeInclusive;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use weir_config::{Format, Loader, Source};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Enough routes to make fixed costs negligible.
const ROUTES: usize = 4_000;

/// Compiles [`ROUTES`] routes, with `{n}` replaced by their numbers. Checks the reported memory, in
/// percent of the bytes allocated, and that a route takes at most `bytes_max`.
fn check(route: &str, percent: RangeInclusive<usize>, bytes_max: usize) {
    let region = Region::new(ALLOCATOR);
    let mut yaml = "spring.cloud.gateway.server.webflux.routes:\n".to_owned();
    for n in 0..ROUTES {
        yaml.push_str(&format!("- {}\n", route.replace("{n}", &n.to_string())));
    }
    let mut loader = Loader::new(Vec::new(), &[], Vec::new());
    loader.add(Source::new("application.yml", yaml, Format::Yaml));
    let mut loaded = loader.load();
    let compiled = loaded.compile();
    assert!(!loaded.is_refused(), "{:?}", loaded.diagnostics.first());
    let snapshot = loaded.compiler.snapshot(compiled.routes);
    let definitions = compiled.definitions;
    let compiler = std::sync::Arc::clone(&loaded.compiler);
    drop(loaded);
    let change = region.change();
    let taken = change.bytes_allocated - change.bytes_deallocated;
    let told = snapshot.memory().total() + definitions.bytes();
    assert!(
        percent.contains(&(told * 100 / taken)),
        "{route}: told {told}, taken {taken}: {:?}, definitions {}",
        snapshot.memory(),
        definitions.bytes()
    );
    assert!(taken / ROUTES <= bytes_max, "{route}: {} bytes", taken / ROUTES);
    drop(compiler);
}

/// A single test, so that no other test allocates at the same time.
#[test]
fn what_is_told_is_what_is_taken() {
    check(
        "{ id: api-{n}, uri: 'http://127.0.0.1:9', predicates: [ 'Path=/{n}' ], filters: [ \
         'AddRequestHeader=x-route, api-{n}', 'PrefixPath=/ok/{n}' ], metadata: { owner: team-{n} } }",
        93..=107,
        420,
    );
    // Compiled expressions and boxed contents of filters are not counted.
    check(
        "{ id: api-{n}, uri: 'http://host-{n}:80', predicates: [ 'Host=t{n}.example.org', \
         'Path=/{n}/{id}/**', 'Method=GET,POST', 'Header=X-Api-Id, {n}' ], filters: [ \
         'StripPrefix=1', 'SetResponseHeader=X-Owner, {n}', 'RewritePath=/{n}/(?<a>.*), /$\\{a}' ] }",
        70..=107,
        1_200,
    );
}
