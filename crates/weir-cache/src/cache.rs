//! A bounded response cache shared by all workers, which merges fetches of the same response.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use foldhash::fast::RandomState;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};
use weir_wire::RequestHead;

use crate::key::varied;
use crate::stored::Stored;

/// Parts that are locked apart. An entry fits into one.
const SHARDS: usize = 4;
/// A response that must not be kept is not waited for again within this time.
const PASS_MS: i64 = 5_000;
/// A fetch that takes longer than this is not waited for.
const FLIGHT_MS_MAX: i64 = 30_000;
/// Requests that wait for one fetch at most; more fetch for themselves.
const WAITERS_MAX: usize = 10_000;

type Key = Arc<[u8]>;

#[derive(Clone, Debug)]
enum Entry {
    /// Responses depend on these fields: they are under longer keys.
    Varies(Arc<[Vec<u8>]>),
    Stored(Arc<Stored>),
    /// A response at this time was not cacheable: requests need not wait for each other's fetch.
    Passes(i64),
}

#[derive(Clone, Debug)]
struct ByBytes;

impl Weighter<Key, Entry> for ByBytes {
    fn weight(&self, key: &Key, entry: &Entry) -> u64 {
        let entry = match entry {
            Entry::Stored(stored) => stored.bytes(),
            Entry::Varies(names) => names.iter().map(|name| name.len() + 24).sum(),
            Entry::Passes(_) => 0,
        };
        (key.len() + entry + 64) as u64
    }
}

/// Counters of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Answers from the cache.
    pub hits: u64,
    /// Number of stale responses among them.
    pub stale: u64,
    /// Requests that had to be fetched.
    pub misses: u64,
    /// Number of requests that waited for another request's fetch.
    pub waited: u64,
    /// Responses stored.
    pub stored: u64,
    /// Entries now.
    pub entries: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A response cache.
#[derive(Debug)]
pub struct ResponseCache {
    name: String,
    bytes_max: u64,
    entries: Cache<Key, Entry, ByBytes, RandomState>,
    flights: Mutex<HashMap<Key, Airborne, RandomState>>,
    /// Number of fetches begun.
    begun: AtomicU64,
    /// Number of times it was emptied.
    emptied: AtomicU64,
    hits: AtomicU64,
    stale: AtomicU64,
    misses: AtomicU64,
    waited: AtomicU64,
    stored: AtomicU64,
}

#[derive(Debug)]
struct Airborne {
    since_ms: i64,
    number: u64,
    waiters: Vec<Waker>,
}

/// Result of a lookup.
#[derive(Debug)]
pub enum Looked {
    /// This answers the request.
    Hit(Arc<Stored>),
    /// The request is to be forwarded, on behalf of all that wait.
    Fetch(Flight),
    /// This answers the request, though it is no longer fresh; another one is to be fetched.
    Refresh(Arc<Stored>, Flight),
    /// Somebody fetches it: wait ([`ResponseCache::poll_landed`]), then look again.
    Wait,
    /// The request is to be forwarded beside another one for the same response; its response is not
    /// cached.
    Pass,
}

/// A fetch in progress; others wait until it is dropped.
#[derive(Debug)]
pub struct Flight {
    cache: Arc<ResponseCache>,
    key: Key,
    number: u64,
    /// Number of times the cache had been emptied when the fetch began.
    emptied: u64,
    /// Stale response to use if the fetch fails.
    pub fallback: Option<Arc<Stored>>,
}

impl ResponseCache {
    /// An empty cache of at most `bytes_max` bytes.
    pub fn new(name: &str, bytes_max: u64) -> Self {
        let options = OptionsBuilder::new()
            .estimated_items_capacity(1_000)
            .weight_capacity(bytes_max.max(4096))
            .shards(SHARDS)
            .build();
        let entries = match options {
            Ok(options) => Cache::with_options(
                options,
                ByBytes,
                RandomState::default(),
                DefaultLifecycle::default(),
            ),
            // Only where a number is missing.
            Err(_) => Cache::with(
                1_000,
                bytes_max,
                ByBytes,
                RandomState::default(),
                DefaultLifecycle::default(),
            ),
        };
        Self {
            name: name.to_owned(),
            bytes_max,
            entries,
            flights: Mutex::default(),
            begun: AtomicU64::new(0),
            emptied: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            stale: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            waited: AtomicU64::new(0),
            stored: AtomicU64::new(0),
        }
    }

    /// Name of its route; empty for the cache that routes share.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes that it holds at most.
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// Most bytes of content that it keeps of one response.
    pub fn content_max(&self) -> usize {
        usize::try_from(self.bytes_max / (2 * SHARDS as u64)).unwrap_or(usize::MAX)
    }

    /// Its counters.
    pub fn counts(&self) -> CacheCounts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CacheCounts {
            hits: of(&self.hits),
            stale: of(&self.stale),
            misses: of(&self.misses),
            waited: of(&self.waited),
            stored: of(&self.stored),
            entries: self.entries.len() as u64,
            bytes: self.entries.weight(),
        }
    }

    /// Empties the cache; responses being fetched now are not cached.
    pub fn clear(&self) {
        self.emptied.fetch_add(1, Ordering::SeqCst);
        self.entries.clear();
    }

    /// Looks for the response to a request with this key ([`key`](crate::key)). `only_fresh` asks
    /// for one from the upstream.
    pub fn look(
        self: &Arc<Self>,
        key: &[u8],
        head: &RequestHead,
        only_fresh: bool,
        now_ms: i64,
    ) -> Looked {
        let (key, entry) = self.find(key, head);
        let passes = matches!(entry, Some(Entry::Passes(at_ms))
            if now_ms < at_ms.saturating_add(PASS_MS));
        let found = match entry {
            Some(Entry::Stored(stored)) => Some(stored),
            _ => None,
        };
        if let Some(stored) = &found
            && !only_fresh
            && stored.is_fresh(now_ms)
        {
            count(&self.hits);
            return Looked::Hit(Arc::clone(stored));
        }
        let meanwhile =
            found.clone().filter(|stored| !only_fresh && stored.is_usable_meanwhile(now_ms));
        if meanwhile.is_some() {
            count(&self.hits);
            count(&self.stale);
        }
        let mut flights = self.flights();
        if let Some(airborne) = flights.get(&key)
            && now_ms < airborne.since_ms.saturating_add(FLIGHT_MS_MAX)
        {
            if let Some(stored) = meanwhile {
                return Looked::Hit(stored);
            }
            if airborne.waiters.len() < WAITERS_MAX && !only_fresh && !passes {
                return Looked::Wait;
            }
            count(&self.misses);
            return Looked::Pass;
        }
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        let airborne = Airborne { since_ms: now_ms, number, waiters: Vec::new() };
        if let Some(late) = flights.insert(Arc::clone(&key), airborne) {
            late.waiters.into_iter().for_each(Waker::wake);
        }
        let emptied = self.emptied.load(Ordering::SeqCst);
        let flight = Flight { cache: Arc::clone(self), key, number, emptied, fallback: found };
        match meanwhile {
            Some(stored) => Looked::Refresh(stored, flight),
            None => {
                count(&self.misses);
                Looked::Fetch(flight)
            }
        }
    }

    /// Ready once no fetch of this request's response is running.
    pub fn poll_landed(&self, key: &[u8], head: &RequestHead, cx: &mut Context<'_>) -> Poll<()> {
        let (key, _) = self.find(key, head);
        match self.flights().get_mut(&key) {
            None => Poll::Ready(()),
            Some(airborne) => {
                if !airborne.waiters.iter().any(|waker| waker.will_wake(cx.waker())) {
                    airborne.waiters.push(cx.waker().clone());
                    count(&self.waited);
                }
                Poll::Pending
            }
        }
    }

    /// A stale response is used since there is no other one.
    pub fn used_on_error(&self) {
        count(&self.hits);
        count(&self.stale);
    }

    /// The entry for a request, under its whole key.
    fn find(&self, key: &[u8], head: &RequestHead) -> (Key, Option<Entry>) {
        let key: Key = key.into();
        match self.entries.get(&key) {
            Some(Entry::Varies(names)) => {
                let key: Key = varied(&key, head, &names).into();
                let entry = self.entries.get(&key);
                (key, entry)
            }
            entry => (key, entry),
        }
    }

    fn flights(&self) -> MutexGuard<'_, HashMap<Key, Airborne, RandomState>> {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Flight {
    /// The cache it is for.
    pub fn cache(&self) -> &Arc<ResponseCache> {
        &self.cache
    }

    /// Caches the fetched response under the request's `key`, for `head` as it was sent.
    pub fn land(self, key: &[u8], head: &RequestHead, stored: Stored) {
        if self.is_outdated() {
            return;
        }
        let names = stored.vary();
        let entries = &self.cache.entries;
        let stored = Entry::Stored(Arc::new(stored));
        if names.is_empty() {
            entries.insert(key.into(), stored);
        } else {
            let whole = varied(key, head, &names);
            entries.insert(key.into(), Entry::Varies(names.into()));
            entries.insert(whole.into(), stored);
        }
        count(&self.cache.stored);
        // Emptied in between: the entry may have come after that.
        if self.is_outdated() {
            entries.clear();
        }
    }

    /// Whether the cache was emptied since the fetch began.
    fn is_outdated(&self) -> bool {
        self.cache.emptied.load(Ordering::SeqCst) != self.emptied
    }

    /// Records that the response is not cacheable: other requests need not wait for each other.
    pub fn pass(self, now_ms: i64) {
        self.cache.entries.insert(Arc::clone(&self.key), Entry::Passes(now_ms));
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut flights = self.cache.flights();
        if flights.get(&self.key).is_some_and(|airborne| airborne.number == self.number)
            && let Some(airborne) = flights.remove(&self.key)
        {
            drop(flights);
            airborne.waiters.into_iter().for_each(Waker::wake);
        }
    }
}

/// Caches by name; those without a route are dropped.
#[derive(Debug, Default)]
pub struct Caches {
    by_name: Mutex<HashMap<String, Weak<ResponseCache>>>,
}

impl Caches {
    /// The cache of this name as it is, or a new one of this size.
    pub fn get(&self, name: &str, bytes_max: u64) -> Arc<ResponseCache> {
        let mut by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        let known = by_name.get(name).and_then(Weak::upgrade);
        if let Some(cache) = known.filter(|cache| cache.bytes_max() == bytes_max) {
            return cache;
        }
        by_name.retain(|_, cache| cache.strong_count() > 0);
        let cache = Arc::new(ResponseCache::new(name, bytes_max));
        by_name.insert(name.to_owned(), Arc::downgrade(&cache));
        cache
    }

    /// All caches, by name.
    pub fn all(&self) -> Vec<Arc<ResponseCache>> {
        let by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = by_name.values().filter_map(Weak::upgrade).collect();
        all.sort_by(|a, b| a.name().cmp(b.name()));
        all
    }
}

#[cfg(test)]
mod tests;
