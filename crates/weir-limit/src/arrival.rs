//! The arrival of a request at a limit, and the decision.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::queue::{Key, Place};

/// Classes of priority; 0 passes first.
pub const CLASSES: u8 = 8;
/// The class of a request that names none: the default urgency of RFC 9218.
pub const CLASS_DEFAULT: u8 = 3;

/// A request that arrives at a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The key it counts for.
    pub key: Key,
    /// Its cost in units of the rate; at least 1.
    pub cost: u64,
    /// Its class, from 0 to [`CLASSES`] - 1; 0 passes first.
    pub class: u8,
    /// Longest wait allowed by its own deadline, in nanoseconds.
    pub patience_ns: Option<u64>,
    /// Bytes that it holds while it waits.
    pub bytes: u64,
}

impl Default for Arrival {
    fn default() -> Self {
        Self { key: Key::default(), cost: 1, class: CLASS_DEFAULT, patience_ns: None, bytes: 0 }
    }
}

/// Result of an arrival.
#[derive(Debug)]
pub enum Admission {
    /// It passes now.
    Pass,
    /// The request waits. If there is a `due_ns`, the caller must have
    /// [`Valve::release`](crate::Valve::release) called then.
    Wait(Arc<Slot>, Option<u64>),
    /// It does not pass.
    Refused(Refusal),
}

/// A refusal, and when to retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason.
    pub reason: Reason,
    /// Time in nanoseconds after which a new request would pass, as far as known.
    pub retry_ns: u64,
    /// How long it would have waited, in nanoseconds, if a rate determines that.
    pub wait_ns: Option<u64>,
}

/// Reasons for a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The queue is full.
    Full,
    /// It would have to wait longer than the limit allows.
    TooLong,
    /// It would have to wait beyond its own deadline, or has waited until then.
    Deadline,
    /// An operator emptied the queue.
    Flushed,
}

/// A place in a queue, seen from both sides.
#[derive(Debug)]
pub struct Slot {
    state: AtomicU8,
    waker: Mutex<Option<Waker>>,
    place: Mutex<Option<Place>>,
    /// When it stops waiting.
    until_ns: u64,
    /// Whether that is its own deadline rather than the maximum of the limit.
    is_own: bool,
}

const WAITS: u8 = 0;
const PASSES: u8 = 1;
const FLUSHED: u8 = 2;
const LATE: u8 = 3;

impl Slot {
    pub(crate) fn new(until_ns: u64, is_own: bool) -> Arc<Self> {
        Arc::new(Self {
            state: AtomicU8::new(WAITS),
            waker: Mutex::new(None),
            place: Mutex::new(None),
            until_ns,
            is_own,
        })
    }

    /// Ready when its turn has come, or with the reason of its refusal.
    pub fn poll(&self, cx: &Context<'_>) -> Poll<Result<(), Reason>> {
        let told = || match self.state.load(Ordering::Acquire) {
            WAITS => Poll::Pending,
            PASSES => Poll::Ready(Ok(())),
            FLUSHED => Poll::Ready(Err(Reason::Flushed)),
            _ => Poll::Ready(Err(self.reason())),
        };
        if let ready @ Poll::Ready(_) = told() {
            return ready;
        }
        let mut waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        *waker = Some(cx.waker().clone());
        drop(waker);
        // Its turn may have come before the waker was there.
        told()
    }

    /// Whether its turn has come, or it is refused.
    pub fn is_told(&self) -> bool {
        self.state.load(Ordering::Acquire) != WAITS
    }

    /// When it stops waiting, in nanoseconds.
    pub(crate) fn until_ns(&self) -> u64 {
        self.until_ns
    }

    /// The reason why it is refused once it has waited too long.
    pub(crate) fn reason(&self) -> Reason {
        if self.is_own { Reason::Deadline } else { Reason::TooLong }
    }

    /// Admits it. Whoever calls this holds the lock of the limit, and wakes it without the lock.
    pub(crate) fn admit(&self) {
        self.state.store(PASSES, Ordering::Release);
    }

    /// Refuses it, as [`Slot::admit`] admits it.
    pub(crate) fn flush(&self) {
        self.state.store(FLUSHED, Ordering::Release);
    }

    /// Refuses it, as it has waited too long.
    pub(crate) fn expire(&self) {
        self.state.store(LATE, Ordering::Release);
    }

    /// Wakes the one who waits.
    pub(crate) fn wake(&self) {
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) fn put(&self, place: Place) {
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
    }

    pub(crate) fn take_place(&self) -> Option<Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn has_passed(&self) -> bool {
        self.state.load(Ordering::Acquire) == PASSES
    }
}
