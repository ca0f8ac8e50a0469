//! The tables and charts of `xtask peers routes`.

use std::time::Duration;

use super::cell::{Cell, REFERENCE};
use super::frame::frame;
use super::plan::Plan;
use super::published;
use crate::bench::Sample;
use crate::chart::{Axes, Line, draw};
use crate::report::{Chart, Report, Table};
use crate::stats::{Spread, grouped};
use crate::subject::Peer;

/// A number of a cell, with its spread if it was taken several times.
type Metric = fn(&Cell) -> Option<Spread>;

/// A table and a chart of one metric.
struct View {
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    decimals: usize,
    metric: Metric,
}

const VIEWS: [View; 7] = [
    View {
        name: "routes-cpu",
        title: "CPU of one request",
        unit: "CPU µs/request",
        decimals: 2,
        metric: cpu,
    },
    View {
        name: "routes-rate",
        title: "Requests per second on one core",
        unit: "req/s",
        decimals: 0,
        metric: rate,
    },
    View {
        name: "routes-p50",
        title: "Latency, median, at 70 % of each one's highest rate",
        unit: "ms",
        decimals: 2,
        metric: |cell| single(cell.latency.as_ref()?.p50_ms),
    },
    View {
        name: "routes-p99",
        title: "Latency, p99, at 70 % of each one's highest rate",
        unit: "ms",
        decimals: 2,
        metric: |cell| single(cell.latency.as_ref()?.p99_ms),
    },
    View {
        name: "routes-memory",
        title: "Memory after the load",
        unit: "MB",
        decimals: 1,
        metric: memory,
    },
    View {
        name: "routes-load",
        title: "From start to the first answer",
        unit: "s",
        decimals: 2,
        metric: |cell| single(cell.load?),
    },
    View {
        name: "routes-change",
        title: "From asking for one route more to its first answer",
        unit: "ms",
        decimals: 1,
        metric: change,
    },
];

/// Views that are drawn.
const CHARTS: [&str; 5] =
    ["routes-cpu", "routes-rate", "routes-memory", "routes-load", "routes-change"];

fn single(value: f64) -> Option<Spread> {
    Spread::of([value])
}

fn cpu(cell: &Cell) -> Option<Spread> {
    if cell.peer == Peer::Direct {
        return None;
    }
    Spread::of(cell.samples.iter().map(Sample::cpu_us))
}

fn rate(cell: &Cell) -> Option<Spread> {
    Spread::of(cell.samples.iter().map(|sample| sample.counted.rate))
}

fn memory(cell: &Cell) -> Option<Spread> {
    let known = cell.load.is_some() && cell.peer != Peer::Direct;
    if known { single(cell.memory.shared_out as f64 / 1e6) } else { None }
}

fn change(cell: &Cell) -> Option<Spread> {
    let all: Option<Vec<f64>> = cell.changes.iter().copied().collect();
    Spread::of(all?.into_iter().map(|seconds| seconds * 1e3))
}

/// The report of all cells.
pub(super) fn report(plan: &Plan<'_>, cells: &[Cell]) -> Report {
    let mut report = frame("routes", "What the number of routes costs", introduction(plan));
    let columns = columns(cells);
    for view in &VIEWS {
        let mut table = table(plan, view, cells, &columns);
        table.notes = notes(view.name, plan, cells);
        report.tables.push(table);
        if CHARTS.contains(&view.name) {
            report.charts.push(chart(view, cells, &columns));
        }
    }
    report.tables.insert(1, flatness(cells));
    report.tables.push(errors(cells));
    report.tables.push(commands(cells));
    report.samples.insert("cells".to_owned(), serde_json::json!(cells));
    report.readme = readme(cells, &columns);
    report
}

fn introduction(plan: &Plan<'_>) -> String {
    format!(
        "Every route has a path, an added header with its own value, and a prefix for its path: \
         `/17` goes to `/ok/17`. weir and Spring Cloud Gateway have it as Path, AddRequestHeader and \
         PrefixPath; nginx as an exact location each; HAProxy as a map from which the header is taken, \
         with the same prefix for all (its map cannot carry filters of a route). Requests draw a route \
         at random, all equally likely: wrk, 64 connections, {} s, {} rounds in random order, on one \
         core. Spring Cloud Gateway is loaded before it is measured until it gets no faster, for {} s at \
         most, the others once. Shown are medians (least–most).",
        plan.seconds,
        plan.rounds,
        plan.warm_up.as_secs()
    )
}

/// Names in the order of their first cell, the one-route weir left out.
fn columns(cells: &[Cell]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for peer in [Peer::Weir, Peer::Nginx, Peer::Haproxy, Peer::Scg, Peer::Forwarder, Peer::Direct] {
        let name = peer.name().to_owned();
        if cells.iter().any(|cell| cell.name == name) {
            names.push(name);
        }
    }
    names
}

fn counts(cells: &[Cell]) -> Vec<u64> {
    let mut counts: Vec<u64> = cells.iter().map(|cell| cell.routes).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

fn find<'a>(cells: &'a [Cell], routes: u64, name: &str) -> Option<&'a Cell> {
    cells.iter().find(|cell| cell.routes == routes && cell.name == name)
}

fn table(plan: &Plan<'_>, view: &View, cells: &[Cell], columns: &[String]) -> Table {
    let mut head = vec!["routes"];
    head.extend(columns.iter().map(String::as_str));
    let rate = view.name == "routes-rate";
    if rate {
        head.push("published: SCG 3.0.3");
    }
    let mut table = Table::new(&format!("{}, {}", view.title, view.unit), &head);
    for count in counts(cells) {
        let mut row = vec![grouped(count as f64, 0)];
        for name in columns {
            let cell = find(cells, count, name);
            let late = |patience: Duration| format!("not within {} s", patience.as_secs());
            let text = match cell {
                None => String::new(),
                Some(cell) if cell.skipped => "not tried".to_owned(),
                Some(cell) if cell.load.is_none() && cell.failed.is_some() => "failed".to_owned(),
                Some(cell) if cell.load.is_none() => late(plan.patience),
                Some(cell) if view.name == "routes-change" && cell.changes.contains(&None) => {
                    late(plan.patience_change)
                }
                Some(cell) => {
                    (view.metric)(cell).map(|s| s.show(view.decimals)).unwrap_or_default()
                }
            };
            row.push(text);
        }
        if rate {
            let row_of = published::ROWS.iter().find(|(routes, ..)| *routes == Some(count));
            row.push(row_of.map(|(_, rate, _)| grouped(*rate, 0)).unwrap_or_default());
        }
        table.row(row);
    }
    table
}

fn notes(view: &str, plan: &Plan<'_>, cells: &[Cell]) -> Vec<String> {
    let text = match view {
        "routes-rate" => {
            let direct = published::ROWS[0].1;
            format!(
                "Published: JMH, two threads, Intel i7-9700K, Java 1.8; without a gateway {direct:.0} \
                 req/s, so its own client was the limit. Its average times: {}.",
                published::ROWS
                    .iter()
                    .map(|(routes, _, seconds)| {
                        let routes = routes.map_or("direct".to_owned(), |n| grouped(n as f64, 0));
                        format!("{routes}: {:.0} ms", seconds * 1e3)
                    })
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
        "routes-p50" | "routes-p99" => format!(
            "weir bench plan, open loop, Poisson, {} s. The rates differ as the highest rates do. {}",
            plan.seconds,
            verdicts(cells)
        ),
        "routes-memory" => "Pages shared by processes are shared out among them (Pss).".to_owned(),
        "routes-load" => "weir reads one YAML file; nginx and HAProxy their own files; Spring Cloud \
                          Gateway has its definitions in memory."
            .to_owned(),
        "routes-change" => "weir: POST /actuator/gateway/routes/ID, on disk before it is answered; nginx: \
                            reload; HAProxy: `add map` on its socket, not on disk; Spring Cloud Gateway: \
                            POST, then POST refresh."
            .to_owned(),
        _ => return Vec::new(),
    };
    vec![text]
}

/// Verdicts of `weir bench` other than that the rate was met.
fn verdicts(cells: &[Cell]) -> String {
    let odd = cells.iter().filter_map(|cell| {
        let verdict = &cell.latency.as_ref()?.verdict;
        let routes = grouped(cell.routes as f64, 0);
        (verdict != "rate-met").then(|| format!("{} at {routes}: {verdict}", cell.name))
    });
    let odd: Vec<String> = odd.collect();
    match odd.is_empty() {
        true => "The rate was met everywhere.".to_owned(),
        false => format!("Not `rate-met`: {}.", odd.join("; ")),
    }
}

/// The cost of weir with many routes relative to weir with one, in the same rounds.
fn flatness(cells: &[Cell]) -> Table {
    let head = ["routes", "CPU to weir with 1 route", "rate to weir with 1 route"];
    let mut table = Table::new("weir: many routes to one, round by round", &head);
    for count in counts(cells) {
        let (Some(many), Some(one)) =
            (find(cells, count, Peer::Weir.name()), find(cells, count, REFERENCE))
        else {
            continue;
        };
        let ratio = |of: fn(&Sample) -> f64| {
            let all = |cell: &Cell| cell.samples.iter().map(of).collect::<Vec<f64>>();
            Spread::ratio(&all(many), &all(one)).map(|ratio| ratio.show(2)).unwrap_or_default()
        };
        let rate = ratio(|sample| sample.counted.rate);
        table.row([grouped(count as f64, 0), ratio(Sample::cpu_us), rate]);
    }
    table.note("Goal: CPU at 1,000,000 routes ≤ 1.05 × that at one.");
    table
}

fn errors(cells: &[Cell]) -> Table {
    let mut table = Table::new("Errors", &["", "routes", "throughput", "latency runs"]);
    for cell in cells {
        let errors: u64 = cell.samples.iter().map(|sample| sample.counted.errors).sum();
        let failed = cell.latency.as_ref().map_or(0, |latency| latency.failed);
        if errors + failed > 0 {
            let number = |n: u64| grouped(n as f64, 0);
            table.row([cell.name.clone(), number(cell.routes), number(errors), number(failed)]);
        }
    }
    if table.rows.is_empty() {
        table.row(["none".to_owned()]);
    }
    for cell in cells {
        if let Some(error) = &cell.failed {
            table.note(format!("{} at {}: {error}", cell.name, grouped(cell.routes as f64, 0)));
        }
    }
    table
}

fn commands(cells: &[Cell]) -> Table {
    let mut table = Table::new("Commands", &[]);
    for name in columns(cells) {
        let last = cells.iter().rfind(|cell| cell.name == name && !cell.command.is_empty());
        if let Some(cell) = last {
            table.note(format!("{name}: `{}`", cell.command));
        }
    }
    table
}

fn chart(view: &View, cells: &[Cell], columns: &[String]) -> Chart {
    let counts = counts(cells);
    let mut lines: Vec<Line> = Vec::new();
    for name in columns {
        let of = |cell: &Cell| Some((cell.routes as f64, (view.metric)(cell)?.median));
        let mut points: Vec<(f64, f64)> =
            cells.iter().filter(|cell| cell.name == *name).filter_map(of).collect();
        // The cost of a proxy without routes does not depend on their number.
        let flat = [Peer::Forwarder.name(), Peer::Direct.name()].contains(&name.as_str());
        if flat && view.name == "routes-load" {
            continue;
        }
        if flat {
            let y = points.first().map(|(_, y)| *y);
            let ends = [counts.first(), counts.last()].into_iter().flatten();
            points = y.map_or(Vec::new(), |y| ends.map(|x| (*x as f64, y)).collect());
        }
        if !points.is_empty() {
            lines.push(Line { name: name.clone(), points, dashed: flat });
        }
    }
    if view.name == "routes-rate" {
        let of = |(routes, rate, _): &published::Row| Some(((*routes)? as f64, *rate));
        let points = published::ROWS.iter().filter_map(of).collect();
        lines.push(Line { name: "SCG 3.0.3, published".to_owned(), points, dashed: true });
    }
    let axes = Axes { title: view.title, x: "routes", y: view.unit };
    let alt = format!("{} ({}) by number of routes", view.title, view.unit);
    Chart { name: view.name.to_owned(), alt, svg: draw(&axes, &lines) }
}

/// The part for the README: CPU by number of routes, and the chart.
fn readme(cells: &[Cell], columns: &[String]) -> String {
    let shown: Vec<&String> = columns.iter().filter(|name| *name != Peer::Direct.name()).collect();
    let mut head = vec!["routes"];
    head.extend(shown.iter().map(|name| name.as_str()));
    let mut table = Table::new("", &head);
    for count in counts(cells) {
        let mut row = vec![grouped(count as f64, 0)];
        for name in &shown {
            let cell = find(cells, count, name);
            let cost = cell.and_then(cpu).map(|spread| grouped(spread.median, 1));
            let missing = || match cell {
                Some(cell) if cell.failed.is_some() => "failed".to_owned(),
                Some(cell) if cell.load.is_none() => "too slow to load".to_owned(),
                _ => String::new(),
            };
            row.push(cost.unwrap_or_else(missing));
        }
        table.row(row);
    }
    format!(
        "CPU µs per request by number of routes, one core each, taking turns \
         ([run]({{folder}}/routes.md), `cargo xtask peers routes`):\n\n{}\n\
         ![CPU of one request by number of routes]({{folder}}/routes-cpu.svg)",
        table.markdown()
    )
}
