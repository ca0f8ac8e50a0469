//! One self-contained HTML page: works offline, prints, follows the reader's dark mode. Tables and
//! the heat map need no script; the other charts are drawn by uPlot from the result embedded in
//! the page, which `weir bench report` and `compare` can read back.

use super::{Stored, heatmap};
use crate::outcome::{Distribution, Outcome};
use crate::units::{show_bytes, show_count, show_time};
use crate::verdict::Limit;
use std::fmt::Write;

const UPLOT_JS: &str = include_str!("../../vendor/uplot/uPlot.iife.min.js");
const UPLOT_CSS: &str = include_str!("../../vendor/uplot/uPlot.min.css");
const PAGE_CSS: &str = include_str!("page.css");
const PAGE_JS: &str = include_str!("page.js");

/// Before the embedded result.
pub(super) const OPEN: &str = "<script type=\"application/json\" id=\"result\">";
/// After it.
pub(super) const CLOSE: &str = "</script>";

/// Text as HTML.
fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// The page.
///
/// # Errors
/// When the result cannot be serialised.
pub fn render(stored: &Stored) -> anyhow::Result<String> {
    let outcome = stored.outcomes.first();
    let target = outcome.map_or("weir bench", |outcome| &outcome.asked.target);
    let title = if stored.title.is_empty() { target } else { &stored.title };
    let mut body = String::new();
    if !stored.title.is_empty() {
        let about = escape(stored.about.trim()).replace('\n', "<br>");
        let _ = write!(body, "<h1>{}</h1><p class=soft>{about}</p>", escape(title));
    }
    for table in &stored.tables {
        experiment(table, &mut body);
    }
    match stored.outcomes.as_slice() {
        [] => {}
        [one] => single(one, &mut body),
        many => {
            let titled = !stored.title.is_empty();
            body.push_str(if titled { "<h2>Runs</h2>" } else { "<h1>weir bench</h1>" });
            table(many, &mut body);
        }
    }
    if stored.points.len() > 1 {
        body.push_str("<h2>Latency against rate</h2><div class=chart id=against-rate></div>");
        if let Some(knee) = knee(&stored.points) {
            let _ = write!(body, "<p class=soft>Knee near {}/s.</p>", show_count(knee));
        }
    }
    if let Some(outcome) = outcome {
        surroundings(outcome, &mut body);
    }
    let one = (stored.outcomes.len() == 1).then_some(outcome).flatten();
    let seconds = one.map_or(0, |outcome| outcome.whole_seconds().len());
    let data = serde_json::json!({
        "whole_seconds": seconds, "outcome": one, "points": stored.points, "tables": stored.tables,
        "title": stored.title, "about": stored.about
    });
    // "</" must not end the script element early.
    let data = serde_json::to_string(&data)?.replace("</", "<\\/");
    Ok(format!(
        "<!doctype html><html lang=en><head><meta charset=utf-8>\
         <meta name=viewport content=\"width=device-width,initial-scale=1\">\
         <title>{}</title><style>{UPLOT_CSS}\n{PAGE_CSS}</style></head><body>{body}\n\
         {OPEN}{data}{CLOSE}\n<script>{UPLOT_JS}</script>\n\
         <script>{PAGE_JS}</script></body></html>\n",
        escape(title)
    ))
}

fn experiment(table: &super::Table, out: &mut String) {
    let title = escape(&table.title);
    let _ = write!(out, "<h2>{title}</h2><div class=wide><table><tr>");
    for name in &table.head {
        let _ = write!(out, "<th>{}", escape(name));
    }
    for row in &table.rows {
        out.push_str("<tr>");
        for cell in row {
            let _ = write!(out, "<td>{}", escape(cell));
        }
    }
    out.push_str("</table></div>");
}

fn single(outcome: &Outcome, out: &mut String) {
    let asked = &outcome.asked;
    let _ = write!(
        out,
        "<h1>{}</h1><p class=soft>{}, {} connections, {:.1} s measured, {}</p>",
        escape(&asked.target),
        escape(&asked.arrival),
        asked.connections,
        outcome.measured_s,
        escape(&outcome.started)
    );
    verdict(outcome, out);
    tiles(outcome, out);
    out.push_str("<h2>Rate, errors and latency over time</h2><div class=chart id=over-time></div>");
    out.push_str("<h2>Response times over time</h2>");
    out.push_str(&heatmap::render(outcome.whole_seconds()));
    out.push_str("<h2>Percentile spectrum</h2><div class=chart id=spectrum></div>");
    latencies(outcome, out);
    generator(outcome, out);
    if outcome.server.is_some() {
        out.push_str("<h2>Server</h2><div class=chart id=server></div>");
    }
    requests(outcome, out);
    failures(outcome, out);
}

fn verdict(outcome: &Outcome, out: &mut String) {
    let class = match outcome.verdict.limit {
        Limit::RateMet => "good",
        Limit::NoAnswer | Limit::NoSuccess => "bad",
        Limit::ServerLimited
        | Limit::GeneratorLimited
        | Limit::ConnectionLimited
        | Limit::HostContended
        | Limit::PortsExhausted => "",
    };
    let title = outcome.verdict.limit.title();
    let _ = write!(out, "<div class=\"verdict {class}\"><b>{title}</b><ul>");
    for evidence in &outcome.verdict.evidence {
        let _ = write!(out, "<li>{}", escape(evidence));
    }
    out.push_str("</ul></div>");
    if outcome.thresholds.is_empty() {
        return;
    }
    out.push_str("<table><tr><th>Threshold<th>Value<th>Result");
    for threshold in &outcome.thresholds {
        let (class, word) = match threshold.met {
            Some(true) => ("met", "met"),
            Some(false) => ("failed", "failed"),
            None => ("open", "inconclusive"),
        };
        let (text, value) = (escape(&threshold.text), escape(&threshold.value));
        let _ = write!(out, "<tr><td>{text}<td>{value}<td class={class}>{word}");
    }
    out.push_str("</table>");
}

fn tiles(outcome: &Outcome, out: &mut String) {
    let time = |quantile| show_time(outcome.response.quantile(quantile) as f64);
    let mut tiles = vec![("achieved/s", show_count(outcome.rate))];
    if let Some(offered) = outcome.offered {
        let rate = offered as f64 / outcome.measured_s.max(1e-9);
        tiles.insert(0, ("offered/s", show_count(rate)));
    }
    tiles.push(("p50 response", time(0.5)));
    tiles.push(("p99 response", time(0.99)));
    tiles.push(("p99.9 response", time(0.999)));
    tiles.push(("failed", format!("{:.3} %", outcome.failed_share() * 100.0)));
    let cpu = outcome.generator_us_per_request();
    tiles.push(("generator µs CPU/request", format!("{cpu:.2}")));
    if let Some(cpu) = outcome.server_us_per_request() {
        tiles.push(("server µs CPU/request", format!("{cpu:.2}")));
    }
    out.push_str("<div class=tiles>");
    for (name, value) in tiles {
        let _ = write!(out, "<div class=tile><b>{value}</b><span>{name}</span></div>");
    }
    out.push_str("</div>");
}

fn latencies(outcome: &Outcome, out: &mut String) {
    let rows = [
        ("response (from intended start)", &outcome.response),
        ("service (from send)", &outcome.service),
        ("first byte", &outcome.first_byte),
        ("connect", &outcome.connect),
        ("queue wait", &outcome.queue),
        ("generator lag", &outcome.lag),
    ];
    out.push_str("<table><tr><th>Time<th>count<th>mean<th>p50<th>p90<th>p99<th>p99.9<th>max");
    for (name, times) in rows.into_iter().filter(|(_, times)| times.count > 0) {
        let time = |quantile| show_time(Distribution::quantile(times, quantile) as f64);
        let _ = write!(
            out,
            "<tr><td>{name}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}",
            times.count,
            show_time(times.mean_ns),
            time(0.5),
            time(0.9),
            time(0.99),
            time(0.999),
            show_time(times.max_ns as f64)
        );
    }
    out.push_str("</table>");
    if let Some(note) = outcome.censored() {
        let _ = write!(out, "<p class=soft>{note}.</p>");
    }
}

fn generator(outcome: &Outcome, out: &mut String) {
    out.push_str("<h2>Generator</h2><table><tr><th>Thread<th>CPU<th>run-queue delay");
    for (number, thread) in outcome.threads.iter().enumerate() {
        let share = |part: u64| part as f64 * 100.0 / thread.wall_ns.max(1) as f64;
        let (cpu, delay) = (share(thread.cpu_ns), share(thread.run_delay_ns));
        let _ = write!(out, "<tr><td>{number}<td>{cpu:.1} %<td>{delay:.1} %");
    }
    out.push_str("</table>");
}

fn requests(outcome: &Outcome, out: &mut String) {
    out.push_str("<h2>Requests</h2><table><tr><th>Request<th>ok<th>failed<th>mean<th>p50<th>p99");
    for request in &outcome.requests {
        let _ = write!(
            out,
            "<tr><td>{}<td>{}<td>{}<td>{}<td>{}<td>{}",
            escape(&request.name),
            request.ok,
            request.failed,
            show_time(request.response.mean_ns),
            show_time(request.response.quantile(0.5) as f64),
            show_time(request.response.quantile(0.99) as f64)
        );
    }
    out.push_str("</table>");
}

fn failures(outcome: &Outcome, out: &mut String) {
    if outcome.failures.is_empty() {
        return;
    }
    out.push_str("<h2>Failures</h2><table><tr><th>Kind<th>count<th>first<th>last");
    for (name, failure) in &outcome.failures {
        let (first, last) = (show_time(failure.first_ns as f64), show_time(failure.last_ns as f64));
        let _ = write!(out, "<tr><td>{name}<td>{}<td>{first}<td>{last}", failure.count);
    }
    out.push_str("</table>");
}

fn table(outcomes: &[Outcome], out: &mut String) {
    out.push_str("<table><tr><th>Target<th>connections<th>achieved/s<th>p50");
    out.push_str("<th>p90<th>p99<th>p99.9<th>failed<th>verdict");
    for outcome in outcomes {
        let time = |quantile| show_time(outcome.response.quantile(quantile) as f64);
        let _ = write!(
            out,
            "<tr><td>{}<br><span class=soft>{}</span><td>{}<td>{}<td>{}<td>{}<td>{}<td>{}\
             <td>{:.2} %<td>{}",
            escape(&outcome.asked.target),
            escape(&outcome.asked.arrival),
            outcome.asked.connections,
            show_count(outcome.rate),
            time(0.5),
            time(0.9),
            time(0.99),
            time(0.999),
            outcome.failed_share() * 100.0,
            outcome.verdict.limit.title()
        );
    }
    out.push_str("</table>");
}

fn surroundings(outcome: &Outcome, out: &mut String) {
    let here = &outcome.environment;
    let optional = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let _ = write!(
        out,
        "<h2>Environment</h2><table><tr><td>weir<td>{}<tr><td>kernel<td>{}<tr><td>processor<td>{}\
         <tr><td>cores<td>{}<tr><td>memory<td>{}<tr><td>governor<td>{}<tr><td>quota<td>{}\
         <tr><td>load before<td>{}</table><h2>Command</h2><pre>{}</pre>",
        escape(&here.weir),
        escape(&here.kernel),
        escape(&here.cpu),
        here.cores,
        show_bytes(here.memory_bytes as f64),
        escape(&optional(here.governor.clone())),
        optional(here.quota_cores.map(|cores| format!("{cores:.2} cores"))),
        optional(here.load.map(|load| format!("{load:.2}"))),
        escape(&outcome.command.join(" "))
    );
}

/// The knee of latency over rate: the point farthest below the diagonal of the normalised curve
/// (Kneedle, Satopaa 2011). `None` for fewer than five points or a curve without one.
fn knee(points: &[(f64, u64, u64)]) -> Option<f64> {
    let (first, last) = (points.first()?, points.last()?);
    let (width, height) = (last.0 - first.0, last.2 as f64 - first.2 as f64);
    if points.len() < 5 || width <= 0.0 || height <= 0.0 {
        return None;
    }
    let below = |point: &(f64, u64, u64)| {
        (point.0 - first.0) / width - (point.2 as f64 - first.2 as f64) / height
    };
    let best = points.iter().max_by(|a, b| below(a).total_cmp(&below(b)))?;
    (below(best) > 0.1).then_some(best.0)
}

#[cfg(test)]
mod tests {
    use super::{knee, render};
    use crate::outcome::Outcome;
    use crate::report::{Stored, read};

    #[test]
    fn a_page_holds_its_result_and_asks_for_nothing_else() {
        let mut outcome = Outcome { weir_bench: 1, ok: 5, ..Outcome::default() };
        outcome.asked.target = "http://h/</script><b>&".into();
        let page =
            render(&Stored { outcomes: vec![outcome.clone()], ..Stored::default() }).unwrap();
        assert_eq!(read(&page).unwrap().outcomes, [outcome]);
        assert!(!page.contains("h/</script>") && !page.contains("<b>&<"));
        for outside in ["src=", "href=", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn the_knee_is_where_latency_turns_up() {
        let flat = [(1.0, 1, 10), (2.0, 1, 11), (3.0, 1, 12), (4.0, 1, 14), (5.0, 1, 100)];
        assert_eq!(knee(&flat), Some(4.0));
        let straight = [(1.0, 1, 10), (2.0, 1, 20), (3.0, 1, 30), (4.0, 1, 40), (5.0, 1, 50)];
        assert_eq!(knee(&straight), None);
    }

    /// The vendored library is the published one.
    #[test]
    fn vendored_files_are_unchanged() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/vendor/uplot");
        let check = std::process::Command::new("sha256sum")
            .args(["--check", "--strict", "--quiet", "SHA256SUMS"])
            .current_dir(root)
            .status();
        assert!(check.unwrap().success());
    }
}
