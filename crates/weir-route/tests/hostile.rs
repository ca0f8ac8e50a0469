//! Tables and requests made to blow up the index: the answers stay right, the work bounded.

#[path = "../benches/tables/mod.rs"]
mod tables;

use std::sync::Arc;

use tables::{Ask, route};
use weir_route::index::{Change, Index, Scratch};
use weir_route::predicate::PredicateOptions;

fn table(written: impl IntoIterator<Item = Vec<String>>) -> Index<()> {
    let options = PredicateOptions::default();
    let numbered = (0..).zip(written);
    let routes = numbered.map(|(n, w)| route(&options, n, 0, &w).expect("a valid route"));
    Index::build(routes.collect())
}

/// Checks that lookup answers as scan does after at most `tries` routes.
fn check(index: &Index<()>, ask: &Ask, tries: u32) {
    let mut scratch = Scratch::default();
    let found = index.lookup(&ask.request(), &mut scratch).map(Arc::as_ptr);
    assert_eq!(found, index.scan(&ask.request()).map(Arc::as_ptr), "{ask:?}");
    assert!(scratch.tried() <= tries, "{} routes tried: {ask:.200?}", scratch.tried());
}

fn get(target: &str) -> Ask {
    Ask::new("GET", "example.org", target, &[])
}

/// `/a/*/a/a`: every combination of `count` segments, in an order of their own.
fn masks(count: usize) -> Vec<String> {
    let mut masks: Vec<usize> = (0..1 << count).collect();
    masks.sort_by_key(|mask| (mask.wrapping_mul(2_654_435_761)) & 0xFFFF);
    let segment = |mask: usize, at| if mask >> at & 1 == 1 { "/a" } else { "/*" };
    masks.iter().map(|mask| (0..count).map(|at| segment(*mask, at)).collect()).collect()
}

#[test]
fn all_combinations_of_wildcards() {
    let index = table(masks(12).into_iter().map(|path| vec![format!("Path={path}")]));
    check(&index, &get(&"/a".repeat(12)), 8);
    check(&index, &get(&"/b".repeat(12)), 32);
    check(&index, &get(&"/a/b".repeat(6)), 32);
    check(&index, &get(&"/a".repeat(11)), 8);
    let ranks = masks(12).into_iter().zip(0..);
    let options = PredicateOptions::default();
    let reversed = ranks.map(|(path, n)| {
        Change::Put(route(&options, n, -(n as i32), &[format!("Path={path}")]).expect("a route"))
    });
    let index = index.apply(reversed.collect());
    check(&index, &get(&"/a".repeat(12)), 8);
}

#[test]
fn all_combinations_of_wildcards_with_a_predicate_that_fails() {
    let failing = "Header=X,.*1".to_owned();
    let paths = masks(10).into_iter();
    let index = table(paths.map(|path| vec![format!("Path={path}"), failing.clone()]));
    check(&index, &get(&"/a".repeat(10)), 1 << 10);
    check(&index, &get(&"/b".repeat(10)), 32);
}

#[test]
fn ten_thousand_expressions_in_one_bucket_do_not_slow_the_others() {
    let mut written: Vec<Vec<String>> =
        (0..10_000).map(|n| vec![format!("Path=/rx/{{v:.*x{n}}}")]).collect();
    written.extend((0..100).map(|n| vec![format!("Path=/plain/{n}")]));
    written.extend((0..100).map(|n| vec![format!("Path=/t{n}/{{id}}")]));
    let index = table(written);
    check(&index, &get("/plain/7"), 8);
    check(&index, &get("/t7/1"), 8);
    check(&index, &get("/rx/ax9999"), 10_000);
    let stats = index.stats();
    assert_eq!(stats.scanned, 10_000);
    assert_eq!(stats.crowded.len(), 1);
}

#[test]
fn networks_inside_networks() {
    let nets =
        (1..=32).flat_map(|bits| (0..40).map(move |n| format!("RemoteAddr=10.{n}.0.1/{bits}")));
    let index = table(nets.map(|net| vec!["Path=/net".to_owned(), net]));
    for n in 0..50 {
        let ask = get("/net").from(format!("10.{n}.0.1").parse().expect("an address"), 0);
        check(&index, &ask, 8);
    }
    check(&index, &get("/net").from("::1".parse().expect("an address"), 0), 8);
}

#[test]
fn a_header_of_its_own_for_every_few_routes() {
    let index =
        table((0..4_000).map(|n| vec!["Path=/one".to_owned(), format!("Header=X-{},v{n}", n / 4)]));
    for n in (0..4_000).step_by(97) {
        let name = format!("x-{}", n / 4);
        check(&index, &Ask::new("GET", "h", "/one", &[(&name, &format!("v{n}"))]), 16);
    }
    check(&index, &get("/one"), 16);
    let depth = index.stats().depth_max;
    assert!(depth < 16, "{depth}");
}

#[test]
fn a_parameter_or_cookie_of_its_own_for_every_few_routes() {
    for kind in ["Query", "Cookie"] {
        let index = table(
            (0..4_000).map(|n| vec!["Path=/one".to_owned(), format!("{kind}=n{},v{n}", n / 4)]),
        );
        for n in (0..4_000).step_by(97) {
            let pair = format!("n{}=v{n}", n / 4);
            let ask = match kind {
                "Query" => get(&format!("/one?a=b&{pair}")),
                _ => Ask::new("GET", "h", "/one", &[("Cookie", &format!("a=b; {pair}"))]),
            };
            check(&index, &ask, 16);
        }
        let depth = index.stats().depth_max;
        assert!(depth < 16, "{depth}");
    }
}

#[test]
fn literals_at_every_depth() {
    let paths =
        (0..60).flat_map(|depth| (0..20).map(move |n| "/*".repeat(depth) + &format!("/x{n}/**")));
    let index = table(paths.map(|path| vec![format!("Path={path}")]));
    check(&index, &get(&"/y".repeat(1_000)), 8);
    check(&index, &get(&("/y".repeat(59) + "/x7")), 8);
    check(&index, &get(&"/x3".repeat(1_000)), 60);
}

#[test]
fn long_patterns_and_paths() {
    let deep = |n: usize| vec![format!("Path={}/{n}/{{v}}", "/a".repeat(999))];
    let index = table((0..50).map(deep));
    check(&index, &get(&("/a".repeat(999) + "/7/x")), 50);
    check(&index, &get(&"/".repeat(1 << 20)), 50);
    check(&index, &get(&"/a".repeat(1 << 19)), 50);
}

#[test]
fn many_alternatives_in_every_predicate() {
    let list = |prefix: &str, n: usize| {
        let items: Vec<String> = (0..60).map(|k| format!("{prefix}{}", (n * 7 + k) % 97)).collect();
        items.join(",")
    };
    let written = |n: usize| {
        vec![
            format!("Host={}", list("h", n)),
            format!("Path={}", list("/p", n * 3)),
            format!("Method={}", list("M", n * 5)),
        ]
    };
    let index = table((0..300).map(written));
    for n in 0..97 {
        let ask = Ask::new(&format!("M{n}"), &format!("h{n}"), &format!("/p{n}"), &[]);
        check(&index, &ask, 300);
    }
    let stats = index.stats();
    let filings = stats.alone + stats.in_short_lists + stats.scanned;
    assert!(filings <= 300 * 1_024, "{stats:#?}");
}

#[test]
fn texts_that_collide_under_a_hash_without_a_key() {
    // Multiples of 2^32 and the like collide where a hash is truncated or has no key.
    let index = table((0..2_000_u64).map(|n| vec![format!("Path=/{:x}", n << 40)]));
    for n in (0..2_000_u64).step_by(11) {
        check(&index, &get(&format!("/{:x}", n << 40)), 4);
    }
}
