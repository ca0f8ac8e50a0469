//! Rules: evaluation, syntax errors, and the round trip of printing and parsing.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::Rule;
use crate::{AuthoritySettings, Claims};

fn claims() -> Claims {
    let all = json!({
        "sub": "eve", "scope": "read write:all", "department": "sales", "level": 3, "staff": true,
        "groups": ["a", "b c", 4], "realm_access": {"roles": ["admin"]}, "nothing": null,
        "address": {"country": "SE"},
    });
    let Value::Object(all) = all else { panic!("no object") };
    Claims::new(all, None, &AuthoritySettings::new(None).unwrap())
}

#[test]
fn rules_mean_what_they_say() {
    let check = |text: &str, expected| {
        let rule = Rule::parse(text).unwrap();
        assert_eq!(rule.allows(&claims()), expected, "{text}");
    };
    for text in [
        "authenticated",
        "scope:read",
        "scope:write:all",
        "authority:SCOPE_read",
        "role:admin",
        "claim:department=sales",
        "claim:level=3",
        "claim:staff=true",
        "claim:groups=a",
        "claim:groups=\"b c\"",
        "claim:groups=4",
        "claim:address.country=SE",
        "claim:department",
        "claim:realm_access.roles=admin",
        "not scope:x",
        "NOT scope:x AND scope:read",
        "scope:x or scope:read and role:admin",
        "(scope:x or scope:read) and role:admin",
        " ( ( authenticated ) ) ",
        "not(scope:x)and scope:read",
    ] {
        check(text, true);
    }
    for text in [
        "scope:rea",
        "scope:SCOPE_read",
        "authority:read",
        "authority:ROLE_admin",
        "role:ROLE_admin",
        "claim:department=sale",
        "claim:department=Sales",
        "claim:nothing",
        "claim:absent",
        "claim:groups=b",
        "claim:groups=\"\"",
        "claim:address=SE",
        "not authenticated",
        "not not scope:x",
        "scope:read and scope:x or scope:y",
        "scope:read and (scope:x or scope:y)",
        "not (scope:x or scope:read)",
    ] {
        check(text, false);
    }
}

#[test]
fn a_role_is_also_an_authority() {
    let claims = Claims::of_principal("eve", vec!["ROLE_admin".to_owned(), "SCOPE_x".to_owned()]);
    assert!(Rule::parse("role:admin and scope:x").unwrap().allows(&claims));
    assert!(!Rule::parse("role:user").unwrap().allows(&claims));
}

#[test]
fn what_is_no_rule_is_told_with_its_place() {
    let check = |text: &str, at, part: &str| {
        let error = Rule::parse(text).unwrap_err();
        assert_eq!(error.at, at, "{text}: {error:?}");
        assert!(error.message.contains(part), "{text}: {error:?}");
    };
    check("", 0, "is expected here");
    check("  ", 2, "is expected here");
    check("scope", 0, "is expected here");
    check("scope:", 6, "a value");
    check("scopes:x", 0, "`scopes` is not known");
    check("scope:a scope:b", 8, "`and`, `or` or the end");
    check("scope:a and", 11, "is expected here");
    check("scope:a and or", 12, "is expected here");
    check("(scope:a", 0, "not closed");
    check("scope:a)", 7, "closes nothing");
    check("claim:=x", 6, "a value");
    check("claim:a=", 8, "a value");
    check("claim:a=\"x", 8, "quote is not closed");
    check("claim:a=x\"y\"", 8, "quotes stand around");
    check("claim:a=\"x\"y", 11, "a space");
    check("hasRole('x')", 0, "is expected here");
    check(&"not ".repeat(40), 4 * 32, "32 levels");
    check(&"(".repeat(40), 32, "32 levels");
    check(&"x".repeat(5000), 4096, "4096 bytes");
}

fn rules() -> impl Strategy<Value = Rule> {
    let name = "[a-z0-9:/ ().=åä-]{0,6}";
    let leaf = prop_oneof![
        Just(Rule::Authenticated),
        name.prop_map(Rule::Scope),
        name.prop_map(Rule::Authority),
        name.prop_map(Rule::Role),
        name.prop_map(Rule::Claim),
        (name, name).prop_map(|(path, value)| Rule::ClaimIs(path, value)),
    ];
    leaf.prop_recursive(4, 24, 4, |rule| {
        prop_oneof![
            rule.clone().prop_map(|rule| Rule::Not(Box::new(rule))),
            prop::collection::vec(rule.clone(), 2..4).prop_map(Rule::All),
            prop::collection::vec(rule, 2..4).prop_map(Rule::Any),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(rule in rules()) {
        prop_assert_eq!(Rule::parse(&rule.to_string()), Ok(rule));
    }

    #[test]
    fn no_text_is_a_panic(text in "(\\PC|and|or|not|scope:|claim:|[()\"= ]){0,40}") {
        if let Err(error) = Rule::parse(&text) {
            prop_assert!(text.is_char_boundary(error.at.min(text.len())));
        }
    }
}
