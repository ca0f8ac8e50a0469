//! hey: `hey -n 200 -c 50 URL`. Its `-q` is a rate per worker; here the schedule is one for all.

use crate::arrival::{Arrival, Profile, Schedule, Spacing};
use crate::outcome::{Distribution, Outcome};
use crate::plan::{Plan, Stop};
use crate::target::{Shape, Target};
use std::ffi::OsString;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

/// hey's arguments.
#[derive(Clone, Debug, clap::Args)]
pub struct HeyArgs {
    /// Number of requests to run
    #[arg(short = 'n', default_value_t = 200)]
    requests: u64,
    /// Number of workers to run concurrently
    #[arg(short = 'c', default_value_t = 50)]
    workers: usize,
    /// Rate limit in queries per second per worker
    #[arg(short = 'q', value_parser = crate::units::rate)]
    rate: Option<f64>,
    /// Duration; -n is ignored then
    #[arg(short = 'z', value_parser = crate::units::duration)]
    duration: Option<Duration>,
    /// HTTP method
    #[arg(short = 'm')]
    method: Option<String>,
    /// Header line
    #[arg(short = 'H')]
    headers: Vec<String>,
    /// Timeout of a request in seconds
    #[arg(short = 't', default_value_t = 20)]
    timeout: u64,
    /// Accept header
    #[arg(short = 'A')]
    accept: Option<String>,
    /// Body
    #[arg(short = 'd')]
    body: Option<String>,
    /// Body from a file
    #[arg(short = 'D', conflicts_with = "body")]
    body_file: Option<String>,
    /// Content-Type
    #[arg(short = 'T', default_value = "text/html")]
    content_type: String,
    /// Host header
    #[arg(long)]
    host: Option<String>,
    /// A connection per request
    #[arg(long)]
    disable_keepalive: bool,
    /// Threads to use
    #[arg(long)]
    cpus: Option<usize>,
    /// User and password, as USER:PASSWORD
    #[arg(short = 'a', value_name = "USER:PASSWORD")]
    auth: Option<String>,
    /// Do not ask for compressed answers (weir never does)
    #[arg(long)]
    disable_compression: bool,
    /// Do not follow redirects (weir never does)
    #[arg(long)]
    disable_redirects: bool,
    /// Output type: refused
    #[arg(short = 'o', hide = true)]
    output: Option<String>,
    #[command(flatten)]
    pub(crate) keep: super::KeepArgs,
    /// http:// URL
    url: String,
}

/// hey writes long options with one dash; adds the second one.
pub fn normalise(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let long =
        ["-host", "-disable-keepalive", "-disable-compression", "-disable-redirects", "-cpus"];
    args.into_iter()
        .map(|arg| match arg.to_str() {
            Some(text) if long.contains(&text.split('=').next().unwrap_or(text)) => {
                format!("-{text}").into()
            }
            _ => arg,
        })
        .collect()
}

impl HeyArgs {
    /// The plan for hey's options.
    ///
    /// # Errors
    /// For an argument that cannot be honoured.
    pub fn plan(&self) -> anyhow::Result<(Plan, Target)> {
        let body = match (&self.body, &self.body_file) {
            (Some(text), _) => Some(text.clone().into_bytes()),
            (None, Some(path)) => Some(super::file(path)?),
            (None, None) => None,
        };
        let mut headers = self.headers.clone();
        let _ = (self.disable_compression, self.disable_redirects);
        if self.output.is_some() {
            anyhow::bail!("-o: single times are not kept; --json FILE has percentiles");
        }
        headers.extend(self.auth.iter().map(|user| super::basic(user)));
        headers.extend(self.host.iter().map(|host| format!("Host: {host}")));
        headers.extend(self.accept.iter().map(|accept| format!("Accept: {accept}")));
        let shape = Shape {
            method: self.method.as_deref().unwrap_or("GET"),
            headers: &headers,
            body: body.as_deref(),
            http10: false,
            keep_alive: !self.disable_keepalive,
            defaults: &[("User-Agent", "hey/0.0.1"), ("Content-Type", &self.content_type)],
        };
        let (mut plan, target) = super::plan(&self.url, &shape, self.workers)?;
        if let Some(rate) = self.rate.filter(|rate| *rate > 0.0) {
            let profile = Arc::new(Profile::constant(rate * self.workers as f64));
            plan.arrival = Arrival::Open(Schedule::Paced(profile, Spacing::Even));
        }
        // hey gives each worker the same whole number of requests.
        let whole = self.requests / self.workers as u64 * self.workers as u64;
        if self.duration.is_none() && whole == 0 {
            anyhow::bail!("-n cannot be less than -c");
        }
        plan.stop = match self.duration {
            Some(_) => Stop { requests: None, after: self.duration },
            None => Stop { requests: Some(whole), after: None },
        };
        plan.timeout = match self.timeout {
            0 => Duration::from_secs(86_400),
            seconds => Duration::from_secs(seconds),
        };
        plan.threads = self.cpus.unwrap_or(plan.threads).clamp(1, self.workers);
        Ok((plan, target))
    }

    /// hey's report.
    pub fn render(&self, outcome: &Outcome) -> String {
        let secs = |nanos: f64| format!("{:.4} secs", nanos / 1e9);
        let all = &outcome.response;
        let answered: u64 = outcome.statuses.values().sum();
        let mut out = String::from("\nSummary:\n");
        let _ = writeln!(out, "  Total:\t{}", secs(outcome.measured_s * 1e9));
        let _ = writeln!(out, "  Slowest:\t{}", secs(all.max_ns as f64));
        let _ = writeln!(out, "  Fastest:\t{}", secs(all.min_ns as f64));
        let _ = writeln!(out, "  Average:\t{}", secs(all.mean_ns));
        let _ = writeln!(out, "  Requests/sec:\t{:.4}\n", outcome.rate);
        let _ = writeln!(out, "  Total data:\t{} bytes", outcome.bytes_body);
        let size = outcome.bytes_body.checked_div(answered).unwrap_or(0);
        let _ = writeln!(out, "  Size/request:\t{size} bytes");
        out.push_str(&bars(all));
        out.push_str("\n\nLatency distribution:\n");
        for percent in [10, 25, 50, 75, 90, 95, 99] {
            let value = all.quantile(f64::from(percent) / 100.0) as f64;
            let _ = writeln!(out, "  {percent}% in {}", secs(value));
        }
        out.push_str("\nDetails (average, fastest, slowest):\n");
        let rows = [("connect", &outcome.connect), ("resp wait", &outcome.first_byte)];
        for (name, times) in rows {
            let (min, max) = (times.min_ns as f64, times.max_ns as f64);
            let _ =
                writeln!(out, "  {name}:\t{}, {}, {}", secs(times.mean_ns), secs(min), secs(max));
        }
        out.push_str("\nStatus code distribution:\n");
        for (code, count) in &outcome.statuses {
            let _ = writeln!(out, "  [{code}]\t{count} responses");
        }
        if !outcome.failures.is_empty() {
            out.push_str("\nError distribution:\n");
            for (name, failure) in &outcome.failures {
                let _ = writeln!(out, "  [{}]\t{name}", failure.count);
            }
        }
        out.push('\n');
        out
    }
}

/// Ten equal classes between the least and the greatest value.
fn bars(all: &Distribution) -> String {
    let (low, high) = (all.min_ns as f64, all.max_ns as f64);
    let mut counts = [0u64; 11];
    let bounds: Vec<f64> = (0..11).map(|at| low + (high - low) * f64::from(at) / 10.0).collect();
    for &(value, count) in &all.buckets {
        let at = bounds.partition_point(|bound| *bound < (value as f64).min(high)).min(10);
        counts[at] += count;
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let mut out = String::from("\nResponse time histogram:\n");
    for (bound, count) in bounds.iter().zip(counts) {
        let bar = "■".repeat((count * 40 / most) as usize);
        let _ = writeln!(out, "  {:.3} [{count}]\t|{bar}", bound / 1e9);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{HeyArgs, normalise};
    use crate::outcome::{Distribution, Outcome};
    use clap::Parser;

    #[derive(Parser)]
    #[command(disable_help_flag = true)]
    struct Hey {
        #[command(flatten)]
        args: HeyArgs,
    }

    fn parse(line: &str) -> Result<HeyArgs, clap::Error> {
        let args = normalise(line.split(' ').map(Into::into));
        Hey::try_parse_from(args).map(|hey| hey.args)
    }

    #[test]
    fn arguments_are_heys() {
        let (plan, _) = parse("hey -n 205 -c 50 http://127.0.0.1/").unwrap().plan().unwrap();
        assert_eq!((plan.stop.requests, plan.connections), (Some(200), 50));
        let line = "hey -z 3s -c 4 -q 10 -disable-keepalive http://127.0.0.1/";
        let (plan, _) = parse(line).unwrap().plan().unwrap();
        assert_eq!(plan.schedule().unwrap().rate_at(0.0), 40.0);
        assert!(!plan.keep_alive && plan.stop.requests.is_none());
        assert!(parse("hey -h2 http://127.0.0.1/").is_err(), "HTTP/2 is refused");
        let line = "hey -a u:p -disable-compression -disable-redirects http://127.0.0.1/";
        assert!(parse(line).unwrap().plan().is_ok());
        assert!(parse("hey -o csv http://127.0.0.1/").unwrap().plan().is_err());
        assert!(parse("hey -n 10 http://127.0.0.1/").unwrap().plan().is_err());
    }

    #[test]
    fn the_report_has_heys_form() {
        let mut histogram = crate::record::histogram();
        for step in 1..=200u64 {
            histogram.record(step * 100_000).unwrap();
        }
        let outcome = Outcome {
            measured_s: 0.1,
            rate: 2000.0,
            bytes_body: 400,
            statuses: [(200, 200)].into(),
            response: Distribution::of(&histogram),
            ..Outcome::default()
        };
        let args = parse("hey http://127.0.0.1/").unwrap();
        insta::assert_snapshot!(args.render(&outcome));
    }
}
