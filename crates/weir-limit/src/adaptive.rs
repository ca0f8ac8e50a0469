//! A concurrency limit that adapts to request durations and failures.
//!
//! The gradient controller of Envoy's adaptive concurrency filter: while requests take no longer
//! than the baseline plus a quarter, the limit rises, else it falls. Failures from overload cut the
//! limit by a tenth, as in AIMD. The baseline is measured anew every half minute at less than half
//! the limit, where the upstream has no queue of its own.
//!
//! For an upstream that serves `c` requests at a time, each in the same time, the limit `l`
//! converges to `l = 1.25 c + √l`. Latency alone never lowers it below 4: a step halves at most.

/// Ratio to the baseline up to which a duration counts as not slowed down.
const TOLERANCE: f64 = 1.25;
/// Bounds of one step.
const GRADIENT_MIN: f64 = 0.5;
const GRADIENT_MAX: f64 = 2.0;
/// Factor after a window with failures from overload.
const CUT: f64 = 0.9;
/// The limit to begin with.
const FIRST: u64 = 20;
/// Minimum number of requests in a window, all begun within it, and its minimum duration.
const SAMPLES_MIN: u32 = 50;
const WINDOW_NS: u64 = 100_000_000;
/// Time between two measurements of the baseline.
const PROBE_EACH_NS: u64 = 30_000_000_000;
/// The same after one that found another baseline: at a limit far too high, half of it still leaves
/// the upstream busy, so that several measurements lead there.
const PROBE_AGAIN_NS: u64 = 3_000_000_000;

/// Outcome of a request that was in service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Served within this number of nanoseconds.
    Served(u64),
    /// Failed in a way that indicates overload.
    Overloaded,
    /// No evidence about the upstream.
    Unknown,
}

/// A concurrency that finds itself.
#[derive(Clone, Debug)]
pub(crate) struct Adaptive {
    min: f64,
    max: f64,
    limit: f64,
    /// Duration of a request at an idle upstream, in nanoseconds; 0 is unknown.
    baseline_ns: f64,
    /// The baseline is measured.
    probes: bool,
    /// Time of the next measurement; 0 if not scheduled yet.
    probe_ns: u64,
    window: Window,
}

/// Observations since the limit changed.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    since_ns: u64,
    sum_ns: f64,
    served: u32,
    failed: u32,
    /// Most that were in service.
    busiest: u64,
}

impl Adaptive {
    pub fn new(min: u64, max: u64) -> Self {
        let (min, max) = (min.max(1) as f64, max.max(min).max(1) as f64);
        Self {
            min,
            max,
            limit: (FIRST as f64).clamp(min, max),
            baseline_ns: 0.0,
            probes: true,
            probe_ns: 0,
            window: Window::default(),
        }
    }

    /// Applies new bounds.
    pub fn bound(&mut self, min: u64, max: u64) {
        let new = Self::new(min, max);
        (self.min, self.max) = (new.min, new.max);
        self.limit = self.limit.clamp(new.min, new.max);
    }

    /// The current limit of requests in service.
    pub fn most(&self) -> u64 {
        let is_probe = self.probes && self.baseline_ns > 0.0;
        // By the formula above, five eighths of the upstream's capacity.
        let quiet = ((self.limit - self.limit.sqrt()) / 2.0).max(self.min);
        if is_probe { quiet as u64 } else { self.limit as u64 }
    }

    /// Duration of a request at an idle upstream, in nanoseconds, once known.
    pub fn baseline_ns(&self) -> Option<u64> {
        (self.baseline_ns > 0.0).then_some(self.baseline_ns as u64)
    }

    /// Records the outcome of a request that ended at `now_ns`, with `in_service` requests
    /// including itself.
    pub fn ended(&mut self, ended: Ended, in_service: u64, now_ns: u64) {
        let window = &mut self.window;
        window.busiest = window.busiest.max(in_service);
        match ended {
            // A request that began under an earlier limit says nothing about this one.
            Ended::Served(took_ns) if now_ns.saturating_sub(took_ns) <= window.since_ns => return,
            Ended::Served(took_ns) => {
                window.sum_ns += took_ns as f64;
                window.served += 1;
            }
            Ended::Overloaded => window.failed += 1,
            Ended::Unknown => return,
        }
        let is_over = window.served.saturating_add(window.failed) >= SAMPLES_MIN
            && now_ns.saturating_sub(window.since_ns) >= WINDOW_NS;
        if is_over {
            self.close(now_ns);
        }
    }

    fn close(&mut self, now_ns: u64) {
        let window = std::mem::take(&mut self.window);
        self.window.since_ns = now_ns;
        let mean_ns = window.sum_ns / f64::from(window.served.max(1));
        if window.failed > 0 {
            self.limit = (self.limit * CUT).clamp(self.min, self.max);
        } else if self.probes {
            let before_ns = std::mem::replace(&mut self.baseline_ns, mean_ns.max(1.0));
            let same = before_ns / TOLERANCE..=before_ns * TOLERANCE;
            let is_new = before_ns > 0.0 && !same.contains(&self.baseline_ns);
            let pause_ns = if is_new { PROBE_AGAIN_NS } else { PROBE_EACH_NS };
            self.probe_ns = now_ns.saturating_add(pause_ns);
        } else {
            let gradient = TOLERANCE * self.baseline_ns / mean_ns.max(1.0);
            let next = self.limit * gradient.clamp(GRADIENT_MIN, GRADIENT_MAX) + self.limit.sqrt();
            // A limit that is not used up gives no evidence for raising it.
            let is_used = window.busiest >= self.most();
            let highest = if is_used { self.max } else { self.limit };
            self.limit = next.clamp(self.min, highest.max(self.min));
        }
        self.probes = self.baseline_ns == 0.0 || now_ns >= self.probe_ns;
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    use super::{Adaptive, Ended};

    const MS: u64 = 1_000_000;
    const SECOND: u64 = 1_000 * MS;

    /// Simulates an upstream that serves `servers` requests at a time, each for `service_ns`, with
    /// always one more that wants to pass. Runs until `until_ns` and returns the limit that holds
    /// most of the time.
    fn run(
        adaptive: &mut Adaptive,
        servers: usize,
        service_ns: u64,
        from_ns: u64,
        until_ns: u64,
    ) -> f64 {
        let mut free: BinaryHeap<_> = vec![Reverse(from_ns); servers].into();
        let mut under_way = BinaryHeap::new();
        let (mut now, mut count) = (from_ns, 0);
        while now < until_ns {
            while (under_way.len() as u64) < adaptive.most() {
                let Reverse(idle_since) = free.pop().expect("a server");
                // From 0.8 to 1.2 of it, so that the requests do not run in lockstep.
                count += 1;
                let jitter = count * 7_919 % 1_000;
                let end = now.max(idle_since) + service_ns * (800 + jitter * 2 / 5) / 1_000;
                free.push(Reverse(end));
                under_way.push(Reverse((end, now)));
            }
            let in_service = under_way.len() as u64;
            let Reverse((ended, began)) = under_way.pop().expect("one under way");
            now = ended;
            adaptive.ended(Ended::Served(now - began), in_service, now);
        }
        adaptive.limit
    }

    /// `l = 1.25 c + √l`, and 4 at least.
    fn expected(servers: usize) -> f64 {
        ((1.0 + (1.0 + 5.0 * servers as f64).sqrt()) / 2.0).powi(2).max(4.0)
    }

    #[test]
    fn it_comes_to_what_the_upstream_can_do() {
        for servers in [1, 4, 40, 200] {
            let mut adaptive = Adaptive::new(1, 1_000);
            let limit = run(&mut adaptive, servers, 50 * MS, 0, 300 * SECOND);
            let expected = expected(servers);
            assert!((limit / expected - 1.0).abs() < 0.15, "{servers}: {limit}, not {expected}");
        }
    }

    #[test]
    fn it_follows_an_upstream_that_changes() {
        let mut adaptive = Adaptive::new(1, 1_000);
        run(&mut adaptive, 100, 20 * MS, 0, 200 * SECOND);
        let less = run(&mut adaptive, 20, 20 * MS, 201 * SECOND, 400 * SECOND);
        assert!((less / expected(20) - 1.0).abs() < 0.15, "{less}");
        let more = run(&mut adaptive, 100, 20 * MS, 401 * SECOND, 600 * SECOND);
        assert!((more / expected(100) - 1.0).abs() < 0.15, "{more}");
    }

    #[test]
    fn it_recovers_from_a_slow_time_within_one_measurement_and_its_followers() {
        let mut adaptive = Adaptive::new(4, 200);
        run(&mut adaptive, 20, 50 * MS, 0, 100 * SECOND);
        run(&mut adaptive, 20, 250 * MS, 100 * SECOND, 145 * SECOND);
        assert!(adaptive.baseline_ns() > Some(150 * MS), "it was measured meanwhile");
        // The next measurement comes within half a minute, and three more each 3 seconds.
        let after = run(&mut adaptive, 20, 50 * MS, 145 * SECOND, 188 * SECOND);
        assert!((after / expected(20) - 1.0).abs() < 0.15, "{after}");
    }

    #[test]
    fn failures_cut_it_down_to_its_least_and_no_further() {
        let mut adaptive = Adaptive::new(5, 50);
        let before = run(&mut adaptive, 100, 10 * MS, 0, 10 * SECOND);
        assert_eq!(before, 50.0, "no more than its most");
        let mut now = 10 * SECOND;
        for windows in 1..=3 {
            for _ in 0..50 {
                now += 10 * MS;
                adaptive.ended(Ended::Overloaded, 50, now);
            }
            assert!((adaptive.limit - 50.0 * 0.9_f64.powi(windows)).abs() < 1e-9);
        }
        for _ in 0..1_000 {
            now += 10 * MS;
            adaptive.ended(Ended::Overloaded, 50, now);
        }
        assert_eq!(adaptive.limit, 5.0);
        assert!(run(&mut adaptive, 100, 10 * MS, now, now + 10 * SECOND) > 49.0, "it recovers");
    }

    #[test]
    fn what_is_not_used_does_not_grow() {
        let mut adaptive = Adaptive::new(1, 1_000);
        let mut now = 0;
        for _ in 0..10_000 {
            now += 10 * MS;
            adaptive.ended(Ended::Served(5 * MS), 3, now);
            adaptive.ended(Ended::Unknown, 3, now);
        }
        assert_eq!(adaptive.limit, 20.0);
        assert_eq!(adaptive.baseline_ns(), Some(5 * MS));
    }
}
