//! Internal forwards of routes and breakers, and whether a route matches their path.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr};

use weir_route::index::Index;
use weir_route::predicate::Predicate;
use weir_route::{Request, RequestParts, Route};
use weir_wire::RequestHead;

use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;
use weir_snapshot::{RouteTarget, Upstream};

/// Maximum number of checked paths; each is compared with all routes.
const PATHS_MAX: usize = 100;

/// A finding for each path that no route of `index` matches. `place` returns the place of a route.
pub(crate) fn astray(
    index: &Index<RouteTarget>,
    place: impl Fn(u64) -> Span,
    problems: &mut Vec<Diagnostic>,
) {
    let mut known: HashSet<&str> = HashSet::new();
    let mut found: Vec<(u64, Diagnostic)> = Vec::new();
    for route in index.iter() {
        let target = &route.target;
        let breaker = target.chain.breaker().and_then(|breaker| breaker.fallback_path());
        let uri = match &target.upstream {
            Upstream::Forward(to) => Some(to.path.as_str()),
            _ => None,
        };
        let leads = [(breaker, "a request that fails goes to"), (uri, "the route leads to")];
        for (path, how) in leads {
            let Some(path) = path.filter(|path| !known.contains(path)) else { continue };
            if known.len() >= PATHS_MAX {
                break;
            }
            known.insert(path);
            if !is_taken(index, path) {
                found.push((route.position, finding(path, how).at(place(route.position))));
            }
        }
    }
    found.sort_by_key(|(position, _)| *position);
    problems.extend(found.into_iter().map(|(_, finding)| finding));
}

fn finding(path: &str, how: &str) -> Diagnostic {
    let message =
        format!("{how} `forward:{path}`, and no route takes that path: it is answered 404");
    let help = format!(
        "write a route with the predicate `Path={path}`; a Java controller of the application, \
         which would answer there, does not run in weir"
    );
    Diagnostic::new(Code::ForwardAstray, message).help(help)
}

/// Whether the path predicates of any route match `path`; other predicates depend on the request.
fn is_taken(index: &Index<RouteTarget>, path: &str) -> bool {
    let mut head = RequestHead::default();
    head.set_method(b"GET");
    head.receive_target(path.as_bytes(), None, None);
    let parts = RequestParts::of(&head);
    let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let request = Request { head: &head, parts: &parts, peer, now_ms: 0, dice: 0 };
    let lets_in = |route: &Route<RouteTarget>| {
        let mut paths = route.all_predicates().filter(|one| matches!(one, Predicate::Path(_)));
        paths.all(|one| one.matches(&request, index.groups()) == Ok(true))
    };
    index.iter().any(|route| lets_in(route))
}
