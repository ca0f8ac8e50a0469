//! Timers by route, status and method, with the labels that Micrometer gives them for SCG.
//!
//! A route gets a number at its first request, which is stored with the route. Each worker has one
//! timer per number, found by index. Further combinations of status and method are searched for:
//! most routes rarely need them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use weir_filter::{Scheme, Target};
use weir_mock::MockSource;
use weir_route::Route;
use weir_snapshot::{RouteTarget, Upstream};

use super::own::add;
use crate::sys::fetch;
use weir_filter::constant;

/// Routes with timers of their own; all further routes share one.
pub(super) const ROUTES_MAX: usize = 10_000;
/// Timers of a worker beside the first of each route.
const MORE_MAX: usize = 10_000;
/// Timers that are made at once.
const BLOCK: usize = 32;
/// A maximum is remembered for three windows, as Micrometer does.
const WINDOW_MS: u64 = 60_000;
const WINDOWS: usize = 3;

/// The number of a route's timers; 0 for all that have none of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RouteNumber(u32);

/// The routes that have timers of their own, one list for all workers. A route that is read again
/// keeps its number if it keeps its id and uri; so does one that is replaced, while there is room.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    names: Mutex<Names>,
    /// No other route gets a number, and none is written to again: among a million, most requests
    /// are the first of their route.
    full: AtomicBool,
}

#[derive(Debug, Default)]
struct Names {
    numbers: HashMap<Arc<Name>, RouteNumber>,
    /// From number 1 on.
    list: Vec<Arc<Name>>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Name {
    id: Arc<str>,
    uri: String,
}

impl Name {
    fn of(route: &Route<RouteTarget>) -> Self {
        Self { id: Arc::clone(&route.id), uri: uri_text(&route.target.upstream) }
    }
}

impl Listed {
    /// The number of `route`.
    pub(crate) fn number(&self, route: &Route<RouteTarget>) -> RouteNumber {
        match route.target.series.load(Ordering::Relaxed) {
            0 if self.full.load(Ordering::Relaxed) => RouteNumber::default(),
            0 => self.enter(route),
            number => RouteNumber(number),
        }
    }

    #[cold]
    fn enter(&self, route: &Route<RouteTarget>) -> RouteNumber {
        let name = Name::of(route);
        let mut names = self.names();
        let Names { numbers, list } = &mut *names;
        let number = numbers.get(&name).copied().or_else(|| {
            let number = RouteNumber(list.len() as u32 + 1);
            let name = Arc::new(name);
            (list.len() < ROUTES_MAX).then(|| {
                numbers.insert(Arc::clone(&name), number);
                list.push(name);
                number
            })
        });
        self.full.store(list.len() >= ROUTES_MAX, Ordering::Relaxed);
        let number = number.unwrap_or_default();
        route.target.series.store(number.0, Ordering::Relaxed);
        number
    }

    /// Gives each of the reloaded `routes` the number of the route it replaces.
    pub(super) fn recognise<'r>(&self, routes: impl Iterator<Item = &'r Arc<Route<RouteTarget>>>) {
        if !self.full.load(Ordering::Relaxed) {
            // Each is found at its first request.
            return;
        }
        let names = self.names();
        for route in routes {
            if let Some(number) = names.numbers.get(&Name::of(route)) {
                route.target.series.store(number.0, Ordering::Relaxed);
            }
        }
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A status and a method; 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Kind(u32);

const METHODS: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "OTHER"];

impl Kind {
    pub(super) fn of(status: u16, method: &[u8]) -> Self {
        let method = match method {
            b"GET" => 1,
            b"HEAD" => 2,
            b"POST" => 3,
            b"PUT" => 4,
            b"PATCH" => 5,
            b"DELETE" => 6,
            b"OPTIONS" => 7,
            _ => 8,
        };
        Self(u32::from(status) << 4 | method)
    }

    fn status(self) -> u16 {
        (self.0 >> 4) as u16
    }

    fn method(self) -> &'static str {
        let method = (self.0 as usize & 15).checked_sub(1);
        method.and_then(|method| METHODS.get(method)).copied().unwrap_or_default()
    }
}

/// Count and durations. Only one worker writes it, so it needs no atomic additions.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Timer {
    kind: AtomicU32,
    count: AtomicU64,
    sum_ns: AtomicU64,
    /// The window that the first of `max_ns` is of; the others are of those before.
    window: AtomicU64,
    max_ns: [AtomicU64; WINDOWS],
}

impl Timer {
    /// Whether the timer counts `kind`, or is unused.
    fn takes(&self, kind: Kind) -> bool {
        match self.kind.load(Ordering::Relaxed) {
            0 => {
                self.kind.store(kind.0, Ordering::Relaxed);
                true
            }
            own => own == kind.0,
        }
    }

    fn add(&self, took_ns: u64, window: u64) {
        add(&self.count, 1);
        add(&self.sum_ns, took_ns);
        if self.window.load(Ordering::Relaxed) != window {
            self.turn(window);
        }
        let [max_ns, ..] = &self.max_ns;
        if took_ns > max_ns.load(Ordering::Relaxed) {
            max_ns.store(took_ns, Ordering::Relaxed);
        }
    }

    /// Starts another window.
    fn turn(&self, window: u64) {
        let max_ns: [u64; WINDOWS] = std::array::from_fn(|age| {
            let before = window.checked_sub(age as u64);
            before.map_or(0, |before| self.max_ns_of(before))
        });
        for (old, new) in self.max_ns.iter().zip(max_ns) {
            old.store(new, Ordering::Relaxed);
        }
        self.window.store(window, Ordering::Relaxed);
    }

    /// The maximum of one window; 0 for one that is no longer remembered.
    fn max_ns_of(&self, window: u64) -> u64 {
        let age = self.window.load(Ordering::Relaxed).checked_sub(window);
        let max_ns = age.and_then(|age| self.max_ns.get(usize::try_from(age).ok()?));
        max_ns.map_or(0, |max_ns| max_ns.load(Ordering::Relaxed))
    }

    fn total(&self, window: u64) -> Total {
        let windows = window.saturating_sub(WINDOWS as u64 - 1)..=window;
        Total {
            count: self.count.load(Ordering::Relaxed),
            sum: Duration::from_nanos(self.sum_ns.load(Ordering::Relaxed)),
            max: Duration::from_nanos(windows.map(|w| self.max_ns_of(w)).max().unwrap_or_default()),
        }
    }
}

/// Totals of the timers with one name.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Total {
    pub(super) count: u64,
    pub(super) sum: Duration,
    pub(super) max: Duration,
}

/// The timers of one worker.
#[derive(Debug)]
pub(super) struct Timers {
    /// Start of the worker's clock.
    pub(super) origin: Instant,
    /// Timers of the first status and method of each route, by number.
    first: Box<[OnceLock<Box<[Timer; BLOCK]>>]>,
    more: Mutex<HashMap<(RouteNumber, Kind), Box<Timer>>>,
}

impl Default for Timers {
    fn default() -> Self {
        let blocks = ROUTES_MAX / BLOCK + 1;
        let first = (0..blocks).map(|_| OnceLock::new()).collect();
        Self { origin: Instant::now(), first, more: Mutex::default() }
    }
}

impl Timers {
    /// Adds a request that ended at `now_ms`, by the worker's clock; returns whether it was counted
    /// under `number`.
    pub(super) fn add(&self, number: RouteNumber, kind: Kind, took: Duration, now_ms: u64) -> bool {
        let took_ns = took.as_nanos() as u64;
        let window = now_ms / WINDOW_MS;
        if let Some(timer) = self.first(number).filter(|timer| timer.takes(kind)) {
            timer.add(took_ns, window);
            return number != RouteNumber::default();
        }
        let mut more = self.more.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(timer) = more.get(&(number, kind)) {
            timer.add(took_ns, window);
            return number != RouteNumber::default();
        }
        let room = more.len() < MORE_MAX && number != RouteNumber::default();
        let number = if room { number } else { RouteNumber::default() };
        more.entry((number, kind)).or_default().add(took_ns, window);
        room
    }

    /// Prefetches the timer of a route.
    pub(super) fn look_ahead(&self, number: RouteNumber) {
        let at = number.0 as usize;
        if let Some(block) = self.first.get(at / BLOCK).and_then(OnceLock::get) {
            fetch(block.get(at % BLOCK..=at % BLOCK).unwrap_or_default());
        }
    }

    fn first(&self, number: RouteNumber) -> Option<&Timer> {
        let at = number.0 as usize;
        self.first.get(at / BLOCK)?.get_or_init(Box::default).get(at % BLOCK)
    }

    /// Passes labels and total of each timer to `take`.
    pub(super) fn export(&self, listed: &Listed, now_ms: u64, mut take: impl FnMut(String, Total)) {
        let window = now_ms / WINDOW_MS;
        let blocks = self.first.iter().zip((0..).step_by(BLOCK));
        let first = blocks.flat_map(|(block, start)| {
            block.get().into_iter().flat_map(|block| &**block).zip(start..)
        });
        let names = listed.names();
        for (timer, number) in first {
            let kind = Kind(timer.kind.load(Ordering::Relaxed));
            if kind.0 != 0 {
                take(names.labels(RouteNumber(number), kind), timer.total(window));
            }
        }
        for ((number, kind), timer) in &*self.more.lock().unwrap_or_else(PoisonError::into_inner) {
            take(names.labels(*number, *kind), timer.total(window));
        }
    }
}

impl Names {
    fn labels(&self, number: RouteNumber, kind: Kind) -> String {
        let name = (number.0 as usize).checked_sub(1).and_then(|at| self.list.get(at));
        let (id, uri) = name.map_or(("_other", "_other"), |name| (&*name.id, &*name.uri));
        let code = kind.status();
        let outcome = match code / 100 {
            1 => "INFORMATIONAL",
            2 => "SUCCESSFUL",
            3 => "REDIRECTION",
            4 => "CLIENT_ERROR",
            5 => "SERVER_ERROR",
            _ => "UNKNOWN",
        };
        let status = constant(code);
        format!(
            "httpMethod=\"{}\",httpStatusCode=\"{code}\",outcome=\"{outcome}\",routeId=\"{}\",\
             routeUri=\"{}\",status=\"{status}\"",
            kind.method(),
            escape(id),
            escape(uri),
        )
    }
}

fn uri_text(upstream: &Upstream) -> String {
    match upstream {
        Upstream::Http(target) => target_text(target),
        Upstream::Balanced(service) => format!("lb://{}", service.name()),
        Upstream::Clustered(cluster) => format!("lb://{}", cluster.name()),
        Upstream::Forward(to) => format!("forward:{}", to.path),
        Upstream::Mock(source) => match &**source {
            MockSource::Fixed(_) => "mock://all".to_owned(),
            MockSource::Stored(..) => "mock://store".to_owned(),
        },
        Upstream::None => "no://op".to_owned(),
    }
}

fn target_text(target: &Target) -> String {
    let scheme = match target.scheme {
        Scheme::Http => "http",
        Scheme::Https => "https",
        Scheme::Lb => "lb",
    };
    format!("{scheme}://{}:{}", target.host, target.port)
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::time::Duration;

    use weir_filter::Chain;
    use weir_route::{Predicates, Route};
    use weir_snapshot::{RouteTarget, Upstream};

    use super::{Kind, Listed, MORE_MAX, ROUTES_MAX, RouteNumber, Timers, WINDOW_MS};

    fn route(id: &str) -> Route<RouteTarget> {
        let (chain, upstream, policy) = (Chain::default(), Upstream::None, None);
        let target = RouteTarget { chain, upstream, policy, series: 0.into() };
        let (id, predicates) = (id.into(), Predicates::default());
        Route { group: None, position: 0, order: 0, target, predicates, id }
    }

    /// Count and maximum in milliseconds, by route and status.
    fn totals(
        timers: &Timers,
        listed: &Listed,
        now_ms: u64,
    ) -> BTreeMap<(String, u16), (u64, u128)> {
        let mut all = BTreeMap::new();
        timers.export(listed, now_ms, |labels, total| {
            let of = |label: &str| {
                let (_, rest) = labels.split_once(label).unwrap();
                rest.split_once('"').unwrap().0.to_owned()
            };
            let key = (of("routeId=\""), of("httpStatusCode=\"").parse().unwrap());
            let before = all.insert(key, (total.count, total.max.as_millis()));
            assert_eq!(before, None, "{labels}");
        });
        all
    }

    #[test]
    fn routes_beyond_the_bound_are_counted_together() {
        let (listed, timers) = (Listed::default(), Timers::default());
        let ask = |route: &Route<RouteTarget>, status| {
            let kind = Kind::of(status, b"GET");
            timers.add(listed.number(route), kind, Duration::from_millis(1), 0)
        };
        let routes: Vec<_> = (0..ROUTES_MAX + 2).map(|n| route(&n.to_string())).collect();
        assert!(routes.iter().take(ROUTES_MAX).all(|route| ask(route, 200)));
        let (first, beyond) = (&routes[0], &routes[ROUTES_MAX..]);
        assert!(beyond.iter().all(|route| !ask(route, 200) && !ask(route, 404)));
        // Another status of a listed route, and the same route after a reload.
        let again = Arc::new(route("0"));
        assert!(ask(first, 404) && ask(first, 404) && !ask(&again, 200));
        listed.recognise([&again, &Arc::new(route("new"))].into_iter());
        assert!(ask(&again, 200));
        let all = totals(&timers, &listed, 0);
        let count = |id: &str, status| all[&(id.to_owned(), status)].0;
        assert_eq!([count("0", 200), count("0", 404), count("1", 200)], [2, 2, 1]);
        assert_eq!([count("_other", 200), count("_other", 404)], [3, 2]);
        assert_eq!(all.len(), ROUTES_MAX + 3);
    }

    #[test]
    fn a_route_that_is_read_again_goes_on_counting() {
        let (listed, timers) = (Listed::default(), Timers::default());
        for route in [route("a"), route("b"), route("a")] {
            let number = listed.number(&route);
            assert_eq!(number, listed.number(&route));
            assert!(timers.add(number, Kind::of(200, b"GET"), Duration::ZERO, 0));
        }
        let all = totals(&timers, &listed, 0);
        assert_eq!(all.values().map(|total| total.0).collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn further_statuses_beyond_the_bound_are_counted_together() {
        let (listed, timers) = (Listed::default(), Timers::default());
        let numbers = (0..60).map(|n| listed.number(&route(&n.to_string())));
        let mut own = 0;
        for number in numbers {
            for status in 100..300 {
                let kind = Kind::of(status, b"PUT");
                own += usize::from(timers.add(number, kind, Duration::ZERO, 0));
            }
        }
        // Some of the room goes to statuses that are counted together.
        let all = totals(&timers, &listed, 0);
        let together: u64 =
            all.iter().filter(|((id, _), _)| id == "_other").map(|(_, total)| total.0).sum();
        assert_eq!(own, MORE_MAX + 60);
        assert_eq!(all.values().map(|total| total.0).sum::<u64>(), 60 * 200);
        assert_eq!(together as usize, 60 * 200 - own);
    }

    #[test]
    fn maxima_are_remembered_for_three_windows() {
        let (listed, timers) = (Listed::default(), Timers::default());
        let number = listed.number(&route("a"));
        let took = |ms, now_ms| {
            let kind = Kind::of(200, b"GET");
            timers.add(number, kind, Duration::from_millis(ms), now_ms);
        };
        let max = |now_ms| totals(&timers, &listed, now_ms)[&("a".to_owned(), 200)].1;
        took(9, 5 * WINDOW_MS);
        took(3, 6 * WINDOW_MS);
        took(5, 6 * WINDOW_MS + 1);
        let at = |window| max(window * WINDOW_MS);
        assert_eq!([at(6), at(7), at(8), at(9)], [9, 9, 5, 0]);
        took(1, 8 * WINDOW_MS);
        assert_eq!([at(8), at(9), at(10), at(11)], [5, 1, 1, 0]);
        took(2, 50 * WINDOW_MS);
        assert_eq!([at(50), at(52), at(53)], [2, 2, 0]);
    }

    #[test]
    fn kinds_tell_status_and_method() {
        for (method, name) in [("GET", "GET"), ("OPTIONS", "OPTIONS"), ("get", "OTHER")] {
            let kind = Kind::of(999, method.as_bytes());
            assert_eq!((kind.status(), kind.method()), (999, name));
        }
        assert_eq!(size_of::<super::Timer>(), 64);
        assert_eq!(RouteNumber::default(), RouteNumber(0));
    }
}
