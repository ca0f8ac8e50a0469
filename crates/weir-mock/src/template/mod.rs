//! Templates of mock.js: `"list|1-3": [{ "id|+1": 1, "name": "@cname" }]`. They are read once, with
//! everything that is not understood named, and evaluated for each answer. There are no scripts.

mod arguments;
mod basic;
mod choose;
mod date;
mod evaluate;
mod known;
mod letters;
mod misc;
mod node;
mod person;
mod place;
mod rule;
mod text;
mod web;

use serde_json::Value;

use crate::definition::ReadErrors;

pub(crate) use evaluate::Evaluator;
pub(crate) use node::Template;
use node::{NODES_MAX, Node, Piece};
use rule::Rule;

/// The maximum number of repetitions of one rule.
const REPEAT_MAX: u64 = 10_000;

/// An error or an unknown part of a template: a JSON pointer below it, and a message.
pub(crate) type Note = (String, String);

impl Template {
    /// Reads a template; `place` is its place. Unknown parts are added to `notes`.
    ///
    /// # Errors
    /// All that cannot be evaluated.
    pub(crate) fn read(
        value: &Value,
        place: &str,
        notes: &mut Vec<Note>,
    ) -> Result<Self, Vec<Note>> {
        let mut reader = Reader { notes, turns: 0, wrong: Vec::new() };
        let root = reader.node(value, Rule::default(), "");
        match reader.wrong.is_empty() {
            true => Ok(Self { root, place: place.to_owned() }),
            false => Err(reader.wrong),
        }
    }

    /// The template of one placeholder text, such as `@cname`.
    pub(crate) fn of_text(text: &str) -> Self {
        let mut turns = 0;
        let pieces = arguments::pieces(text, &mut turns);
        Self { root: Node::Text { pieces, rule: Rule::default() }, place: String::new() }
    }
}

struct Reader<'n> {
    notes: &'n mut Vec<Note>,
    /// Nodes so far; each has a number of its own.
    turns: usize,
    /// What cannot be evaluated.
    wrong: Vec<Note>,
}

impl Reader<'_> {
    fn node(&mut self, value: &Value, rule: Rule, pointer: &str) -> Node {
        let is_within = self.turns <= NODES_MAX;
        self.turns += 1;
        if self.turns > NODES_MAX {
            if is_within {
                self.wrong(pointer, format!("more than {NODES_MAX} values"));
            }
            return Node::Plain(Value::Null);
        }
        let turn = self.turns;
        match value {
            Value::Null => Node::Plain(Value::Null),
            Value::Bool(value) => Node::Boolean { value: *value, rule },
            Value::Number(number) if rule.is_none() => Node::Plain(Value::Number(number.clone())),
            Value::Number(number) => Node::Number {
                base: number.as_f64().unwrap_or(0.0),
                written: number.to_string(),
                rule,
                turn,
            },
            Value::String(text) => {
                let pieces = arguments::pieces(text, &mut self.turns);
                self.unknown(&pieces, pointer);
                Node::Text { pieces, rule }
            }
            Value::Array(all) => {
                let each = all.iter().enumerate();
                let each = each.map(|(at, element)| {
                    self.node(element, Rule::default(), &format!("{pointer}/{at}"))
                });
                Node::Array { elements: each.collect(), rule, turn }
            }
            Value::Object(all) => {
                let each = all.iter().map(|(key, member)| self.member(key, member, pointer));
                Node::Object { members: each.collect(), rule }
            }
        }
    }

    fn wrong(&mut self, pointer: &str, why: impl Into<String>) {
        if self.wrong.len() < ReadErrors::MAX {
            self.wrong.push((pointer.to_owned(), why.into()));
        }
    }

    /// A member with its rule, which stands behind the last `|` of its key.
    fn member(&mut self, key: &str, value: &Value, pointer: &str) -> (String, Node) {
        let escaped = key.replace('~', "~0").replace('/', "~1");
        let pointer = format!("{pointer}/{escaped}");
        let Some((name, written)) = key.rsplit_once('|') else {
            return (key.to_owned(), self.node(value, Rule::default(), &pointer));
        };
        if written.eq_ignore_ascii_case("regexp") {
            let Some(pattern) = value.as_str() else {
                self.wrong(&pointer, "`|regexp` stands before a text");
                return (name.to_owned(), Node::Plain(Value::Null));
            };
            let delimited = pattern.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
            let pattern = delimited.unwrap_or(pattern);
            if let Err(why) = crate::generate::pattern::check(pattern) {
                self.wrong(&pointer, why);
            }
            return (name.to_owned(), Node::Matching(pattern.to_owned()));
        }
        match Rule::read(written) {
            Some(rule) => {
                if let Err(why) = rule.check(REPEAT_MAX, value) {
                    self.wrong(&pointer, why);
                }
                (name.to_owned(), self.node(value, rule, &pointer))
            }
            None => {
                let why = format!("`|{written}` is no rule, so it stays part of the name");
                self.notes.push((pointer.clone(), why));
                (key.to_owned(), self.node(value, Rule::default(), &pointer))
            }
        }
    }

    /// Names placeholders that stay as they are written.
    fn unknown(&mut self, pieces: &[Piece], pointer: &str) {
        for piece in pieces {
            if let Piece::Reference { path, written } = piece
                && written.contains('(')
            {
                let why = format!("there is no placeholder `@{path}`; it stays as it is");
                self.notes.push((pointer.to_owned(), why));
            }
        }
    }
}
