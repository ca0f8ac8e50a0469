//! Lists in text for people.

use std::fmt;

/// `[a, b]`.
pub(super) fn bracketed(list: &[impl fmt::Display]) -> String {
    let texts: Vec<_> = list.iter().map(ToString::to_string).collect();
    format!("[{}]", texts.join(", "))
}

/// `` `a`, `b` ``, or `absent`; safe to print.
pub(super) fn quoted_list<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let texts: Vec<_> = values.map(|value| format!("`{}`", value.escape_debug())).collect();
    if texts.is_empty() { "absent".to_owned() } else { texts.join(", ") }
}
