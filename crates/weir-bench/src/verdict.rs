//! The limit of a run, with the evidence, and its consequence for thresholds.

pub use crate::judged::{Judged, Limit, Verdict};
use crate::outcome::Outcome;
use crate::record::Failure;
use crate::units::{show_count, show_time};
use serde::{Deserialize, Serialize};

/// A worker busy for this share of the time cannot be trusted to be on time.
const THREAD_BUSY: f64 = 0.90;
/// Runnable without a core for this share of the time, in an open loop or with think times.
const DELAY_PACED: f64 = 0.02;
/// Or for this share of its run time: then it was scheduled late, however little work it had.
const DELAY_OF_CPU: f64 = 0.25;
/// As `DELAY_PACED`, in a closed loop, where server and generator may share cores at full load.
const DELAY_CLOSED: f64 = 0.10;
/// Share of the offered rate that must be achieved.
const RATE_MET: f64 = 0.99;
/// First pause of TCP before it sends a SYN again (RFC 6298 section 2).
const SYN_RETRY_NS: u64 = 1_000_000_000;
/// Lag that is never too much.
const LAG_FLOOR_NS: u64 = 1_000_000;

impl Verdict {
    /// Judges `outcome`. `paced` is true for schedules and users, false for a closed loop.
    pub fn of(outcome: &Outcome, paced: bool) -> Self {
        let busy = outcome.busiest_thread();
        let delay = outcome.run_delay_share();
        let lag = outcome.lag.quantile(0.99);
        let lag_limit = LAG_FLOOR_NS.max(outcome.response.quantile(0.5) / 20);
        let lagging = paced && lag > lag_limit;
        let mut evidence = vec![
            format!("busiest generator thread {:.0} % of a core", busy * 100.0),
            format!("run-queue delay {:.1} % of wall time", delay * 100.0),
        ];
        if paced {
            evidence.push(format!("generator lag p99 {}", show_time(lag as f64)));
        }
        let share = outcome.offered.map(|offered| achieved(outcome, offered));
        if let Some(share) = share {
            evidence.push(format!("achieved {:.1} % of the offered rate", share * 100.0));
        }
        let in_use = in_flight(outcome) / outcome.asked.connections.max(1) as f64;
        evidence.push(format!("connections busy {:.0} % of the time", in_use.min(1.0) * 100.0));
        let server = outcome.server.as_ref().map(|server| server.cores(outcome.wall_s));
        if let Some(cores) = server {
            evidence.push(format!("server used {cores:.2} cores"));
        }
        evidence.extend(connections(outcome));
        let exhausted =
            [Failure::NoPort, Failure::NoDescriptor].iter().any(|kind| count(outcome, *kind) > 0);
        let contended = match paced {
            true => delay > DELAY_PACED || outcome.run_delay_of_cpu() > DELAY_OF_CPU,
            false => delay > DELAY_CLOSED,
        };
        let missed = share.is_some_and(|share| share < RATE_MET);
        let limit = if exhausted {
            Limit::PortsExhausted
        } else if outcome.ok == 0 {
            if outcome.statuses.is_empty() { Limit::NoAnswer } else { Limit::NoSuccess }
        } else if busy >= THREAD_BUSY && (missed || lagging || !paced) {
            Limit::GeneratorLimited
        } else if held_up(outcome) {
            Limit::ConnectionLimited
        } else if paced && !missed && !lagging {
            Limit::RateMet
        } else if contended && (lagging || !paced) {
            Limit::HostContended
        } else if lagging {
            Limit::GeneratorLimited
        } else if in_use > 0.95 && server.is_some_and(|cores| cores < 0.80) {
            Limit::ConnectionLimited
        } else {
            Limit::ServerLimited
        };
        Self { limit, evidence }
    }
}

fn count(outcome: &Outcome, kind: Failure) -> u64 {
    outcome.failures.get(kind.name()).map_or(0, |failure| failure.count)
}

/// Whether connections had to retransmit SYN because a listen queue was full: only then does
/// connecting take as long as TCP waits before it sends a SYN again.
fn held_up(outcome: &Outcome) -> bool {
    let network = &outcome.network;
    let again = network.listen_overflows > 0 || network.syn_retransmits > 0;
    again && outcome.connect.max_ns >= SYN_RETRY_NS
}

/// The noteworthy facts about connections.
fn connections(outcome: &Outcome) -> Vec<String> {
    let network = &outcome.network;
    let mut told = Vec::new();
    if network.listen_overflows > 0 {
        told.push(format!("listen queue full {} times", network.listen_overflows));
    }
    if network.syn_retransmits > 0 {
        let longest = show_time(outcome.connect.max_ns as f64);
        told.push(format!(
            "{} SYNs sent again, longest connect {longest}",
            network.syn_retransmits
        ));
    }
    let without_port = count(outcome, Failure::NoPort);
    if without_port > 0 {
        told.push(format!(
            "no local port for {without_port} connections: {} ports, {} in TIME_WAIT; \
             --local-address gives each address its own",
            network.ports, network.time_wait
        ));
    }
    let without_descriptor = count(outcome, Failure::NoDescriptor);
    if without_descriptor > 0 {
        let limit = outcome.environment.descriptors.map_or(String::new(), |limit| {
            let limit = show_count(limit as f64);
            format!(": a process may open {limit} (ulimit -Hn)")
        });
        told.push(format!("no file descriptor for {without_descriptor} connections{limit}"));
    }
    told
}

fn achieved(outcome: &Outcome, offered: u64) -> f64 {
    if offered == 0 {
        return 1.0;
    }
    outcome.rate * outcome.measured_s / offered as f64
}

/// Mean number of requests in flight, by Little's law.
fn in_flight(outcome: &Outcome) -> f64 {
    outcome.service.mean_ns / 1e9 * outcome.service.count as f64 / outcome.measured_s.max(1e-9)
}

/// A condition on a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// As written.
    pub text: String,
    metric: Metric,
    below: bool,
    bound: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Metric {
    Quantile(f64),
    Mean,
    Max,
    Rate,
    Failed,
}

impl Threshold {
    /// Reads `p99<50ms`, `mean<10ms`, `max<1s`, `rate>1000`, `errors<1%`.
    ///
    /// # Errors
    /// A sentence for the operator.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bad = || format!("threshold '{text}' is not like p99<50ms, rate>1000 or errors<1%");
        let at = text.find(['<', '>']).ok_or_else(bad)?;
        let (name, rest) = (text[..at].trim(), text[at + 1..].trim_start_matches('=').trim());
        let of = |why: String| format!("threshold '{text}': {why}");
        let metric = match name {
            "mean" | "avg" => Metric::Mean,
            "max" => Metric::Max,
            "rate" => Metric::Rate,
            "errors" | "failed" => Metric::Failed,
            _ => {
                let digits = name.strip_prefix('p').ok_or_else(bad)?;
                let percent: f64 = digits.parse().map_err(|_| bad())?;
                if !(0.0..=100.0).contains(&percent) {
                    return Err(bad());
                }
                Metric::Quantile(percent / 100.0)
            }
        };
        let bound = match metric {
            Metric::Rate => crate::units::rate(rest).map_err(of)?,
            Metric::Failed => match rest.strip_suffix('%') {
                Some(percent) => percent.trim().parse::<f64>().map_err(|_| bad())? / 100.0,
                None => rest.parse().map_err(|_| bad())?,
            },
            Metric::Quantile(_) | Metric::Mean | Metric::Max => {
                // Without a unit, either could be meant.
                if rest.ends_with(|last: char| last.is_ascii_digit()) {
                    return Err(of(format!("say {rest}ms or {rest}s")));
                }
                crate::units::seconds(rest).map_err(of)? * 1e9
            }
        };
        Ok(Self { text: text.to_owned(), metric, below: text.as_bytes()[at] == b'<', bound })
    }

    /// The value it is about.
    fn value(&self, outcome: &Outcome) -> f64 {
        match self.metric {
            Metric::Quantile(quantile) => outcome.response.quantile(quantile) as f64,
            Metric::Mean => outcome.response.mean_ns,
            Metric::Max => outcome.response.max_ns as f64,
            Metric::Rate => outcome.rate,
            Metric::Failed => outcome.failed_share(),
        }
    }

    /// Whether the threshold holds for the measured values, whatever limited the run.
    pub fn holds(&self, outcome: &Outcome) -> bool {
        let value = self.value(outcome);
        if self.below { value <= self.bound } else { value >= self.bound }
    }

    /// Judges a result that has its verdict.
    pub fn judge(&self, outcome: &Outcome) -> Judged {
        let value = self.value(outcome);
        let shown = match self.metric {
            Metric::Rate => format!("{value:.1}/s"),
            Metric::Failed => format!("{:.3} %", value * 100.0),
            Metric::Quantile(_) | Metric::Mean | Metric::Max => show_time(value),
        };
        let met = outcome.verdict.limit.conclusive().then(|| self.holds(outcome));
        Judged { text: self.text.clone(), value: shown, met }
    }
}

#[cfg(test)]
mod tests {
    use super::{Limit, Threshold, Verdict};
    use crate::driver::ThreadUse;
    use crate::outcome::{Asked, Distribution, Outcome};
    use crate::record::{Failure, FailureCount};

    fn outcome(cpu: u64, delay: u64, offered: Option<u64>, rate: f64) -> Outcome {
        let threads = vec![ThreadUse { cpu_ns: cpu, run_delay_ns: delay, wall_ns: 1000 }];
        let asked = Asked { connections: 10, ..Asked::default() };
        let ok = rate as u64;
        Outcome { threads, offered, rate, ok, measured_s: 1.0, asked, ..Outcome::default() }
    }

    fn check(outcome: Outcome, paced: bool, expected: Limit) {
        let verdict = Verdict::of(&outcome, paced);
        assert_eq!(verdict.limit, expected, "{:?}", verdict.evidence);
    }

    #[test]
    fn the_limit_is_found() {
        check(outcome(300, 0, Some(100), 100.0), true, Limit::RateMet);
        check(outcome(300, 0, Some(100), 90.0), true, Limit::ServerLimited);
        check(outcome(950, 0, Some(100), 90.0), true, Limit::GeneratorLimited);
        check(outcome(950, 0, None, 100.0), false, Limit::GeneratorLimited);
        check(outcome(500, 200, None, 100.0), false, Limit::HostContended);
        check(outcome(500, 0, None, 100.0), false, Limit::ServerLimited);
        check(outcome(500, 0, None, 0.0), false, Limit::NoAnswer);
        let mut refused = outcome(500, 0, None, 0.0);
        refused.statuses.insert(404, 9);
        check(refused, false, Limit::NoSuccess);
        let mut held = outcome(300, 0, Some(100), 100.0);
        held.connect.max_ns = 1_030_000_000;
        check(held.clone(), true, Limit::RateMet);
        held.network.listen_overflows = 3;
        check(held.clone(), true, Limit::ConnectionLimited);
        held.failures.insert(Failure::NoPort.name().into(), FailureCount::default());
        check(held.clone(), true, Limit::ConnectionLimited);
        held.failures.insert(
            Failure::NoPort.name().into(),
            FailureCount { count: 1, ..FailureCount::default() },
        );
        check(held, true, Limit::PortsExhausted);
        let mut late = outcome(300, 30, Some(100), 100.0);
        late.lag = Distribution {
            count: 1,
            max_ns: 5_000_000,
            buckets: vec![(5_000_000, 1)],
            ..Distribution::default()
        };
        check(late.clone(), true, Limit::HostContended);
        late.threads[0].run_delay_ns = 0;
        check(late.clone(), true, Limit::GeneratorLimited);
        // Nearly idle, but waiting for a core as long as it had one.
        (late.threads[0].cpu_ns, late.threads[0].run_delay_ns) = (10, 9);
        check(late, true, Limit::HostContended);
    }

    #[test]
    fn thresholds_are_read_and_judged() {
        let mut result = outcome(300, 0, Some(100), 100.0);
        result.response = Distribution {
            count: 2,
            max_ns: 9_000_000,
            buckets: vec![(1_000_000, 1), (9_000_000, 1)],
            ..Distribution::default()
        };
        result.failed = 1;
        result.verdict.limit = Limit::RateMet;
        let judge =
            |text: &str, result: &Outcome| Threshold::parse(text).unwrap().judge(result).met;
        assert_eq!(judge("p50<2ms", &result), Some(true));
        assert_eq!(judge("p99 < 5ms", &result), Some(false));
        assert_eq!(judge("rate>=100", &result), Some(true));
        assert_eq!(judge("errors<0.5%", &result), Some(false));
        result.verdict.limit = Limit::GeneratorLimited;
        assert_eq!(judge("p50<2ms", &result), None);
        for bad in ["p99", "p101<1s", "speed>3", "p99<fast", "p99<50", "errors<x%"] {
            assert!(Threshold::parse(bad).is_err(), "{bad}");
        }
    }
}
