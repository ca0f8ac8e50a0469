//! A table and requests: `Index::lookup` answers what `Index::scan` answers.
//!
//! Input: a line for each route (`order` and shortcuts, separated by blanks), an empty line, then a
//! line for each request (`METHOD host target`).

#![no_main]

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use weir_route::index::{Index, Scratch};
use weir_route::predicate::{BuildContext, Predicate, PredicateOptions, find};
use weir_route::{Request, RequestParts, Route, parse_shortcut};
use weir_wire::RequestHead;

fn predicate(text: &str, options: &PredicateOptions, id: &str) -> Option<Predicate> {
    let named = parse_shortcut(text, false).ok()?;
    let spec = find(&named.name)?;
    let args = spec.bind(&named.args).ok()?;
    (spec.build)(&args, &BuildContext { options, route_id: id }).ok()
}

fn route(line: &str, position: u64, options: &PredicateOptions) -> Option<Arc<Route<()>>> {
    let mut words = line.split_ascii_whitespace();
    let order = words.next()?.parse().ok()?;
    let id = format!("r{position}");
    let predicates = words.map(|word| predicate(word, options, &id)).collect::<Option<_>>()?;
    let id = id.as_str().into();
    Some(Arc::new(Route { id, order, position, predicates, group: None, target: () }))
}

fuzz_target!(|text: &str| {
    let (table, requests) = text.split_once("\n\n").unwrap_or((text, ""));
    let options = PredicateOptions::default();
    let lines = table.lines().take(64).zip(0u64..);
    let index = Index::build(lines.filter_map(|(line, n)| route(line, n, &options)).collect());
    let mut scratch = Scratch::default();
    for line in requests.lines().take(16) {
        let mut words = line.splitn(3, ' ');
        let (Some(method), Some(host), Some(target)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query.as_bytes())),
            None => (target, None),
        };
        let mut head = RequestHead::default();
        head.set_method(method.as_bytes());
        head.receive_target(path.as_bytes(), query, None);
        head.fields.append(b"Host", host.as_bytes());
        let parts = RequestParts::of(&head);
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let request = Request { head: &head, parts: &parts, peer, now_ms: 0, dice: 7 };
        let found = index.lookup(&request, &mut scratch).map(|route| route.position);
        assert_eq!(found, index.scan(&request).map(|route| route.position));
    }
});
