//! Results for people and for tools. JSON holds everything; the others are derived from it.

pub mod csv;
mod heatmap;
pub mod hlog;
pub mod html;
mod read;
pub mod text;

pub use read::{read, stored};

use crate::outcome::Outcome;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The content of a stored file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stored {
    /// Results of runs.
    pub outcomes: Vec<Outcome>,
    /// (achieved rate, p50, p99) in nanoseconds, by rising rate.
    pub points: Vec<(f64, u64, u64)>,
    /// Tables of an experiment.
    pub tables: Vec<Table>,
    /// Heading of the page; by default, the first run's target.
    pub title: String,
    /// Below the heading.
    pub about: String,
}

/// A table of texts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The subject.
    pub title: String,
    /// Headings.
    pub head: Vec<String>,
    /// Cells by row, as many as headings.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// The fields `head` of JSON objects.
    fn of<'a>(title: &str, head: &[&str], rows: impl IntoIterator<Item = &'a Value>) -> Self {
        let cell = |row: &Value, name: &str| match row.get(name) {
            Some(Value::String(text)) => text.clone(),
            // Scores of benchmarks may be nanoseconds given in seconds.
            Some(Value::Number(number)) if number.is_f64() => {
                let value = number.as_f64().unwrap_or_default();
                if value.abs() < 0.1 { format!("{value:.3e}") } else { format!("{value:.3}") }
            }
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        };
        Self {
            title: title.to_owned(),
            head: head.iter().map(|name| (*name).to_owned()).collect(),
            rows: rows
                .into_iter()
                .map(|row| head.iter().map(|name| cell(row, name)).collect())
                .collect(),
        }
    }
}
