//! Reads stored results.

use super::{Stored, Table, html};
use crate::outcome::Outcome;
use serde_json::Value;

/// Reads a stored result: JSON of a run, a sweep, a search, a comparison or JMH's modes, or a page
/// made from one.
///
/// # Errors
/// When it is none of these.
pub fn read(text: &str) -> anyhow::Result<Stored> {
    let embedded = text.split_once(html::OPEN).and_then(|(_, rest)| rest.split_once(html::CLOSE));
    let value: Value = match embedded {
        Some((json, _)) => serde_json::from_str(json)?,
        None => serde_json::from_str(text).map_err(|why| match why.is_eof() {
            true => anyhow::anyhow!("the file is empty or cut short ({why}): run it again"),
            false => anyhow::anyhow!("neither JSON of weir bench nor its page: {why}"),
        })?,
    };
    let mut stored = Stored::default();
    match &value {
        Value::Array(rows) if rows.first().is_some_and(|row| row.get("benchmark").is_some()) => {
            let head = ["benchmark", "cell", "mode", "count", "score", "error", "units"];
            stored.tables.push(Table::of("Benchmarks", &head, rows));
        }
        Value::Object(found) if found.contains_key("answers") => {
            let head = ["metric", "ratio", "low", "high", "answer"];
            let rows = found.get("answers").and_then(Value::as_array).into_iter().flatten();
            let side = |name: &str| value[name].as_str().unwrap_or_default();
            let title = format!("B ({}) against A ({})", side("b"), side("a"));
            stored.tables.push(Table::of(&title, &head, rows));
        }
        Value::Object(found) if found.contains_key("changes") => {
            let head = ["metric", "at", "before", "after"];
            let rows = found.get("changes").and_then(Value::as_array).into_iter().flatten();
            let title = format!("Changes in {} results", value["results"]);
            stored.tables.push(Table::of(&title, &head, rows));
        }
        Value::Array(cells) => {
            for cell in cells {
                let outcome = cell.get("outcome").unwrap_or(cell);
                if !outcome.is_null() {
                    stored.outcomes.push(run(outcome)?);
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
            let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
            (stored.title, stored.about) = (text("title"), text("about"));
            if let Some(outcome) = found.get("outcome").filter(|outcome| !outcome.is_null()) {
                stored.outcomes.push(run(outcome)?);
            }
        }
        _ => stored.outcomes.push(run(&value)?),
    }
    if stored == Stored::default() {
        anyhow::bail!("there is no result in it: was the run ended before its first one?");
    }
    if stored.outcomes.len() > 1 {
        let response = |o: &Outcome| (o.rate, o.response.quantile(0.5), o.response.quantile(0.99));
        stored.points.extend(stored.outcomes.iter().map(response));
    }
    stored.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(stored)
}

/// A run's result, if it has the form this version writes.
fn run(value: &Value) -> anyhow::Result<Outcome> {
    match value.get("weir_bench").map(Value::as_u64) {
        Some(Some(1)) => {}
        Some(_) => anyhow::bail!(
            "format {} is not known: read it with the version of weir that wrote it",
            value["weir_bench"]
        ),
        None => anyhow::bail!("it is not a result of weir bench (no \"weir_bench\" in it)"),
    }
    Ok(serde_json::from_value(value.clone())?)
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
        check("{}", Err("not a result of weir bench"));
        check("<html>", Err("neither JSON"));
        check("", Err("cut short"));
        check(run(1).split_at(200).0, Err("cut short"));
        check("[]", Err("no result in it"));
        check("{\"weir_bench\": 2}", Err("format 2 is not known: read it with the version"));
        let jmh = r#"[{"benchmark":"B.m","cell":null,"mode":"ss","score":0.0012,"units":"s/op"}]"#;
        let table = |text: &str| read(text).unwrap().tables.remove(0);
        assert_eq!(table(jmh).rows, [["B.m", "", "ss", "", "1.200e-3", "", "s/op"]]);
        let answers =
            r#"{"a":"x","b":"y","answers":[{"metric":"rate","ratio":1.5,"answer":"better"}]}"#;
        assert_eq!(table(answers).title, "B (y) against A (x)");
        assert_eq!(table(answers).rows, [["rate", "1.500", "", "", "better"]]);
        let changes = r#"{"results":12,"changes":[{"metric":"rate","at":"7.json","before":9.5,"after":8.5}]}"#;
        assert_eq!(table(changes).title, "Changes in 12 results");
        assert_eq!(table(changes).rows, [["rate", "7.json", "9.500", "8.500"]]);
    }
}
