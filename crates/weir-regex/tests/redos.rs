//! ReDoS: each malicious expression is rejected, or its match ends within the step limit, with a
//! result or an error. A hang fails the test by never ending.

use weir_regex::{JavaRegex, RegexError, Replacement};

/// Expressions with exponential or polynomial time in a backtracking engine, each with the unit of
/// an attacking text.
const EVIL: &[(&str, &str)] = &[
    ("(a+)+b", "a"),
    ("(a|a)*b", "a"),
    ("(a|aa)+$", "a"),
    ("(.*)*x", "a"),
    ("(.*a){20}", "a"),
    ("([a-zA-Z]+)*\\d", "a"),
    ("(x+x+)+y", "x"),
    ("^(([a-z])+.)+[A-Z]([a-z])+$", "a"),
    ("(\\w+\\s?)*\\.", "a "),
    ("a*a*a*a*a*a*b", "a"),
    // Expressions that need backtracking: look-around, reference, possessive or atomic group.
    ("(?=(a+)+b)a", "a"),
    ("(a+)+\\1b", "a"),
    ("(?:(a+)+)(?!c)b", "a"),
    ("(?<=a)(a+)+b", "a"),
    ("(?>(a+)+)b", "a"),
    ("(a++)+b", "a"),
    ("((a*)*)*\\1b", "a"),
    ("(?=.*b)(?:a|a)*c", "a"),
];

#[test]
fn every_match_ends() {
    for (source, unit) in EVIL {
        let regex = JavaRegex::new(source).unwrap_or_else(|why| panic!("{source}: {why:?}"));
        for count in [10, 30, 1_000, 8_000] {
            let text = format!("{}!", unit.repeat(count));
            let ended = |result: Result<bool, RegexError>| {
                assert!(
                    matches!(result, Ok(false) | Err(RegexError::Steps)),
                    "{source} {result:?}"
                );
            };
            ended(regex.full_match(&text));
            ended(regex.full_captures(&text).map(|groups| groups.is_some()));
        }
    }
}

#[test]
fn what_would_be_too_large_is_refused() {
    let deep = format!("{}a{}", "(".repeat(5_000), ")".repeat(5_000));
    let classes = "[a-z&&[".repeat(5_000);
    let long = "a".repeat(20_000);
    let alternatives = "a|".repeat(8_191);
    let all = [
        "(a{1000}){1000}",
        "((a{100}){100}){100}",
        "(?:a?){100000}",
        "\\p{L}{5000}",
        "a{2147483647}",
        "a{99999999999999999999}",
        &deep,
        &classes,
        &long,
    ];
    for source in all {
        assert!(JavaRegex::new(source).is_err(), "{source:.40}");
    }
    assert!(JavaRegex::new(&alternatives).is_ok());
}

#[test]
fn replacing_is_bounded_over_all_matches() {
    let check = |source: &str, ends: bool| {
        let regex = JavaRegex::new(source).expect("an expression");
        let with = Replacement::parse("b", &regex).expect("a replacement");
        let all = regex.replace_all(&"a".repeat(8 * 1024), &with);
        assert_eq!(all.err(), (!ends).then_some(RegexError::Steps), "{source}");
    };
    check("a", true);
    check("(a)", true);
    check("(?<=a)a(?=a)", true);
    check("a{3}", true);
    check(".*", true);
    // Each match reads the whole rest, in any engine.
    check("(?=(a*b)?)a", false);
    check("a(.*b)?", false);
    check("(a)(?=(a)(a)?(a*b)?(c)?(d)?(e)?(f)?(g)?(h)?)", false);
}
