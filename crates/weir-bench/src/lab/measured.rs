//! Results of bench commands as rows of a table.

use super::experiment::Column;
use crate::outcome::Outcome;
use crate::units::{show_bytes, show_count, show_time};
use serde_json::Value;

/// One result that fills a row.
#[derive(Clone, Debug)]
pub(super) enum Measured {
    /// A run.
    Run(Box<Outcome>),
    /// A row of JMH's table, or a search: their stored form.
    Stored(Value),
}

/// The rows of one command's stored result. `row` is the key's pattern; JMH's rows have keys of
/// their own.
///
/// # Errors
/// When it is not a result of a run, a grid, `jmh` or `seek`.
pub(super) fn rows(stored: &Value, row: &str) -> anyhow::Result<Vec<(String, Measured)>> {
    let run = |value: &Value| -> anyhow::Result<Measured> {
        Ok(Measured::Run(Box::new(serde_json::from_value(value.clone())?)))
    };
    let Value::Array(cells) = stored else {
        let key = row.to_owned();
        return match stored.get("trials") {
            Some(_) => Ok(vec![(key, Measured::Stored(stored.clone()))]),
            None => Ok(vec![(key, run(stored)?)]),
        };
    };
    let mut rows = Vec::new();
    for cell in cells {
        let key = match cell.get("mode") {
            Some(mode) => jmh_key(mode, cell),
            None => cell_key(row, cell),
        };
        match cell.get("outcome") {
            Some(Value::Null) => {}
            Some(outcome) => rows.push((key, run(outcome)?)),
            None => rows.push((key, Measured::Stored(cell.clone()))),
        }
    }
    Ok(rows)
}

/// `thrpt`, or `p0.50` for the quantiles of the sample mode.
fn jmh_key(mode: &Value, cell: &Value) -> String {
    let name = cell.get("benchmark").and_then(Value::as_str).unwrap_or_default();
    match name.split_once('·') {
        Some((_, quantile)) => quantile.to_owned(),
        None => mode.as_str().unwrap_or_default().to_owned(),
    }
}

fn cell_key(row: &str, cell: &Value) -> String {
    let text = |name: &str| match cell.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => {
            number.as_f64().map_or(number.to_string(), |n| n.to_string())
        }
        _ => String::new(),
    };
    let mut key = row.to_owned();
    for name in ["rate", "connections", "endpoint", "repeat"] {
        key = key.replace(&format!("{{{name}}}"), &text(name));
    }
    key
}

impl Measured {
    /// The value of a column; `-` if there is none.
    pub(super) fn cell(&self, column: Column) -> String {
        match self {
            Self::Run(outcome) => of_run(outcome, column),
            Self::Stored(value) => of_stored(value, column),
        }
        .unwrap_or_else(|| "-".to_owned())
    }
}

fn of_run(outcome: &Outcome, column: Column) -> Option<String> {
    let time = |quantile| Some(show_time(outcome.response.quantile(quantile) as f64));
    match column {
        Column::Rate => Some(show_count(outcome.rate)),
        Column::Mean => Some(show_time(outcome.response.mean_ns)),
        Column::Stdev => Some(show_time(outcome.response.stdev_ns)),
        Column::P50 => time(0.5),
        Column::P90 => time(0.9),
        Column::P95 => time(0.95),
        Column::P99 => time(0.99),
        Column::P999 => time(0.999),
        Column::Max => Some(show_time(outcome.response.max_ns as f64)),
        Column::Errors => Some(format!("{:.2} %", outcome.failed_share() * 100.0)),
        Column::Threads => outcome.server.as_ref().map(|server| server.threads_max().to_string()),
        Column::Memory => {
            let memory = outcome.server.as_ref().map(|server| server.rss_max() as f64);
            memory.map(show_bytes)
        }
        Column::Cpu => {
            let server = outcome.server.as_ref();
            server.map(|server| format!("{:.0} %", server.cores(outcome.wall_s) * 100.0))
        }
        Column::Verdict => Some(outcome.verdict.limit.title().to_lowercase()),
        Column::Count | Column::Score | Column::Interval => None,
    }
}

fn of_stored(value: &Value, column: Column) -> Option<String> {
    let number = |name: &str| value.get(name).and_then(Value::as_f64);
    match column {
        Column::Count => number("count").map(|count| count.to_string()),
        Column::Score => {
            let throughput = value.get("units").and_then(Value::as_str) == Some("ops/s");
            let show = |v: f64| if throughput { show_count(v) } else { show_time(v * 1e9) };
            let unit = if throughput { " /s" } else { "" };
            let error = number("error").map_or(String::new(), |e| format!(" ± {}", show(e)));
            number("score").map(|score| show(score) + &error + unit)
        }
        Column::Interval => {
            let bound = |name: &str| number(name).map_or("?".to_owned(), show_count);
            let confirmed = value.get("confirmed") == Some(&Value::Bool(true));
            let note = if confirmed { "" } else { " (not confirmed)" };
            Some(format!("{}..{}{note}", bound("low"), bound("high")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::rows;
    use crate::lab::experiment::Column;
    use crate::outcome::Outcome;
    use serde_json::{Value, json};

    fn check(stored: &Value, row: &str, column: Column, expected: &[(&str, &str)]) {
        let rows = rows(stored, row).unwrap();
        let got: Vec<_> =
            rows.iter().map(|(key, measured)| (key.clone(), measured.cell(column))).collect();
        let got: Vec<_> = got.iter().map(|(key, cell)| (key.as_str(), cell.as_str())).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn results_become_rows() {
        let run = Outcome { weir_bench: 1, rate: 370.4, ok: 1, failed: 1, ..Outcome::default() };
        let run = serde_json::to_value(run).unwrap();
        check(&run, "1000", Column::Rate, &[("1000", "370")]);
        check(&run, "1000", Column::Errors, &[("1000", "50.00 %")]);
        check(&run, "1000", Column::Score, &[("1000", "-")]);
        let cells = json!([
            { "endpoint": "api0", "connections": 9, "rate": 100.0, "repeat": 2, "outcome": run },
            { "endpoint": "api0", "connections": 9, "rate": 200.0, "repeat": 0, "outcome": null },
        ]);
        check(&cells, "{rate}.{endpoint}.r_{repeat}", Column::Rate, &[("100.api0.r_2", "370")]);
        let jmh = json!([
            { "benchmark": "b", "mode": "thrpt", "count": 20, "score": 899.2, "error": 137.0,
              "units": "ops/s" },
            { "benchmark": "b:b·p0.50", "mode": "sample", "score": 0.002, "units": "s/op" },
        ]);
        check(&jmh, "", Column::Score, &[("thrpt", "899 ± 137 /s"), ("p0.50", "2.00ms")]);
        let seek = json!({ "trials": [], "low": 11000.0, "high": null, "confirmed": false });
        check(&seek, "api0", Column::Interval, &[("api0", "11,000..? (not confirmed)")]);
    }
}
