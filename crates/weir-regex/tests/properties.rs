//! No expression causes a panic.

use proptest::prelude::*;
use weir_regex::{Flags, JavaRegex, Replacement};

/// Random texts that resemble expressions.
fn expression() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[ab\\n]",
        "[.*+?^$|()]",
        "\\\\[dwsbBAzZhRQE1n]",
        "\\[[a-c^&\\[\\]-]{0,5}\\]",
        "\\{[0-3],?[0-3]?\\}",
        "\\(\\?[:=!>i-]",
        "\\(\\?<[=!n]>?",
        "\\)",
    ];
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_expression_panics(
        source in expression(),
        text in "[ab\\r\\né]{0,8}",
    ) {
        let flags = Flags { ignore_case: source.len() % 2 == 0, ..Flags::default() };
        match JavaRegex::with_flags(&source, flags) {
            Ok(regex) => {
                let full = regex.full_match(&text);
                let captures = regex.full_captures(&text);
                prop_assert_eq!(full, captures.as_ref().map(Option::is_some).map_err(|e| *e));
                if let Ok(Some(groups)) = captures {
                    prop_assert_eq!(groups.get(0), Some(text.as_str()));
                }
                if let Ok(with) = Replacement::parse("<$0>", &regex) {
                    let replaced = regex.replace_all(&text, &with);
                    let kept = replaced.map(|text| text.replace(['<', '>'], ""));
                    prop_assert!(kept.is_err() || kept == Ok(text.clone()));
                }
            }
            Err(error) => prop_assert!(error.column <= source.len(), "{:?}", error),
        }
    }
}
