//! Recordings of live traffic: which exchanges with upstreams are kept, and how many.
//!
//! It outlives configurations, and its recordings are in memory only. A request pays one load while
//! nothing is recorded. What is made of a recording is in `weir-mock`.

use std::collections::HashSet;
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use foldhash::fast::FixedState;
use weir_mock::RecordedExchange;
use weir_route::pattern::{PathPattern, PathSegments};

/// Recordings at once.
const RECORDINGS_MAX: usize = 8;
/// Bytes that one recording keeps.
const BYTES_MAX: usize = 64 * 1024 * 1024;
/// What an exchange takes besides its texts.
const EXCHANGE_BYTES: usize = 256;

/// Which requests a recording is of: those of these routes whose path has one of these patterns. An
/// empty list means all.
#[derive(Debug, Default)]
pub struct RecordingScope {
    /// Ids of routes.
    pub routes: Vec<String>,
    /// Patterns of the path that the client asks for.
    pub paths: Vec<PathPattern>,
}

/// Where a recording ends by itself.
#[derive(Clone, Copy, Debug)]
pub struct RecordingBounds {
    /// Different exchanges.
    pub exchanges_max: usize,
    /// Bytes of a body; of a longer one, only its media type is kept.
    pub body_bytes_max: usize,
    /// Milliseconds that it runs.
    pub runs_ms: u64,
}

/// Why a recording keeps nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingEnd {
    /// It has as many exchanges as it may.
    Exchanges,
    /// It has as many bytes as it may.
    Bytes,
    /// Its time is over.
    Time,
}

/// Why a recording is not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRecorded {
    /// There is one of this name.
    Exists,
    /// There are as many as there may be: this many.
    TooMany(usize),
}

/// All recordings.
#[derive(Debug, Default)]
pub struct Recorder {
    /// Whether any of them takes exchanges.
    is_on: AtomicBool,
    all: RwLock<Vec<Arc<Recording>>>,
}

/// One recording.
#[derive(Debug)]
pub struct Recording {
    /// That of the definition that is to come of it.
    pub name: String,
    /// What it is of.
    pub scope: RecordingScope,
    /// Where it ends.
    pub bounds: RecordingBounds,
    /// Milliseconds since 1970.
    pub started_ms: i64,
    kept: Mutex<Kept>,
}

/// What a recording has so far.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// Different exchanges, in their order.
    pub exchanges: Vec<Arc<RecordedExchange>>,
    /// All exchanges.
    pub seen: u64,
    /// Bodies that are not kept: too long, or in a coding that is not known.
    pub bodies_left_out: u64,
    /// Bytes of texts and bodies.
    pub bytes: usize,
    /// Why nothing more is kept.
    pub end: Option<RecordingEnd>,
    known: HashSet<u64>,
}

impl Recorder {
    /// Starts a recording.
    ///
    /// # Errors
    /// See [`NotRecorded`].
    pub fn start(
        &self,
        name: &str,
        scope: RecordingScope,
        bounds: RecordingBounds,
        now_ms: i64,
    ) -> Result<Arc<Recording>, NotRecorded> {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        if all.iter().any(|one| one.name == name) {
            return Err(NotRecorded::Exists);
        }
        if all.len() >= RECORDINGS_MAX {
            return Err(NotRecorded::TooMany(RECORDINGS_MAX));
        }
        let (name, kept) = (name.to_owned(), Mutex::default());
        let started = Arc::new(Recording { name, scope, bounds, started_ms: now_ms, kept });
        all.push(Arc::clone(&started));
        self.is_on.store(true, Ordering::Relaxed);
        Ok(started)
    }

    /// All recordings, the oldest first.
    pub fn all(&self, now_ms: i64) -> Vec<Arc<Recording>> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner).clone();
        all.iter().for_each(|one| one.expire(now_ms));
        all
    }

    /// Ends a recording and forgets what it has; `false` if there is none of this name.
    pub fn remove(&self, name: &str) -> bool {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        let before = all.len();
        all.retain(|one| one.name != name);
        self.is_on.store(all.iter().any(|one| one.is_open()), Ordering::Relaxed);
        all.len() < before
    }

    /// Whether anything is recorded.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// The recordings that want an exchange of this route and path.
    pub(crate) fn wanting(&self, route: &str, path: &[u8], now_ms: i64) -> Vec<Arc<Recording>> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.iter().for_each(|one| one.expire(now_ms));
        let open = || all.iter().filter(|one| one.is_open());
        if open().next().is_none() {
            self.is_on.store(false, Ordering::Relaxed);
            return Vec::new();
        }
        let path = PathSegments::of(path);
        open().filter(|one| one.scope.has(route, &path)).cloned().collect()
    }
}

impl RecordingScope {
    fn has(&self, route: &str, path: &PathSegments) -> bool {
        let fits = |pattern: &PathPattern| pattern.matches(path).unwrap_or(false);
        (self.routes.is_empty() || self.routes.iter().any(|own| own == route))
            && (self.paths.is_empty() || self.paths.iter().any(fits))
    }
}

impl Recording {
    /// What it has so far.
    pub fn kept(&self) -> Kept {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn is_open(&self) -> bool {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).end.is_none()
    }

    fn expire(&self, now_ms: i64) {
        let runs_ms = u64::try_from(now_ms.saturating_sub(self.started_ms)).unwrap_or(0);
        if runs_ms >= self.bounds.runs_ms {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.end.get_or_insert(RecordingEnd::Time);
        }
    }

    /// Keeps an exchange, unless the same is there or there is no room. Equal requests with equal
    /// responses are the same.
    pub(crate) fn keep(&self, exchange: &Arc<RecordedExchange>) {
        let bodies = [&exchange.request, &exchange.response];
        let contents = || bodies.into_iter().flatten().map(|body| body.content.as_ref());
        let key = FixedState::default().hash_one((
            (&exchange.method, &exchange.path, &exchange.query, exchange.status),
            contents().collect::<Vec<_>>(),
        ));
        let fields = exchange.fields.iter().map(|(name, value)| name.len() + value.len());
        let bytes = EXCHANGE_BYTES
            + exchange.path.len()
            + exchange.query.len()
            + fields.sum::<usize>()
            + contents().flatten().map(Vec::len).sum::<usize>();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.end.is_some() {
            return;
        }
        kept.seen += 1;
        kept.bodies_left_out += contents().filter(Option::is_none).count() as u64;
        if kept.known.contains(&key) {
            return;
        }
        if kept.bytes + bytes > BYTES_MAX {
            kept.end = Some(RecordingEnd::Bytes);
            return;
        }
        kept.known.insert(key);
        kept.bytes += bytes;
        kept.exchanges.push(Arc::clone(exchange));
        if kept.exchanges.len() >= self.bounds.exchanges_max {
            kept.end = Some(RecordingEnd::Exchanges);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_mock::{RecordedBody, RecordedExchange};
    use weir_route::pattern::{PathPattern, RegexCache};

    use super::{BYTES_MAX, NotRecorded, Recorder, RecordingBounds, RecordingEnd, RecordingScope};

    const BOUNDS: RecordingBounds =
        RecordingBounds { exchanges_max: 2, body_bytes_max: 10, runs_ms: 1_000 };

    fn of(path: &str, content: Vec<u8>) -> Arc<RecordedExchange> {
        let body = RecordedBody { media_type: "text/plain".into(), content: Some(content) };
        Arc::new(RecordedExchange {
            method: "GET".into(),
            path: path.into(),
            status: 200,
            response: Some(body),
            ..RecordedExchange::default()
        })
    }

    #[test]
    fn a_scope_is_routes_and_paths() {
        let recorder = Recorder::default();
        let paths = vec![PathPattern::parse("/v1/**", &RegexCache::default()).expect("a pattern")];
        let scope = RecordingScope { routes: vec!["a".into()], paths };
        recorder.start("one", scope, BOUNDS, 0).expect("a recording");
        let all = RecordingScope::default();
        recorder.start("two", all, BOUNDS, 0).expect("a recording");
        let check = |route, path: &str, expected: &[&str]| {
            let found = recorder.wanting(route, path.as_bytes(), 0);
            let names: Vec<_> = found.iter().map(|one| one.name.as_str()).collect();
            assert_eq!(names, expected, "{route} {path}");
        };
        check("a", "/v1/x", &["one", "two"]);
        check("a", "/v2/x", &["two"]);
        check("b", "/v1/x", &["two"]);
    }

    #[test]
    fn it_ends_when_it_is_full_or_its_time_is_over() {
        let recorder = Recorder::default();
        let start = |name| recorder.start(name, RecordingScope::default(), BOUNDS, 0);
        let own = start("a").expect("a recording");
        assert_eq!(start("a").err(), Some(NotRecorded::Exists));
        for path in ["/1", "/1", "/1"] {
            own.keep(&of(path, b"x".to_vec()));
        }
        assert_eq!((own.kept().exchanges.len(), own.kept().seen, own.kept().end), (1, 3, None));
        own.keep(&of("/1", b"y".to_vec()));
        assert_eq!(own.kept().end, Some(RecordingEnd::Exchanges));
        assert!(recorder.is_on());
        assert!(recorder.wanting("r", b"/", 0).is_empty());
        assert!(!recorder.is_on(), "nobody takes anything");
        let large = start("b").expect("a recording");
        assert!(recorder.is_on());
        large.keep(&of("/1", vec![0; BYTES_MAX]));
        assert_eq!(
            (large.kept().exchanges.len(), large.kept().end),
            (0, Some(RecordingEnd::Bytes))
        );
        let late = start("c").expect("a recording");
        assert_eq!(recorder.wanting("r", b"/", 999).len(), 1);
        assert!(recorder.wanting("r", b"/", 1_000).is_empty());
        assert_eq!(late.kept().end, Some(RecordingEnd::Time));
        assert!(recorder.remove("c") && !recorder.remove("c"));
    }

    #[test]
    fn there_are_a_few_at_once() {
        let recorder = Recorder::default();
        let start = |n: usize| {
            recorder.start(&n.to_string(), RecordingScope::default(), BOUNDS, 0).map(drop)
        };
        assert!((0..8).all(|n| start(n).is_ok()));
        assert_eq!(start(8), Err(NotRecorded::TooMany(8)));
    }
}
