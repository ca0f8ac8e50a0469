//! wrk and wrk2: `wrk -t2 -c64 -d10s --latency URL`, `wrk2 … -R 2000 URL`.

use crate::arrival::{Arrival, Profile, Schedule, Spacing};
use crate::outcome::{Distribution, Outcome};
use crate::plan::{Plan, Stop};
use crate::target::{Shape, Target};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

/// wrk's arguments.
#[derive(Clone, Debug, clap::Args)]
pub struct WrkArgs {
    /// Connections to keep open
    #[arg(short = 'c', long, default_value_t = 10)]
    connections: usize,
    /// Duration of test
    #[arg(short = 'd', long, default_value = "10s", value_parser = crate::units::duration)]
    duration: Duration,
    /// Number of threads to use
    #[arg(short = 't', long, default_value_t = 2)]
    threads: usize,
    /// Header line
    #[arg(short = 'H', long = "header")]
    headers: Vec<String>,
    /// Print latency statistics
    #[arg(long, alias = "u_latency")]
    latency: bool,
    /// Socket/request timeout
    #[arg(long, default_value = "2s", value_parser = crate::units::duration)]
    timeout: Duration,
    /// Lua script: refused
    #[arg(short = 's', long, hide = true)]
    script: Option<String>,
    #[command(flatten)]
    pub(crate) keep: super::KeepArgs,
    /// http:// URL
    url: String,
}

/// wrk2's arguments: wrk's and a rate.
#[derive(Clone, Debug, clap::Args)]
pub struct Wrk2Args {
    #[command(flatten)]
    pub(crate) wrk: WrkArgs,
    /// Work rate (throughput) in requests/sec (total)
    #[arg(short = 'R', long, value_parser = crate::units::rate)]
    rate: f64,
}

impl WrkArgs {
    /// The plan for wrk's options.
    ///
    /// # Errors
    /// For an argument that cannot be honoured.
    pub fn plan(&self) -> anyhow::Result<(Plan, Target)> {
        if let Some(script) = &self.script {
            anyhow::bail!(
                "{script}: Lua scripts cannot be run here; a plan in YAML has mixes, bodies and \
                 variables (weir bench plan --help)"
            );
        }
        if self.connections < self.threads {
            anyhow::bail!("number of connections must be >= threads");
        }
        let shape = Shape {
            method: "GET",
            headers: &self.headers,
            body: None,
            http10: false,
            keep_alive: true,
            defaults: &[],
        };
        let (mut plan, target) = super::plan(&self.url, &shape, self.connections)?;
        plan.threads = self.threads.max(1);
        plan.stop = Stop { requests: None, after: Some(self.duration) };
        plan.timeout = self.timeout;
        plan.drain = self.timeout;
        Ok((plan, target))
    }

    /// wrk's report.
    pub fn render(&self, outcome: &Outcome, target: &Target) -> String {
        let mut out = head(self, outcome, target);
        if self.latency {
            out.push_str("  Latency Distribution\n");
            for percent in [50, 75, 90, 99] {
                let value = outcome.response.quantile(f64::from(percent) / 100.0);
                let _ = writeln!(out, "{percent:>7}%{}", padded(&time_us(value as f64 / 1e3), 10));
            }
        }
        out.push_str(&foot(outcome));
        out
    }
}

impl Wrk2Args {
    /// The plan for wrk2's options: the rate is spread evenly over all connections together.
    ///
    /// # Errors
    /// For an argument that cannot be honoured.
    pub fn plan(&self) -> anyhow::Result<(Plan, Target)> {
        let (mut plan, target) = self.wrk.plan()?;
        if self.rate <= 0.0 {
            anyhow::bail!("the rate must be above 0");
        }
        let profile = Arc::new(Profile::constant(self.rate));
        plan.arrival = Arrival::Open(Schedule::Paced(profile, Spacing::Even));
        Ok((plan, target))
    }

    /// wrk2's report.
    pub fn render(&self, outcome: &Outcome, target: &Target) -> String {
        let mut out = head(&self.wrk, outcome, target);
        if self.wrk.latency {
            out.push_str("  Latency Distribution (HdrHistogram - Recorded Latency)\n");
            for percent in [50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0] {
                let value = outcome.response.quantile(percent / 100.0);
                let _ =
                    writeln!(out, "{percent:>7.3}%{}", padded(&time_us(value as f64 / 1e3), 10));
            }
            out.push_str(&spectrum(&outcome.response));
        }
        out.push_str(&foot(outcome));
        out
    }
}

fn head(args: &WrkArgs, outcome: &Outcome, target: &Target) -> String {
    let mut out = String::new();
    let time = time_us(args.duration.as_secs_f64() * 1e6).replace(".00", "");
    let _ = writeln!(out, "Running {time} test @ {}", target.url());
    let _ = writeln!(out, "  {} threads and {} connections", args.threads, args.connections);
    let _ =
        writeln!(out, "  Thread Stats{:>6}{:>11}{:>8}{:>12}", "Avg", "Stdev", "Max", "+/- Stdev");
    let latency = &outcome.response;
    let us = |nanos: f64| time_us(nanos / 1e3);
    let _ = writeln!(
        out,
        "    {:<10}{}{}{}{:>8.2}%",
        "Latency",
        padded(&us(latency.mean_ns), 8),
        padded(&us(latency.stdev_ns), 10),
        padded(&us(latency.max_ns as f64), 9),
        super::within_stdev(latency) * 100.0
    );
    let threads = args.threads.max(1) as f64;
    let whole = outcome.slices.iter().filter(|s| (s.second as f64) + 1.0 <= outcome.measured_s);
    let mut rates: Vec<f64> = whole.map(|slice| slice.ok as f64 / threads).collect();
    if rates.is_empty() {
        rates.push(outcome.rate / threads);
    }
    let mean = rates.iter().fold(0.0, |sum, rate| sum + rate) / rates.len().max(1) as f64;
    let square = rates.iter().fold(0.0, |sum, rate| sum + (rate - mean).powi(2));
    let stdev = (square / (rates.len().max(2) - 1) as f64).sqrt();
    let inside = rates.iter().filter(|rate| (*rate - mean).abs() <= stdev).count();
    let _ = writeln!(
        out,
        "    {:<10}{}{}{}{:>8.2}%",
        "Req/Sec",
        padded(&scaled(mean, 1e3, ["", "k", "M"]), 8),
        padded(&scaled(stdev, 1e3, ["", "k", "M"]), 10),
        padded(&scaled(rates.iter().copied().fold(0.0, f64::max), 1e3, ["", "k", "M"]), 9),
        inside as f64 * 100.0 / rates.len().max(1) as f64
    );
    out
}

fn foot(outcome: &Outcome) -> String {
    let mut out = String::new();
    let answered: u64 = outcome.statuses.values().sum();
    let time = time_us(outcome.measured_s * 1e6);
    let read = scaled(outcome.bytes_read as f64, 1024.0, ["", "K", "M"]);
    let _ = writeln!(out, "  {answered} requests in {time}, {read}B read");
    let count = |name: &str| outcome.failures.get(name).map_or(0, |failure| failure.count);
    let connect = count("connection failed") + count("no local port left");
    let read = count("connection closed early") + count("malformed answer");
    let timeout = count("timed out") + count("unfinished at the end");
    if connect + read + timeout > 0 {
        let _ = writeln!(
            out,
            "  Socket errors: connect {connect}, read {read}, write 0, timeout {timeout}"
        );
    }
    let errors: u64 = outcome.statuses.range(400..).map(|(_, count)| count).sum();
    if errors > 0 {
        let _ = writeln!(out, "  Non-2xx or 3xx responses: {errors}");
    }
    let seconds = outcome.measured_s.max(1e-9);
    let _ = writeln!(out, "Requests/sec: {:>9.2}", outcome.rate);
    let transfer = scaled(outcome.bytes_read as f64 / seconds, 1024.0, ["", "K", "M"]);
    let _ = writeln!(out, "Transfer/sec: {transfer:>10}B");
    out
}

/// The table HdrHistogram's plotter reads: five steps per halving of what is left.
fn spectrum(latency: &Distribution) -> String {
    let mut out = String::from("\n  Detailed Percentile spectrum:\n");
    out.push_str("       Value   Percentile   TotalCount 1/(1-Percentile)\n\n");
    let (mut seen, mut level) = (0u64, 0.0f64);
    let total = latency.count.max(1) as f64;
    for &(value, count) in &latency.buckets {
        seen += count;
        let share = seen as f64 / total;
        if share < level {
            continue;
        }
        let ms = value as f64 / 1e6;
        if seen == latency.count {
            let _ = writeln!(out, "{ms:>12.3} {share:>14.6} {seen:>12}          inf");
            break;
        }
        let _ = writeln!(out, "{ms:>12.3} {share:>14.6} {seen:>12} {:>12.2}", 1.0 / (1.0 - share));
        while level <= share {
            let halvings = (1.0 / (1.0 - level)).log2().floor();
            level += 1.0 / 5.0 / 2f64.powf(halvings + 1.0);
        }
    }
    let (mean, stdev) = (latency.mean_ns / 1e6, latency.stdev_ns / 1e6);
    let _ = writeln!(out, "#[Mean    = {mean:>12.3}, StdDeviation   = {stdev:>12.3}]");
    let max = latency.max_ns as f64 / 1e6;
    let _ = writeln!(out, "#[Max     = {max:>12.3}, Total count    = {:>12}]", latency.count);
    out.push_str("----------------------------------------------------------\n");
    out
}

/// wrk's alignment: units end in the same columns whether they have one letter or two.
fn padded(text: &str, width: usize) -> String {
    let letters = text.chars().rev().take(2).take_while(|c| c.is_ascii_alphabetic()).count();
    let pad = 2 - letters;
    format!("{text:>width$}{}", " ".repeat(pad), width = width - pad)
}

fn time_us(us: f64) -> String {
    match us {
        us if us >= 3600e6 => format!("{:.2}h", us / 3600e6),
        us if us >= 60e6 => format!("{:.2}m", us / 60e6),
        us if us >= 1e6 => format!("{:.2}s", us / 1e6),
        us if us >= 1e3 => format!("{:.2}ms", us / 1e3),
        us => format!("{us:.2}us"),
    }
}

fn scaled(value: f64, base: f64, units: [&str; 3]) -> String {
    let (mut value, mut step) = (value, 0);
    while value >= base && step < 3 {
        value /= base;
        step += 1;
    }
    format!("{value:.2}{}", units.get(step).copied().unwrap_or("G"))
}

#[cfg(test)]
mod tests {
    use super::{Wrk2Args, WrkArgs, padded, scaled, time_us};
    use crate::arrival::Arrival;
    use crate::outcome::{Distribution, Outcome};
    use clap::Parser;

    #[derive(Parser)]
    struct Wrk {
        #[command(flatten)]
        args: WrkArgs,
    }

    #[derive(Parser)]
    struct Wrk2 {
        #[command(flatten)]
        args: Wrk2Args,
    }

    fn parse(line: &str) -> Result<WrkArgs, clap::Error> {
        Wrk::try_parse_from(line.split(' ')).map(|wrk| wrk.args)
    }

    #[test]
    fn the_seeds_commands_are_understood() {
        let args = parse("wrk -t 16 -d 60s --latency -c 100 http://127.0.0.1/").unwrap();
        let (plan, _) = args.plan().unwrap();
        assert_eq!((plan.threads, plan.connections), (16, 100));
        let line = "wrk2 -t 16 -d 60s --latency -c 300 -R 10900 http://127.0.0.1/";
        let (plan, _) = Wrk2::parse_from(line.split(' ')).args.plan().unwrap();
        assert!(matches!(plan.arrival, Arrival::Open(_)));
        assert_eq!(plan.schedule().unwrap().rate_at(1.0), 10_900.0);
        assert!(parse("wrk -t 4 -c 2 http://127.0.0.1/").unwrap().plan().is_err());
        let script = parse("wrk -s x.lua http://127.0.0.1/").unwrap().plan().unwrap_err();
        assert!(script.to_string().contains("weir bench plan"), "{script}");
    }

    #[test]
    fn units_are_wrks() {
        assert_eq!(time_us(635.91), "635.91us");
        assert_eq!(time_us(30e6), "30.00s");
        assert_eq!(scaled(56_200.0, 1e3, ["", "k", "M"]), "56.20k");
        assert_eq!(
            (padded("1.00us", 8), padded("2.00k", 8)),
            ("  1.00us".into(), "  2.00k ".into())
        );
    }

    #[test]
    fn the_report_has_wrks_form() {
        let args = parse("wrk -d 30s -c 10 --latency http://127.0.0.1:8080/").unwrap();
        let (_, target) = args.plan().unwrap();
        let mut histogram = crate::record::histogram();
        histogram.record_n(250_000, 90).unwrap();
        histogram.record_n(5_800_000, 10).unwrap();
        let outcome = Outcome {
            measured_s: 30.0,
            rate: 748_868.53,
            statuses: [(200, 22_464_000), (500, 3)].into(),
            bytes_read: 19_000_000_000,
            response: Distribution::of(&histogram),
            ..Outcome::default()
        };
        insta::assert_snapshot!(args.render(&outcome, &target));
    }
}
