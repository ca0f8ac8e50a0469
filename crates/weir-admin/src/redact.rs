//! Removes secrets from explanations: values of Authorization, Cookie and the like.

use weir_config::is_secret;

use crate::explanation::{Explanation, Question};

const HIDDEN: &str = "******";
/// Shorter parts of a value are not secret on their own, and occur in too many words.
const PART_BYTES_MIN: usize = 4;

/// Replaces the values of all secret fields in `told`, including those of the question.
pub(crate) fn conceal(told: &mut Explanation, question: &Question) {
    for step in &mut told.filters {
        step.does = conceal_quoted(&step.does);
        for change in &mut step.changes {
            *change = conceal_line(change);
        }
    }
    if let Some(head) = &mut told.head {
        *head = head.split('\n').map(conceal_line).collect::<Vec<_>>().join("\n");
    }
    let fields = question.headers.iter().filter(|(name, _)| is_secret_field(name));
    let parts: Vec<&str> = fields.flat_map(|(_, value)| parts(value)).collect();
    for reason in told.candidates.iter_mut().flat_map(|candidate| &mut candidate.reasons) {
        for part in &parts {
            *reason = reason.replace(part, HIDDEN);
        }
    }
}

fn is_secret_field(name: &str) -> bool {
    is_secret(name) || ["cookie", "set-cookie"].iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// A value and its parts: a token without its scheme, the values of cookies.
fn parts(value: &str) -> impl Iterator<Item = &str> {
    let pieces = value.split([' ', ';', '=']).map(str::trim);
    std::iter::once(value).chain(pieces).filter(|part| part.len() >= PART_BYTES_MIN)
}

/// `Name: value` of a head, perhaps with a sign in front.
fn conceal_line(line: &str) -> String {
    let start = if line.starts_with("+ ") || line.starts_with("- ") { 2 } else { 0 };
    let name = line.get(start..).and_then(|rest| rest.split_once(": ")).map(|(name, _)| name);
    match name.filter(|name| is_secret_field(name)) {
        Some(name) => {
            let sign = line.get(..start).unwrap_or_default();
            format!("{sign}{name}: {HIDDEN}")
        }
        None => line.to_owned(),
    }
}

/// Conceals secrets in a filter's description, where names and values stand in backticks.
fn conceal_quoted(text: &str) -> String {
    let name_of = |quoted: &str| quoted.split(": ").next().unwrap_or_default().to_owned();
    let quoted = text.split('`').skip(1).step_by(2);
    let Some(name) = quoted.map(name_of).find(|name| is_secret_field(name)) else {
        return text.to_owned();
    };
    let conceal = |(n, piece): (usize, &str)| match piece.strip_prefix(&*name) {
        _ if n % 2 == 0 => piece.to_owned(),
        Some("") => piece.to_owned(),
        Some(rest) if rest.starts_with(": ") => format!("{name}: {HIDDEN}"),
        _ => HIDDEN.to_owned(),
    };
    text.split('`').enumerate().map(conceal).collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::{conceal_line, conceal_quoted};

    #[test]
    fn secret_fields_have_no_value() {
        let check = |line: &str, expected: &str| assert_eq!(conceal_line(line), expected);
        check("Authorization: Bearer abc", "Authorization: ******");
        check("+ cookie: a=b", "+ cookie: ******");
        check("- X-Api-Key: abc", "- X-Api-Key: ******");
        check("+ Accept: */*", "+ Accept: */*");
        check("GET /a HTTP/1.1", "GET /a HTTP/1.1");
    }

    #[test]
    fn what_a_filter_says_has_none_either() {
        let check = |text: &str, expected: &str| assert_eq!(conceal_quoted(text), expected);
        check(
            "adds the header `Authorization: Basic abc` to the request",
            "adds the header `Authorization: ******` to the request",
        );
        check(
            "sets the request header `X-Api-Key` to `abc`",
            "sets the request header `X-Api-Key` to `******`",
        );
        check("sets the path to `/a`", "sets the path to `/a`");
    }
}
