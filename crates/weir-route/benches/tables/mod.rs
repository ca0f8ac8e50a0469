//! Route tables and requests for the tests and benchmarks of the index.

#![allow(dead_code, reason = "each test and benchmark uses its part")]

pub mod random;
pub mod shapes;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use weir_route::predicate::{BuildContext, PredicateOptions, find};
use weir_route::{Content, Predicates, Request, RequestParts, Route, RouteGroup, parse_shortcut};
use weir_wire::RequestHead;

/// A route of `predicates`, each a shortcut such as `Path=/a`; `None` if one is rejected.
pub fn route(
    options: &PredicateOptions,
    position: u64,
    order: i32,
    predicates: &[String],
) -> Option<Arc<Route<()>>> {
    grouped(options, position, order, predicates, None)
}

/// The same in a group.
pub fn grouped(
    options: &PredicateOptions,
    position: u64,
    order: i32,
    predicates: &[String],
    group: Option<Arc<RouteGroup>>,
) -> Option<Arc<Route<()>>> {
    let id = format!("r{position}");
    let predicates = built(options, &id, predicates)?;
    let id = id.as_str().into();
    Some(Arc::new(Route { id, order, position, predicates, group, target: () }))
}

/// A group of these predicates; `None` if one is rejected.
pub fn group(
    options: &PredicateOptions,
    place: u32,
    order: i32,
    predicates: &[String],
) -> Option<Arc<RouteGroup>> {
    let id = format!("g{place}");
    let predicates = built(options, &id, predicates)?;
    Some(Arc::new(RouteGroup { id: id.as_str().into(), order, place, predicates }))
}

fn built(options: &PredicateOptions, id: &str, predicates: &[String]) -> Option<Predicates> {
    let context = BuildContext { options, route_id: id };
    let build = |text: &String| {
        let written = parse_shortcut(text, false).ok()?;
        let spec = find(&written.name)?;
        (spec.build)(&spec.bind(&written.args).ok()?, &context).ok()
    };
    predicates.iter().map(build).collect()
}

/// A request that owns its data.
#[derive(Debug)]
pub struct Ask {
    head: RequestHead,
    parts: RequestParts,
    peer: IpAddr,
    dice: u64,
}

impl Ask {
    /// A request for `target` (path and query) with a Host field unless `host` is empty.
    pub fn new(method: &str, host: &str, target: &str, fields: &[(&str, &str)]) -> Self {
        let mut head = RequestHead::default();
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query.as_bytes())),
            None => (target, None),
        };
        if !host.is_empty() {
            head.fields.append(b"Host", host.as_bytes());
        }
        for (name, value) in fields {
            head.fields.append(name.as_bytes(), value.as_bytes());
        }
        head.set_method(method.as_bytes());
        head.receive_target(path.as_bytes(), query, None);
        let parts = RequestParts::of(&head);
        Self { head, parts, peer: Ipv4Addr::LOCALHOST.into(), dice: 0 }
    }

    /// The same request from another peer, with other random bits.
    pub fn from(self, peer: IpAddr, dice: u64) -> Self {
        Self { peer, dice, ..self }
    }

    /// The same request with this body, if it was read.
    #[allow(dead_code, reason = "not every bench has bodies")]
    pub fn with_content(mut self, body: &Option<&str>) -> Self {
        let read = |body: &str| serde_json::from_str(body).map_or(Content::Unusable, Content::Json);
        self.parts.content = body.map_or(Content::Unread, read);
        self
    }

    /// Becomes a copy of `other` in its existing memory, as a worker reads consecutive requests.
    pub fn read(&mut self, other: &Ask) {
        let head = &mut self.head;
        head.clear();
        for (name, value) in other.head.fields.iter() {
            head.fields.append(name, value);
        }
        head.set_method(other.head.method());
        head.receive_target(other.head.path(), other.head.query(), None);
        self.parts.read(head);
        self.peer = other.peer;
        self.dice = other.dice;
    }

    /// The request.
    pub fn request(&self) -> Request<'_> {
        let Self { head, parts, peer, dice } = self;
        Request { head, parts, peer: *peer, now_ms: 1_700_000_000_000, dice: *dice }
    }
}
