//! Shortcuts and the route index.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use weir_route::index::{Ahead, Fetch, Index, Scratch};
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
    let predicates = words.map(|word| predicate(word, options, &id)).collect::<Option<Vec<_>>>()?;
    Some(Arc::new(Route {
        id: id.as_str().into(),
        order,
        position,
        predicates: predicates.into(),
        group: None,
        target: (),
    }))
}

/// Has nothing to fetch into.
struct Nowhere;

impl Fetch for Nowhere {
    fn fetch<V>(&self, _: &[V]) {}
}

/// A table and requests: `Index::lookup` answers what `Index::scan` answers.
///
/// Input: a line for each route (`order` and shortcuts, separated by blanks), an empty line, then a
/// line for each request (`METHOD host target`).
///
/// # Panics
/// If it does not hold.
pub fn route_index(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
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
        let mut ahead = Ahead::default();
        index.look_ahead_by_path(&parts.path, &mut ahead, &Nowhere);
        (0..4).for_each(|_| index.look_ahead(&request, &mut ahead, &Nowhere));
        let found = index.lookup(&request, &mut scratch).map(|route| route.position);
        assert_eq!(found, index.scan(&request).map(|route| route.position));
    }
}

/// A shortcut such as `Path=/a,/b`: parsing it, and building the predicate it names, gives a value
/// or an error, whatever the text.
///
/// # Panics
/// If it does not hold.
pub fn shortcut(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(named) = parse_shortcut(text, true) else { return };
    assert!(text.starts_with(named.name.as_str()));
    let written: Vec<_> = named.args.values().filter_map(|value| value.as_str()).collect();
    assert!(written.iter().all(|value| !value.is_empty() && !value.contains(',')));
    let Some(spec) = find(&named.name) else { return };
    let options = PredicateOptions::default();
    let context = BuildContext { options: &options, route_id: "fuzz" };
    if let Ok(predicate) = spec.bind(&named.args).and_then(|args| (spec.build)(&args, &context)) {
        assert!(!predicate.to_string().is_empty());
    }
}
