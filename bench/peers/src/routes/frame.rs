//! The frame of a report on tables.

use crate::report::{Report, Table};

/// The report's frame.
pub(super) fn frame(name: &'static str, title: &str, introduction: String) -> Report {
    Report {
        name,
        title: title.to_owned(),
        introduction: vec![introduction],
        summary: Table::default(),
        tables: Vec::new(),
        charts: Vec::new(),
        samples: serde_json::Map::new(),
        readme: String::new(),
    }
}
