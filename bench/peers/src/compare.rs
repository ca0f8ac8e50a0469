//! Proxies side by side under one load: CPU per request, and its ratio to others'.

use super::bench::{Bench, Sample, interleaved};
use super::report::Table;
use super::stats::{Spread, grouped};
use super::subject::{Peer, Running};

/// Samples of several proxies, by proxy and then by round.
#[derive(Debug)]
pub struct Compared {
    peers: Vec<Peer>,
    names: Vec<String>,
    samples: Vec<Vec<Sample>>,
}

/// By what CPU is divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Per {
    /// Answers.
    Request,
    /// Megabytes of bodies, at so many bytes for each answer.
    Megabyte(usize),
}

/// Below this share of its core, a proxy's rate is not its maximum.
const SATURATED: f64 = 0.94;
/// Above this share, other programs on the proxy's core matter.
const FOREIGN: f64 = 0.04;

impl Compared {
    /// Measures all of `running` in each round, in random order.
    ///
    /// # Errors
    /// The first one of `measure`.
    pub fn of(
        bench: &Bench,
        rounds: usize,
        running: &mut [Running],
        what: &str,
        mut measure: impl FnMut(&mut Running) -> anyhow::Result<Sample>,
    ) -> anyhow::Result<Self> {
        let samples = interleaved(bench, rounds, running, |round, running| {
            let sample = measure(running)?;
            let cpu = match running.process {
                Some(_) => format!("{:7.2} CPU µs/request", sample.cpu_us()),
                None => String::new(),
            };
            eprintln!(
                "{what}, round {round}/{rounds}: {:<18} {:>9} req/s {cpu}{}",
                running.name,
                grouped(sample.counted.rate, 0),
                errors(sample.counted.errors)
            );
            Ok(sample)
        })?;
        let peers = running.iter().map(|running| running.peer).collect();
        let names = running.iter().map(|running| running.name.clone()).collect();
        Ok(Self { peers, names, samples })
    }

    /// Index of the first one that is `peer`.
    pub fn position(&self, peer: Peer) -> Option<usize> {
        self.peers.iter().position(|other| *other == peer)
    }

    /// CPU per request in µs (or per megabyte, in ms) of proxy `at`, by round.
    pub fn cpu(&self, at: usize, per: Per) -> Vec<f64> {
        let scale = match per {
            Per::Request => 1.0,
            Per::Megabyte(bytes) => 1e6 / bytes as f64 / 1e3,
        };
        self.samples[at].iter().map(|sample| sample.cpu_us() * scale).collect()
    }

    /// Requests per second of proxy `at`.
    pub fn rate(&self, at: usize) -> Option<Spread> {
        Spread::of(self.samples[at].iter().map(|sample| sample.counted.rate))
    }

    /// CPU per request of proxy `this` over that of `that`.
    pub fn ratio(&self, this: usize, that: usize) -> Option<Spread> {
        Spread::ratio(&self.cpu(this, Per::Request), &self.cpu(that, Per::Request))
    }

    /// Requests per second of proxy `this` over those of `that`.
    pub fn rates(&self, this: usize, that: usize) -> Option<Spread> {
        let rates = |at: usize| self.samples[at].iter().map(|s| s.counted.rate).collect::<Vec<_>>();
        Spread::ratio(&rates(this), &rates(that))
    }

    /// Errors of proxy `at`.
    pub fn errors_of(&self, at: usize) -> u64 {
        self.samples[at].iter().map(|sample| sample.counted.errors).sum()
    }

    /// The errors of each proxy with any, as `weir 3`; `0` without errors.
    pub fn errors(&self) -> String {
        let counts = self.names.iter().enumerate().map(|(at, name)| (name, self.errors_of(at)));
        let some = counts.filter(|(_, count)| *count > 0);
        let some: Vec<String> = some.map(|(name, count)| format!("{name} {count}")).collect();
        if some.is_empty() { "0".to_owned() } else { some.join(", ") }
    }

    /// The samples by name of proxy.
    pub fn json(&self) -> serde_json::Value {
        let pairs = self.names.iter().zip(&self.samples);
        pairs.map(|(name, samples)| (name.clone(), serde_json::json!(samples))).collect()
    }

    /// The table, with a column of ratios for each of `against` that was measured.
    pub fn table(&self, title: &str, per: Per, against: &[Peer]) -> Table {
        let against: Vec<usize> = against.iter().filter_map(|&peer| self.position(peer)).collect();
        let unit = match per {
            Per::Request => "CPU µs/request",
            Per::Megabyte(_) => "CPU ms/MB",
        };
        let mut head = vec!["", "req/s", unit];
        let ratios: Vec<String> =
            against.iter().map(|&at| format!("CPU to {}", self.names[at])).collect();
        head.extend(ratios.iter().map(String::as_str));
        head.extend(["in user space", "proxy's share of its core", "client core busy", "errors"]);
        let mut table = Table::new(title, &head);
        for at in 0..self.names.len() {
            let rate = self.rate(at).map(|rate| rate.show(0)).unwrap_or_default();
            let mut row = vec![self.names[at].clone(), rate];
            let proxied = self.peers[at] != Peer::Direct;
            let cpu = Spread::of(self.cpu(at, per)).filter(|_| proxied);
            row.push(cpu.map(|cpu| cpu.show(2)).unwrap_or_default());
            for &other in &against {
                let ratio = self.ratio(at, other).filter(|_| proxied && other != at);
                row.push(ratio.map(|ratio| ratio.show(2)).unwrap_or_default());
            }
            let user = Spread::of(self.samples[at].iter().map(Sample::user_us));
            let user = user.filter(|_| proxied).map(|user| user.show(2));
            row.push(user.unwrap_or_default());
            let share = |busy: fn(&Sample) -> f64| {
                let spread = Spread::of(self.samples[at].iter().map(busy));
                spread.map(|s| format!("{:.0} %", s.median * 100.0)).unwrap_or_default()
            };
            row.push(if proxied { share(Sample::proxy_share) } else { String::new() });
            row.push(share(|s| s.client_core_busy));
            row.push(grouped(self.errors_of(at) as f64, 0));
            table.row(row);
        }
        table.notes.extend(self.doubts());
        table
    }

    /// Caveats about the rates.
    fn doubts(&self) -> Vec<String> {
        let named = |matters: &dyn Fn(&[Sample]) -> bool| {
            let all = (0..self.names.len()).filter(|at| self.peers[*at] != Peer::Direct);
            let names = all.filter(|at| matters(&self.samples[*at])).map(|at| &*self.names[at]);
            names.collect::<Vec<_>>().join(", ")
        };
        let median = |samples: &[Sample], of: fn(&Sample) -> f64| {
            Spread::of(samples.iter().map(of)).map_or(0.0, |spread| spread.median)
        };
        let unsaturated = named(&|samples| median(samples, Sample::proxy_share) < SATURATED);
        let disturbed = named(&|samples| median(samples, Sample::foreign_share) > FOREIGN);
        let mut doubts = Vec::new();
        if !unsaturated.is_empty() {
            doubts.push(format!(
                "Not the highest rate of {unsaturated}: its core had time left, or others took it. \
                 Read the CPU, not the rate."
            ));
        }
        if !disturbed.is_empty() {
            doubts.push(format!(
                "Something else ran on the proxy's core while {disturbed} was measured."
            ));
        }
        doubts
    }
}

fn errors(count: u64) -> String {
    if count == 0 { String::new() } else { format!(", {count} errors") }
}

#[cfg(test)]
mod tests {
    use super::{Compared, Per};
    use crate::bench::Sample;
    use crate::client::Counted;
    use crate::subject::Peer;

    fn sample(requests: u64, cpu_s: f64, errors: u64, busy: f64) -> Sample {
        let counted = Counted { requests, errors, rate: requests as f64 };
        let wall_s = cpu_s.max(0.1) / busy;
        let user_s = cpu_s / 4.0;
        Sample { counted, cpu_s, user_s, wall_s, proxy_core_busy: 1.0, client_core_busy: 0.5 }
    }

    fn compared() -> Compared {
        Compared {
            peers: vec![Peer::Weir, Peer::Nginx, Peer::Direct],
            names: vec!["weir".into(), "nginx".into(), "direct".into()],
            samples: vec![
                vec![sample(100_000, 0.8, 0, 0.99), sample(100_000, 1.6, 2, 0.99)],
                vec![sample(100_000, 1.0, 0, 0.80), sample(100_000, 2.0, 1, 0.90)],
                vec![sample(300_000, 0.0, 0, 1.0), sample(300_000, 0.0, 0, 1.0)],
            ],
        }
    }

    #[test]
    fn ratios_are_within_a_round() {
        let compared = compared();
        assert_eq!(compared.cpu(0, Per::Request), [8.0, 16.0]);
        assert_eq!(compared.cpu(0, Per::Megabyte(1_000_000)), [0.008, 0.016]);
        let ratio = compared.ratio(0, 1).unwrap();
        assert!((ratio.min - 0.8).abs() < 1e-9 && (ratio.max - 0.8).abs() < 1e-9);
    }

    #[test]
    fn the_table_says_whose_rate_is_not_its_own() {
        let table = compared().table("t", Per::Request, &[Peer::Nginx, Peer::Forwarder]);
        let head = ["", "req/s", "CPU µs/request", "CPU to nginx", "in user space"];
        assert_eq!(table.head[..5], head);
        assert_eq!(
            (&*table.rows[0][3], &*table.rows[0][4]),
            ("0.80 (0.80–0.80)", "3.00 (2.00–4.00)")
        );
        assert_eq!((&*table.rows[1][3], &*table.rows[2][2], &*table.rows[2][4]), ("", "", ""));
        assert_eq!((&*table.rows[0][7], &*table.rows[1][7]), ("2", "1"));
        assert_eq!(table.notes.len(), 2);
        assert!(table.notes[0].contains("rate of nginx:"), "{}", table.notes[0]);
        assert!(table.notes[1].contains("while nginx was"), "{}", table.notes[1]);
    }
}
