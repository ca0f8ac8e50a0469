//! ApacheBench: `ab -c 100 -n 10000 http://host/path`. HTTP/1.0, a connection per request unless
//! `-k`.
//!
//! Times are those of ab: *Connect*, *Processing* (request sent to last byte), *Waiting* (to first
//! byte), *Total* with the connect; the percentages are of *Total*. Lengths may vary (ab's `-l`).

use crate::outcome::{Distribution, Outcome};
use crate::plan::{Plan, Stop};
use crate::target::{Shape, Target};
use std::fmt::Write;
use std::time::Duration;

/// ab's arguments.
#[derive(Clone, Debug, clap::Args)]
pub struct AbArgs {
    /// Number of requests
    #[arg(short = 'n')]
    requests: Option<u64>,
    /// Number of requests at a time
    #[arg(short = 'c', default_value_t = 1)]
    concurrency: usize,
    /// Seconds to spend at most (implies -n 50000)
    #[arg(short = 't')]
    timelimit: Option<u64>,
    /// Seconds to wait for each answer
    #[arg(short = 's', default_value_t = 30)]
    timeout: u64,
    /// Keep connections alive
    #[arg(short = 'k')]
    keep_alive: bool,
    /// File with data to POST
    #[arg(short = 'p')]
    post: Option<String>,
    /// File with data to PUT
    #[arg(short = 'u', conflicts_with = "post")]
    put: Option<String>,
    /// Content-Type of the data
    #[arg(short = 'T', default_value = "text/plain")]
    content_type: String,
    /// Header line
    #[arg(short = 'H')]
    headers: Vec<String>,
    /// Cookie
    #[arg(short = 'C')]
    cookies: Vec<String>,
    /// Use HEAD
    #[arg(short = 'i')]
    head: bool,
    /// Method
    #[arg(short = 'm', conflicts_with = "head")]
    method: Option<String>,
    /// Address to connect from
    #[arg(short = 'B', value_name = "ADDRESS")]
    local_address: Option<std::net::IpAddr>,
    /// Do not show percentiles
    #[arg(short = 'd')]
    no_percentiles: bool,
    /// No progress
    #[arg(short = 'q')]
    pub(crate) quiet: bool,
    /// Do not exit on socket errors (weir never does)
    #[arg(short = 'r')]
    on_errors: bool,
    /// Lengths may vary (weir always allows it)
    #[arg(short = 'l')]
    lengths: bool,
    /// Do not show confidence estimators (weir has none)
    #[arg(short = 'S')]
    no_estimators: bool,
    /// User and password, as USER:PASSWORD
    #[arg(short = 'A', value_name = "USER:PASSWORD")]
    auth: Option<String>,
    /// File for the percentages served, as CSV
    #[arg(short = 'e', value_name = "FILE")]
    pub(crate) csv: Option<String>,
    /// Per-request times for gnuplot: refused
    #[arg(short = 'g', hide = true)]
    gnuplot: Option<String>,
    /// Results as an HTML table: refused
    #[arg(short = 'w', hide = true)]
    html_table: bool,
    #[command(flatten)]
    pub(crate) keep: super::KeepArgs,
    /// http:// URL
    url: String,
}

impl AbArgs {
    /// The plan for ab's options.
    ///
    /// # Errors
    /// For an argument that cannot be honoured.
    pub fn plan(&self) -> anyhow::Result<(Plan, Target)> {
        let _ = (self.on_errors, self.lengths, self.no_estimators);
        if self.gnuplot.is_some() {
            anyhow::bail!(
                "-g: single times are not kept; -e FILE and --json FILE have percentiles"
            );
        }
        if self.html_table {
            anyhow::bail!("-w: say --html FILE for a page");
        }
        let body = match (&self.post, &self.put) {
            (Some(path), _) | (_, Some(path)) => Some(super::file(path)?),
            (None, None) => None,
        };
        let method = match (&self.method, self.head, &self.post, &self.put) {
            (Some(method), ..) => method.as_str(),
            (None, true, ..) => "HEAD",
            (None, false, Some(_), _) => "POST",
            (None, false, None, Some(_)) => "PUT",
            (None, false, None, None) => "GET",
        };
        let mut headers = self.headers.clone();
        headers.extend(self.cookies.iter().map(|cookie| format!("Cookie: {cookie}")));
        headers.extend(self.auth.iter().map(|user| super::basic(user)));
        if body.is_some() {
            headers.push(format!("Content-Type: {}", self.content_type));
        }
        let shape = Shape {
            method,
            headers: &headers,
            body: body.as_deref(),
            http10: true,
            keep_alive: self.keep_alive,
            defaults: &[("User-Agent", "ApacheBench/2.3"), ("Accept", "*/*")],
        };
        let (mut plan, target) = super::plan(&self.url, &shape, self.concurrency)?;
        let default = if self.timelimit.is_some() { 50_000 } else { 1 };
        let requests = self.requests.unwrap_or(default);
        if (self.concurrency as u64) > requests {
            anyhow::bail!("cannot use concurrency level greater than total number of requests");
        }
        plan.stop =
            Stop { requests: Some(requests), after: self.timelimit.map(Duration::from_secs) };
        plan.timeout = Duration::from_secs(self.timeout);
        plan.local_addresses.extend(self.local_address);
        Ok((plan, target))
    }

    /// ab's report.
    pub fn render(&self, outcome: &Outcome, target: &Target) -> String {
        let mut out = String::new();
        let answered: u64 = outcome.statuses.values().sum();
        let line = |out: &mut String, name: &str, value: String| {
            let _ = writeln!(out, "{name:<24}{value}");
        };
        let time = outcome.measured_s;
        let rate = answered as f64 / time.max(1e-9);
        let _ = writeln!(out, "\n");
        line(&mut out, "Server Software:", outcome.server_field.clone());
        line(&mut out, "Server Hostname:", target.host.clone());
        line(&mut out, "Server Port:", target.port.to_string());
        let _ = writeln!(out);
        line(&mut out, "Document Path:", target.path.clone());
        let length = outcome.bytes_body.checked_div(answered).unwrap_or(0);
        line(&mut out, "Document Length:", format!("{length} bytes"));
        let _ = writeln!(out);
        line(&mut out, "Concurrency Level:", self.concurrency.to_string());
        line(&mut out, "Time taken for tests:", format!("{time:.3} seconds"));
        line(&mut out, "Complete requests:", answered.to_string());
        line(&mut out, "Failed requests:", outcome.failed.to_string());
        let errors: u64 = outcome.statuses.range(300..).map(|(_, count)| count).sum();
        if errors > 0 {
            line(&mut out, "Non-2xx responses:", errors.to_string());
        }
        if self.keep_alive {
            let kept = answered.saturating_sub(outcome.opened);
            line(&mut out, "Keep-Alive requests:", kept.to_string());
        }
        line(&mut out, "Total transferred:", format!("{} bytes", outcome.bytes_read));
        line(&mut out, "HTML transferred:", format!("{} bytes", outcome.bytes_body));
        line(&mut out, "Requests per second:", format!("{rate:.2} [#/sec] (mean)"));
        if answered > 0 {
            let across = 1e3 / rate;
            let mean = self.concurrency as f64 * across;
            line(&mut out, "Time per request:", format!("{mean:.3} [ms] (mean)"));
            let across = format!("{across:.3} [ms] (mean, across all concurrent requests)");
            line(&mut out, "Time per request:", across);
        }
        let transfer = outcome.bytes_read as f64 / 1024.0 / time.max(1e-9);
        line(&mut out, "Transfer rate:", format!("{transfer:.2} [Kbytes/sec] received"));
        out.push_str(&times(outcome));
        if !self.no_percentiles {
            out.push_str(&percentages(&outcome.response));
        }
        out
    }
}

/// The table of ab's `-e`: the time within which each percentage was served.
pub fn percentages_csv(outcome: &Outcome) -> String {
    let mut out = String::from("Percentage served,Time in ms\n");
    for percent in 0..100 {
        let time = outcome.response.quantile(f64::from(percent) / 100.0) as f64 / 1e6;
        let _ = writeln!(out, "{percent},{time:.3}");
    }
    out
}

fn times(outcome: &Outcome) -> String {
    let connect = with_zeros(&outcome.connect, outcome.response.count);
    let rows = [
        ("Connect:", &connect),
        ("Processing:", &outcome.service),
        ("Waiting:", &outcome.first_byte),
        ("Total:", &outcome.response),
    ];
    let mut out = String::from("\nConnection Times (ms)\n");
    let _ = writeln!(out, "              min  mean[+/-sd] median   max");
    let ms = |nanos: u64| (nanos as f64 / 1e6).round() as u64;
    for (name, times) in rows {
        let _ = writeln!(
            out,
            "{name:<11} {:>5} {:>4.0} {:>5.1} {:>6} {:>7}",
            ms(times.min_ns),
            times.mean_ns / 1e6,
            times.stdev_ns / 1e6,
            ms(times.quantile(0.5)),
            ms(times.max_ns)
        );
    }
    out
}

/// Connect times over all requests: those on a kept connection connected in no time.
fn with_zeros(connect: &Distribution, requests: u64) -> Distribution {
    let mut histogram = connect.to_histogram();
    histogram.saturating_record_n(0, requests.saturating_sub(connect.count));
    Distribution::of(&histogram)
}

fn percentages(total: &Distribution) -> String {
    let mut out = String::from("\nPercentage of the requests served within a certain time (ms)\n");
    let ms = |nanos: u64| (nanos as f64 / 1e6).round() as u64;
    for percent in [50, 66, 75, 80, 90, 95, 98, 99] {
        let time = ms(total.quantile(f64::from(percent) / 100.0));
        let _ = writeln!(out, "  {percent:>2}%  {time:>5}");
    }
    let _ = writeln!(out, " 100%  {:>5} (longest request)", ms(total.max_ns));
    out
}

#[cfg(test)]
mod tests {
    use super::AbArgs;
    use crate::outcome::{Distribution, Outcome};
    use crate::plan::Message;
    use clap::Parser;

    #[derive(Parser)]
    struct Ab {
        #[command(flatten)]
        args: AbArgs,
    }

    fn parse(line: &str) -> Result<AbArgs, clap::Error> {
        Ab::try_parse_from(line.split(' ')).map(|ab| ab.args)
    }

    #[test]
    fn the_seeds_command_is_http10_without_keep_alive() {
        let (plan, _) = parse("ab -c 100 -n 10000 http://127.0.0.1:9/ok").unwrap().plan().unwrap();
        assert_eq!((plan.connections, plan.stop.requests), (100, Some(10_000)));
        assert!(!plan.keep_alive);
        let Message::Fixed(bytes) = &plan.requests[0].message else { panic!("rendered") };
        let want = "GET /ok HTTP/1.0\r\nHost: 127.0.0.1:9\r\nUser-Agent: ApacheBench/2.3\r\n\
                    Accept: */*\r\n\r\n";
        assert_eq!(String::from_utf8_lossy(bytes), want);
        assert!(parse("ab -X proxy:1 http://a/").is_err(), "unknown arguments are refused");
        assert!(parse("ab -g times.tsv http://127.0.0.1/").unwrap().plan().is_err());
        let (plan, _) = parse("ab -A user:secret http://127.0.0.1/").unwrap().plan().unwrap();
        let Message::Fixed(bytes) = &plan.requests[0].message else { panic!("rendered") };
        let sent = String::from_utf8_lossy(bytes);
        assert!(sent.contains("\r\nAuthorization: Basic dXNlcjpzZWNyZXQ=\r\n"), "{sent}");
        assert!(parse("ab -c 3 -n 2 http://127.0.0.1/").unwrap().plan().is_err());
    }

    #[test]
    fn the_report_has_abs_form() {
        let args = parse("ab -c 100 -n 10000 http://127.0.0.1:9/ok").unwrap();
        let (_, target) = args.plan().unwrap();
        let mut histogram = crate::record::histogram();
        histogram.record_n(7_700_000, 10_000).unwrap();
        let times = Distribution::of(&histogram);
        let outcome = Outcome {
            measured_s: 0.773,
            statuses: [(200, 10_000)].into(),
            bytes_read: 2_460_000,
            bytes_body: 20_000,
            server_field: "nginx/1.16.1".into(),
            response: times.clone(),
            service: times.clone(),
            first_byte: times.clone(),
            connect: times,
            ..Outcome::default()
        };
        insta::assert_snapshot!(args.render(&outcome, &target));
        let csv = super::percentages_csv(&outcome);
        assert!(csv.contains("\n50,7.7") && csv.lines().count() == 101, "{csv}");
    }
}
