//! Route groups: a table with groups matches like the same table with every group expanded.

#[path = "../benches/tables/mod.rs"]
mod tables;

use std::sync::Arc;

use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::{Strategy, any};
use proptest::{prop_assert, prop_assert_eq, proptest};
use tables::random::{Asked, Written, asked, cases, options, written};
use tables::{Ask, group, grouped, route};
use weir_route::index::{Change, Index, Scratch};
use weir_route::predicate::PredicateOptions;
use weir_route::{Route, RouteGroup};

type Table = Index<()>;
type Group = Option<Arc<RouteGroup>>;

/// A route as text, and the number of its group.
type Member = (Option<usize>, Written);

fn members(groups: usize) -> impl Strategy<Value = Member> {
    (weighted(0.7, 0..groups), written())
}

/// Predicates that a group may have: all except weights, which belong to a route.
fn shared() -> impl Strategy<Value = Written> {
    written().prop_filter("no weight", |written| {
        written.predicates.iter().all(|text| !text.starts_with("Weight"))
    })
}

fn group_of(options: &PredicateOptions, written: &[Written], at: Option<usize>) -> Group {
    let written = written.get(at?)?;
    group(options, u32::try_from(at?).expect("few"), written.order, &written.predicates)
}

/// The routes of `table`; routes of an invalid group are omitted.
fn compiled(
    options: &PredicateOptions,
    groups: &[Written],
    table: &[Member],
) -> Vec<Arc<Route<()>>> {
    let shared: Vec<Group> =
        (0..groups.len()).map(|at| group_of(options, groups, Some(at))).collect();
    let numbered = (0..).zip(table);
    let compile = |(position, (group, written)): (u64, &Member)| {
        let group = match group {
            Some(at) => Some(shared[*at].clone()?),
            None => None,
        };
        grouped(options, position, written.order, &written.predicates, group)
    };
    numbered.filter_map(compile).collect()
}

/// The same table without groups: every route has its group's predicates before its own, in the
/// order that `docs/decisions/0007-route-groups.md` defines.
fn expanded(options: &PredicateOptions, groups: &[Written], table: &[Member]) -> Table {
    let mut all: Vec<_> = (0_u64..).zip(table).collect();
    all.sort_by_key(|(position, (at, written))| match at {
        Some(at) => (groups[*at].order, *at, written.order, *position),
        None => (written.order, usize::MAX, 0, *position),
    });
    let in_order = (0..).zip(all).filter_map(|(order, (position, (at, written)))| {
        let mut predicates = at.map_or(Vec::new(), |at| groups[at].predicates.clone());
        predicates.extend_from_slice(&written.predicates);
        route(options, position, order, &predicates)
    });
    Index::build(in_order.collect())
}

/// The first request for which `lookup` of `table` and `scan` of `expanded` differ.
fn disagreement<'a>(table: &Table, expanded: &Table, requests: &'a [Asked]) -> Option<&'a Asked> {
    let mut scratch = Scratch::default();
    requests.iter().find(|asked| {
        let ask = asked.ask();
        let found = table.lookup(&ask.request(), &mut scratch).map(|route| route.position);
        let scanned = table.scan(&ask.request()).map(|route| route.position);
        let expected = expanded.scan(&ask.request()).map(|route| route.position);
        (found, scanned) != (expected, expected)
    })
}

proptest! {
    #![proptest_config(cases(200))]
    #[test]
    fn a_grouped_table_is_the_expanded_one(
        options in options(),
        groups in vec(shared(), 5),
        table in vec(members(5), 1..200),
        requests in vec(asked(), 1..60),
    ) {
        let index = Table::build(compiled(&options, &groups, &table));
        let expanded = expanded(&options, &groups, &table);
        prop_assert_eq!(index.len(), expanded.len());
        prop_assert!(index.iter().map(|r| r.position).eq(expanded.iter().map(|r| r.position)));
        let wrong = disagreement(&index, &expanded, &requests);
        prop_assert!(wrong.is_none(), "{:?}", wrong);
    }
}

proptest! {
    #![proptest_config(cases(60))]
    #[test]
    fn routes_come_into_groups_and_leave_them(
        options in options(),
        groups in vec(shared(), 4),
        table in vec(members(4), 1..80),
        later in vec((0..80_usize, weighted(0.7, members(4))), 1..80),
        requests in vec(asked(), 1..30),
        seed in any::<u64>(),
    ) {
        let start = compiled(&options, &groups, &table).into_iter().map(Change::Put).collect();
        let mut index = Table::with_seed(seed).apply(start);
        let mut present: Vec<Option<Member>> = table.into_iter().map(Some).collect();
        present.resize(80, None);
        for (at, change) in later {
            let position = at as u64;
            let found = change.as_ref().and_then(|(group, written)| {
                let shared = group_of(&options, &groups, *group);
                let known = group.is_none() || shared.is_some();
                let route = || grouped(
                    &options, position, written.order, &written.predicates, shared);
                known.then(route).flatten()
            });
            present[at] = change.filter(|_| found.is_some());
            index = index.apply(vec![found.map_or(Change::Remove(position), Change::Put)]);
            let known = index.at_position(position).map(|route| route.position);
            prop_assert_eq!(known, present[at].as_ref().map(|_| position));
        }
        // A missing route matches nothing, but one with a weight would still take part in the
        // choice.
        let absent = (None, Written { order: 0, predicates: vec!["Nothing".to_owned()] });
        let table: Vec<Member> =
            present.into_iter().map(|member| member.unwrap_or(absent.clone())).collect();
        let expanded = expanded(&options, &groups, &table);
        prop_assert_eq!(index.len(), expanded.len());
        let wrong = disagreement(&index, &expanded, &requests);
        prop_assert!(wrong.is_none(), "{:?}", wrong);
    }
}

/// A table of `(group, order, predicates)`, with groups as (order, predicates).
fn table(groups: &[(i32, &str)], routes: &[(Option<usize>, i32, &str)]) -> Table {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    let groups: Vec<Written> = groups
        .iter()
        .map(|(order, text)| Written { order: *order, predicates: words(text) })
        .collect();
    let member = |(at, order, text): &(Option<usize>, i32, &str)| {
        (*at, Written { order: *order, predicates: words(text) })
    };
    let table: Vec<Member> = routes.iter().map(member).collect();
    let compiled = compiled(&PredicateOptions::default(), &groups, &table);
    assert_eq!(compiled.len(), routes.len(), "every route is accepted");
    Index::build(compiled)
}

fn check(table: &Table, host: &str, target: &str, expected: Option<u64>) {
    let ask = Ask::new("GET", host, target, &[]);
    let found = table.lookup(&ask.request(), &mut Scratch::default());
    assert_eq!(found.map(|route| route.position), expected, "{host}{target}");
    assert_eq!(table.scan(&ask.request()).map(|route| route.position), expected);
}

#[test]
fn a_group_is_entered_searched_and_left_again() {
    let groups = [(0, "Host=shop.org"), (0, "Host=**.org")];
    let routes = [
        (None, 0, "Path=/cart"),
        (Some(1), 0, "Path=/**"),
        (Some(0), 0, "Path=/cart"),
        (Some(0), -5, "Path=/cart/now"),
        (Some(0), -9, "Path=/car?"),
    ];
    let index = table(&groups, &routes);
    // The order of routes counts within a group only.
    check(&index, "shop.org", "/cart", Some(4));
    check(&index, "shop.org", "/cart/now", Some(3));
    // No route of the group matches: the next group is tried, then routes without a group.
    check(&index, "shop.org", "/else", Some(1));
    check(&index, "shop.com", "/cart", Some(0));
    check(&index, "shop.com", "/else", None);
}

#[test]
fn a_group_stands_where_its_own_order_says() {
    let routes = [(None, 0, "Path=/**"), (Some(0), -100, "Path=/a"), (Some(1), 100, "Path=/b")];
    let index = table(&[(1, ""), (-1, "")], &routes);
    check(&index, "h", "/a", Some(0));
    check(&index, "h", "/b", Some(2));
    let index = table(&[(0, ""), (0, "")], &routes);
    check(&index, "h", "/a", Some(1));
    check(&index, "h", "/c", Some(0));
}

#[test]
fn groups_are_told_apart_in_flat_time() {
    let count = 2_000;
    let hosts: Vec<String> = (0..count).map(|n| format!("Host=t{n}.example.org")).collect();
    let groups: Vec<(i32, &str)> = hosts.iter().map(|host| (0, host.as_str())).collect();
    let paths: Vec<String> = (0..5).map(|n| format!("Path=/p{n}")).collect();
    let routes: Vec<_> = (0..count * 5).map(|n| (Some(n / 5), 0, paths[n % 5].as_str())).collect();
    let index = table(&groups, &routes);
    for n in (0..count * 5).step_by(37) {
        let ask = Ask::new("GET", &format!("t{}.example.org", n / 5), &format!("/p{}", n % 5), &[]);
        let mut scratch = Scratch::default();
        let found = index.lookup(&ask.request(), &mut scratch).map(|route| route.position);
        assert_eq!(found, Some(n as u64));
        assert!(scratch.tried() <= 4, "{} tried", scratch.tried());
    }
    assert_eq!(index.stats().scanned, 0);
}
