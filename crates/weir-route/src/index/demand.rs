//! Keys that a route demands in a dimension: one half of the rule in [`super::dim`].

use std::sync::Arc;

use ipnet::IpNet;

use super::dim::{Demand, Dim, IPV4, IPV6, Subject, header, leading_bits, pair};
use super::hash::Hash;
use super::piece;
use crate::pattern::{HostPattern, Label, PathPattern, Segment};
use crate::predicate::Key;
use crate::route::Route;

/// Maximum number of keys of a route in a dimension; a predicate with more is not indexed.
const KEYS_MAX: usize = 256;
/// Maximum index of segments and labels that are looked up individually.
const DEPTH_MAX: usize = 64;

impl Dim {
    /// Adds the dimensions in which `route` has a demand.
    pub(crate) fn propose<T>(route: &Route<T>, dims: &mut Vec<Dim>) {
        for key in route.all_predicates().filter_map(|predicate| predicate.key()) {
            Self::propose_for(key, dims);
        }
        let keyless = route.all_predicates().filter(|predicate| predicate.key().is_none());
        keyless.for_each(|predicate| piece::propose(predicate, dims));
    }

    /// Adds the dimensions in which `key` can be looked up.
    pub(crate) fn propose_for(key: Key<'_>, dims: &mut Vec<Dim>) {
        match key {
            Key::Path(patterns) => propose_path(patterns, dims),
            Key::Host(patterns) => propose_host(patterns, dims),
            Key::Methods(_) => dims.push(Dim::Method),
            Key::Header { name, split, .. } => {
                let name: Arc<str> = name.to_ascii_lowercase().into();
                dims.push(Dim::Header { name, split });
                dims.push(Dim::AnyHeader { split });
            }
            Key::Query { name, .. } => {
                dims.extend([Dim::Query { name: name.into() }, Dim::AnyQuery]);
            }
            Key::Cookie { name, .. } => {
                dims.extend([Dim::Cookie { name: name.into() }, Dim::AnyCookie]);
            }
            Key::RemoteAddr(_) => dims.push(Dim::Peer),
            Key::Client { proxies, .. } => dims.push(Dim::Client { proxies }),
        }
    }

    /// Fills `demands` with the keys that `route` demands in this dimension; `false` if there are
    /// none.
    pub(crate) fn demands<T>(
        &self,
        route: &Route<T>,
        hash: &Hash,
        demands: &mut Vec<Demand>,
    ) -> bool {
        for predicate in route.all_predicates() {
            demands.clear();
            let found = match (self, predicate.key()) {
                (Dim::Piece { of, place }, Some(key @ (Key::Path(_) | Key::Host(_)))) => {
                    piece::of_patterns(of, *place, key, hash, demands)
                }
                (Dim::Piece { of, place }, _) => {
                    piece::demands(of, *place, predicate, hash, demands)
                }
                (_, Some(key)) => self.demands_of(key, hash, demands),
                (_, None) => None,
            };
            if found.is_some() && demands.len() <= KEYS_MAX {
                demands.sort_unstable();
                demands.dedup();
                return true;
            }
        }
        demands.clear();
        false
    }

    fn demands_of(&self, key: Key<'_>, hash: &Hash, demands: &mut Vec<Demand>) -> Option<()> {
        let mut text =
            |text: &str| demands.push(Demand { key: hash.text(text.as_bytes()), size: 0 });
        match (self, key) {
            (Dim::Path, Key::Path(patterns)) => {
                for pattern in patterns.iter().filter(|pattern| pattern.can_match()) {
                    let literal = pattern.literal()?;
                    text(literal);
                    if pattern.tolerates_trailing_slash() {
                        text(&format!("{literal}/"));
                    }
                }
            }
            (Dim::Length, Key::Path(patterns)) => {
                for pattern in patterns.iter().filter(|pattern| pattern.can_match()) {
                    let len = pattern.segments().count();
                    if pattern.segments().filter(fixed).count() < len {
                        return None;
                    }
                    let more = u128::from(pattern.tolerates_trailing_slash());
                    let lens = len as u128..=len as u128 + more;
                    demands.extend(lens.map(|len| Demand { key: hash.number(len, 0), size: 0 }));
                }
            }
            (Dim::Segment { at, from_end }, Key::Path(patterns)) => {
                for pattern in patterns.iter().filter(|pattern| pattern.can_match()) {
                    text(segment(pattern, *at, *from_end)?);
                }
            }
            (Dim::Host { port }, Key::Host(patterns)) => {
                for pattern in patterns {
                    text(pattern.literal().filter(|_| pattern.includes_port() == *port)?);
                }
            }
            (Dim::Label { at, from_end, port }, Key::Host(patterns)) => {
                for pattern in patterns {
                    text(label(pattern, *at, *from_end, *port)?);
                }
            }
            (Dim::Method, Key::Methods(methods)) => methods.iter().for_each(|method| text(method)),
            (Dim::Header { name, split }, Key::Header { name: other, value, split: splits })
                if splits == *split && other.eq_ignore_ascii_case(name) =>
            {
                text(value);
            }
            (Dim::AnyHeader { split }, Key::Header { name, value, split: splits })
                if splits == *split =>
            {
                demands.push(Demand { key: header(name.as_bytes(), value, hash)?, size: 0 });
            }
            (Dim::AnyQuery, Key::Query { name, value })
            | (Dim::AnyCookie, Key::Cookie { name, value }) => {
                demands.push(Demand { key: pair(name.as_bytes(), value, hash), size: 0 });
            }
            (Dim::Query { name }, Key::Query { name: other, value }) if *other == **name => {
                text(value);
            }
            (Dim::Cookie { name }, Key::Cookie { name: other, value }) if *other == **name => {
                text(value);
            }
            (Dim::Peer, Key::RemoteAddr(nets)) => {
                demands.extend(nets.iter().map(|net| network(net, hash)));
            }
            (Dim::Client { proxies }, Key::Client { nets, proxies: own }) if own == *proxies => {
                demands.extend(nets.iter().map(|net| network(net, hash)));
            }
            _ => return None,
        }
        Some(())
    }
}

fn propose_path(patterns: &[PathPattern], dims: &mut Vec<Dim>) {
    let Some(pattern) = patterns.iter().find(|pattern| pattern.can_match()) else {
        return dims.push(Dim::Path);
    };
    if pattern.literal().is_some() {
        dims.push(Dim::Path);
    }
    if !pattern.segments().any(|segment| !fixed(&segment)) && pattern.literal().is_none() {
        dims.push(Dim::Length);
    }
    let mut from_end = false;
    for (at, segment) in pattern.segments().take(DEPTH_MAX).enumerate() {
        let at = at as u16;
        match segment {
            Segment::Literal(_) => dims.push(Dim::Segment { at, from_end: false }),
            Segment::Shape(shape) => {
                piece::propose_shape(&Subject::Segment { at, from_end: false }, shape, dims);
            }
            Segment::One { .. } => {}
            Segment::Rest { .. } => from_end = true,
        }
        if from_end {
            break;
        }
    }
    if from_end {
        let behind = pattern.segments().rev().take(DEPTH_MAX);
        let behind = behind.take_while(|segment| !matches!(segment, Segment::Rest { .. }));
        for (at, segment) in behind.enumerate() {
            let at = at as u16;
            match segment {
                Segment::Literal(_) => dims.push(Dim::Segment { at, from_end: true }),
                Segment::Shape(shape) => {
                    piece::propose_shape(&Subject::Segment { at, from_end: true }, shape, dims);
                }
                Segment::One { .. } | Segment::Rest { .. } => {}
            }
        }
    }
}

fn propose_host(patterns: &[HostPattern], dims: &mut Vec<Dim>) {
    let Some(pattern) = patterns.first() else {
        return dims.push(Dim::Host { port: true });
    };
    let port = pattern.includes_port();
    if pattern.literal().is_some() {
        dims.push(Dim::Host { port });
    }
    let mut labels = |labels: &mut dyn Iterator<Item = Label<'_>>, from_end: bool| {
        for (at, label) in labels.take(DEPTH_MAX).enumerate() {
            let at = at as u16;
            match label {
                Label::Literal(_) => dims.push(Dim::Label { at, from_end, port }),
                Label::Many => return true,
                Label::One { .. } => {}
                Label::Shape(shape) => {
                    piece::propose_shape(&Subject::Label { at, from_end, port }, shape, dims);
                }
            }
        }
        false
    };
    if labels(&mut pattern.labels().rev(), true) {
        labels(&mut pattern.labels(), false);
    }
}

/// The text of segment `at` in every path of `pattern`.
fn segment(pattern: &PathPattern, at: u16, from_end: bool) -> Option<&str> {
    let found = if !from_end {
        pattern.segments().take_while(fixed).nth(usize::from(at))
    } else if pattern.tolerates_trailing_slash() {
        None
    } else {
        pattern.segments().rev().take_while(fixed).nth(usize::from(at))
    };
    match found? {
        Segment::Literal(text) => Some(text),
        Segment::One { .. } | Segment::Shape(_) | Segment::Rest { .. } => None,
    }
}

fn fixed(segment: &Segment<'_>) -> bool {
    !matches!(segment, Segment::Rest { .. })
}

/// The text of label `at` in every host of `pattern`.
fn label(pattern: &HostPattern, at: u16, from_end: bool, port: bool) -> Option<&str> {
    if pattern.includes_port() != port {
        return None;
    }
    let fixed = |label: &Label<'_>| !matches!(label, Label::Many);
    let at = usize::from(at);
    let found = match from_end {
        true => pattern.labels().rev().take_while(fixed).nth(at),
        false => pattern.labels().take_while(fixed).nth(at),
    };
    match found? {
        Label::Literal(text) => Some(text),
        Label::One { .. } | Label::Shape(_) | Label::Many => None,
    }
}

fn network(net: &IpNet, hash: &Hash) -> Demand {
    let size = u16::from(net.prefix_len()) + if net.addr().is_ipv6() { IPV6 } else { IPV4 };
    Demand { key: hash.number(leading_bits(net.addr(), net.prefix_len()), size), size }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::{prop_assert, proptest};

    use super::{Demand, Dim, Hash};
    use crate::index::tables::random::{asked, cases, options, written};
    use crate::index::tables::route;
    use crate::predicate::WeightGroups;
    use crate::request::Request;

    /// Whether `request` shows one of the keys `demands`.
    fn shows(dim: &Dim, request: &Request<'_>, hash: &Hash, demands: &[Demand]) -> bool {
        let mut sizes: Vec<u16> = demands.iter().map(|demand| demand.size).collect();
        sizes.retain(|size| *size > 0);
        let mut found = false;
        dim.show(request, hash, &sizes, |key| {
            found |= demands.iter().any(|demand| demand.key == key);
        });
        found
    }

    proptest! {
        #![proptest_config(cases(150))]
        #[test]
        fn a_request_shows_what_the_routes_that_match_it_demand(
            table in vec((options(), written()), 1..60),
            requests in vec(asked(), 1..60),
        ) {
            let hash = Hash::new(7);
            let routes = (0..).zip(&table);
            let routes = routes.filter_map(|(n, (o, w))| route(o, n, 0, &w.predicates));
            let routes: Vec<_> = routes.collect();
            let mut dims = Vec::new();
            routes.iter().for_each(|route| Dim::propose(route, &mut dims));
            dims.sort_by_key(Dim::to_string);
            dims.dedup();
            let groups = WeightGroups::of_routes(&routes);
            let mut demands = Vec::new();
            for asked in &requests {
                let ask = asked.ask();
                for route in &routes {
                    if route.matches(&ask.request(), &groups) != Ok(true) {
                        continue;
                    }
                    for dim in &dims {
                        let demanded = dim.demands(route, &hash, &mut demands);
                        prop_assert!(
                            !demanded || shows(dim, &ask.request(), &hash, &demands),
                            "{dim} of {asked:?} and {:?}", route.predicates,
                        );
                    }
                }
            }
        }
    }
}
