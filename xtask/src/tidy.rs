//! Sizes, headers and words of the sources.

use weir_testkit::tree::{files, shown};

const LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;
const COLUMNS_MAX: usize = 100;

/// Files allowed to be longer than [`LINES_MAX`]. This list only shrinks.
const LONG_FILES: &[&str] = &[];
/// Functions allowed to be longer than [`FUNCTION_LINES_MAX`]. This list only shrinks.
const LONG_FUNCTIONS: &[&str] = &[];

/// Files that may allow `unsafe`, which the workspace denies.
const UNSAFE_FILES: &[&str] = &["crates/weir-server/src/sys.rs"];

/// Everything untidy.
pub fn findings() -> Vec<String> {
    let mut findings = Vec::new();
    for directory in ["crates", "testing", "bench", "xtask", "fuzz"] {
        for path in files(directory, "rs") {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            check(&shown(&path), &text, &mut findings);
        }
    }
    for path in ["crates", "testing", "bench", "xtask"].into_iter().flat_map(|of| files(of, "toml"))
    {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if text.contains("[package]") && !text.contains("[lints]\nworkspace = true") {
            findings.push(format!("{}: does not take the workspace's lints", shown(&path)));
        }
    }
    findings
}

fn check(path: &str, text: &str, findings: &mut Vec<String>) {
    if !text.starts_with("//!") && !text.starts_with("#!") {
        findings.push(format!("{path}:1: starts without a `//!` line on what it is for"));
    }
    let lines = text.lines().count();
    if lines > LINES_MAX && !LONG_FILES.contains(&path) {
        findings.push(format!("{path}: {lines} lines, {LINES_MAX} allowed"));
    }
    let allows = ["allow(unsafe", "expect(unsafe"].iter().any(|words| text.contains(words));
    if allows && !UNSAFE_FILES.contains(&path) && path != "xtask/src/tidy.rs" {
        findings.push(format!("{path}: allows unsafe code"));
    }
    for (n, line) in text.lines().enumerate() {
        // rustfmt limits code; a literal may be as long as its content.
        let comment = line.trim_start().starts_with("//");
        if comment && line.chars().count() > COLUMNS_MAX {
            findings.push(format!("{path}:{}: more than {COLUMNS_MAX} columns", n + 1));
        }
    }
    for (line, name, length) in functions(text) {
        let known = format!("{path}::{name}");
        if length > FUNCTION_LINES_MAX && !LONG_FUNCTIONS.contains(&known.as_str()) {
            findings.push(format!("{path}:{line}: `{name}` has {length} lines"));
        }
    }
}

/// Functions as (line, name, lines), found by the indentation of rustfmt.
fn functions(text: &str) -> Vec<(usize, String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let Some(name) = function_name(line.trim_start()) else { continue };
        let end = format!("{}}}", " ".repeat(indent));
        let length = lines[start..].iter().position(|line| {
            *line == end || line.ends_with(';') && line.len() - line.trim_start().len() == indent
        });
        if let Some(length) = length {
            found.push((start + 1, name.to_owned(), length + 1));
        }
    }
    found
}

fn function_name(line: &str) -> Option<&str> {
    let mut rest = line;
    for word in ["pub(crate) ", "pub(super) ", "pub ", "const ", "async ", "unsafe "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    rest.strip_prefix("fn ")?.split(['(', '<']).next()
}

#[cfg(test)]
mod tests {
    use super::{check, findings};

    #[test]
    fn the_sources_are_tidy() {
        assert_eq!(findings(), Vec::<String>::new());
    }

    #[test]
    fn untidy_sources_are_found() {
        let (body, comment) = ("    x();\n".repeat(80), "y".repeat(101));
        let long = format!("fn f() {{\n{body}}}\n// {comment}\n");
        let mut found = Vec::new();
        check("a.rs", &long, &mut found);
        assert_eq!(found.len(), 3, "{found:?}");
    }
}
