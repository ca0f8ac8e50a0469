//! Properties of every input: nothing panics, and the matchers agree with slow reference matchers
//! that share no code with them.

use proptest::prelude::*;
use regex::Regex;
use weir_route::pattern::{
    HostLabels, HostPattern, PathPattern, PathSegments, RegexCache, RegexError,
};
use weir_route::predicate::{BuildContext, PredicateOptions, SPECS};
use weir_route::{Vars, parse_shortcut};

/// One segment of a path pattern, and the equivalent regular expression.
fn segment() -> impl Strategy<Value = (String, String)> {
    prop_oneof![
        "[ab]{1,2}".prop_map(|text| (text.clone(), text)),
        Just(("*".to_owned(), "[^/]+".to_owned())),
        Just(("{v}".to_owned(), "(?<v>[^/]+)".to_owned())),
        Just(("{w:[ab]+}".to_owned(), "(?<w>[ab]+)".to_owned())),
        Just(("?".to_owned(), "[^/]".to_owned())),
        Just(("a*".to_owned(), "a[^/]*".to_owned())),
        Just(("*b?".to_owned(), "[^/]*b[^/]".to_owned())),
        Just(("{x}-{y}".to_owned(), "(?<x>[^/]*)-(?<y>[^/]*)".to_owned())),
        Just(("{x}ab{y}a".to_owned(), "(?<x>[^/]*)ab(?<y>[^/]*)a".to_owned())),
        Just(("a{z:b|ab}*".to_owned(), "a(?<z>b|ab)[^/]*".to_owned())),
    ]
}

const REST: &str = "(?:/[^/]*)*";

/// A path pattern, and the equivalent regular expression.
fn path_pattern() -> impl Strategy<Value = (String, String)> {
    let segments = prop::collection::vec(segment(), 0..4);
    (segments, 0..5_u8).prop_map(|(segments, rest)| {
        let mut pattern = String::new();
        let mut expression = String::new();
        let named_rest = format!("(?<rest>{REST})");
        match rest {
            1 => (pattern.push_str("/**"), expression.push_str(REST)),
            2 => (pattern.push_str("/{*rest}"), expression.push_str(&named_rest)),
            _ => ((), ()),
        };
        for (at, (segment, by_the_book)) in segments.iter().enumerate() {
            pattern.push('/');
            pattern.push_str(segment);
            expression.push('/');
            let last = at + 1 == segments.len() && rest < 3;
            expression.push_str(if last && segment == "*" { "[^/]*" } else { by_the_book });
        }
        match rest {
            3 => (pattern.push_str("/**"), expression.push_str(REST)),
            4 => (pattern.push_str("/{*rest}"), expression.push_str(&named_rest)),
            _ => ((), ()),
        };
        (pattern, format!("^{expression}$"))
    })
}

/// One label of a host pattern, and the equivalent regular expression.
fn label() -> impl Strategy<Value = (String, String)> {
    prop_oneof![
        "[ab]{1,2}".prop_map(|text| (text.clone(), text)),
        Just(("*".to_owned(), "[^.]+".to_owned())),
        Just(("**".to_owned(), String::new())),
        Just(("{v}".to_owned(), "(?<v>[^.]+)".to_owned())),
        Just(("a?".to_owned(), "a[^.]".to_owned())),
        Just(("{w}b*".to_owned(), "(?<w>[^.]*)b[^.]*".to_owned())),
        Just(("{x:[ab]}".to_owned(), "(?<x>[ab])".to_owned())),
    ]
}

fn host_pattern() -> impl Strategy<Value = (String, String)> {
    prop::collection::vec(label(), 1..5).prop_map(|labels| {
        let pattern: Vec<_> = labels.iter().map(|(label, _)| label.as_str()).collect();
        // Each label is followed by a dot in the expression, and so is the host.
        let expression: String = labels
            .iter()
            .map(|(_, by_the_book)| match by_the_book.as_str() {
                "" => "(?:[^.]+\\.)*?".to_owned(),
                label => format!("{label}\\."),
            })
            .collect();
        (pattern.join("."), format!("^{expression}$"))
    })
}

fn captured(expression: &Regex, text: &str) -> Option<Vec<(String, String)>> {
    let captures = expression.captures(text)?;
    let names = expression.capture_names().flatten();
    let value = |name: &str| captures.name(name).expect("took part").as_str().to_owned();
    let mut list: Vec<_> = names.map(|name| (name.to_owned(), value(name))).collect();
    list.sort();
    Some(list)
}

fn published(matched: Result<bool, RegexError>, vars: &Vars) -> Option<Vec<(String, String)>> {
    let mut list: Vec<_> = vars.iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
    list.sort();
    (matched == Ok(true)).then_some(list)
}

proptest! {
    #[test]
    fn paths_match_by_the_book(
        (pattern, expression) in path_pattern(),
        path in "(/[ab-]{0,3}){1,5}",
    ) {
        // A repeated variable is rejected; the reference expression is invalid then, too.
        let Ok(expression) = Regex::new(&expression) else { return Ok(()) };
        let pattern = PathPattern::parse(&pattern, &RegexCache::default()).expect("a pattern");
        let segments = PathSegments::of(path.as_bytes());
        let mut vars = Vars::default();
        pattern.capture(&segments, &mut vars);
        prop_assert_eq!(published(pattern.matches(&segments), &vars), captured(&expression, &path));
        // An encoded path is compared segment by segment, a plain path by its literal prefix first.
        let encoded = PathSegments::of(path.replace('a', "%61").as_bytes());
        for pattern in [pattern.clone(), pattern.tolerating_trailing_slash(true)] {
            prop_assert_eq!(pattern.matches(&segments), pattern.matches(&encoded));
        }
    }

    #[test]
    fn hosts_match_by_the_book(
        (pattern, expression) in host_pattern(),
        host in "[ab]{1,3}(\\.[ab]{1,2}){0,4}",
    ) {
        let Ok(expression) = Regex::new(&expression) else { return Ok(()) };
        let regexes = RegexCache::default();
        let pattern = HostPattern::parse(&pattern, true, &regexes).expect("a pattern");
        let labels = HostLabels::of(host.as_bytes());
        let mut vars = Vars::default();
        pattern.capture(&labels, &mut vars);
        let dotted = format!("{host}.");
        prop_assert_eq!(published(pattern.matches(&labels), &vars), captured(&expression, &dotted));
    }

    #[test]
    fn decoding_makes_no_difference_to_plain_text(path in "(/[a-c;]{0,3}){1,4}") {
        let encoded: String = path.chars().map(|char| match char {
            'a' | 'b' => format!("%{:02X}", char as u32),
            other => other.to_string(),
        }).collect();
        let plain = PathSegments::of(path.as_bytes());
        let decoded = PathSegments::of(encoded.as_bytes());
        prop_assert_eq!(plain.iter().collect::<Vec<_>>(), decoded.iter().collect::<Vec<_>>());
        prop_assert_eq!(plain.text(), decoded.text());
    }

    #[test]
    fn no_pattern_and_no_path_panics(
        pattern in "[/*?{}:.a\\\\\\[\\](é)-]{0,20}",
        path in any::<Vec<u8>>(),
    ) {
        let segments = PathSegments::of(&path);
        let labels = HostLabels::of(&path);
        let regexes = RegexCache::default();
        let mut vars = Vars::default();
        match PathPattern::parse(&pattern, &regexes) {
            Ok(compiled) => {
                prop_assert_eq!(compiled.to_string(), pattern.clone());
                let _ = compiled.matches(&segments);
                compiled.capture(&segments, &mut vars);
            }
            Err(error) => prop_assert!(error.column <= pattern.len(), "{:?}", error),
        }
        match HostPattern::parse(&pattern, false, &regexes) {
            Ok(compiled) => {
                let _ = compiled.matches(&labels);
                compiled.capture(&labels, &mut vars);
            }
            Err(error) => prop_assert!(error.column <= pattern.len(), "{:?}", error),
        }
    }

    #[test]
    fn no_shortcut_panics(text in "(\\PC|[=,#{@}/]){0,30}", which in 0..SPECS.len()) {
        for bare in [true, false] {
            let Ok(written) = parse_shortcut(&text, bare) else { continue };
            let values: Vec<_> = written.args.values().filter_map(|value| value.as_str()).collect();
            let again = format!("{}={}", written.name, values.join(","));
            prop_assert_eq!(parse_shortcut(&again, bare), Ok(written.clone()));
            let options = PredicateOptions::default();
            let context = BuildContext { options: &options, route_id: "r" };
            if let Ok(args) = SPECS[which].bind(&written.args)
                && let Ok(predicate) = (SPECS[which].build)(&args, &context)
            {
                prop_assert!(!predicate.to_string().is_empty());
                let _ = predicate.caution();
            }
        }
    }
}
