//! The frame of a report on proxied requests.

use super::plan::Plan;
use crate::report::{Report, Table};
use crate::stats::grouped;

/// Adds a line to what the README shows.
pub(super) fn summarise(report: &mut Report, what: &str, weir: String, goal: &str) {
    report.summary.row([what.to_owned(), weir, goal.to_owned()]);
}

pub(super) fn new_report(name: &'static str, title: &str, plan: &Plan<'_>) -> Report {
    Report {
        name,
        title: title.to_owned(),
        introduction: introduction(plan),
        summary: Table::new("Summary", &["", "weir", "goal"]),
        tables: Vec::new(),
        charts: Vec::new(),
        samples: serde_json::Map::new(),
        readme: String::new(),
    }
}

fn introduction(plan: &Plan<'_>) -> Vec<String> {
    let routes = match plan.routes {
        1 => "one route (`/0`),".to_owned(),
        count => format!("{} routes (`/0`, `/1`, …), each", grouped(count as f64, 0)),
    };
    vec![format!(
        "weir has {routes} with AddRequestHeader and PrefixPath, metrics on; nginx has one \
         location and HAProxy one backend, each with one added header; all have one worker and pooled \
         upstream connections. The forwarders (`bench/baseline`) copy bytes and open an upstream \
         connection for each client connection, one with tokio's copy_bidirectional, the bare one on \
         epoll itself. Requests draw one of weir's routes at \
         random. CPU is user and system time of all processes of a proxy, from `/proc`. Subjects \
         take turns in random order; ratios are taken within a round, and shown as the median \
         (least–most) over the rounds."
    )]
}
