//! Findings as `weir check` prints them: the most severe first, each kind once, with text to paste.

use std::collections::HashMap;
use std::fmt::Write as _;

use weir_config::{Category, Code, Diagnostic, Loaded, Severity, Style, render};

/// The maximum number of further findings of one kind that get a line each.
const MORE_MAX: usize = 8;
/// Lines to paste.
const PASTED_MAX: usize = 40;

/// Everything but differences from Spring Cloud Gateway: errors, then warnings, then notes, each in
/// the order of the texts. Findings that differ only in names and places are merged.
pub fn as_text(loaded: &Loaded, style: Style) -> String {
    let mut kinds: Vec<Vec<&Diagnostic>> = Vec::new();
    let mut known: HashMap<(Code, Severity, String), usize> = HashMap::new();
    let is_told = |finding: &&Diagnostic| finding.code.category() != Category::Deviation;
    for finding in loaded.diagnostics.iter().filter(is_told) {
        let key = (finding.code, finding.severity, advice(finding));
        let at = *known.entry(key).or_insert(kinds.len());
        match kinds.get_mut(at) {
            Some(kind) => kind.push(finding),
            None => kinds.push(vec![finding]),
        }
    }
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.first().map(|finding| finding.severity)));
    let mut out = String::new();
    for kind in &kinds {
        let Some((first, more)) = kind.split_first() else { continue };
        let _ = writeln!(out, "{}", render(first, loaded.sources(), style));
        repeats(&mut out, loaded, first, more);
        out.push('\n');
    }
    paste(&mut out, loaded);
    out
}

/// The advice of a finding, without the names in its message: `set `x`` and `set `y`` are the same
/// advice.
fn advice(finding: &Diagnostic) -> String {
    let mut advice = finding.help.clone();
    for name in finding.message.split('`').skip(1).step_by(2) {
        let name = name.trim_start_matches("${").trim_end_matches('}');
        // Letters alone would be found inside of other words.
        if name.len() > 1 {
            advice = advice.replace(name, "…");
        }
    }
    advice
}

/// The places of further findings of the kind of `first`, and their messages where they differ.
fn repeats(out: &mut String, loaded: &Loaded, first: &Diagnostic, more: &[&Diagnostic]) {
    if more.is_empty() {
        return;
    }
    let count = more.len();
    if more.iter().all(|finding| finding.message == first.message) {
        let shown = more.iter().take(MORE_MAX);
        let places: Vec<String> = shown.map(|finding| place(loaded, first, finding)).collect();
        let rest = if count > MORE_MAX { ", …" } else { "" };
        let _ = writeln!(out, "   and {count} more: {}{rest}", places.join(", "));
        return;
    }
    let _ = writeln!(out, "   and {count} more of the kind:");
    for finding in more.iter().take(MORE_MAX) {
        let _ = writeln!(out, "     {} {}", place(loaded, first, finding), finding.message);
    }
    if count > MORE_MAX {
        let _ = writeln!(out, "     and {} more, all with --json", count - MORE_MAX);
    }
}

/// `line:column`, with the file if it is not that of `first`.
fn place(loaded: &Loaded, first: &Diagnostic, finding: &Diagnostic) -> String {
    let Some(at) = finding.at else { return String::new() };
    let place = loaded.sources().place(at);
    match first.at {
        Some(other) if other.source == at.source => format!("{}:{}", place.line, place.column),
        _ => place.to_string(),
    }
}

/// A block with every property that settles a finding, to be pasted.
fn paste(out: &mut String, loaded: &Loaded) {
    let mut lines: Vec<&str> = Vec::new();
    for line in loaded.diagnostics.iter().flat_map(|finding| &finding.paste) {
        if !lines.contains(&line.as_str()) {
            lines.push(line);
        }
    }
    if lines.is_empty() {
        return;
    }
    out.push_str("To paste into the configuration, and to complete:\n\n");
    for line in lines.iter().take(PASTED_MAX) {
        let _ = writeln!(out, "  {line}");
    }
    if lines.len() > PASTED_MAX {
        let _ = writeln!(out, "  # and {} more", lines.len() - PASTED_MAX);
    }
    out.push('\n');
}
