//! The report on standard output.

use crate::outcome::{Distribution, Outcome};
use crate::units::{show_bytes, show_count, show_time};
use std::fmt::Write;

/// Quantiles shown, with the number of values below which one says little (binomial bound, 95 %).
const QUANTILES: [(&str, f64, u64); 6] = [
    ("p50", 0.5, 6),
    ("p90", 0.9, 36),
    ("p99", 0.99, 368),
    ("p99.9", 0.999, 3_688),
    ("p99.99", 0.9999, 36_887),
    ("max", 1.0, 1),
];

/// The whole report.
pub fn render(outcome: &Outcome) -> String {
    let mut out = String::new();
    head(outcome, &mut out);
    latencies(outcome, &mut out);
    per_request(outcome, &mut out);
    failures(outcome, &mut out);
    sides(outcome, &mut out);
    out.push_str(&verdict(outcome));
    out
}

fn head(outcome: &Outcome, out: &mut String) {
    let asked = &outcome.asked;
    let _ = writeln!(out, "{}", asked.target);
    let _ = writeln!(
        out,
        "{}, {} connections{}, {} threads, {:.2} s measured",
        asked.arrival,
        asked.connections,
        if asked.keep_alive { "" } else { " (one per request)" },
        outcome.threads.len(),
        outcome.measured_s
    );
    let _ = writeln!(out);
    if let Some(offered) = outcome.offered {
        let rate = offered as f64 / outcome.measured_s.max(1e-9);
        let _ = writeln!(out, "  offered    {:>12}/s", show_count(rate));
    }
    let _ = writeln!(out, "  achieved   {:>12}/s", show_count(outcome.rate));
    let failed = format!("{} ({:.3} %)", outcome.failed, outcome.failed_share() * 100.0);
    let _ = writeln!(out, "  succeeded  {:>12}    failed {failed}", outcome.ok);
    let per_second = outcome.bytes_read as f64 / outcome.measured_s.max(1e-9);
    let _ = writeln!(out, "  received   {:>12}/s\n", show_bytes(per_second));
}

fn latencies(outcome: &Outcome, out: &mut String) {
    let columns: Vec<(&str, &Distribution)> = [
        ("response", &outcome.response),
        ("service", &outcome.service),
        ("first byte", &outcome.first_byte),
        ("connect", &outcome.connect),
        ("queue wait", &outcome.queue),
        ("lag", &outcome.lag),
    ]
    .into_iter()
    .filter(|(_, distribution)| distribution.count > 0)
    .collect();
    if columns.is_empty() {
        return;
    }
    let _ = write!(out, "  {:10}", "");
    for (name, _) in &columns {
        let _ = write!(out, "{name:>12}");
    }
    let _ = writeln!(out);
    let _ = write!(out, "  {:10}", "mean");
    for (_, distribution) in &columns {
        let _ = write!(out, "{:>12}", show_time(distribution.mean_ns));
    }
    let _ = writeln!(out);
    let most = columns.iter().map(|(_, distribution)| distribution.count).max().unwrap_or(0);
    for (name, quantile, least) in QUANTILES.into_iter().filter(|(.., least)| most >= *least) {
        let _ = write!(out, "  {name:10}");
        for (_, distribution) in &columns {
            let shown = match distribution.count < least {
                true => "-".to_owned(),
                false => show_time(distribution.quantile(quantile) as f64),
            };
            let _ = write!(out, "{shown:>12}");
        }
        let _ = writeln!(out);
    }
    if let Some(note) = outcome.censored() {
        let _ = writeln!(out, "  {note}");
    }
    let _ = writeln!(out);
}

fn per_request(outcome: &Outcome, out: &mut String) {
    if outcome.requests.len() < 2 {
        return;
    }
    let width = outcome.requests.iter().map(|r| r.name.chars().count()).max().unwrap_or(0).max(8);
    let _ = writeln!(
        out,
        "  {:width$}{:>10}{:>9}{:>10}{:>10}{:>10}",
        "request", "ok", "failed", "mean", "p50", "p99"
    );
    for request in &outcome.requests {
        let _ = writeln!(
            out,
            "  {:width$}{:>10}{:>9}{:>10}{:>10}{:>10}",
            request.name,
            request.ok,
            request.failed,
            show_time(request.response.mean_ns),
            show_time(request.response.quantile(0.5) as f64),
            show_time(request.response.quantile(0.99) as f64)
        );
    }
    let _ = writeln!(out);
}

fn failures(outcome: &Outcome, out: &mut String) {
    let codes: Vec<String> =
        outcome.statuses.iter().map(|(code, count)| format!("{code}: {count}")).collect();
    if (outcome.failed > 0 && !codes.is_empty()) || codes.len() > 1 {
        let _ = writeln!(out, "  statuses  {}", codes.join(", "));
    }
    for (name, failure) in &outcome.failures {
        let _ = writeln!(
            out,
            "  {name}: {} (first {}, last {})",
            failure.count,
            show_time(failure.first_ns as f64),
            show_time(failure.last_ns as f64)
        );
    }
    if outcome.failed > 0 {
        let _ = writeln!(out);
    }
}

fn sides(outcome: &Outcome, out: &mut String) {
    let generator = outcome.generator_us_per_request();
    let _ = writeln!(out, "  generator  {generator:.2} µs CPU per request");
    if let (Some(server), Some(cpu)) = (&outcome.server, outcome.server_us_per_request()) {
        let _ = writeln!(
            out,
            "  server     {cpu:.2} µs CPU per request: {} (pid {}), {} RSS, {} threads, {} fds",
            server.name,
            server.pids.iter().map(u32::to_string).collect::<Vec<_>>().join(" "),
            show_bytes(server.rss_max() as f64),
            server.threads_max(),
            server.descriptors_max()
        );
    }
    let _ = writeln!(out);
}

/// The verdict and the thresholds: also the footer of the dialects' reports.
pub fn verdict(outcome: &Outcome) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", outcome.verdict.limit.title());
    for evidence in &outcome.verdict.evidence {
        let _ = writeln!(out, "  {evidence}");
    }
    for threshold in &outcome.thresholds {
        let word = match threshold.met {
            Some(true) => "met",
            Some(false) => "FAILED",
            None => "INCONCLUSIVE",
        };
        let _ = writeln!(out, "threshold {}: {word} ({})", threshold.text, threshold.value);
    }
    if outcome.interrupted {
        let _ = writeln!(out, "interrupted: this is the report so far");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::render;
    use crate::outcome::{Distribution, Outcome};

    #[test]
    fn quantiles_without_enough_values_are_not_shown() {
        let response = Distribution {
            count: 400,
            mean_ns: 1e6,
            max_ns: 2_000_000,
            buckets: vec![(1_000_000, 390), (2_000_000, 10)],
            ..Distribution::default()
        };
        let outcome = Outcome { ok: 400, measured_s: 1.0, response, ..Outcome::default() };
        let text = render(&outcome);
        let row =
            |name: &str| text.lines().find(|l| l.trim().starts_with(name)).unwrap().to_owned();
        assert!(row("p99 ").ends_with("2.00ms"), "{text}");
        assert!(!text.contains("p99.9"), "{text}");
        assert!(row("max").ends_with("2.00ms"), "{text}");
    }
}
