//! Results for people and for tools. JSON holds everything; the others are drawn from it.

pub mod csv;
mod heatmap;
pub mod hlog;
pub mod html;
pub mod text;

use crate::outcome::Outcome;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a stored file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stored {
    /// Results of runs.
    pub outcomes: Vec<Outcome>,
    /// (achieved rate, p50, p99) in nanoseconds, by rising rate.
    pub points: Vec<(f64, u64, u64)>,
    /// Tables of an experiment.
    pub tables: Vec<Table>,
}

/// A table of texts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// What it is about.
    pub title: String,
    /// Headings.
    pub head: Vec<String>,
    /// Cells by row, as many as headings.
    pub rows: Vec<Vec<String>>,
}

/// Reads a stored result: JSON of a run, a sweep or a search, or a page made from a run.
///
/// # Errors
/// When it is none of these.
pub fn read(text: &str) -> anyhow::Result<Stored> {
    let embedded = text.split_once(html::OPEN).and_then(|(_, rest)| rest.split_once(html::CLOSE));
    let value: Value = match embedded {
        Some((json, _)) => serde_json::from_str(json)?,
        None => serde_json::from_str(text)?,
    };
    let mut stored = Stored::default();
    match &value {
        Value::Array(cells) => {
            for cell in cells {
                let outcome = cell.get("outcome").unwrap_or(cell);
                if !outcome.is_null() {
                    stored.outcomes.push(serde_json::from_value(outcome.clone())?);
                }
            }
        }
        Value::Object(found) if found.contains_key("trials") => {
            let trials = found.get("trials").and_then(Value::as_array).into_iter().flatten();
            stored.points.extend(trials.filter_map(|trial| {
                let time = |name: &str| trial.get(name)?.as_u64();
                Some((trial.get("achieved")?.as_f64()?, time("p50_ns")?, time("p99_ns")?))
            }));
        }
        Value::Object(found) if found.contains_key("points") => {
            stored.points = serde_json::from_value(value["points"].clone())?;
            if let Some(tables) = found.get("tables") {
                stored.tables = serde_json::from_value(tables.clone())?;
            }
            if let Some(outcome) = found.get("outcome").filter(|outcome| !outcome.is_null()) {
                stored.outcomes.push(serde_json::from_value(outcome.clone())?);
            }
        }
        _ => stored.outcomes.push(serde_json::from_value(value)?),
    }
    if let Some(other) = stored.outcomes.iter().find(|outcome| outcome.weir_bench != 1) {
        anyhow::bail!("format {} is not known", other.weir_bench);
    }
    if stored.outcomes.len() > 1 {
        let response = |o: &Outcome| (o.rate, o.response.quantile(0.5), o.response.quantile(0.99));
        stored.points.extend(stored.outcomes.iter().map(response));
    }
    stored.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(stored)
}

/// Reads the stored result of one run.
///
/// # Errors
/// When it is not one.
pub fn stored(text: &str) -> anyhow::Result<Outcome> {
    let mut stored = read(text)?;
    match (stored.outcomes.pop(), stored.outcomes.is_empty()) {
        (Some(outcome), true) => Ok(outcome),
        _ => anyhow::bail!("it does not hold exactly one run"),
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    fn check(text: &str, expected: Result<(usize, usize), &str>) {
        let got = read(text).map(|stored| (stored.outcomes.len(), stored.points.len()));
        match (got, expected) {
            (Ok(got), Ok(want)) => assert_eq!(got, want, "{text}"),
            (Err(why), Err(want)) => assert!(format!("{why:#}").contains(want), "{why:#}"),
            (got, _) => panic!("{text}: {got:?}"),
        }
    }

    #[test]
    fn stored_results_are_recognised() {
        let run = |format: u32| {
            let outcome = crate::outcome::Outcome { weir_bench: format, ..Default::default() };
            serde_json::to_string(&outcome).unwrap()
        };
        check(&run(1), Ok((1, 0)));
        check(&run(9), Err("format 9"));
        check(&format!("[{{\"outcome\":{}}},{{\"outcome\":{}}}]", run(1), run(1)), Ok((2, 2)));
        check("{\"trials\":[{\"achieved\":5.0,\"p50_ns\":1,\"p99_ns\":2}]}", Ok((0, 1)));
        check("{}", Err("missing field"));
        check("<html>", Err("expected value"));
    }
}
