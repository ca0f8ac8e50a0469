//! `Index::lookup` equals `Index::scan` for any table, any request and any history of changes.

#[path = "../benches/tables/mod.rs"]
mod tables;

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::{prop_assert, prop_assert_eq, proptest};
use tables::random::{Asked, BODIES, Written, asked, cases, options, written};
use tables::route;
use weir_route::Route;
use weir_route::index::{Change, Index, Scratch};
use weir_route::predicate::{Predicate, PredicateOptions, WeightGroups};

type Table = Index<()>;

/// Number of changes that is enough for a second thread.
const MANY: u64 = 30_000;

fn routes(options: &PredicateOptions, table: &[Written]) -> Vec<Arc<Route<()>>> {
    let numbered = table.iter().enumerate();
    numbered.filter_map(|(n, w)| route(options, n as u64, w.order, &w.predicates)).collect()
}

/// `None` if lookup and scan agree on every request, otherwise the first request on which they
/// differ.
fn disagreement<'a>(table: &Table, requests: &'a [Asked]) -> Option<&'a Asked> {
    let mut scratch = Scratch::default();
    requests.iter().find(|asked| {
        let ask = asked.ask();
        let found = table.lookup(&ask.request(), &mut scratch).map(Arc::as_ptr);
        found != table.scan(&ask.request()).map(Arc::as_ptr)
    })
}

/// Provides a second thread, as the binary does.
fn beside(there: &mut (dyn FnMut() + Send), here: &mut dyn FnMut()) -> bool {
    std::thread::scope(|scope| {
        let thread = scope.spawn(there);
        here();
        thread.join().unwrap();
    });
    true
}

#[test]
fn two_threads_build_the_table_that_one_does() {
    let options = PredicateOptions::default();
    let make = |n: u64| {
        let path = vec![format!("Path=/{}/{}/**", n % 7_000, n % 11)];
        Change::Put(route(&options, n, (n % 3) as i32, &path).unwrap())
    };
    let changes = || (0..MANY).map(make).collect();
    let one = Table::default().apply(changes());
    let two = Table::default().apply_with(changes(), beside);
    let positions = |table: &Table| table.iter().map(|route| route.position).collect::<Vec<_>>();
    assert_eq!(positions(&one), positions(&two));
    assert_eq!(one.stats(), two.stats());
}

proptest! {
    #![proptest_config(cases(300))]
    #[test]
    fn lookup_is_scan(
        options in options(),
        table in prop_oneof![3 => vec(written(), 1..40), 1 => vec(written(), 40..400)],
        requests in vec(asked(), 1..60),
    ) {
        let index = Table::build(routes(&options, &table));
        prop_assert!(disagreement(&index, &requests).is_none(),
            "{:?}", disagreement(&index, &requests));
    }
}

proptest! {
    #![proptest_config(cases(100))]
    #[test]
    fn a_body_matters_only_to_a_route_that_looks_at_it(
        table in vec(written(), 1..40),
        requests in vec(asked(), 1..30),
    ) {
        let index = Table::build(routes(&PredicateOptions::default(), &table));
        let mut scratch = Scratch::default();
        for asked in &requests {
            let mut found = |body| {
                let ask = asked.ask().with_content(&body);
                index.lookup(&ask.request(), &mut scratch).cloned()
            };
            let unread = found(None);
            let reads = |route: &Arc<Route<()>>| route.all_predicates().any(Predicate::reads_body);
            if !unread.as_ref().is_some_and(reads) {
                for body in BODIES {
                    let position = |route: Option<Arc<Route<()>>>| route.map(|one| one.position);
                    prop_assert_eq!(position(found(body)), position(unread.clone()));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(60))]
    #[test]
    fn lookup_is_scan_after_any_history(
        options in options(),
        batches in vec(vec((0..120u64, proptest::option::weighted(0.7, written())), 1..60), 1..12),
        requests in vec(asked(), 1..30),
        seed in any::<u64>(),
    ) {
        let mut index = Table::with_seed(seed);
        let mut model: BTreeMap<(i32, u64), Arc<Route<()>>> = BTreeMap::new();
        for batch in &batches {
            let old: Vec<_> = index.iter().map(Arc::as_ptr).collect();
            let changes = batch.iter().map(|(position, written)| {
                let put = written.as_ref();
                let put = put.and_then(|w| route(&options, *position, w.order, &w.predicates));
                model.retain(|key, _| key.1 != *position);
                match put {
                    Some(route) => {
                        model.insert((route.order, *position), Arc::clone(&route));
                        Change::Put(route)
                    }
                    None => Change::Remove(*position),
                }
            });
            let next = index.apply(changes.collect());
            prop_assert!(next.iter().map(Arc::as_ptr).eq(model.values().map(Arc::as_ptr)));
            prop_assert!(next.len() == model.len());
            prop_assert!(disagreement(&next, &requests).is_none(),
                "{:?}", disagreement(&next, &requests));
            let mut in_order: Vec<_> = model.values().collect();
            in_order.sort_by_key(|route| route.position);
            let groups = WeightGroups::of_routes(in_order);
            for dice in requests.iter().map(|asked| asked.dice) {
                for group in ["g", "h"] {
                    prop_assert!(next.groups().winner(group, dice) == groups.winner(group, dice));
                }
            }
            prop_assert!(index.iter().map(Arc::as_ptr).eq(old), "an old snapshot has changed");
            prop_assert!(disagreement(&index, &requests).is_none(), "an old snapshot has changed");
            index = next;
        }
    }
}

proptest! {
    #![proptest_config(cases(4))]
    #[test]
    fn lookup_is_scan_in_a_large_table(
        options in options(),
        table in vec(written(), 400..5_000),
        requests in vec(asked(), 100),
    ) {
        let index = Table::build(routes(&options, &table));
        prop_assert!(disagreement(&index, &requests).is_none(),
            "{:?}", disagreement(&index, &requests));
    }
}

#[test]
fn lookup_is_scan_in_a_table_of_5000() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut sample = |count: usize| {
        let tree = vec(written(), count).new_tree(&mut runner).expect("a table");
        proptest::strategy::ValueTree::current(&tree)
    };
    let options = PredicateOptions::default();
    let index = Table::build(routes(&options, &sample(5_000)));
    assert!(index.len() > 2_500, "most routes are accepted: {}", index.len());
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let tree = vec(asked(), 1_000).new_tree(&mut runner).expect("requests");
    let requests = proptest::strategy::ValueTree::current(&tree);
    assert!(disagreement(&index, &requests).is_none(), "{:?}", disagreement(&index, &requests));
    let answered = requests.iter().filter(|asked| index.scan(&asked.ask().request()).is_some());
    assert!(answered.count() > 300, "requests meet the table");
}

/// Checks that the generators of the property tests produce every relevant case.
#[test]
fn the_generators_meet_everything() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let tree = vec(written(), 2_000).new_tree(&mut runner).expect("a table");
    let table = proptest::strategy::ValueTree::current(&tree);
    let tree = vec(asked(), 300).new_tree(&mut runner).expect("requests");
    let requests = proptest::strategy::ValueTree::current(&tree);
    let targets = |wanted: fn(&str) -> bool| requests.iter().any(|asked| wanted(&asked.target));
    assert!(targets(|target| target.contains("//")));
    assert!(targets(|target| target.contains("%2F")));
    assert!(targets(|target| target.len() > 1 && target.ends_with('/')));
    let said = |wanted: &str| table.iter().flat_map(|w| &w.predicates).any(|p| p.contains(wanted));
    for wanted in ["Weight=", ":[a-c]+}", "/**", "Host=", "**", "RemoteAddr=", "Cookie=", "Query="]
    {
        assert!(said(wanted), "{wanted}");
    }
    let index = Table::build(routes(&PredicateOptions::default(), &table));
    let (mut failing, mut several, mut hosts, mut equal) = (0, 0, 0, 0);
    for asked in &requests {
        let ask = asked.ask();
        let request = ask.request();
        let answers = index.iter().map(|route| (route, route.matches(&request, index.groups())));
        let answers: Vec<_> = answers.collect();
        failing += answers.iter().filter(|(_, answer)| answer.is_err()).count();
        let matching: Vec<_> = answers
            .iter()
            .filter(|(_, answer)| *answer == Ok(true))
            .map(|(route, _)| route)
            .collect();
        several += usize::from(matching.len() > 1);
        equal += matching.windows(2).filter(|pair| pair[0].order == pair[1].order).count();
        let host = |route: &Route<()>| {
            route.all_predicates().any(|predicate| predicate.to_string().contains("Host"))
        };
        hosts += usize::from(matching.iter().filter(|route| host(route)).count() > 1);
    }
    assert!(failing > 100, "predicates that fail: {failing}");
    assert!(several > 100, "requests that several routes match: {several}");
    assert!(equal > 100, "of which several have one order: {equal}");
    assert!(hosts > 10, "requests that several routes with a Host match: {hosts}");
}
