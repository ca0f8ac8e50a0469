//! The cost of one more filter, predicate or subcommand: a file, and two lines in the file that
//! lists its kind.
//!
//! A list that names some of them ("those that change the path") is forgotten by who adds one. What
//! a filter is, it says in its own file.

use weir_testkit::tree::root;

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

#[cfg(test)]
mod tests {
    use super::{check, findings};

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
