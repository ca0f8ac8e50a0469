//! The result of a run: tables as text and Markdown, everything as JSON, charts, README.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;
use weir_testkit::tree::{root, shown};

use super::bench::Bench;
use super::machine::{Cores, Machine};

/// A table.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Table {
    /// The content.
    pub title: String,
    /// The method of measurement.
    pub notes: Vec<String>,
    /// Names of the columns.
    pub head: Vec<String>,
    /// Cells.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty one.
    pub fn new(title: &str, head: &[&str]) -> Self {
        let head = head.iter().map(|name| (*name).to_owned()).collect();
        Self { title: title.to_owned(), head, ..Self::default() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Adds a note.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// The table alone, in Markdown, its columns aligned so that it reads well as text.
    pub fn markdown(&self) -> String {
        let width = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at)).chain(self.head.get(at));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(3)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let line = |cells: &[String]| {
            let mut out = String::from("|");
            for (at, &width) in widths.iter().enumerate() {
                let cell = cells.get(at).map_or("", |cell| cell);
                let pad = " ".repeat(width.saturating_sub(cell.chars().count()));
                let _ = match at {
                    0 => write!(out, " {cell}{pad} |"),
                    _ => write!(out, " {pad}{cell} |"),
                };
            }
            out + "\n"
        };
        let mut rule = String::from("|");
        for (at, &width) in widths.iter().enumerate() {
            let _ = match at {
                0 => write!(rule, " {} |", "-".repeat(width)),
                _ => write!(rule, " {}: |", "-".repeat(width - 1)),
            };
        }
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("{}{rule}\n{rows}", line(&self.head))
    }
}

/// A chart and the name of its file, without ending.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Name of the file.
    pub name: String,
    /// The alternative text.
    pub alt: String,
    /// The picture.
    pub svg: String,
}

/// A run as it is kept.
#[derive(Debug)]
pub struct Report {
    /// Name of its files: `routes`, `proxy` or `scg`.
    pub name: &'static str,
    /// Title.
    pub title: String,
    /// Text under the title.
    pub introduction: Vec<String>,
    /// The first table of the report.
    pub summary: Table,
    /// Tables in order.
    pub tables: Vec<Table>,
    /// Charts.
    pub charts: Vec<Chart>,
    /// Single measurements.
    pub samples: serde_json::Map<String, serde_json::Value>,
    /// The part for the README.
    pub readme: String,
}

#[derive(Serialize)]
struct Document<'a> {
    command: String,
    machine: &'a Machine,
    versions: &'a [String],
    cores: &'a Cores,
    tables: &'a [Table],
    samples: &'a serde_json::Map<String, serde_json::Value>,
}

impl Report {
    /// The document as Markdown.
    pub fn markdown(&self, bench: &Bench) -> String {
        let mut out = format!("# {}\n\n", self.title);
        let _ = writeln!(out, "`{}`\n", command());
        for paragraph in &self.introduction {
            let _ = writeln!(out, "{paragraph}\n");
        }
        for line in bench.machine.lines() {
            let _ = writeln!(out, "- {line}");
        }
        let _ = writeln!(out, "- {}", bench.cores.line());
        let _ = writeln!(out, "- {}\n", bench.tools.versions.join("; "));
        if !self.summary.rows.is_empty() {
            let _ = writeln!(out, "{}", self.summary.markdown());
        }
        for chart in &self.charts {
            let _ = writeln!(out, "![{}]({}.svg)\n", chart.alt, chart.name);
        }
        for table in &self.tables {
            let _ = writeln!(out, "## {}\n", table.title);
            if !table.head.is_empty() {
                let _ = writeln!(out, "{}", table.markdown());
            }
            for note in &table.notes {
                let _ = writeln!(out, "- {note}");
            }
            if !table.notes.is_empty() {
                out.push('\n');
            }
        }
        format!("{}\n", out.trim_end())
    }

    /// Writes everything below `folder`; the files written.
    ///
    /// # Errors
    /// The disk does not allow it.
    pub fn write(&self, bench: &Bench, folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let mut written = Vec::new();
        let mut put = |name: &str, text: String| -> anyhow::Result<()> {
            let file = folder.join(name);
            std::fs::write(&file, text).with_context(|| file.display().to_string())?;
            written.push(file);
            Ok(())
        };
        put(&format!("{}.md", self.name), self.markdown(bench))?;
        put(&format!("{}.json", self.name), self.json(bench)? + "\n")?;
        for chart in &self.charts {
            put(&format!("{}.svg", chart.name), chart.svg.clone())?;
        }
        Ok(written)
    }

    /// The document as JSON.
    ///
    /// # Errors
    /// Never in practice.
    pub fn json(&self, bench: &Bench) -> anyhow::Result<String> {
        let document = Document {
            command: command(),
            machine: &bench.machine,
            versions: &bench.tools.versions,
            cores: &bench.cores,
            tables: &self.tables,
            samples: &self.samples,
        };
        Ok(serde_json::to_string_pretty(&document)?)
    }

    /// Puts [`Report::readme`] into the README, between the marks of this report.
    ///
    /// # Errors
    /// The README has no such marks, or cannot be written.
    pub fn publish(&self, folder: &Path) -> anyhow::Result<()> {
        publish(self.name, &self.readme.replace("{folder}", &shown(folder)))
    }
}

/// Puts `block` into the block `name` of the page on performance; its links are those of the
/// repository's top folder.
///
/// # Errors
/// The page has no such marks, or cannot be written.
pub fn publish(name: &str, block: &str) -> anyhow::Result<()> {
    let file = root().join("docs/performance.md");
    let block = block.replace("](bench/", "](../bench/").replace("](docs/", "](");
    let text = std::fs::read_to_string(&file)?;
    let text = replace_block(&text, name, &block)
        .with_context(|| format!("docs/performance.md has no <!-- peers:{name} --> block"))?;
    Ok(std::fs::write(&file, text)?)
}

/// The command line of this run, as it is typed.
fn command() -> String {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    format!("cargo xtask {}", arguments.join(" "))
}

/// `text` with the part between `<!-- peers:NAME -->` and `<!-- /peers:NAME -->` replaced.
fn replace_block(text: &str, name: &str, block: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- peers:{name} -->"), format!("<!-- /peers:{name} -->"));
    let (before, rest) = text.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n{}\n{end}{after}", block.trim()))
}

#[cfg(test)]
mod tests {
    use super::{Table, replace_block};

    #[test]
    fn tables_are_aligned() {
        let mut table = Table::new("t", &["who", "µs"]);
        table.row(["weir".to_owned(), "8.35".to_owned()]);
        table.row(["a".to_owned()]);
        let expected = "\
| who  |   µs |
| ---- | ---: |
| weir | 8.35 |
| a    |      |
";
        assert_eq!(table.markdown(), expected);
    }

    #[test]
    fn blocks_are_replaced() {
        let text =
            "a\n<!-- peers:x -->\nold\n<!-- /peers:x -->\nb\n<!-- peers:y -->\n<!-- /peers:y -->\n";
        let got = replace_block(text, "x", "\nnew\n").unwrap();
        assert_eq!(got, text.replace("old", "new"));
        assert_eq!(replace_block(&got, "x", "new").unwrap(), got);
        assert_eq!(replace_block(text, "z", "new"), None);
    }
}
