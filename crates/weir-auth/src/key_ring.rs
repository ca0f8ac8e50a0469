//! Keys fetched from elsewhere: the current set, and requests for a newer one.
//!
//! The server side reads the keys and may ask for newer ones; the fetching side is notified, and
//! wakes all waiting tasks when it is done. Neither knows the other.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use arc_swap::{ArcSwap, Guard};

use crate::KeySet;

/// Source of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// An issuer, whose metadata contain the address of its keys (OpenID Connect Discovery, RFC
    /// 8414).
    Issuer(String),
    /// The keys themselves (RFC 7517).
    JwkSet(String),
    /// Keys that never change.
    Fixed,
}

/// A key set and its version.
#[derive(Debug, Default)]
pub struct Keys {
    /// The keys; empty before the first fetch.
    pub set: KeySet,
    /// Incremented at each change.
    pub generation: u64,
}

/// Keys from one place.
#[derive(Debug)]
pub struct RemoteKeys {
    place: KeyPlace,
    current: ArcSwap<Keys>,
    state: Mutex<State>,
    /// Tries to fetch them that have ended.
    tries: AtomicU64,
    ring: Weak<Asked>,
}

#[derive(Debug, Default)]
struct State {
    wanted: bool,
    waiting: Vec<Waker>,
    failure: Option<String>,
}

impl RemoteKeys {
    /// Keys that never change.
    pub fn fixed(set: KeySet) -> Self {
        let keys = Self::new(KeyPlace::Fixed, Weak::new());
        keys.put(set);
        keys
    }

    fn new(place: KeyPlace, ring: Weak<Asked>) -> Self {
        Self {
            place,
            current: ArcSwap::default(),
            state: Mutex::default(),
            tries: AtomicU64::new(0),
            ring,
        }
    }

    /// Source of the keys.
    pub fn place(&self) -> &KeyPlace {
        &self.place
    }

    /// The keys fetched last.
    pub fn keys(&self) -> Guard<Arc<Keys>> {
        self.current.load()
    }

    /// Asks for newer keys; returns the argument for [`Self::poll_tried`]. `None` if the keys are
    /// fixed.
    pub fn ask(&self) -> Option<u64> {
        let ring = self.ring.upgrade()?;
        let tries = self.tries.load(Ordering::Acquire);
        self.lock().wanted = true;
        ring.call();
        Some(tries)
    }

    /// Ready when a try to fetch them has ended since [`Self::ask`] gave `since`.
    pub fn poll_tried(&self, since: u64, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if self.tries.load(Ordering::Acquire) > since {
            return Poll::Ready(());
        }
        if !state.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
            state.waiting.push(cx.waker().clone());
        }
        Poll::Pending
    }

    /// Whether newer keys were asked for since the last call.
    pub fn take_wanted(&self) -> bool {
        std::mem::take(&mut self.lock().wanted)
    }

    /// Replaces the keys with fetched ones; returns whether they have changed.
    pub fn put(&self, set: KeySet) -> bool {
        let before = self.current.load();
        let is_news = before.generation == 0 || !before.set.same_keys(&set);
        if is_news {
            let generation = before.generation + 1;
            self.current.store(Arc::new(Keys { set, generation }));
        }
        self.end(None);
        is_news
    }

    /// Records why a fetch failed; the last keys stay in use.
    pub fn fail(&self, why: String) {
        self.end(Some(why));
    }

    /// Ends a request for keys without a fetch, as one was made a moment ago.
    pub fn pass(&self) {
        let failure = self.lock().failure.take();
        self.end(failure);
    }

    /// The error of the last fetch, if it failed.
    pub fn failure(&self) -> Option<String> {
        self.lock().failure.clone()
    }

    fn end(&self, failure: Option<String>) {
        let mut state = self.lock();
        state.failure = failure;
        self.tries.fetch_add(1, Ordering::AcqRel);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keys by source, as long as they are in use.
#[derive(Debug, Default)]
pub struct KeyRing {
    all: Mutex<Vec<Weak<RemoteKeys>>>,
    asked: Arc<Asked>,
}

/// Callback for requests for newer keys.
#[derive(Default)]
struct Asked(Mutex<Option<Arc<dyn Fn() + Send + Sync>>>);

impl Asked {
    fn call(&self) {
        let call = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(call) = call {
            call();
        }
    }
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asked")
    }
}

impl KeyRing {
    /// The keys of a source: those known, or an empty set.
    pub fn keys(&self, place: &KeyPlace) -> Arc<RemoteKeys> {
        let mut all = self.lock();
        all.retain(|one| one.strong_count() > 0);
        if let Some(known) = all.iter().filter_map(Weak::upgrade).find(|one| one.place == *place) {
            return known;
        }
        let new = Arc::new(RemoteKeys::new(place.clone(), Arc::downgrade(&self.asked)));
        all.push(Arc::downgrade(&new));
        new
    }

    /// All keys in use.
    pub fn all(&self) -> Vec<Arc<RemoteKeys>> {
        self.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// Calls `asked` whenever newer keys are wanted.
    pub fn when_asked(&self, asked: impl Fn() + Send + Sync + 'static) {
        let mut place = self.asked.0.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(Arc::new(asked));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<RemoteKeys>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Waker};

    use super::{KeyPlace, KeyRing};
    use crate::KeySet;

    #[test]
    fn who_asks_is_told_when_a_try_has_ended() {
        let ring = KeyRing::default();
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        ring.when_asked(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        let place = KeyPlace::JwkSet("http://issuer/keys".to_owned());
        let keys = ring.keys(&place);
        assert!(Arc::ptr_eq(&keys, &ring.keys(&place)));
        assert_eq!(keys.keys().generation, 0);
        let since = keys.ask().expect("a ring");
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        let cx = Context::from_waker(Waker::noop());
        assert_eq!(keys.poll_tried(since, &cx), Poll::Pending);
        assert!(keys.take_wanted());
        assert!(!keys.take_wanted());
        keys.fail("it is away".to_owned());
        assert_eq!(keys.poll_tried(since, &cx), Poll::Ready(()));
        assert_eq!(keys.failure().as_deref(), Some("it is away"));
        assert!(keys.put(KeySet::default()));
        assert_eq!((keys.keys().generation, keys.failure()), (1, None));
        assert!(!keys.put(KeySet::default()), "the same keys are no news");
        drop(keys);
        assert!(ring.all().is_empty());
    }
}
