//! The file format of an experiment, the values of its placeholders, and the built-in experiments.

use serde::Deserialize;
use std::net::SocketAddr;

/// Experiments in the binary: name and text.
pub(super) const EXPERIMENTS: [(&str, &str); 5] = [
    ("seed-000", include_str!("../../../../examples/experiments/seed-000.yaml")),
    ("seed-001", include_str!("../../../../examples/experiments/seed-001.yaml")),
    ("seed-002", include_str!("../../../../examples/experiments/seed-002.yaml")),
    ("seed-003", include_str!("../../../../examples/experiments/seed-003.yaml")),
    ("seed-004", include_str!("../../../../examples/experiments/seed-004.yaml")),
];

/// An experiment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Experiment {
    /// The subject of the measurement.
    pub(super) title: String,
    /// Published statements that are not in a table.
    #[serde(default)]
    pub(super) conclusions: String,
    /// Flags behind every command of a short run.
    #[serde(default)]
    pub(super) quick: String,
    /// Flags behind every command of a full run.
    #[serde(default)]
    pub(super) full: String,
    /// Published tables.
    pub(super) tables: Vec<TableFile>,
    /// The steps, in order.
    pub(super) steps: Vec<Step>,
}

/// A published table. `published` has a row a line: its key and a cell for each column, between
/// bars; `-` where nothing was published.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableFile {
    pub(super) name: String,
    /// Heading of the keys.
    pub(super) key: String,
    pub(super) columns: Vec<Column>,
    /// Heading of the published numbers.
    #[serde(default = "published")]
    pub(super) source: String,
    #[serde(default)]
    pub(super) published: String,
}

fn published() -> String {
    "published".to_owned()
}

/// The value of a result that a column shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Column {
    /// Successes per second.
    Rate,
    /// Mean response time.
    Mean,
    /// Standard deviation of response times.
    Stdev,
    /// Quantiles of the response time.
    P50,
    P90,
    P95,
    P99,
    P999,
    /// Longest response time.
    Max,
    /// Share of failures.
    Errors,
    /// The maximum number of the server's threads.
    Threads,
    /// The maximum resident memory of the server.
    Memory,
    /// Share of one core that the server used.
    Cpu,
    /// Values of a JMH row.
    Count,
    /// Score and error of a JMH row.
    Score,
    /// Interval of a search.
    Interval,
    /// The limit of the run.
    Verdict,
}

/// Values of `{value}`; the step is run for each, with new servers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Values {
    pub(super) quick: Vec<u64>,
    pub(super) full: Vec<u64>,
}

/// Commands under the same servers. In `table`, `row`, `routes` and commands stand `{value}`, and
/// `{last}` for one less; in commands `{origin}` and `{gateway}` for base URLs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    /// Table the results go to.
    pub(super) table: String,
    /// Heading of the results in it.
    pub(super) series: String,
    /// Key of the row; a grid also has `{rate}`, `{connections}`, `{endpoint}` and `{repeat}`.
    #[serde(default)]
    pub(super) row: String,
    /// More flags of the origin.
    #[serde(default)]
    pub(super) origin: String,
    /// More flags of weir; absent: it is not started.
    pub(super) gateway: Option<String>,
    /// An ini file with pipelines, for weir instead of routes; `{listen}` and `{upstream}` are
    /// addresses.
    pub(super) pipeline: Option<String>,
    /// Numbered routes of the gateway.
    #[serde(default)]
    pub(super) routes: String,
    pub(super) values: Option<Values>,
    /// The value is a number of concurrent connections: it is reduced to what the system permits.
    #[serde(default)]
    pub(super) connections: bool,
    /// Bench commands.
    pub(super) bench: Vec<String>,
    /// Bench commands of a full run, if they are others.
    pub(super) full: Option<Vec<String>>,
}

/// The values of placeholders.
#[derive(Clone, Debug)]
pub(super) struct Places {
    pub(super) origin: SocketAddr,
    /// Base URL of the gateway.
    pub(super) gateway: String,
    pub(super) value: Option<u64>,
}

impl Experiment {
    /// Reads an experiment.
    ///
    /// # Errors
    /// With the place in the text; or for a step whose table is not there.
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let experiment: Self = serde_saphyr::from_str(text)?;
        for step in &experiment.steps {
            for value in step.values(true).into_iter().chain(step.values(false)) {
                let name = fill_value(&step.table, value);
                if !experiment.tables.iter().any(|table| table.name == name) {
                    anyhow::bail!("step '{}': there is no table '{name}'", step.series);
                }
            }
        }
        Ok(experiment)
    }
}

impl Step {
    /// The values to run it for.
    pub(super) fn values(&self, full: bool) -> Vec<Option<u64>> {
        match &self.values {
            None => vec![None],
            Some(values) if full => values.full.iter().copied().map(Some).collect(),
            Some(values) => values.quick.iter().copied().map(Some).collect(),
        }
    }

    /// The values, each reduced to at most `most` connections, and the note about the reduction.
    pub(super) fn within(&self, full: bool, most: u64) -> (Vec<Option<u64>>, Option<String>) {
        let mut values = self.values(full);
        let above = values.iter().flatten().filter(|value| **value > most).max().copied();
        let Some(above) = above.filter(|_| self.connections) else { return (values, None) };
        for value in values.iter_mut().flatten() {
            *value = most.min(*value);
        }
        values.dedup();
        let files = above + above / 9 + 20;
        let told = format!(
            "{above} is cut to {most} connections: a process may not open more files here (ulimit \
             -Hn {files} as root allows all)"
        );
        (values, Some(told))
    }

    /// Its commands.
    pub(super) fn lines(&self, full: bool) -> &[String] {
        self.full.as_ref().filter(|_| full).unwrap_or(&self.bench)
    }
}

impl Places {
    pub(super) fn fill(&self, text: &str) -> String {
        let text = text.replace("{origin}", &format!("http://{}", self.origin));
        fill_value(&text.replace("{gateway}", &self.gateway), self.value)
    }
}

/// Replaces `{value}` by `value`.
pub(super) fn fill_value(text: &str, value: Option<u64>) -> String {
    let Some(value) = value else { return text.to_owned() };
    let text = text.replace("{value}", &value.to_string());
    text.replace("{last}", &value.saturating_sub(1).to_string())
}

#[cfg(test)]
mod tests {
    use super::{Experiment, Places};
    use crate::lab::EXPERIMENTS;
    use crate::lab::run::Bench;
    use clap::Parser;

    /// `weir bench` accepts every command of every experiment, and every published row has a cell
    /// for each column.
    #[test]
    fn experiments_hold_commands_that_parse_and_whole_tables() {
        for (name, text) in EXPERIMENTS {
            let experiment = Experiment::parse(text).unwrap();
            for step in &experiment.steps {
                for full in [false, true] {
                    let flags = if full { &experiment.full } else { &experiment.quick };
                    for value in step.values(full) {
                        let origin = "127.0.0.1:9".parse().unwrap();
                        let places = Places { origin, gateway: "http://127.0.0.1:8".into(), value };
                        for line in step.lines(full) {
                            let line = format!("weir-bench {} {flags}", places.fill(line));
                            let parsed = Bench::try_parse_from(line.split_whitespace());
                            assert!(parsed.is_ok(), "{name}: {line}: {}", parsed.err().unwrap());
                        }
                    }
                }
            }
            for table in &experiment.tables {
                for row in crate::lab::table::published(table) {
                    assert_eq!(row.1.len(), table.columns.len(), "{name} {}: {row:?}", table.name);
                }
            }
        }
    }

    #[test]
    fn values_are_cut_to_what_a_process_may_open() {
        let check = |limited: bool, most: u64, expected: &[u64], told: &str| {
            let text = format!(
                "title: t\ntables: [{{name: a, key: k, columns: []}}]\nsteps: [{{table: a, series: s, \
                 connections: {limited}, values: {{quick: [1], full: [10, 20, 30]}}, bench: [x]}}]"
            );
            let step = Experiment::parse(&text).unwrap().steps.remove(0);
            let (values, note) = step.within(true, most);
            let values: Vec<u64> = values.into_iter().flatten().collect();
            assert_eq!(values, expected);
            let note = note.unwrap_or_default();
            assert!(note.starts_with(told) && note.is_empty() == told.is_empty(), "{note}");
        };
        check(true, 30, &[10, 20, 30], "");
        check(true, 18, &[10, 18], "30 is cut to 18 connections: a process may not open more");
        check(false, 18, &[10, 20, 30], "");
    }

    #[test]
    fn a_step_without_its_table_is_refused() {
        let text = "title: t\ntables: []\nsteps: [{table: a, series: s, bench: [x]}]";
        assert!(Experiment::parse(text).unwrap_err().to_string().contains("no table 'a'"));
    }
}
