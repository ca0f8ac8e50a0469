//! Answers of a JDK to questions about regular expressions, compared with [`JavaRegex`].
//!
//! `java-regex/cases.tsv` was written by a JDK 17: see `java-regex/JavaRegexCases.java`.

use weir_regex::{JavaRegex, Replacement};

/// Rows in which weir deliberately differs: kind, expression, text, weir's answer.
const DIFFERS: &[(&str, &str, &str, &str)] = &[
    // Java fails on replacing, weir when it reads the replacement, even if nothing matches.
    ("replace", "a", "b", "failure"),
];

#[test]
fn answers_are_those_of_java() {
    let mut wrong = Vec::new();
    let rows = include_str!("java-regex/cases.tsv").lines();
    for row in rows.clone() {
        let columns: Vec<String> = row.split('\t').map(unescape).collect();
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let (kind, expression, text, expected, answer) = match columns.as_slice() {
            [kind @ "full", expression, text, expected] => {
                (kind, expression, *text, expected, full(expression, text))
            }
            [kind @ "replace", expression, text, with, expected] => {
                (kind, expression, *text, expected, replace(expression, text, with))
            }
            [kind @ "syntax", expression, expected] => {
                (kind, expression, "", expected, syntax(expression))
            }
            _ => panic!("not a row: {row}"),
        };
        let differs = DIFFERS.iter().find(|(k, e, t, _)| (k, e, *t) == (kind, expression, text));
        let expected = differs.map_or(*expected, |(_, _, _, expected)| expected);
        if answer != expected {
            wrong.push(format!("{row}\n    weir: {answer:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.count(), wrong.join("\n"));
}

fn full(expression: &str, text: &str) -> String {
    let Ok(regex) = JavaRegex::new(expression) else { return "refused".to_owned() };
    let found = regex.full_captures(text).expect("few steps");
    assert_eq!(regex.full_match(text), Ok(found.is_some()), "{expression} on {text}");
    let Some(groups) = found else { return "no match".to_owned() };
    let group = |n| groups.get(n).map_or("-".to_owned(), |text| format!("<{text}>"));
    (0..=regex.groups()).map(group).collect()
}

fn replace(expression: &str, text: &str, with: &str) -> String {
    let regex = JavaRegex::new(expression)
        .unwrap_or_else(|error| panic!("{expression} is refused: {error:?}"));
    match Replacement::parse(with, &regex) {
        Ok(with) => format!("={}", regex.replace_all(text, &with).expect("few steps")),
        Err(_) => "failure".to_owned(),
    }
}

fn syntax(expression: &str) -> String {
    let accepted = JavaRegex::new(expression).is_ok();
    if accepted { "accepted".to_owned() } else { "refused".to_owned() }
}

fn unescape(column: &str) -> String {
    let mut text = String::new();
    let mut chars = column.chars();
    while let Some(char) = chars.next() {
        match (char, chars.clone().next()) {
            ('\\', Some('u')) => {
                let code: String = chars.by_ref().skip(2).take_while(|char| *char != '}').collect();
                let code = u32::from_str_radix(&code, 16).expect("a code point");
                text.push(char::from_u32(code).expect("a character"));
            }
            ('\\', Some(escape)) => {
                chars.next();
                text.push(match escape {
                    't' => '\t',
                    'n' => '\n',
                    'r' => '\r',
                    other => other,
                });
            }
            _ => text.push(char),
        }
    }
    text
}
