//! The parser of placeholders in a text, and of their arguments: literals only, nothing is
//! executed.

use serde_json::{Number, Value};

use super::known::is_known;
use super::node::{NODES_MAX, Node, Piece};
use super::rule::Rule;

/// Arguments of one placeholder at most.
const ARGUMENTS_MAX: usize = 1_000;
/// Bytes between the parentheses of one placeholder, at most.
const WRITTEN_MAX: usize = 1_024;
/// Placeholders within the arguments of others, at most.
const DEPTH_MAX: usize = 8;

/// The prefixes of the path of an echo.
const PLACES: &[&str] =
    &["query.", "path.", "params.", "header.", "headers.", "cookie.", "cookies.", "body."];

/// The parts of a text.
pub(super) fn pieces(text: &str, turns: &mut usize) -> Vec<Piece> {
    pieces_within(text, turns, 0)
}

fn pieces_within(text: &str, turns: &mut usize, depth: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['@', '$', '{', '\\']) {
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        plain.push_str(before);
        if from.starts_with("\\@") {
            plain.push('@');
            rest = from.get(2..).unwrap_or_default();
            continue;
        }
        *turns += 1;
        let found = match depth < DEPTH_MAX && *turns <= NODES_MAX {
            true => echo(from).or_else(|| placeholder(from, turns, depth)),
            false => None,
        };
        let Some((piece, length)) = found else {
            let first = from.chars().next().map_or(0, char::len_utf8);
            plain.push_str(from.get(..first).unwrap_or_default());
            rest = from.get(first..).unwrap_or_default();
            continue;
        };
        if !plain.is_empty() {
            pieces.push(Piece::Plain(std::mem::take(&mut plain)));
        }
        pieces.push(piece);
        rest = from.get(length..).unwrap_or_default();
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        pieces.push(Piece::Plain(plain));
    }
    pieces
}

/// `{{query.a}}`, or `${query.a}` as YApi has it, at the start of the text.
fn echo(text: &str) -> Option<(Piece, usize)> {
    let (open, close) = if text.starts_with("{{") { ("{{", "}}") } else { ("${", "}") };
    let inside = text.strip_prefix(open)?;
    let end = inside.find(close).filter(|end| *end < WRITTEN_MAX)?;
    let path = inside.get(..end)?.trim().to_owned();
    // Other texts use double braces for other purposes.
    if open == "{{" && !PLACES.iter().any(|place| path.starts_with(place)) {
        return None;
    }
    let length = open.len() + end + close.len();
    let written = text.get(..length)?.to_owned();
    Some((Piece::Echo { path, written }, length))
}

/// `@name`, `@name(…)`, `@/a/b` or `@../b`, at the start of the text.
fn placeholder(text: &str, turns: &mut usize, depth: usize) -> Option<(Piece, usize)> {
    let inside = text.strip_prefix('@')?;
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let is_path = inside.starts_with('/') || inside.starts_with("../") || inside.starts_with("./");
    let ends = |c: char| !(is_part(c) || (is_path && (c == '/' || c == '.')));
    let end = inside.find(ends).unwrap_or(inside.len());
    let path = inside.get(..end)?;
    if path.is_empty() {
        return None;
    }
    // A name ends where a known name does, so that `@date-1` is a date and `-1`.
    let plain = path.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(path.len());
    let name = path.get(..plain)?.to_ascii_lowercase();
    if is_known(&name) && !is_path {
        let after = inside.get(plain..)?;
        let (arguments, used) = match closing(after) {
            Some(end) => (arguments(after.get(1..end)?, turns, depth)?, end + 1),
            None => (Vec::new(), 0),
        };
        let length = 1 + plain + used;
        let written = text.get(..length)?.to_owned();
        return Some((Piece::Call { name, arguments, written }, length));
    }
    let after = inside.get(end..)?;
    let used = closing(after).map_or(0, |end| end + 1);
    let written = text.get(..1 + end + used)?.to_owned();
    let length = written.len();
    Some((Piece::Reference { path: path.to_owned(), written }, length))
}

/// The index of the parenthesis that closes the first one.
fn closing(text: &str) -> Option<usize> {
    if !text.starts_with('(') {
        return None;
    }
    let (mut depth, mut quote) = (0_usize, None);
    for (at, c) in text.char_indices().take(WRITTEN_MAX) {
        match (quote, c) {
            (Some(own), c) if own == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    // A quote that is not closed is an apostrophe.
    text.bytes().take(WRITTEN_MAX).position(|byte| byte == b')')
}

fn arguments(text: &str, turns: &mut usize, depth: usize) -> Option<Vec<Node>> {
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    let parts = split(text);
    if parts.len() > ARGUMENTS_MAX {
        return None;
    }
    parts.into_iter().map(|part| argument(part.trim(), turns, depth)).collect()
}

fn argument(text: &str, turns: &mut usize, depth: usize) -> Option<Node> {
    let inner = |open: char, close: char| text.strip_prefix(open)?.strip_suffix(close);
    if let Some(list) = inner('[', ']') {
        if depth >= DEPTH_MAX {
            return None;
        }
        let elements = match list.trim() {
            "" => Vec::new(),
            list => {
                let parts = split(list);
                if parts.len() > ARGUMENTS_MAX {
                    return None;
                }
                let each = parts.into_iter().map(|one| argument(one.trim(), turns, depth + 1));
                each.collect::<Option<_>>()?
            }
        };
        *turns += 1;
        return Some(Node::Array { elements, rule: Rule::default(), turn: *turns });
    }
    if let Some(quoted) = inner('"', '"').or_else(|| inner('\'', '\'')) {
        let pieces = pieces_within(quoted, turns, depth + 1);
        return Some(Node::Text { pieces, rule: Rule::default() });
    }
    let plain = match text {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        "null" | "undefined" | "" => Some(Value::Null),
        _ => None,
    };
    if let Some(value) = plain {
        return Some(Node::Plain(value));
    }
    if let Ok(whole) = text.parse::<i64>() {
        return Some(Node::Plain(Value::from(whole)));
    }
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    if is_number && let Some(number) = text.parse().ok().and_then(Number::from_f64) {
        return Some(Node::Plain(Value::Number(number)));
    }
    let pieces = pieces_within(text, turns, depth + 1);
    Some(Node::Text { pieces, rule: Rule::default() })
}

/// The parts between commas, those within quotes, brackets and parentheses aside.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quote) = (Vec::new(), 0, 0_i32, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(own), c) if own == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '(' | '{') => depth += 1,
            (None, ']' | ')' | '}') => depth -= 1,
            (None, ',') if depth <= 0 => {
                parts.extend(text.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(text.get(start..));
    parts
}
