//! Sets of methods with which a route can match, in one byte, so that a list can exclude routes
//! without reading them.

use crate::predicate::Predicate;
use crate::route::Route;

/// A set of methods; all uncommon methods count as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Methods(u8);

impl Methods {
    const ALL: Self = Self(u8::MAX);
    pub(super) const NONE: Self = Self(0);

    /// The set of one method.
    #[inline]
    pub(crate) fn of(method: &[u8]) -> Self {
        Self(match method {
            b"GET" => 1,
            b"POST" => 2,
            b"PUT" => 4,
            b"DELETE" => 8,
            b"PATCH" => 16,
            b"HEAD" => 32,
            b"OPTIONS" => 64,
            _ => 128,
        })
    }

    /// Whether the sets intersect, or may intersect.
    #[inline]
    pub(crate) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The methods with which a route can match.
    pub(super) fn of_route<T>(route: &Route<T>) -> Self {
        route.all_predicates().fold(Self::ALL, |all, predicate| match predicate {
            Predicate::Method(method) => {
                let named = method.methods().iter().map(|name| Self::of(name.as_bytes()));
                Self(all.0 & named.fold(Self::NONE, |a, b| Self(a.0 | b.0)).0)
            }
            _ => all,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::index::tables::{Ask, route};
    use crate::index::{Index, Scratch};
    use crate::predicate::PredicateOptions;

    /// Checks the route found for `method` on a path with these routes, and the number of routes
    /// tried.
    fn check(routes: &[&str], method: &str, expected: Option<u64>, tried: u32) {
        let options = PredicateOptions::default();
        let build = |(n, methods): (u64, &&str)| {
            let mut predicates = vec!["Path=/a".to_owned()];
            predicates.extend(methods.split('&').filter(|m| !m.is_empty()).map(str::to_owned));
            route(&options, n, 0, &predicates).expect("a route")
        };
        let index = Index::build((0..).zip(routes).map(build).collect());
        let (ask, mut scratch) = (Ask::new(method, "h", "/a", &[]), Scratch::default());
        let found = index.lookup(&ask.request(), &mut scratch).map(|route| route.position);
        assert_eq!((found, scratch.tried()), (expected, tried), "{routes:?} {method}");
    }

    #[test]
    fn routes_of_other_methods_are_not_tried() {
        let rest = ["Method=GET,HEAD", "Method=POST", "Method=PUT,PATCH", "Method=DELETE,OPTIONS"];
        for (method, expected) in [("GET", 0), ("POST", 1), ("PATCH", 2), ("OPTIONS", 3)] {
            check(&rest, method, Some(expected), 1);
        }
        check(&rest, "PURGE", None, 0);
        check(&rest, "get", None, 0);
        check(&["Method=PURGE", "Method=LOCK"], "LOCK", Some(1), 2);
        check(&["Method=POST", ""], "GET", Some(1), 1);
        check(&["Method=GET&Method=POST", "Method=POST&Method=POST,GET"], "POST", Some(1), 1);
    }
}
