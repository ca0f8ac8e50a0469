//! The cost of one more filter, predicate or subcommand: a file, and two lines in the file that
//! lists its kind. The cost of one more property of weir's own that sets a field of the settings:
//! its row; no other code names it.
//!
//! A list that names some of them ("those that change the path") is forgotten by who adds one. What
//! a filter is, it says in its own file.

use std::path::Path;

use weir_testkit::tree::{files, root, shown};

/// The file that lists each kind, and the macro that does.
const KINDS: &[(&str, &str)] = &[
    ("crates/weir-filter/src/filter/mod.rs", "filters! {"),
    ("crates/weir-route/src/predicate/mod.rs", "predicates! {"),
    ("crates/weir/src/main.rs", "commands! {"),
];
/// The `mod` line and the line of the macro.
const LINES: usize = 2;
/// Named elsewhere, too. This list only shrinks.
const NAMED: &[&str] = &[
    // The index draws one route of each group.
    "Weight",
];

/// The files with the rows of properties.
const ROWS: &str = "crates/weir-config/src/property";
/// Properties that other code than their row names, too. This list only shrinks.
const NAMED_PROPERTIES: &[&str] = &[
    // Named in messages about what the system refuses.
    "weir.server.receive-buffer-size",
    "weir.server.send-buffer-size",
    // Read before the settings are made, or asked whether they are set.
    "weir.store.path",
    "weir.admin.port",
    "weir.discovery.answer-bytes-max",
];

/// Every filter, predicate or subcommand that its kind's list names more often than need be.
pub fn findings() -> Vec<String> {
    let read = |file: &str| std::fs::read_to_string(root().join(file)).unwrap_or_default();
    KINDS.iter().flat_map(|(file, list)| check(file, &read(file), list)).collect()
}

fn check(file: &str, text: &str, list: &str) -> Vec<String> {
    let members: Vec<_> = members(text, list).collect();
    if members.is_empty() {
        return vec![format!("{file}: no `{list}`")];
    }
    let costly = members.into_iter().filter(|(_, name)| !NAMED.contains(name));
    let costly = costly.filter_map(|(module, name)| {
        let named = text.lines().filter(|line| names(line, module) || names(line, name)).count();
        (named > LINES)
            .then(|| format!("{file}: {named} lines name {name}: say in {module}.rs what it is"))
    });
    costly.collect()
}

/// Module and name of each line of the list.
fn members<'t>(text: &'t str, list: &str) -> impl Iterator<Item = (&'t str, &'t str)> {
    let body = text.split_once(&format!("\n{list}\n")).map_or("", |(_, rest)| rest);
    body.lines().take_while(|line| *line != "}").filter_map(|line| {
        let (module, rest) = line.trim().split_once("::")?;
        Some((module, words(rest).next()?))
    })
}

/// Whether the code of this line contains the word; re-exports do not count.
fn names(line: &str, word: &str) -> bool {
    let line = line.trim();
    let passes_on = line.starts_with("pub") && line.contains(" use ");
    !line.starts_with("//") && !passes_on && words(line).any(|one| one == word)
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    let parts = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    parts.filter(|part| !part.is_empty())
}

/// Every property that code names besides its row.
pub fn property_findings() -> Vec<String> {
    let sources: Vec<_> = files("crates", "rs").into_iter().filter(|path| is_code(path)).collect();
    let sources: Vec<(String, String)> = sources
        .iter()
        .map(|path| (shown(path), std::fs::read_to_string(path).unwrap_or_default()))
        .collect();
    let rows = sources.iter().filter(|(file, _)| file.starts_with(ROWS));
    let names: Vec<_> = rows.flat_map(|(_, text)| properties(text)).collect();
    let lines: Vec<_> = sources.iter().flat_map(|(file, text)| naming(file, text)).collect();
    if names.is_empty() {
        return vec![format!("{ROWS}: no properties")];
    }
    let named_once = names.into_iter().filter(|name| !NAMED_PROPERTIES.contains(name));
    named_once.filter_map(|name| elsewhere(name, &lines)).collect()
}

/// Every line of a diff in CONTRIBUTING.md that the file it names does not have.
pub fn diff_findings() -> Vec<String> {
    let page = std::fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap_or_default();
    let diffs: Vec<&str> = page.split("```diff\n").skip(1).collect();
    if diffs.is_empty() {
        return vec!["CONTRIBUTING.md: no diff".to_owned()];
    }
    diffs.into_iter().flat_map(missing).collect()
}

/// The first line of a diff is a comment with the file's name below `crates`.
fn missing(diff: &str) -> Vec<String> {
    let mut lines = diff.lines().take_while(|line| *line != "```");
    let first = lines.next().unwrap_or_default().trim_start_matches([' ', '/']);
    let file = first.split([' ', ';', ',']).next().unwrap_or_default();
    let text = std::fs::read_to_string(root().join("crates").join(file)).unwrap_or_default();
    let has = |wanted: &str| text.lines().any(|line| line.trim() == wanted);
    let lines = lines.map(|line| line.trim_start_matches('+').trim());
    lines
        .filter(|line| !has(line))
        .map(|line| format!("CONTRIBUTING.md: {file} has no line `{line}`"))
        .collect()
}

fn is_code(path: &Path) -> bool {
    let shown = shown(path);
    shown.contains("/src/") && !shown.contains("tests")
}

/// weir's own properties that set a field of the settings.
fn properties(text: &str) -> impl Iterator<Item = &str> {
    text.split("PropertySpec::").filter(|row| row.contains("Usage::Sets")).filter_map(|row| {
        let name = row.split('"').nth(1)?;
        name.starts_with("weir.").then_some(name)
    })
}

/// The lines of code that name a property of weir's own, each with its file.
fn naming<'t>(file: &'t str, text: &'t str) -> impl Iterator<Item = (&'t str, &'t str)> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| line.contains("\"weir."));
    lines.filter(|line| !line.trim_start().starts_with("//")).map(move |line| (file, line))
}

fn elsewhere(name: &str, lines: &[(&str, &str)]) -> Option<String> {
    let quoted = format!("\"{name}\"");
    let places = lines.iter().filter(|(_, line)| line.contains(&quoted)).map(|(file, _)| *file);
    let places: Vec<&str> = places.collect();
    (places.len() > 1).then(|| format!("{name} is named in {}", places.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::{
        check, diff_findings, elsewhere, findings, missing, naming, properties, property_findings,
    };

    #[test]
    fn the_diffs_of_contributing_are_as_the_tree_has_them() {
        assert_eq!(diff_findings(), Vec::<String>::new());
        let found = missing(" // weir/src/main.rs; a note\n+mod caches;\n+mod no_such;\n```\n");
        assert_eq!(found, ["CONTRIBUTING.md: weir/src/main.rs has no line `mod no_such;`"]);
    }

    #[test]
    fn a_property_is_named_in_its_row_only() {
        assert_eq!(property_findings(), Vec::<String>::new());
    }

    #[test]
    fn a_property_named_elsewhere_is_found() {
        let row = "PropertySpec::new(\n\"weir.a\", Kind::Bool, None, \"A.\", Usage::Sets(f))";
        let read = "PropertySpec::new(\"weir.b\", Kind::Tree, None, \"B.\", Usage::Read)";
        let rows = format!("{row}, {read}");
        assert_eq!(properties(&rows).collect::<Vec<_>>(), ["weir.a"]);
        let mut lines: Vec<_> = naming("rows", &rows).collect();
        assert_eq!(elsewhere("weir.a", &lines), None);
        lines.extend(naming("other", "// \"weir.a\"\nfind(\"weir.a\")"));
        let found = elsewhere("weir.a", &lines);
        assert_eq!(found.as_deref(), Some("weir.a is named in rows, other"));
    }

    #[test]
    fn a_filter_predicate_or_subcommand_is_one_file_and_two_lines() {
        assert_eq!(findings(), Vec::<String>::new());
    }

    #[test]
    fn a_list_that_names_some_is_found() {
        let plain =
            "mod a_b;\npub use a_b::AB;\n// AB\nall! {\n    a_b::AB,\n    c::C in Box,\n}\n";
        assert_eq!(check("f", plain, "all! {"), Vec::<String>::new());
        let more = format!("{plain}fn is_small() {{\n    matches!(self, Self::AB(_))\n}}\n");
        let found = check("f", &more, "all! {");
        assert_eq!(found, ["f: 3 lines name AB: say in a_b.rs what it is"]);
        assert_eq!(check("f", "", "all! {"), ["f: no `all! {`"]);
    }
}
