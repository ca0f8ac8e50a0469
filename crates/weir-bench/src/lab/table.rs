//! A published table with our measurements beside its own.

use super::experiment::{Column, TableFile};
use super::measured::Measured;
use crate::report::Table;

/// Cells by heading of the results.
type Row = Vec<(String, Vec<String>)>;

/// A table while it is filled.
pub(super) struct Filling {
    file: TableFile,
    /// Headings of our results in the order of their first appearance.
    series: Vec<String>,
    rows: Vec<(String, Row)>,
}

/// The rows of a published table: key and cells.
pub(super) fn published(file: &TableFile) -> Vec<(String, Vec<String>)> {
    let rows = file.published.lines().filter(|line| !line.trim().is_empty()).map(|line| {
        let mut cells = line.split('|').map(|cell| cell.trim().to_owned());
        (cells.next().unwrap_or_default(), cells.collect())
    });
    rows.collect()
}

fn heading(column: Column) -> &'static str {
    match column {
        Column::Rate => "req/s",
        Column::Mean => "mean",
        Column::Stdev => "stdev",
        Column::P50 => "p50",
        Column::P90 => "p90",
        Column::P95 => "p95",
        Column::P99 => "p99",
        Column::P999 => "p99.9",
        Column::Max => "max",
        Column::Errors => "errors",
        Column::Threads => "threads",
        Column::Memory => "memory",
        Column::Cpu => "CPU",
        Column::Count => "count",
        Column::Score => "score",
        Column::Interval => "req/s",
        Column::Verdict => "verdict",
    }
}

impl Filling {
    pub(super) fn new(file: &TableFile) -> Self {
        let rows = published(file).into_iter().map(|(key, cells)| {
            let cells = if cells.is_empty() { vec![] } else { vec![(file.source.clone(), cells)] };
            (key, cells)
        });
        let rows: Vec<_> = rows.collect();
        let any = rows.iter().any(|(_, cells)| !cells.is_empty());
        let series = if any { vec![file.source.clone()] } else { vec![] };
        Self { file: file.clone(), series, rows }
    }

    pub(super) fn name(&self) -> &str {
        &self.file.name
    }

    /// Whether the table contains measurements of ours.
    pub(super) fn filled(&self) -> bool {
        self.series.iter().any(|name| *name != self.file.source)
    }

    pub(super) fn put(&mut self, series: &str, key: String, measured: &Measured) {
        if !self.series.iter().any(|known| known == series) {
            self.series.push(series.to_owned());
        }
        let cells = self.file.columns.iter().map(|column| measured.cell(*column)).collect();
        let cells = (series.to_owned(), cells);
        match self.rows.iter_mut().find(|(known, _)| *known == key) {
            Some((_, row)) => row.push(cells),
            None => self.rows.push((key, vec![cells])),
        }
    }

    /// With the columns side by side for each series.
    pub(super) fn table(&self) -> Table {
        let mut head = vec![self.file.key.clone()];
        for column in &self.file.columns {
            for series in &self.series {
                head.push(format!("{} {series}", heading(*column)));
            }
        }
        let rows = self.rows.iter().map(|(key, row)| {
            let mut cells = vec![key.clone()];
            for at in 0..self.file.columns.len() {
                for series in &self.series {
                    let cell = row.iter().find(|(name, _)| name == series);
                    let cell = cell.and_then(|(_, cells)| cells.get(at)).cloned();
                    cells.push(cell.unwrap_or_else(|| "-".to_owned()));
                }
            }
            cells
        });
        Table { title: self.file.name.clone(), rows: rows.collect(), head }
    }
}

/// The table as aligned text: keys to the left, numbers to the right.
pub(super) fn text(table: &Table) -> String {
    let lines = || std::iter::once(&table.head).chain(&table.rows);
    let widths: Vec<usize> = (0..table.head.len())
        .map(|at| lines().filter_map(|l| Some(l.get(at)?.chars().count())).max().unwrap_or(0))
        .collect();
    let mut out = format!("{}\n", table.title);
    for line in lines() {
        for (at, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let width = *width;
            match at {
                0 => out.push_str(&format!("  {cell:<width$}")),
                _ => out.push_str(&format!("  {cell:>width$}")),
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Filling, text};
    use crate::lab::experiment::{Column, TableFile};
    use crate::lab::measured::Measured;
    use crate::outcome::Outcome;

    #[test]
    fn our_numbers_stand_beside_the_published_ones() {
        let file = TableFile {
            name: "Users".into(),
            key: "users".into(),
            columns: vec![Column::Rate, Column::Errors],
            source: "published".into(),
            published: "1000 | 370 | 0 %\n2000 | 722 | -\n".into(),
        };
        let mut filling = Filling::new(&file);
        assert!(!filling.filled());
        let run = |rate| Measured::Run(Box::new(Outcome { rate, ok: 1, ..Outcome::default() }));
        filling.put("direct", "1000".into(), &run(371.2));
        filling.put("weir", "1000".into(), &run(369.8));
        filling.put("weir", "3000".into(), &run(12_345.0));
        assert!(filling.filled());
        insta::assert_snapshot!(text(&filling.table()));
    }
}
