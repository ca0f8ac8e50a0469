//! Requests with variables: templates, and rules that test a body or take values from it.
//!
//! Names become slot numbers when the plan is compiled; rendering copies byte runs and slots, no
//! lookup by name.

use crate::dice::Dice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One piece of a template.
#[derive(Clone, Debug)]
pub enum Piece {
    /// Literal bytes.
    Text(Vec<u8>),
    /// The value in a slot of the session.
    Slot(usize),
    /// The next value of a counter shared by the whole run.
    Counter(Arc<AtomicU64>),
    /// A whole number from a range, both ends included.
    Random(u64, u64),
}

/// A request head and body with variables; the body's length is filled in.
#[derive(Clone, Debug, Default)]
pub struct Template {
    /// Request line and fields, without the final empty line.
    pub head: Vec<Piece>,
    /// Body; a Content-Length field is written if it is not `None`.
    pub body: Option<Vec<Piece>>,
}

/// A rule for an answer whose body is kept.
#[derive(Clone, Debug)]
pub struct BodyRule {
    /// The location of the value.
    pub find: Find,
    /// The action on the value.
    pub then: Then,
}

/// The location of a value in an answer.
#[derive(Clone, Debug)]
pub enum Find {
    /// The whole body as text.
    Body,
    /// A JSON pointer (RFC 6901) into the body.
    Json(String),
    /// First group (or the whole) of the first match in the body.
    Regex(regex::Regex),
    /// The first value of a header field.
    Header(String),
}

/// The action on a found value.
#[derive(Clone, Debug)]
pub enum Then {
    /// Keep it in a slot; finding nothing is a failed check.
    Keep(usize),
    /// The value must equal this.
    Equals(String),
    /// The value must contain this.
    Contains(String),
    /// The value must exist.
    Exists,
}

/// Rows of a CSV file, handed out to sessions.
#[derive(Clone, Debug)]
pub struct Feeder {
    /// Slot of each column.
    pub slots: Vec<usize>,
    /// Values by row.
    pub rows: Arc<Vec<Vec<String>>>,
    /// Rows in order, starting again at the end; else at random.
    pub sequential: bool,
    /// Next row.
    pub next: Arc<AtomicU64>,
}

fn render(pieces: &[Piece], slots: &[String], dice: &mut Dice, out: &mut Vec<u8>) {
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.extend_from_slice(text),
            Piece::Slot(slot) => {
                out.extend_from_slice(slots.get(*slot).map_or(b"", |value| value.as_bytes()));
            }
            Piece::Counter(counter) => {
                let value = counter.fetch_add(1, Ordering::Relaxed);
                out.extend_from_slice(value.to_string().as_bytes());
            }
            Piece::Random(low, high) => {
                let value = low + dice.below(high.saturating_sub(*low).saturating_add(1));
                out.extend_from_slice(value.to_string().as_bytes());
            }
        }
    }
}

impl Template {
    /// Writes the message to `out`, replacing its content.
    pub fn render(&self, slots: &[String], dice: &mut Dice, out: &mut Vec<u8>) {
        out.clear();
        render(&self.head, slots, dice, out);
        let Some(body) = &self.body else {
            out.extend_from_slice(b"\r\n");
            return;
        };
        let mut rendered = Vec::new();
        render(body, slots, dice, &mut rendered);
        let length = format!("Content-Length: {}\r\n\r\n", rendered.len());
        out.extend_from_slice(length.as_bytes());
        out.extend_from_slice(&rendered);
    }
}

impl Feeder {
    /// Fills the slots of a new session.
    pub fn feed(&self, slots: &mut [String], dice: &mut Dice) {
        let count = self.rows.len() as u64;
        let at = match self.sequential {
            true => self.next.fetch_add(1, Ordering::Relaxed) % count.max(1),
            false => dice.below(count),
        };
        let Some(row) = self.rows.get(at as usize) else { return };
        for (slot, value) in self.slots.iter().zip(row) {
            if let Some(place) = slots.get_mut(*slot) {
                place.clone_from(value);
            }
        }
    }
}

/// Applies `rules`; `false` if a check failed or a value to keep was not there.
pub fn apply<'a>(
    rules: &[BodyRule],
    body: &[u8],
    header: impl Fn(&str) -> Option<&'a [u8]>,
    slots: &mut [String],
) -> bool {
    let text = String::from_utf8_lossy(body);
    let mut json: Option<serde_json::Value> = None;
    let mut passed = true;
    for rule in rules {
        let found = match &rule.find {
            Find::Body => Some(text.to_string()),
            Find::Header(name) => header(name).map(|v| String::from_utf8_lossy(v).into_owned()),
            Find::Regex(regex) => regex.captures(&text).and_then(|groups| {
                groups.get(1).or_else(|| groups.get(0)).map(|m| m.as_str().to_owned())
            }),
            Find::Json(pointer) => json
                .get_or_insert_with(|| serde_json::from_slice(body).unwrap_or_default())
                .pointer(pointer)
                .map(|value| match value {
                    serde_json::Value::String(text) => text.clone(),
                    other => other.to_string(),
                }),
        };
        passed &= match (&rule.then, found) {
            (_, None) => false,
            (Then::Exists, Some(_)) => true,
            (Then::Equals(want), Some(got)) => got == *want,
            (Then::Contains(want), Some(got)) => got.contains(want),
            (Then::Keep(slot), Some(got)) => {
                slots.get_mut(*slot).map(|place| *place = got).is_some()
            }
        };
    }
    passed
}

#[cfg(test)]
mod tests {
    use super::{BodyRule, Find, Piece, Template, Then, apply};
    use crate::dice::Dice;

    fn check(find: Find, then: Then, expected: (bool, &str)) {
        let body = br#"{"id":7,"name":"ann","tags":["a/b"]}"#;
        let mut slots = vec![String::new()];
        let header = |name: &str| (name == "etag").then_some(&b"xyz"[..]);
        let passed = apply(&[BodyRule { find, then }], body, header, &mut slots);
        assert_eq!((passed, slots[0].as_str()), expected);
    }

    #[test]
    fn values_are_found_tested_and_kept() {
        let regex = |text: &str| Find::Regex(regex::Regex::new(text).unwrap());
        check(Find::Json("/id".into()), Then::Keep(0), (true, "7"));
        check(Find::Json("/tags/0".into()), Then::Equals("a/b".into()), (true, ""));
        check(Find::Json("/none".into()), Then::Keep(0), (false, ""));
        check(regex("name\":\"(\\w+)"), Then::Keep(0), (true, "ann"));
        check(Find::Header("etag".into()), Then::Equals("xyz".into()), (true, ""));
        check(Find::Header("age".into()), Then::Exists, (false, ""));
        check(Find::Body, Then::Contains("ann".into()), (true, ""));
    }

    #[test]
    fn templates_fill_in_the_length_of_their_body() {
        let text = |t: &str| Piece::Text(t.into());
        let template = Template {
            head: vec![text("POST /"), Piece::Slot(0), text(" HTTP/1.1\r\nHost: h\r\n")],
            body: Some(vec![text("n="), Piece::Random(5, 5)]),
        };
        let mut out = Vec::new();
        template.render(&["x".into()], &mut Dice::new(1), &mut out);
        let want = "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nn=5";
        assert_eq!(String::from_utf8_lossy(&out), want);
    }
}
