//! The stored result of a run: its JSON is the source of every report and comparison.

use crate::clock::seconds;
use crate::driver::{Run, ThreadUse};
use crate::environment::Environment;
use crate::judged::{Judged, Verdict};
use crate::network::Network;
use crate::process::ServerUse;
use crate::record::{FAILURES, Failure, FailureCount, Slice};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A distribution of times in nanoseconds, as the filled buckets of its histogram.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Number of values.
    pub count: u64,
    /// Least value.
    pub min_ns: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Standard deviation.
    pub stdev_ns: f64,
    /// Greatest value.
    pub max_ns: u64,
    /// (upper bound of a bucket, values in it), rising; three significant digits.
    pub buckets: Vec<(u64, u64)>,
}

impl Distribution {
    /// The buckets of `histogram`.
    pub fn of(histogram: &Histogram<u64>) -> Self {
        let bucket = |step: hdrhistogram::iterators::IterationValue<u64>| {
            (step.value_iterated_to(), step.count_since_last_iteration())
        };
        // The histogram reports the middle of its lowest bucket for 0.
        let zero = histogram.max() == 0;
        Self {
            count: histogram.len(),
            min_ns: if histogram.is_empty() { 0 } else { histogram.min() },
            mean_ns: if zero { 0.0 } else { histogram.mean() },
            stdev_ns: if zero { 0.0 } else { histogram.stdev() },
            max_ns: histogram.max(),
            buckets: histogram.iter_recorded().map(bucket).collect(),
        }
    }

    /// The value at or below which a share `quantile` of all values lies; 0 when empty.
    pub fn quantile(&self, quantile: f64) -> u64 {
        let rank = ((quantile * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for &(value, count) in &self.buckets {
            seen += count;
            if seen >= rank {
                return value.min(self.max_ns);
            }
        }
        self.max_ns
    }

    /// All values of `parts`, such as those of clients that ran at the same time.
    pub fn together<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        Self::of(&histogram(parts))
    }

    /// Back to a histogram (for HDR logs and for further values).
    pub fn to_histogram(&self) -> Histogram<u64> {
        histogram([self])
    }
}

fn histogram<'a>(parts: impl IntoIterator<Item = &'a Distribution>) -> Histogram<u64> {
    let mut all = crate::record::histogram();
    for &(value, count) in parts.into_iter().flat_map(|part| &part.buckets) {
        all.saturating_record_n(value, count);
    }
    all
}

/// Numbers of one request of the mix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestOutcome {
    /// Its name.
    pub name: String,
    /// Successes.
    pub ok: u64,
    /// Failures.
    pub failed: u64,
    /// Bytes of answers.
    pub bytes: u64,
    /// Response times of successes.
    pub response: Distribution,
}

/// The requested load, in words and numbers for reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Target, such as a URL.
    pub target: String,
    /// The arrival model in words.
    pub arrival: String,
    /// Connections or users.
    pub connections: usize,
    /// Worker threads.
    pub threads: usize,
    /// Connections are kept between requests.
    pub keep_alive: bool,
    /// Timeout in seconds.
    pub timeout_s: f64,
    /// Warm-up in seconds.
    pub warmup_s: f64,
}

/// The result of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Format of this document.
    pub weir_bench: u32,
    /// The start time (RFC 3339).
    pub started: String,
    /// The command line.
    pub command: Vec<String>,
    /// The requested load.
    pub asked: Asked,
    /// The limit of the run.
    pub verdict: Verdict,
    /// Thresholds, judged.
    pub thresholds: Vec<Judged>,
    /// Length of the measured part in seconds.
    pub measured_s: f64,
    /// Length with warm-up and drain in seconds.
    pub wall_s: f64,
    /// Whether the run was ended early.
    pub interrupted: bool,
    /// Requests due by the schedule (open loop).
    pub offered: Option<u64>,
    /// Requests sent.
    pub sent: u64,
    /// Successes.
    pub ok: u64,
    /// Failures of any kind, never-sent ones too.
    pub failed: u64,
    /// Successes per second of the measured part.
    pub rate: f64,
    /// Bytes of answers.
    pub bytes_read: u64,
    /// Bytes of bodies.
    pub bytes_body: u64,
    /// Connections opened.
    pub opened: u64,
    /// done − intended, of everything, censored values included.
    pub response: Distribution,
    /// done − sent.
    pub service: Distribution,
    /// first byte − sent.
    pub first_byte: Distribution,
    /// Time to connect.
    pub connect: Distribution,
    /// Late although a connection was free.
    pub lag: Distribution,
    /// Waited for a free connection.
    pub queue: Distribution,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Failures by kind.
    pub failures: BTreeMap<String, FailureCount>,
    /// By request of the mix.
    pub requests: Vec<RequestOutcome>,
    /// By second.
    pub slices: Vec<Slice>,
    /// CPU of the generator's threads.
    pub threads: Vec<ThreadUse>,
    /// The Server field of the first answer.
    pub server_field: String,
    /// The local server process, if there is one.
    pub server: Option<ServerUse>,
    /// The kernel's TCP counters.
    #[serde(default)]
    pub network: Network,
    /// The environment of the run.
    pub environment: Environment,
}

impl Outcome {
    /// Numbers of `run`; verdict, thresholds and surroundings are filled in by the caller.
    pub fn of(run: &Run, names: impl IntoIterator<Item = String>, asked: Asked) -> Self {
        let record = &run.record;
        let measured_s = run.measured.as_secs_f64();
        let end = asked.warmup_s + measured_s;
        let late: u64 = late_successes(record.slices.closed(), end);
        let failed = record.failures.iter().map(|failure| failure.count).sum();
        let statuses = record.statuses.iter().enumerate().filter(|(_, count)| **count > 0);
        let failures = FAILURES.iter().filter(|kind| record.failures(**kind) > 0);
        let per_request = names.into_iter().zip(&record.per_request);
        Self {
            weir_bench: 1,
            measured_s,
            wall_s: run.wall.as_secs_f64(),
            interrupted: run.interrupted,
            offered: run.offered,
            sent: record.sent,
            ok: record.ok,
            failed,
            rate: record.ok.saturating_sub(late) as f64 / measured_s.max(1e-9),
            bytes_read: record.bytes_read,
            bytes_body: record.bytes_body,
            opened: record.opened,
            response: Distribution::of(&record.response),
            service: Distribution::of(&record.service),
            first_byte: Distribution::of(&record.first_byte),
            connect: Distribution::of(&record.connect),
            lag: Distribution::of(&record.lag),
            queue: Distribution::of(&record.queue),
            statuses: statuses.map(|(code, count)| (code as u16, *count)).collect(),
            failures: failures
                .map(|kind| (kind.name().to_owned(), record.failures[*kind as usize]))
                .collect(),
            requests: per_request
                .map(|(name, numbers)| RequestOutcome {
                    name,
                    ok: numbers.response.len(),
                    failed: numbers.failed,
                    bytes: numbers.bytes,
                    response: Distribution::of(&numbers.response),
                })
                .collect(),
            slices: record.slices.closed().to_vec(),
            threads: run.threads.clone(),
            server_field: record.server_field.clone().unwrap_or_default(),
            asked,
            ..Self::default()
        }
    }

    /// CPU of the generator per request, microseconds.
    pub fn generator_us_per_request(&self) -> f64 {
        let cpu: u64 = self.threads.iter().map(|thread| thread.cpu_ns).sum();
        cpu as f64 / 1e3 / self.all_requests().max(1) as f64
    }

    /// CPU of the local server per request, microseconds.
    pub fn server_us_per_request(&self) -> Option<f64> {
        let server = self.server.as_ref()?;
        Some(server.cpu_s * 1e6 / self.all_requests().max(1) as f64)
    }

    /// Requests completed with the warm-up's, which CPU times include.
    fn all_requests(&self) -> u64 {
        self.slices.iter().map(|slice| slice.ok + slice.failed).sum()
    }

    /// The complete seconds of a run. The unfinished last second is left out, as it would look like
    /// a fall of the rate. A run of less than a second keeps its only slice.
    pub fn whole_seconds(&self) -> &[Slice] {
        let whole = self.wall_s.floor();
        let count = self.slices.partition_point(|slice| (slice.second as f64) < whole);
        self.slices.get(..count).filter(|slices| !slices.is_empty()).unwrap_or(&self.slices)
    }

    /// Requests that were given up without an answer. Their times count, as lower bounds.
    pub fn unanswered(&self) -> u64 {
        let answered = [Failure::Status.name(), Failure::Check.name()];
        let given_up = self.failures.iter().filter(|(name, _)| !answered.contains(&name.as_str()));
        given_up.map(|(_, failure)| failure.count).sum()
    }

    /// The note about times of requests without an answer; `None` if there are none.
    pub fn censored(&self) -> Option<String> {
        let count = self.unanswered();
        (count > 0).then(|| {
            format!(
                "{count} without an answer count as long as they were waited for: their times, and \
                 mean and max with them, are lower bounds"
            )
        })
    }

    /// Share of failed requests.
    pub fn failed_share(&self) -> f64 {
        self.failed as f64 / (self.ok + self.failed).max(1) as f64
    }

    /// Share of the generator's wall time its threads were runnable but had no core.
    pub fn run_delay_share(&self) -> f64 {
        let delay: u64 = self.threads.iter().map(|thread| thread.run_delay_ns).sum();
        let wall: u64 = self.threads.iter().map(|thread| thread.wall_ns).sum();
        delay as f64 / wall.max(1) as f64
    }

    /// The same time as a share of the time the threads had a core.
    pub fn run_delay_of_cpu(&self) -> f64 {
        let delay: u64 = self.threads.iter().map(|thread| thread.run_delay_ns).sum();
        let cpu: u64 = self.threads.iter().map(|thread| thread.cpu_ns).sum();
        delay as f64 / cpu.max(1) as f64
    }

    /// The busiest generator thread's share of a core.
    pub fn busiest_thread(&self) -> f64 {
        let share = |thread: &ThreadUse| seconds(thread.cpu_ns) / seconds(thread.wall_ns.max(1));
        self.threads.iter().map(share).fold(0.0, f64::max)
    }
}

/// Successes completed in the drain: they count in percentiles but not in the rate.
fn late_successes(slices: &[Slice], end_s: f64) -> u64 {
    slices.iter().filter(|slice| slice.second as f64 >= end_s).map(|slice| slice.ok).sum()
}

#[cfg(test)]
mod tests {
    use super::{Distribution, Outcome};
    use crate::record::{FailureCount, Slice};

    #[test]
    fn the_rest_of_a_second_is_no_second() {
        let check = |wall_s: f64, seconds: &[u64], expected: usize| {
            let slice = |second: &u64| Slice { second: *second, ..Slice::default() };
            let slices = seconds.iter().map(slice).collect();
            let outcome = Outcome { wall_s, slices, ..Outcome::default() };
            assert_eq!(outcome.whole_seconds().len(), expected, "{wall_s} {seconds:?}");
        };
        check(2.004, &[0, 1, 2], 2);
        check(12.0, &[0, 1, 12], 2);
        check(0.7, &[0], 1);
        check(0.0, &[], 0);
    }

    #[test]
    fn requests_without_an_answer_are_told_of() {
        let failure = |name: &str, count| {
            (name.to_owned(), FailureCount { count, ..FailureCount::default() })
        };
        let failures = [failure("timed out", 3), failure("unexpected status", 5)].into();
        let outcome = Outcome { failures, ..Outcome::default() };
        assert_eq!(outcome.unanswered(), 3);
        assert!(outcome.censored().unwrap().starts_with("3 without an answer"));
        assert_eq!(Outcome::default().censored(), None);
    }

    #[test]
    fn a_distribution_keeps_what_its_histogram_knew() {
        let mut histogram = crate::record::histogram();
        for value in 1..=100_000u64 {
            histogram.record(value * 1000).unwrap();
        }
        let stored = Distribution::of(&histogram);
        for quantile in [0.0, 0.5, 0.9, 0.99, 0.9999, 1.0] {
            let want = histogram.value_at_quantile(quantile);
            let got = stored.quantile(quantile);
            assert!(got.abs_diff(want) <= 64 + want / 500, "{quantile}: {got} {want}");
        }
        let again = Distribution::of(&stored.to_histogram());
        assert_eq!(again.buckets, stored.buckets);
        let twice = Distribution::together([&stored, &Distribution::default(), &again]);
        assert_eq!(twice.count, 2 * stored.count);
        assert_eq!(twice.quantile(0.5), stored.quantile(0.5));
        assert_eq!(Distribution::default().quantile(0.99), 0);
        let mut zeros = crate::record::histogram();
        zeros.record_n(0, 7).unwrap();
        let zeros = Distribution::of(&zeros);
        assert_eq!((zeros.count, zeros.mean_ns, zeros.max_ns), (7, 0.0, 0));
    }
}
