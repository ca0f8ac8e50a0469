//! The list of known differences: `tests/compat/deviations.txt`, and the page made from it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::comparison::Difference;
use crate::rules::RULES;

/// The name of the case for a file that cannot be played at all.
pub const START: &str = "start";

/// The reason for a difference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reason {
    pub text: String,
    /// The setting that makes weir behave as SCG does here.
    pub switch: Option<String>,
}

/// A case that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub file: String,
    pub case: String,
    /// Names of reasons.
    pub reasons: Vec<String>,
    pub differences: Vec<Difference>,
}

/// The whole list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deviations {
    /// The text before the first reason.
    pub intro: String,
    pub reasons: BTreeMap<String, Reason>,
    pub entries: Vec<Entry>,
}

impl Deviations {
    /// Reads the list.
    ///
    /// # Panics
    /// If a line is none of those that [`Deviations::write`] writes.
    pub fn read(text: &str) -> Self {
        let mut list = Self::default();
        let mut reason = None;
        for line in text.lines() {
            if line.starts_with('#') {
                list.intro += &format!("{line}\n");
            } else if let Some(name) = line.strip_prefix("reason ") {
                reason = Some(name.to_owned());
                list.reasons.insert(name.to_owned(), Reason::default());
            } else if let Some((place, reasons)) = line.split_once(" => ") {
                let (file, case) = place.split_once(": ").expect("`file: case => reasons`");
                let reasons = reasons.split(", ").map(str::to_owned).collect();
                let (file, case) = (file.to_owned(), case.to_owned());
                list.entries.push(Entry { file, case, reasons, differences: Vec::new() });
            } else if let Some((place, values)) = difference(line) {
                let (scg, weir) = values.split_once(" ≠ ").expect("two values");
                let entry = list.entries.last_mut().expect("a difference of a case");
                entry.differences.push(Difference::new(place, scg, weir));
            } else if let Some(line) = line.strip_prefix("  ") {
                let name = reason.as_ref().expect("a line of a reason");
                let reason = list.reasons.get_mut(name).expect("the reason just entered");
                match line.strip_prefix("switch ") {
                    Some(switch) => reason.switch = Some(switch.to_owned()),
                    None if reason.text.is_empty() => reason.text = line.to_owned(),
                    None => reason.text += &format!(" {line}"),
                }
            } else {
                assert!(line.is_empty(), "not understood: {line:?}");
            }
        }
        list
    }

    /// The list as text; entries in the order of files and cases given.
    pub fn write(&self) -> String {
        let mut out = format!("{}\n", self.intro);
        for (name, reason) in &self.reasons {
            let _ = writeln!(out, "reason {name}");
            for line in wrapped(&reason.text, 98) {
                let _ = writeln!(out, "  {line}");
            }
            if let Some(switch) = &reason.switch {
                let _ = writeln!(out, "  switch {switch}");
            }
            out.push('\n');
        }
        for entry in &self.entries {
            let _ = writeln!(out, "{}: {} => {}", entry.file, entry.case, entry.reasons.join(", "));
            for difference in &entry.differences {
                let _ = writeln!(out, "  {difference}");
            }
        }
        out
    }

    pub fn entry(&self, file: &str, case: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.file == file && entry.case == case)
    }

    /// The settings that restore SCG's behaviour, as `key=value`; `None` if one of the entry's
    /// reasons has none.
    pub fn switches(&self, entry: &Entry) -> Option<Vec<String>> {
        let mut settings = Vec::new();
        for name in &entry.reasons {
            let switch = self.reasons.get(name)?.switch.as_ref()?;
            settings.extend(switch.split(", ").map(|setting| setting.replacen(": ", "=", 1)));
        }
        Some(settings)
    }

    /// DEVIATIONS.md.
    pub fn page(&self) -> String {
        let mut out = String::from(PAGE);
        for rule in RULES {
            let _ = writeln!(out, "* {}. {}", rule.what, rule.why);
        }
        out += "\n## Why weir differs\n\n| reason | | switch back |\n|---|---|---|\n";
        for (name, reason) in &self.reasons {
            let switch = reason.switch.as_ref().map(|switch| format!("`{switch}`"));
            let switch = switch.unwrap_or_default();
            let _ = writeln!(out, "| {name} | {} | {switch} |", cell(&reason.text));
        }
        out += "\n## Cases\n\n| file | case | SCG | weir | reason |\n|---|---|---|---|---|\n";
        for entry in &self.entries {
            let side = |value: fn(&Difference) -> &str| {
                let all = entry.differences.iter();
                let lines: Vec<_> =
                    all.map(|it| format!("{}: {}", it.place, plain(value(it)))).collect();
                cell(&lines.join("\u{0}")).replace('\u{0}', "<br>")
            };
            let scg = side(|difference| &difference.scg);
            let weir = side(|difference| &difference.weir);
            let (file, case, reasons) = (&entry.file, cell(&entry.case), entry.reasons.join(", "));
            let _ = writeln!(out, "| {file} | {case} | {scg} | {weir} | {reasons} |");
        }
        out
    }
}

const PAGE: &str = "\
# Where weir differs from Spring Cloud Gateway

<!-- Made from deviations.txt by `crates/weir/tests/compat`; do not edit. -->

Every case below `cases` was recorded from Spring Cloud Gateway 5.0.4 and is replayed against \
weir. A case that is not in the list here gives the same status, fields, body and upstream \
request. A case that is differs in what is shown, and in nothing else. With the settings under \
*switch back*, it does not.

## Never compared

";

fn difference(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix("  ").filter(|line| line.contains(" ≠ "))?;
    line.split_once(": ")
}

/// Without the backquotes that a value may hold.
fn plain(value: &str) -> String {
    value.replace('`', "'")
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('*', "\\*").replace('_', "\\_")
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::Deviations;

    #[test]
    fn the_list_is_written_as_it_is_read() {
        let text = "# About.\n\nreason a\n  Because of it.\n  switch x.y: 1\n\n\
            f/a.txt: one, two => a\n  response line: HTTP/1.1 200 ≠ HTTP/1.1 502\n";
        let list = Deviations::read(text);
        assert_eq!(list.write(), text);
        let page = list.page();
        assert!(page.contains("| a | Because of it. | `x.y: 1` |"), "{page}");
        let row = "| f/a.txt | one, two | response line: HTTP/1.1 200 | response line: HTTP/1.1 502 | a |";
        assert!(page.contains(row), "{page}");
    }
}
