//! The differences between a recording and weir's behaviour.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use crate::case_file::Exchange;
use crate::message::{Block, Message, escape};
use crate::player::Seen;
use crate::rules::{Pair, RULES, Side};

/// The maximum length of a displayed value in characters; a longer one is cut, with its length.
const SHOWN_MAX: usize = 160;

/// One difference. All texts are printable ASCII on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The place: `response status`, `exchange 2: upstream field x-a`.
    pub place: String,
    pub scg: String,
    pub weir: String,
}

impl Difference {
    pub fn new(place: &str, scg: impl Into<String>, weir: impl Into<String>) -> Self {
        Self { place: place.to_owned(), scg: scg.into(), weir: weir.into() }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ≠ {}", self.place, self.scg, self.weir)
    }
}

/// All differences of one exchange; the names of the applied rules are added to `used`.
pub fn compare(
    exchange: &Exchange,
    seen: Seen,
    used: &mut BTreeSet<&'static str>,
) -> Vec<Difference> {
    let request = Message::from_lines(&exchange.request);
    let mut differences = Vec::new();
    let sides = [
        (Side::Upstream, exchange.recorded_requests(), seen.requests),
        (Side::Response, exchange.recorded_responses(), seen.responses),
    ];
    for (side, recorded, weir) in sides {
        let what = side.name();
        if recorded.len() != weir.len() {
            let summary = |blocks: &[Block]| {
                let lines: Vec<_> = blocks.iter().map(summary).collect();
                if lines.is_empty() { "none".to_owned() } else { lines.join(", ") }
            };
            let place = format!("{what} messages");
            differences.push(Difference::new(&place, summary(&recorded), summary(&weir)));
            continue;
        }
        let several = recorded.len() > 1;
        for (index, (recorded, weir)) in recorded.into_iter().zip(weir).enumerate() {
            let what = if several { format!("{what} {}", index + 1) } else { what.to_owned() };
            match (recorded, weir) {
                (Block::Message(mut recorded), Block::Message(mut weir)) => {
                    let mut pair =
                        Pair { side, request: &request, recorded: &mut recorded, weir: &mut weir };
                    used.extend(RULES.iter().filter(|it| (it.apply)(&mut pair)).map(|it| it.what));
                    messages(&what, &recorded, &weir, &mut differences);
                }
                (recorded, weir) if recorded == weir => {}
                (recorded, weir) => {
                    differences.push(Difference::new(&what, summary(&recorded), summary(&weir)));
                }
            }
        }
    }
    differences
}

fn summary(block: &Block) -> String {
    match block {
        Block::Message(message) => shown(message.start_line()),
        Block::Note(note) => note.clone(),
    }
}

fn messages(what: &str, scg: &Message, weir: &Message, out: &mut Vec<Difference>) {
    let mut add = |part: &str, scg: String, weir: String| {
        if scg != weir {
            let (scg, weir) = (shortened(scg), shortened(weir));
            out.push(Difference::new(&format!("{what} {part}"), scg, weir));
        }
    };
    add("line", escape(scg.start_line()), escape(weir.start_line()));
    let (recorded, actual) = (by_name(scg), by_name(weir));
    let names: BTreeSet<_> = recorded.keys().chain(actual.keys()).collect();
    for name in names {
        let values = |fields: &BTreeMap<String, Vec<String>>| {
            fields.get(name).map_or_else(|| "none".to_owned(), |values| values.join(" "))
        };
        add(&format!("field {name}"), values(&recorded), values(&actual));
    }
    let end = |message: &Message| if message.is_cut { "cut" } else { "whole" }.to_owned();
    add("end", end(scg), end(weir));
    match (json(&scg.body), json(&weir.body)) {
        (Some(scg), Some(weir)) => values("body ", &scg, &weir, &mut add),
        _ => add("body", quoted(&scg.body), quoted(&weir.body)),
    }
}

/// Values of each name, in order; names in lower case.
fn by_name(message: &Message) -> BTreeMap<String, Vec<String>> {
    let mut fields = BTreeMap::<String, Vec<String>>::new();
    for (name, value) in message.fields() {
        fields.entry(escape(&name.to_ascii_lowercase())).or_default().push(quoted(value));
    }
    fields
}

/// Objects and arrays only: another body is compared byte for byte.
pub fn json(body: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(body).ok()?;
    (value.is_object() || value.is_array()).then_some(value)
}

/// The differences of two JSON values; a missing member is `none`.
fn values(place: &str, scg: &Value, weir: &Value, add: &mut impl FnMut(&str, String, String)) {
    let member = |value: Option<&Value>| {
        value.map_or_else(|| "none".to_owned(), |value| escape(&value.to_string()))
    };
    match (scg, weir) {
        (Value::Object(scg), Value::Object(weir)) => {
            let keys: BTreeSet<_> = scg.keys().chain(weir.keys()).collect();
            for key in keys {
                match (scg.get(key), weir.get(key)) {
                    (Some(scg), Some(weir)) => values(&format!("{place}/{key}"), scg, weir, add),
                    (scg, weir) => {
                        add(&format!("{place}/{}", escape(key)), member(scg), member(weir))
                    }
                }
            }
        }
        (Value::Array(scg), Value::Array(weir)) if scg.len() == weir.len() => {
            for (index, (scg, weir)) in scg.iter().zip(weir).enumerate() {
                values(&format!("{place}/{index}"), scg, weir, add);
            }
        }
        (scg, weir) if scg == weir => {}
        (scg, weir) => add(place, member(Some(scg)), member(Some(weir))),
    }
}

fn quoted(text: &str) -> String {
    format!("`{}`", escape(text))
}

fn shown(text: &str) -> String {
    shortened(escape(text))
}

/// Long texts are distinguished by their length and a checksum of the hidden part.
fn shortened(text: String) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        None => text,
        Some((at, _)) => {
            let rest = &text[at..];
            let sum =
                rest.bytes().fold(0_u32, |sum, b| sum.wrapping_mul(31).wrapping_add(b.into()));
            format!("{}... ({} more, {sum:08x})", &text[..at], rest.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::compare;
    use crate::case_file::Exchange;
    use crate::message::Block;
    use crate::player::Seen;

    fn lines(text: &str) -> Vec<String> {
        text.split('\n').map(str::to_owned).collect()
    }

    fn check(recorded: &str, weir: &str, expected: &[&str]) {
        let exchange = Exchange {
            request: lines("GET / HTTP/1.1\nHost: a\n\n"),
            responses: vec![lines(recorded)],
            ..Exchange::default()
        };
        let seen = Seen { requests: Vec::new(), responses: vec![Block::from_lines(&lines(weir))] };
        let found = compare(&exchange, seen, &mut BTreeSet::new());
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn differences_are_told() {
        check("HTTP/1.1 200 OK\nA: 1\nb: 2\n", "HTTP/1.1 200\nB: 2\na: 1\n", &[]);
        check(
            "HTTP/1.1 200 OK\n",
            "HTTP/1.1 502 OK\n",
            &["response line: HTTP/1.1 200 ≠ HTTP/1.1 502"],
        );
        check(
            "HTTP/1.1 200 OK\nA: 1\nA: 2\n",
            "HTTP/1.1 200 OK\nA: 2\nA: 1\n",
            &["response field a: `1` `2` ≠ `2` `1`"],
        );
        check(
            "HTTP/1.1 200 OK\n\n{\"a\":1,\"b\":[2]}",
            "HTTP/1.1 200 OK\n\n{\"b\":[3], \"a\":1}",
            &["response body /b/0: 2 ≠ 3"],
        );
        check("HTTP/1.1 200 OK\n\nx", "HTTP/1.1 200 OK\n\ny", &["response body: `x` ≠ `y`"]);
        check("(no answer)", "HTTP/1.1 200 OK\n", &["response: (no answer) ≠ HTTP/1.1 200 OK"]);
    }
}
