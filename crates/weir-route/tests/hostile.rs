//! Adversarial tables and requests: results stay correct, work stays bounded.

#[path = "../benches/tables/mod.rs"]
mod tables;

use std::sync::Arc;

use tables::shapes::Shape;
use tables::{Ask, route};
use weir_route::index::{Change, Index, Scratch};
use weir_route::predicate::PredicateOptions;

fn table(written: impl IntoIterator<Item = Vec<String>>) -> Index<()> {
    let options = PredicateOptions::default();
    let numbered = (0..).zip(written);
    let routes = numbered.map(|(n, w)| route(&options, n, 0, &w).expect("a valid route"));
    Index::build(routes.collect())
}

/// Checks that lookup equals scan and tries at most `tries` routes.
fn check(index: &Index<()>, ask: &Ask, tries: u32) {
    let mut scratch = Scratch::default();
    let found = index.lookup(&ask.request(), &mut scratch).map(Arc::as_ptr);
    assert_eq!(found, index.scan(&ask.request()).map(Arc::as_ptr), "{ask:?}");
    assert!(scratch.tried() <= tries, "{} routes tried: {ask:.200?}", scratch.tried());
}

fn get(target: &str) -> Ask {
    Ask::new("GET", "example.org", target, &[])
}

/// `/a/*/a/a`: every combination of `count` segments, in a shuffled order.
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
    // Only trying separates these routes: no text is common to all matches of one.
    let mut written: Vec<Vec<String>> = (0..10_000).map(|n| Shape::Opaque.predicates(n)).collect();
    written.extend((0..100).map(|n| vec![format!("Path=/plain/{n}")]));
    written.extend((0..100).map(|n| vec![format!("Path=/t{n}/{{id}}")]));
    let index = table(written);
    check(&index, &get("/plain/7"), 8);
    check(&index, &get("/t7/1"), 8);
    check(&index, &Shape::Opaque.ask(9_999), 10_000);
    check(&index, &get("/rx/none"), 10_000);
    let stats = index.stats();
    assert_eq!(stats.scanned, 10_000);
    assert_eq!(stats.crowded.len(), 1);
}

#[test]
fn ten_thousand_patterns_on_one_node() {
    // One more than the limit at which debug builds compare with a scan: 10,000 expressions are
    // slow.
    let count = 10_001;
    let kinds = [
        ("pre-N-*", "pre-N-x"),
        ("*-N-post", "x-N-post"),
        ("{v:[a-z]+-N-[a-z]+}", "ab-N-cd"),
        ("a{v}-N", "ax-N"),
    ];
    for (pattern, text) in kinds {
        let of = |text: &str, n: usize| format!("/node/{}", text.replace('N', &n.to_string()));
        let index = table((0..count).map(|n| vec![format!("Path={}", of(pattern, n))]));
        let mut scratch = Scratch::default();
        let mut lookup = |path: &str| {
            let found = index.lookup(&get(path).request(), &mut scratch);
            assert!(scratch.tried() <= 16, "{pattern}: {} tried", scratch.tried());
            found.map(|route| route.position)
        };
        for n in (0..count).step_by(487) {
            assert_eq!(lookup(&of(text, n)), Some(n as u64), "{pattern}");
        }
        assert_eq!(lookup("/node/none"), None, "{pattern}");
        lookup(&of(&text.repeat(5_000), 7));
    }
}

#[test]
fn a_value_that_is_said_a_thousand_times() {
    // All routes of a value fail in the end, so that no match cuts the search short.
    let never = "Before=2000-01-01T00:00:00Z".to_owned();
    for kind in ["Header=X,vN", "Header=X,.*-vN", "Query=q,vN", "Cookie=c,vN", "Cookie=c,.*-vN"] {
        let written =
            (0..200).map(|n| vec![kind.replace('N', &(n / 4).to_string()), never.clone()]);
        let index = table(written);
        let one = ["v1"; 1_000];
        let mut two = one;
        two.iter_mut().step_by(2).for_each(|value| *value = "-v2");
        for values in [one, two] {
            let ask = match kind.as_bytes().first() {
                Some(b'H') => Ask::new("GET", "h", "/", &[("X", &values.join(","))]),
                Some(b'Q') => get(&format!("/?q={}", values.join("&q="))),
                _ => {
                    Ask::new("GET", "h", "/", &[("Cookie", &format!("c={}", values.join("; c=")))])
                }
            };
            check(&index, &ask, 8);
        }
    }
}

#[test]
fn text_is_looked_up_in_a_long_segment_step_by_step() {
    let texts = (0..5_000).map(|n| vec![format!("Path=/rx/{{v:.*<{n}>.*}}")]);
    let index = table(texts);
    let long: String = (0..20_000).map(|n| format!("<{}>", n % 9_000)).collect();
    let ask = get(&format!("/rx/{long}"));
    let mut scratch = Scratch::default();
    let found = index.lookup(&ask.request(), &mut scratch).map(|route| route.position);
    assert_eq!(found, Some(0));
    // One probe for each byte and each length of piece.
    let bound = long.len() * 10 + 100;
    assert!((scratch.probed() as usize) < bound, "{} of {bound}", scratch.probed());
    assert!(scratch.tried() <= 5_000, "{}", scratch.tried());
}

#[test]
fn a_hundred_thousand_equal_routes() {
    let index = table((0..100_000).map(|_| vec!["Path=/same".to_owned()]));
    let mut scratch = Scratch::default();
    let found = index.lookup(&get("/same").request(), &mut scratch).map(|route| route.position);
    assert_eq!((found, scratch.tried()), (Some(0), 1));
    assert!(index.lookup(&get("/else").request(), &mut scratch).is_none());
    assert!(scratch.tried() <= 1, "{}", scratch.tried());
    assert_eq!(index.stats().scanned, 100_000);
    let shadowed = index.shadowed();
    assert_eq!(shadowed.len(), 99_999);
    assert!(shadowed.iter().all(|found| found.duplicate && found.by.position == 0));
}

#[test]
fn deep_and_long_patterns_are_refused_or_bounded() {
    let options = PredicateOptions::default();
    let compiles = |text: String| route(&options, 0, 0, &[text]).is_some();
    assert!(!compiles(format!("Path=/{}", "a".repeat(1 << 20))));
    assert!(!compiles(format!("Path=/{{v:{}}}", "(?:".repeat(5_000))));
    assert!(!compiles("Header=X,(a{1000}){1000}".to_owned()));
    assert!(!compiles(format!("Header=X,{}", "a".repeat(1 << 20))));
    assert!(compiles(format!("Path=/{}", "a/".repeat(1_000))));
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
    // Multiples of 2^32 and similar numbers collide if a hash is truncated or not keyed.
    let index = table((0..2_000_u64).map(|n| vec![format!("Path=/{:x}", n << 40)]));
    for n in (0..2_000_u64).step_by(11) {
        check(&index, &get(&format!("/{:x}", n << 40)), 4);
    }
}
