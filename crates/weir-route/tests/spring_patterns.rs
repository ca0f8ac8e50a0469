//! Spring's answers to questions about path and host patterns, compared with [`PathPattern`] and
//! [`HostPattern`].
//!
//! `spring-patterns/*.tsv` were written by Spring itself: see `SpringPatternCases.java` there.

use std::collections::{BTreeMap, HashMap};

use weir_route::Vars;
use weir_route::pattern::{HostLabels, HostPattern, PathPattern, PathSegments, RegexCache};

/// Pairs of a pattern and a path or host for which weir deliberately differs, and weir's answer.
const DIFFERS: &[(&str, &str, Option<&str>)] = &[
    // In Spring, an expression that can be empty may match a separator instead of a segment.
    ("/***", "//", None),
    // Java counts UTF-16 units, of which this character has two.
    ("/?", "/%F0%9F%98%80", Some("{}")),
    ("/??", "/%F0%9F%98%80", None),
];

#[test]
fn paths_match_as_in_spring() {
    check(include_str!("spring-patterns/cases.tsv"));
}

#[test]
fn a_trailing_slash_is_tolerated_as_in_spring_6() {
    check(include_str!("spring-patterns/slash.tsv"));
}

fn check(table: &str) {
    let mut wrong = Vec::new();
    let mut texts = Vec::new();
    for row in table.lines() {
        let mut columns = row.split('\t');
        let kind = columns.next().expect("a kind");
        if matches!(kind, "paths" | "hosts") {
            texts = columns.collect();
            continue;
        }
        let pattern = columns.next().expect("a pattern");
        // Such patterns cannot match a path that starts with `/`, except for `**`, which is new in
        // 7.
        let rootless = kind != "host" && !pattern.starts_with('/');
        if rootless && (kind == "slash" || !pattern.starts_with(['*', '{'])) || pattern == "*" {
            continue;
        }
        let matched: HashMap<_, _> = if kind == "host" {
            columns.map(split_answer).collect()
        } else {
            match columns.next() {
                Some("accepted") => columns.map(split_answer).collect(),
                // Spring 6 rejects `**` and `{*name}` at the start, which Spring 7 allows.
                _ if kind == "slash" => continue,
                _ => {
                    if PathPattern::parse(pattern, &RegexCache::default()).is_ok() {
                        wrong.push(format!("{pattern} is refused by Spring"));
                    }
                    continue;
                }
            }
        };
        for text in &texts {
            let differs = DIFFERS.iter().find(|(p, t, _)| (*p, *t) == (pattern, *text));
            let expected = match differs {
                Some((_, _, expected)) => *expected,
                None => matched.get(text).copied(),
            };
            let answer = answer(kind, pattern, text);
            if answer.as_deref() != expected {
                wrong.push(format!("{kind} {pattern} on {text}: {answer:?}, not {expected:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// `/a {v=a}` is path `/a` with variables `{v=a}`.
fn split_answer(answer: &str) -> (&str, &str) {
    answer.split_once(' ').unwrap_or_else(|| panic!("no variables: {answer}"))
}

fn answer(kind: &str, pattern: &str, text: &str) -> Option<String> {
    let regexes = RegexCache::default();
    let mut vars = Vars::default();
    let matched = if kind == "host" {
        let pattern = HostPattern::parse(pattern, true, &regexes).expect("a pattern");
        let host = HostLabels::of(text.as_bytes());
        pattern.capture(&host, &mut vars);
        pattern.matches(&host)
    } else {
        let pattern = PathPattern::parse(pattern, &regexes)
            .unwrap_or_else(|error| panic!("{pattern}: {error:?}"))
            .tolerating_trailing_slash(kind == "slash");
        let path = PathSegments::of(text.as_bytes());
        pattern.capture(&path, &mut vars);
        pattern.matches(&path)
    };
    let vars: BTreeMap<_, _> = vars.iter().collect();
    let vars: Vec<_> = vars.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let vars = vars.join(", ").replace('\n', "\\n");
    (matched == Ok(true)).then(|| format!("{{{vars}}}"))
}
