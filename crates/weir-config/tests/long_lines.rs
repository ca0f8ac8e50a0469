//! The cost of a file with one long line is linear in its length, and its findings are short:
//! measured in bytes allocated.

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use weir_config::{Format, Loaded, Loader, Source, Style, render};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const ENTRIES: usize = 50_000;

/// Bytes allocated to read `text`, and the result.
fn load(text: String) -> (usize, Loaded) {
    let region = Region::new(ALLOCATOR);
    let mut loader = Loader::new(Vec::new(), &[], Vec::new());
    loader.add(Source::new("application.yml", text, Format::Yaml));
    let mut loaded = loader.load();
    loaded.check();
    (region.change().bytes_allocated, loaded)
}

/// Bytes allocated to render all findings, and the maximum length of one.
fn told(loaded: &Loaded) -> (usize, usize) {
    let region = Region::new(ALLOCATOR);
    let texts =
        loaded.diagnostics.iter().map(|it| render(it, loaded.sources(), Style::Plain).len());
    let longest = texts.max().unwrap_or_default();
    (region.change().bytes_allocated, longest)
}

/// A single test, so that no other test allocates at the same time.
#[test]
fn a_long_line_costs_what_it_is_long() {
    let routes = "spring.cloud.gateway.server.webflux.routes: [";
    let unclosed = |entries: usize| format!("{routes}{}", "a, ".repeat(entries));
    let (once, _) = load(unclosed(ENTRIES));
    let (twice, refused) = load(unclosed(2 * ENTRIES));
    assert!(refused.is_refused() && refused.diagnostics.len() == 1, "{:?}", refused.diagnostics);
    assert!(refused.diagnostics[0].message.contains("unclosed bracket"));
    assert!(twice < once * 5 / 2, "{once} bytes, {twice} for twice as much");
    let (allocated, longest) = told(&refused);
    assert!(allocated < 64 * 1024 && longest < 600, "{allocated} bytes for {longest}");

    // Each finding is far along the line; none of them prints the whole line.
    let bad = format!("{routes}{}]", "{ id: x }, ".repeat(ENTRIES / 50));
    let (_, refused) = load(bad);
    let (allocated, longest) = told(&refused);
    let findings = refused.diagnostics.len();
    assert!(findings > 500 && longest < 600, "{findings} findings, the longest of {longest}");
    assert!(allocated < findings * 512 * 1024, "{allocated} bytes for {findings} findings");
}
