//! `fallback` in the metadata of a route or group: an API definition answers what the upstream
//! lacks. Equivalent to the filter MockFallback after the other filters of the route.

use std::borrow::Cow;

use weir_mock::ApiSources;
use weir_route::{NamedArgs, RouteDefinition, parse_shortcut};

use super::metadata::text_of;
use super::problem::{Part, Problem};
use crate::diagnostic::Code;

const FALLBACK: &str = "fallback";
const FILTER: &str = "MockFallback";
const SCHEME: &str = "mock";

/// The filters `written` of a route, with the MockFallback that the metadata of `whole` defines.
/// Values that are not mocks are ignored: they may belong to other readers of the metadata.
pub(super) fn with_fallback<'d>(
    written: &'d [NamedArgs],
    whole: &RouteDefinition,
    definitions: Option<&ApiSources>,
    problems: &mut Vec<Problem>,
) -> Cow<'d, [NamedArgs]> {
    let Some(name) = whole.metadata.get(FALLBACK).map(text_of).and_then(definition_of) else {
        return Cow::Borrowed(written);
    };
    let mut wrong = |message: String, help: String| {
        let part = Part::Metadata(FALLBACK.to_owned());
        problems.push(Problem::new(Code::InvalidValue, part, message, help));
    };
    if whole.filters.iter().any(|named| named.name == FILTER) {
        let message = format!("`{FALLBACK}` and the filter {FILTER} say the same");
        wrong(message, "keep one of them".to_owned());
    } else if let Some(Err((message, help))) = definitions.map(|all| all.source(&name)) {
        wrong(message, format!("{help}; `mock` is all of `weir.mock.apis`"));
    } else if let Ok(named) = parse_shortcut(&format!("{FILTER}={name}"), false) {
        return Cow::Owned([written, &[named]].concat());
    }
    Cow::Borrowed(written)
}

/// The definition of `mock` or `mock://NAME`.
fn definition_of(text: String) -> Option<String> {
    let text = text.trim();
    if text == SCHEME {
        return Some("all".to_owned());
    }
    let name = text.strip_prefix(SCHEME)?.strip_prefix("://")?.trim_end_matches('/');
    Some(name.to_owned())
}
