//! Bandwidth limits: bytes of bodies per second, for each body or for all of a key.
//!
//! A sender reserves a few milliseconds' worth of bytes in advance and waits until they are due.
//! Reservations under a shared bandwidth are due one after the other, so that each body has its
//! turn. A late sender catches up, by at most [`CREDIT_NS`].

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::settings::LimitSettings;
use crate::shards::Table;

const SECOND_NS: u64 = 1_000_000_000;
/// Unused bandwidth of up to this time may be used at once.
const CREDIT_NS: u64 = 100_000_000;
/// Bytes per reservation: 50 ms of the rate, within these bounds.
const RESERVED_PER_SECOND: u64 = 20;
const RESERVED_BYTES_MIN: u64 = 1_024;
const RESERVED_BYTES_MAX: u64 = 64 * 1024;

/// Direction of a body. Each direction has the whole bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// From the client to the upstream.
    Up,
    /// From the upstream to the client.
    Down,
}

/// The bandwidth of a limit.
#[derive(Debug, Default)]
pub(crate) struct Bandwidth {
    /// Bytes a second of all bodies of a key; 0 is unlimited.
    shared: AtomicU64,
    /// Bytes a second of each body; 0 is unlimited.
    own: AtomicU64,
    enforce: AtomicBool,
    moved: AtomicU64,
    waited: AtomicU64,
    /// Meters by key. They stay for a while after the last body of their key: what it has reserved
    /// is owed by the next one.
    meters: Mutex<Table<(u64, Way), Meter>>,
}

/// Time up to which bytes are reserved, in nanoseconds.
#[derive(Debug, Default)]
struct Meter(AtomicU64);

impl Meter {
    fn until(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Bandwidth {
    pub fn new(settings: &LimitSettings) -> Self {
        let new = Self::default();
        new.set(settings);
        new
    }

    /// Applies new settings. Reservations under another rate are dropped.
    pub fn set(&self, settings: &LimitSettings) {
        let shared = settings.bandwidth.unwrap_or_default();
        if self.shared.swap(shared, Ordering::Relaxed) != shared {
            for meter in self.meters().values() {
                meter.0.store(0, Ordering::Relaxed);
            }
        }
        self.own.store(settings.stream_bandwidth.unwrap_or_default(), Ordering::Relaxed);
        self.enforce.store(settings.enforce, Ordering::Relaxed);
    }

    pub fn is_limited(&self) -> bool {
        self.shared.load(Ordering::Relaxed) > 0 || self.own.load(Ordering::Relaxed) > 0
    }

    /// Bytes moved under this limit.
    pub fn moved(&self) -> u64 {
        self.moved.load(Ordering::Relaxed)
    }

    /// Number of times that a body had to wait, or would have had to if the limit were enforced.
    pub fn waited(&self) -> u64 {
        self.waited.load(Ordering::Relaxed)
    }

    /// Whether no body of any key owes anything.
    pub fn is_rested(&self, now_ns: u64) -> bool {
        self.meters().values().all(|meter| meter.until() <= now_ns)
    }

    fn meters(&self) -> MutexGuard<'_, Table<(u64, Way), Meter>> {
        self.meters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn meter(&self, hash: u64, way: Way, now_ns: u64) -> Arc<Meter> {
        let owes = |meter: &Meter| meter.until() > now_ns;
        self.meters().get(hash, |hash| (hash, way), now_ns, Meter::until, owes, Meter::default)
    }

    /// Reserves bytes; returns the time at which they are due.
    fn reserve(&self, meter: &Meter, bytes: u64, rate: u64, now_ns: u64) -> u64 {
        let enforce = self.enforce.load(Ordering::Relaxed);
        let start = |until: u64| until.max(now_ns.saturating_sub(CREDIT_NS));
        let reserved = meter.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |until| {
            // Without enforcement no debt may accumulate.
            let waits = start(until) > now_ns;
            (enforce || !waits).then(|| start(until).saturating_add(time_of(bytes, rate)))
        });
        reserved.map_or_else(
            |_| {
                self.waited.fetch_add(1, Ordering::Relaxed);
                now_ns
            },
            start,
        )
    }
}

/// A body that moves under a bandwidth limit.
#[derive(Debug)]
pub struct Stream {
    bandwidth: Arc<Bandwidth>,
    shared: Arc<Meter>,
    own: Meter,
    /// Bytes reserved and not moved yet.
    reserved: u64,
    /// Time at which the reserved bytes are due.
    due_ns: u64,
    /// The rates by which they were reserved.
    rates: [u64; 2],
    /// The wait for them has been counted.
    has_waited: bool,
}

impl Stream {
    pub(crate) fn new(bandwidth: &Arc<Bandwidth>, hash: u64, way: Way, now_ns: u64) -> Self {
        Self {
            shared: bandwidth.meter(hash, way, now_ns),
            bandwidth: Arc::clone(bandwidth),
            own: Meter::default(),
            reserved: 0,
            due_ns: 0,
            rates: [0; 2],
            has_waited: false,
        }
    }

    /// Number of bytes that may move now; not 0. To be called again from time to time: rates may
    /// change.
    ///
    /// # Errors
    /// The time, in nanoseconds, before which no bytes may move.
    pub fn ready(&mut self, now_ns: u64) -> Result<u64, u64> {
        let rates = self.rates().map(|(_, rate)| rate);
        if self.rates != rates {
            self.rates = rates;
            self.reserved = 0;
            self.own.0.store(0, Ordering::Relaxed);
        }
        if self.reserved == 0 {
            let least = rates.into_iter().filter(|rate| *rate > 0).min();
            let Some(least) = least else { return Ok(u64::MAX) };
            let bytes = least / RESERVED_PER_SECOND;
            self.reserved = bytes.clamp(RESERVED_BYTES_MIN, RESERVED_BYTES_MAX);
            self.due_ns = self.reserve(self.reserved, now_ns);
            self.has_waited = false;
        }
        if self.due_ns <= now_ns {
            return Ok(self.reserved);
        }
        if !std::mem::replace(&mut self.has_waited, true) {
            self.bandwidth.waited.fetch_add(1, Ordering::Relaxed);
        }
        Err(self.due_ns)
    }

    /// Records moved bytes. They may exceed the number that was ready: bytes received with a head
    /// cannot wait.
    pub fn moved(&mut self, bytes: u64, now_ns: u64) {
        self.bandwidth.moved.fetch_add(bytes, Ordering::Relaxed);
        let beyond = bytes.saturating_sub(self.reserved);
        self.reserved = self.reserved.saturating_sub(bytes);
        if beyond > 0 {
            self.reserve(beyond, now_ns);
        }
    }

    /// Reserves bytes under both rates; returns the later due time.
    fn reserve(&self, bytes: u64, now_ns: u64) -> u64 {
        let limited = self.rates().into_iter().filter(|(_, rate)| *rate > 0);
        let due = limited.map(|(meter, rate)| self.bandwidth.reserve(meter, bytes, rate, now_ns));
        due.max().unwrap_or(now_ns)
    }

    fn rates(&self) -> [(&Meter, u64); 2] {
        let bandwidth = &self.bandwidth;
        [
            (&*self.shared, bandwidth.shared.load(Ordering::Relaxed)),
            (&self.own, bandwidth.own.load(Ordering::Relaxed)),
        ]
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let rate = self.bandwidth.shared.load(Ordering::Relaxed);
        if self.reserved > 0 && rate > 0 && self.bandwidth.enforce.load(Ordering::Relaxed) {
            // The unused part of a reservation is left to others.
            let time = time_of(self.reserved, rate);
            let less = |until: u64| Some(until.saturating_sub(time));
            let _ = self.shared.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
    }
}

/// Duration of this many bytes, in nanoseconds.
fn time_of(bytes: u64, rate: u64) -> u64 {
    let time = u128::from(bytes) * u128::from(SECOND_NS) / u128::from(rate.max(1));
    u64::try_from(time).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KB: u64 = 1_000;

    fn bandwidth(shared: u64, own: u64) -> Arc<Bandwidth> {
        let some = |rate: u64| (rate > 0).then_some(rate);
        let settings = LimitSettings {
            bandwidth: some(shared),
            stream_bandwidth: some(own),
            ..LimitSettings::default()
        };
        Arc::new(Bandwidth::new(&settings))
    }

    /// Moves as much as it can in as many milliseconds, looking every `step_ms`; bytes of each.
    fn run(streams: &mut [Stream], from_ms: u64, ms: u64, step_ms: usize) -> Vec<u64> {
        let mut moved = vec![0; streams.len()];
        for now_ms in (from_ms..from_ms + ms).step_by(step_ms) {
            for (stream, moved) in streams.iter_mut().zip(&mut moved) {
                while let Ok(bytes) = stream.ready(now_ms * 1_000_000) {
                    stream.moved(bytes, now_ms * 1_000_000);
                    *moved += bytes;
                }
            }
        }
        moved
    }

    #[test]
    fn bytes_move_at_the_rate_and_never_faster() {
        for rate in [10 * KB, 1_000 * KB, 1_000_000 * KB] {
            for step_ms in [1, 7, 50] {
                let all = bandwidth(rate, 0);
                let moved = run(&mut [Stream::new(&all, 1, Way::Down, 0)], 10_000, 10_000, step_ms);
                // Ten seconds, the credit of a tenth, and one reservation.
                let most = rate * 10 + rate / 10 + (rate / 20).clamp(1_024, 65_536);
                assert!(moved[0] <= most, "{rate}: {} > {most}", moved[0]);
                assert!(moved[0] >= rate * 99 / 10, "{rate}, {step_ms}: {}", moved[0]);
                assert_eq!(all.moved(), moved[0]);
            }
        }
    }

    #[test]
    fn those_of_a_key_share_and_others_do_not() {
        let all = bandwidth(1_000 * KB, 0);
        let mut streams = [(1, Way::Up), (1, Way::Up), (1, Way::Down), (2, Way::Up)]
            .map(|(hash, way)| Stream::new(&all, hash, way, 0));
        let moved = run(&mut streams, 10_000, 10_000, 1);
        let check = |found: u64, expected: u64| {
            assert!(found.abs_diff(expected) <= expected / 50 + 100 * KB, "{moved:?}");
        };
        check(moved[0], 5_000 * KB);
        check(moved[1], 5_000 * KB);
        check(moved[2], 10_000 * KB);
        check(moved[3], 10_000 * KB);
    }

    #[test]
    fn each_has_its_own_beside_what_is_shared() {
        let all = bandwidth(1_000 * KB, 100 * KB);
        let mut streams = [1, 1].map(|hash| Stream::new(&all, hash, Way::Up, 0));
        for moved in run(&mut streams, 10_000, 10_000, 1) {
            assert!(moved.abs_diff(1_000 * KB) <= 20 * KB, "{moved}");
        }
    }

    #[test]
    fn who_leaves_gives_back_what_it_reserved() {
        let all = bandwidth(10 * KB, 0);
        let mut stays = Stream::new(&all, 1, Way::Up, 0);
        assert_eq!(stays.ready(SECOND_NS), Ok(1_024));
        stays.moved(1_024, SECOND_NS);
        let mut leaves = Stream::new(&all, 1, Way::Up, 0);
        let due = SECOND_NS - CREDIT_NS + time_of(1_024, 10 * KB);
        assert_eq!(leaves.ready(SECOND_NS), Err(due));
        drop(leaves);
        assert_eq!(stays.ready(SECOND_NS), Err(due));
    }

    #[test]
    fn what_comes_unasked_is_paid_for() {
        let all = bandwidth(10 * KB, 0);
        let mut stream = Stream::new(&all, 1, Way::Up, 0);
        assert_eq!(stream.ready(SECOND_NS), Ok(1_024));
        stream.moved(10 * KB, SECOND_NS);
        assert_eq!(stream.ready(SECOND_NS), Err(2 * SECOND_NS - CREDIT_NS));
    }

    #[test]
    fn another_rate_holds_at_once() {
        let all = bandwidth(2 * KB, 2 * KB);
        let mut stream = Stream::new(&all, 1, Way::Up, 0);
        assert_eq!(stream.ready(SECOND_NS), Ok(1_024));
        stream.moved(1_000 * KB, SECOND_NS);
        assert!(stream.ready(SECOND_NS).is_err_and(|due| due > 400 * SECOND_NS));
        all.set(&LimitSettings { bandwidth: Some(1_000 * KB), ..LimitSettings::default() });
        assert_eq!(stream.ready(SECOND_NS), Ok(50 * KB));
        all.set(&LimitSettings::default());
        assert_eq!(stream.ready(SECOND_NS), Ok(u64::MAX));
    }

    #[test]
    fn what_is_not_enforced_waits_for_nothing_and_is_counted() {
        let settings =
            LimitSettings { bandwidth: Some(10 * KB), enforce: false, ..LimitSettings::default() };
        let all = Arc::new(Bandwidth::new(&settings));
        let mut stream = Stream::new(&all, 1, Way::Up, 0);
        for _ in 0..100 {
            assert_eq!(stream.ready(SECOND_NS), Ok(1_024));
            stream.moved(1_024, SECOND_NS);
        }
        assert_eq!((all.moved(), all.waited()), (102_400, 99));
    }
    #[test]
    fn what_a_key_owes_is_owed_by_its_next_body() {
        let all = bandwidth(1_000 * KB, 0);
        let mut small = Stream::new(&all, 1, Way::Down, SECOND_NS);
        assert!(small.ready(SECOND_NS).is_ok());
        // It came in one read.
        small.moved(1_000 * KB, SECOND_NS);
        drop(small);
        let other = Stream::new(&all, 2, Way::Down, SECOND_NS).ready(SECOND_NS);
        assert!(other.is_ok(), "another key owes nothing");
        let due = Stream::new(&all, 1, Way::Down, SECOND_NS).ready(SECOND_NS);
        let tolerance = CREDIT_NS;
        assert!(due.is_err_and(|due| due.abs_diff(2 * SECOND_NS) <= tolerance), "{due:?}");
    }

    #[test]
    fn keys_that_owe_nothing_are_forgotten() {
        let all = bandwidth(1_000 * KB, 0);
        let count = || all.meters().len();
        let mut owing = Stream::new(&all, 0, Way::Up, 0);
        owing.moved(1_000_000 * KB, 0);
        drop(owing);
        for key in 1..10_000 {
            let mut one = Stream::new(&all, key, Way::Up, key * SECOND_NS / 10);
            one.moved(KB, key * SECOND_NS / 10);
        }
        assert!(count() <= 1_024, "{}", count());
        let due = Stream::new(&all, 0, Way::Up, SECOND_NS).ready(SECOND_NS);
        assert!(due.is_err(), "what is owed is not forgotten");
    }
}
