//! What comes from others: licences, sources, banned and doubled crates, by `deny.toml`.
//!
//! `cargo deny` reads the same file; this check needs nothing but cargo. Advisories are for
//! `cargo deny check advisories`, which needs its database.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use crate::tree::root;

/// Every dependency that deny.toml does not let in.
pub fn findings() -> Vec<String> {
    let rules = std::fs::read_to_string(root().join("deny.toml")).unwrap_or_default();
    let output = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["metadata", "--locked", "--format-version", "1"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .output();
    let metadata = output.ok().and_then(|output| serde_json::from_slice(&output.stdout).ok());
    match metadata {
        Some(metadata) => judge(&rules, &metadata),
        None => vec!["cargo metadata does not work".to_owned()],
    }
}

fn judge(rules: &str, metadata: &Value) -> Vec<String> {
    let (allow, deny) = (list(rules, "licenses", "allow"), list(rules, "bans", "deny"));
    let skip = list(rules, "bans", "skip");
    let mut findings = Vec::new();
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let text = |key: &str| package[key].as_str().unwrap_or_default();
        let (name, version, source) = (text("name"), text("version"), text("source"));
        versions.entry(name).or_default().push(version);
        if !is_allowed(text("license"), &allow) {
            findings.push(format!("{name}: the licence `{}` is not allowed", text("license")));
        }
        if deny.contains(&name) {
            findings.push(format!("{name}: banned"));
        }
        // None is this repository.
        let registry = source.starts_with("registry+") && source.ends_with("crates.io-index");
        if !source.is_empty() && !registry {
            findings.push(format!("{name}: not from the registry but from {source}"));
        }
    }
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        let known = versions.iter().filter(|v| skip.contains(&&*format!("{name}@{v}"))).count();
        if known + 1 < versions.len() {
            findings.push(format!("{name}: several versions, {}", versions.join(" and ")));
        }
    }
    for entry in skip {
        let (name, version) = entry.split_once('@').unwrap_or((entry, ""));
        let doubled = versions.get(name).is_some_and(|all| all.len() > 1 && all.contains(&version));
        if !doubled {
            findings.push(format!("deny.toml: `{entry}` need not be skipped any more"));
        }
    }
    findings
}

/// The quoted entries of `key = [ … ]` in a section, one a line.
fn list<'t>(text: &'t str, section: &str, key: &str) -> Vec<&'t str> {
    let section = text.split(&format!("[{section}]\n")).nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    let entries = section.split(&format!("{key} = [\n")).nth(1).unwrap_or_default();
    let entries = entries.split("\n]").next().unwrap_or_default();
    entries.lines().filter_map(|line| line.split('"').nth(1)).collect()
}

/// Whether an SPDX expression can be met with licences of `allow`; `/` is an old `OR`.
fn is_allowed(expression: &str, allow: &[&str]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    any_of(&mut rest, allow) && rest.is_empty()
}

fn any_of(words: &mut &[&str], allow: &[&str]) -> bool {
    let mut met = all_of(words, allow);
    while let ["OR", rest @ ..] = words {
        *words = rest;
        met |= all_of(words, allow);
    }
    met
}

fn all_of(words: &mut &[&str], allow: &[&str]) -> bool {
    let mut met = one(words, allow);
    while let ["AND", rest @ ..] = words {
        *words = rest;
        met &= one(words, allow);
    }
    met
}

fn one(words: &mut &[&str], allow: &[&str]) -> bool {
    match words {
        ["(", rest @ ..] => {
            *words = rest;
            let met = any_of(words, allow);
            *words = words.strip_prefix(&[")"]).unwrap_or(words);
            met
        }
        // An exception only adds permissions.
        [licence, "WITH", _, rest @ ..] | [licence, rest @ ..] => {
            let met = allow.contains(licence);
            *words = rest;
            met
        }
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{is_allowed, judge};

    #[test]
    fn the_dependencies_are_allowed() {
        assert_eq!(super::findings(), Vec::<String>::new());
    }

    #[test]
    fn expressions_are_read() {
        let check = |expression: &str, expected: bool| {
            assert_eq!(is_allowed(expression, &["MIT", "Zlib"]), expected, "{expression}");
        };
        check("MIT", true);
        check("GPL-3.0", false);
        check("MIT OR GPL-3.0", true);
        check("GPL-3.0/MIT", true);
        check("MIT AND GPL-3.0", false);
        check("(GPL-3.0 OR MIT) AND Zlib", true);
        check("GPL-3.0 OR MIT AND Apache-2.0", false);
        check("MIT WITH LLVM-exception", true);
        check("", false);
    }

    #[test]
    fn what_is_not_allowed_is_found() {
        let rules = "[licenses]\nallow = [\n    \"MIT\",\n]\n[bans]\ndeny = [\n    \"bad\",\n]\n\
                     skip = [\n    \"two@1\",\n    \"gone@1\",\n]\n";
        let package = |name: &str, version: &str, license: &str, source: &str| json!({ "name": name, "version": version, "license": license, "source": source });
        let metadata = json!({ "packages": [
            package("fine", "1", "MIT", "registry+https://example.org/crates.io-index"),
            package("bad", "1", "MIT", "git+https://example.org/bad"),
            package("gpl", "1", "GPL-3.0", ""),
            package("two", "1", "MIT", ""),
            package("two", "2", "MIT", ""),
            package("three", "1", "MIT", ""),
            package("three", "2", "MIT", ""),
        ] });
        let found = judge(rules, &metadata).join("\n");
        for part in ["bad: banned", "bad: not from", "gpl: the lic", "three: several", "gone@1`"] {
            assert!(found.contains(part), "{part}: {found}");
        }
        assert_eq!(found.lines().count(), 5, "{found}");
    }
}
