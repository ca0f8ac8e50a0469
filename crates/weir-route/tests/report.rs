//! Reports of the index on a table: shape, candidates, shadowed routes.

#[path = "../benches/tables/mod.rs"]
mod tables;

use std::sync::Arc;

use proptest::collection::vec;
use proptest::{prop_assert, proptest};
use tables::random::{asked, cases, options, written};
use tables::shapes::{FLAT, Shape};
use tables::{Ask, route};
use weir_route::Route;
use weir_route::index::{Change, Index, Scratch};
use weir_route::predicate::PredicateOptions;

/// A table of routes, each written as predicates joined by `; `.
fn table(written: &[&str]) -> Index<()> {
    let options = PredicateOptions::default();
    let routes = written.iter().enumerate().map(|(n, text)| {
        let predicates: Vec<String> = text.split("; ").map(str::to_owned).collect();
        let predicates = if text.is_empty() { &[] } else { predicates.as_slice() };
        route(&options, n as u64, 0, predicates).expect("a valid route")
    });
    Index::build(routes.collect())
}

/// Checks which routes are shadowed: (route, by, duplicate).
fn shadows(written: &[&str], expected: &[(u64, u64, bool)]) {
    let index = table(written);
    let found = index.shadowed();
    let found: Vec<_> =
        found.iter().map(|s| (s.route.position, s.by.position, s.duplicate)).collect();
    assert_eq!(found, expected, "{written:?}");
}

#[test]
fn a_wider_route_before_it_shadows_a_route() {
    shadows(&["Path=/a/**", "Path=/a/b"], &[(1, 0, false)]);
    shadows(&["Path=/a/b", "Path=/a/**"], &[]);
    shadows(&["Path=/a/**; Method=GET", "Path=/a/b"], &[]);
    shadows(&["Path=/a/**; Method=GET,POST", "Path=/a/b; Method=GET"], &[(1, 0, false)]);
    shadows(&["", "Path=/a"], &[(1, 0, false)]);
    shadows(&["Path=/a/{x}", "Path=/a/b", "Path=/a/*"], &[(1, 0, false)]);
    shadows(&["Path=/a/*", "Path=/a/{x}"], &[(1, 0, false)]);
    shadows(&["Path=/{x:[ab]}", "Path=/a"], &[]);
    shadows(&["Path=/a*", "Path=/ab", "Path=/b"], &[(1, 0, false)]);
    shadows(
        &["Path=/a,/b", "Path=/a", "Path=/b,/a", "Path=/a,/c"],
        &[(1, 0, false), (2, 0, false)],
    );
    shadows(
        &["Host=**.org", "Host=a.org", "Host=a.b.org", "Host=a.com"],
        &[(1, 0, false), (2, 0, false)],
    );
    shadows(
        &["RemoteAddr=10.0.0.0/8; Path=/a", "RemoteAddr=10.0.0.0/8; Path=/a; Query=q"],
        &[(1, 0, false)],
    );
}

#[test]
fn equal_routes_are_duplicates() {
    shadows(&["Path=/a; Header=X,1", "Path=/b", "Path=/a; Header=X,1"], &[(2, 0, true)]);
    shadows(&["Path=/{x:a|b}", "Path=/{x:a|b}"], &[(1, 0, true)]);
    shadows(&["Path=/a; Weight=g,1", "Path=/a; Weight=g,1"], &[]);
}

proptest! {
    #![proptest_config(cases(100))]
    #[test]
    fn a_shadowed_route_never_matches_without_the_other(
        options in options(),
        table in vec(written(), 1..80),
        requests in vec(asked(), 1..60),
    ) {
        let numbered = table.iter().enumerate();
        let routes = numbered.filter_map(|(n, w)| route(&options, n as u64, w.order, &w.predicates));
        let index = Index::build(routes.collect());
        for shadowed in index.shadowed() {
            for asked in &requests {
                let ask = asked.ask();
                let matches = |route: &Route<()>| {
                    route.matches(&ask.request(), index.groups()) == Ok(true)
                };
                prop_assert!(!matches(shadowed.route) || matches(shadowed.by), "{asked:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(100))]
    #[test]
    fn every_route_that_matches_is_a_candidate(
        options in options(),
        table in vec(written(), 1..120),
        requests in vec(asked(), 1..20),
    ) {
        let numbered = table.iter().enumerate();
        let routes = numbered.filter_map(|(n, w)| route(&options, n as u64, w.order, &w.predicates));
        let index = Index::build(routes.collect());
        for asked in &requests {
            let ask = asked.ask();
            let candidates = index.candidates(&ask.request());
            let rank = |route: &Arc<Route<()>>| (route.order, route.position);
            prop_assert!(candidates.is_sorted_by_key(|route| rank(route)));
            for route in index.iter() {
                let matches = route.matches(&ask.request(), index.groups()) == Ok(true);
                let is_one = candidates.iter().any(|candidate| Arc::ptr_eq(candidate, route));
                prop_assert!(!matches || is_one, "{asked:?}");
            }
        }
    }
}

#[test]
fn tables_of_every_shape_are_flat() {
    for shape in FLAT.into_iter().chain([Shape::Peer]) {
        let size = 3_000;
        let index = Index::build(shape.routes(size));
        let stats = index.stats();
        assert_eq!((stats.routes, stats.scanned), (size, 0), "{shape:?}: {stats:#?}");
        assert_eq!(stats.alone + stats.in_short_lists, size, "{shape:?}: {stats:#?}");
        assert!(stats.depth_max <= FLAT.len(), "{shape:?}: {stats:#?}");
        assert!(stats.bytes / size <= 100, "{shape:?}: {stats:#?}");
        for n in (0..size).step_by(7) {
            let ask = shape.ask(n);
            let tried = index.candidates(&ask.request()).len();
            assert!(tried <= 8, "{shape:?}: {tried} candidates for route {n}");
            let found = index.lookup(&ask.request(), &mut Scratch::default());
            assert_eq!(found.map(|route| route.position), Some(n as u64), "{shape:?}");
        }
    }
}

#[test]
fn a_table_that_grows_one_by_one_is_as_flat_as_one_built_at_once() {
    for shape in FLAT {
        let size = 1_000;
        let mut index = Index::default();
        for n in 0..size {
            index = index.apply(vec![Change::Put(shape.route(n))]);
        }
        let tried = (0..size).map(|n| index.candidates(&shape.ask(n).request()).len());
        let most = tried.max();
        assert!(most <= Some(8), "{shape:?}: {most:?} candidates: {:#?}", index.stats());
        for n in 0..size {
            index = index.apply(vec![Change::Remove(n as u64)]);
        }
        assert!(index.is_empty());
        assert_eq!(index.stats().branches.len(), 0, "{shape:?}");
    }
}

#[test]
fn routes_that_only_expressions_tell_apart_are_reported() {
    let mut written: Vec<String> =
        (0..20).map(|n| format!("Path=/a; Header=X,[a-z]{{{n}}}")).collect();
    written.extend((0..5).map(|n| format!("Path=/b/{n}")));
    let written: Vec<&str> = written.iter().map(String::as_str).collect();
    let stats = table(&written).stats();
    assert_eq!(stats.scanned, 20);
    let [crowded] = &stats.crowded[..] else { panic!("one crowded bucket: {stats:#?}") };
    assert_eq!((crowded.routes, crowded.ids.len()), (20, 3));
    assert_eq!(crowded.only_by, [("Header: X regexp=[a-z]{0}".to_owned(), 20)]);
}

#[test]
fn expressions_with_plain_text_in_them_are_told_apart() {
    let plain = |target: &str| Ask::new("GET", "a", target, &[]);
    let field = |name: &str, value: &str| Ask::new("GET", "a", "/rx", &[(name, value)]);
    for (written, ask) in [
        ("Path=/rx/{v:item-N-\\d+}", plain("/rx/item-77-1")),
        ("Path=/rx/itemN-*", plain("/rx/item77-x")),
        ("Path=/rx/{v:\\d+-item-N}", plain("/rx/1-item-77")),
        ("Path=/rx/*-N.json", plain("/rx/x-77.json")),
        ("Path=/rx/{v:.*-N-.*}", plain("/rx/a-77-b")),
        ("Path=/**/{v:.*-N-.*}", plain("/rx/x/a-77-b")),
        ("Path=/**/x{v}-N", plain("/rx/x/x-77")),
        ("Host={h:[a-z]+-N}.org", Ask::new("GET", "a-77.org", "/", &[])),
        ("Host=**.{h:x-(?:a|b)-N-[a-z]+}.org", Ask::new("GET", "y.x-A-77-z.org", "/", &[])),
        ("Header=X-Id,.*-N-.*", field("X-Id", "a-77-b")),
        ("Header=X-Id,[ab]-N", field("X-Id", "b-77")),
        ("Query=q,.*-N-.*", plain("/rx?q=a-77-b")),
        ("Cookie=c,.*-N-.*", field("Cookie", "c=a-77-b")),
        ("XForwardedRemoteAddr=10.0.N.0/24", field("X-Forwarded-For", "10.0.77.1")),
        ("RemoteAddr=127.0.N.0/24", plain("/").from([127, 0, 77, 9].into(), 0)),
    ] {
        let texts: Vec<String> = (0..250).map(|n| written.replace('N', &format!("{n}"))).collect();
        let index = table(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        let mut scratch = Scratch::default();
        let found = index.lookup(&ask.request(), &mut scratch).map(|route| route.position);
        assert_eq!(found, Some(77), "{written}");
        assert!(scratch.tried() <= 8, "{written}: {} tried", scratch.tried());
        assert_eq!(index.stats().scanned, 0, "{written}: {:#?}", index.stats());
    }
}
