//! The evaluation of a template to an answer: random values depend on seed and place only, and size
//! is bounded.

use std::collections::HashMap;

use serde_json::{Map, Number, Value};

use super::letters::ANY;
use super::node::{Node, Piece, Template};
use super::rule::Rule;
use crate::chance::Chance;

/// The maximum number of values and repetitions in one answer.
const VALUES_MAX: u32 = 50_000;
/// The maximum number of bytes of text in one answer.
const BYTES_MAX: usize = 4 * 1024 * 1024;
/// References that lead to references, at most.
const REFERENCES_MAX: usize = 16;

/// The look-up of the value of `{{query.a}}`.
pub(crate) type Echo<'a> = &'a dyn Fn(&str) -> Option<Value>;

/// Evaluates templates for one answer.
pub(crate) struct Evaluator<'a> {
    pub(super) chance: Chance,
    pub(super) now_ms: i64,
    echo: Echo<'a>,
    values: u32,
    bytes: usize,
    /// JSON pointer in the answer, from which random values are derived, and the number of values
    /// drawn there so far.
    pointer: String,
    rolls: u64,
    turns: HashMap<usize, u64>,
    /// Counters by placeholder: `@increment`, `@order(…)`.
    pub(super) counters: HashMap<String, i64>,
    scopes: Vec<Scope<'a>>,
    references: usize,
}

/// An object that is being made.
struct Scope<'a> {
    members: &'a [(String, Node)],
    made: Map<String, Value>,
    current: &'a str,
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(chance: Chance, now_ms: i64, echo: Echo<'a>) -> Self {
        Self {
            chance,
            now_ms,
            echo,
            values: 0,
            bytes: 0,
            pointer: String::new(),
            rolls: 0,
            turns: HashMap::new(),
            counters: HashMap::new(),
            scopes: Vec::new(),
            references: 0,
        }
    }

    /// The value of a template; `pointer` is its place in the answer.
    ///
    /// # Errors
    /// It is too large.
    pub(crate) fn template(
        &mut self,
        template: &'a Template,
        pointer: &str,
    ) -> Result<Value, String> {
        self.pointer = pointer.to_owned();
        self.rolls = 0;
        self.value(&template.root).map_err(|why| format!("{}: {why}", template.place))
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.rolls += 1;
        self.chance.below(&self.pointer, self.rolls, end)
    }

    /// A number between the two, both included.
    pub(super) fn between(&mut self, low: i64, high: i64) -> i64 {
        let (low, high) = (low.min(high), low.max(high));
        let span = high.wrapping_sub(low).cast_unsigned();
        match span.checked_add(1) {
            Some(count) => low.wrapping_add(self.below(count).cast_signed()),
            None => self.below(u64::MAX).cast_signed(),
        }
    }

    pub(super) fn pick<T: Copy>(&mut self, list: &[T]) -> Option<T> {
        let at = usize::try_from(self.below(list.len() as u64)).unwrap_or(0);
        list.get(at).copied()
    }

    /// One of a list of texts.
    pub(super) fn word_of(&mut self, list: &[&'static str]) -> &'static str {
        self.pick(list).unwrap_or_default()
    }

    fn spend(&mut self, bytes: usize) -> Result<(), String> {
        self.values += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        match self.values > VALUES_MAX || self.bytes > BYTES_MAX {
            true => Err("the template makes more than an answer may hold".to_owned()),
            false => Ok(()),
        }
    }

    /// A value nested in the current one.
    fn within(&mut self, key: &str, node: &'a Node) -> Result<Value, String> {
        let (length, rolls) = (self.pointer.len(), self.rolls);
        self.pointer.push('/');
        self.pointer.push_str(key);
        self.rolls = 0;
        let made = self.value(node);
        self.pointer.truncate(length);
        self.rolls = rolls;
        made
    }

    fn value(&mut self, node: &'a Node) -> Result<Value, String> {
        self.spend(0)?;
        match node {
            Node::Plain(value) => Ok(value.clone()),
            Node::Text { pieces, rule } => self.text(pieces, rule),
            Node::Number { base, written, rule, turn } => {
                Ok(self.number(*base, written, rule, *turn))
            }
            Node::Boolean { value, rule } => Ok(Value::Bool(self.boolean(*value, rule))),
            Node::Object { members, rule } => self.object(members, rule),
            Node::Array { elements, rule, turn } => self.array(elements, rule, *turn),
            Node::Matching(pattern) => self.matching(pattern),
        }
    }

    /// The number of repetitions of a rule.
    fn times(&mut self, rule: &Rule) -> Option<u64> {
        let (low, high) = rule.range?;
        Some(u64::try_from(self.between(low, high)).unwrap_or(0))
    }

    fn turn(&mut self, turn: usize) -> u64 {
        let counter = self.turns.entry(turn).or_default();
        *counter += 1;
        *counter - 1
    }

    fn text(&mut self, pieces: &'a [Piece], rule: &Rule) -> Result<Value, String> {
        let times = self.times(rule);
        if let (Some(times), true) = (times, pieces.is_empty()) {
            let text = self.string(ANY, times);
            self.spend(text.len())?;
            return Ok(Value::String(text));
        }
        // A placeholder that is the whole text keeps its type.
        if let ([piece], None | Some(1)) = (pieces, times) {
            return self.piece(piece);
        }
        let mut out = String::new();
        for _ in 0..times.unwrap_or(1) {
            for piece in pieces {
                let before = out.len();
                match self.piece(piece)? {
                    Value::String(text) => out.push_str(&text),
                    Value::Null => {}
                    other => out.push_str(&other.to_string()),
                }
                self.spend(out.len() - before)?;
            }
        }
        Ok(Value::String(out))
    }

    fn piece(&mut self, piece: &'a Piece) -> Result<Value, String> {
        match piece {
            Piece::Plain(text) => Ok(Value::String(text.clone())),
            Piece::Echo { path, .. } => Ok((self.echo)(path).unwrap_or(Value::Null)),
            Piece::Reference { path, written } => {
                let found = self.reference(path)?;
                Ok(found.unwrap_or_else(|| Value::String(written.clone())))
            }
            Piece::Call { name, arguments, written } => {
                // A property with that name has priority, unless there are arguments.
                if arguments.is_empty()
                    && let Some(found) = self.reference(written.get(1..).unwrap_or_default())?
                {
                    return Ok(found);
                }
                let made = arguments.iter().map(|node| self.value(node));
                let arguments: Vec<Value> = made.collect::<Result<_, _>>()?;
                let made = self.call(name, &arguments)?;
                self.spend(made.as_ref().and_then(Value::as_str).map_or(0, str::len))?;
                Ok(made.unwrap_or_else(|| Value::String(written.clone())))
            }
        }
    }

    fn call(&mut self, name: &str, arguments: &[Value]) -> Result<Option<Value>, String> {
        let groups = [
            Self::basic,
            Self::date_group,
            Self::text_group,
            Self::person,
            Self::web,
            Self::place,
            Self::misc,
            Self::choice,
        ];
        for group in groups {
            if let Some(made) = group(self, name, arguments)? {
                return Ok(Some(made));
            }
        }
        Ok(None)
    }

    /// A text that `pattern` matches.
    pub(super) fn matching(&mut self, pattern: &str) -> Result<Value, String> {
        let n = self.below(1 << 20);
        let made =
            crate::generate::pattern::text(pattern, self.chance, &self.pointer, n, 0, 10_000);
        let text = made.ok_or_else(|| format!("no text was found that matches `{pattern}`"))?;
        self.spend(text.len())?;
        Ok(Value::String(text))
    }

    fn number(&mut self, base: f64, written: &str, rule: &Rule, turn: usize) -> Value {
        if let Some(step) = rule.step {
            let n = i64::try_from(self.turn(turn)).unwrap_or(0).wrapping_mul(step);
            return match written.parse::<i64>() {
                Ok(whole) => Value::from(whole.wrapping_add(n)),
                Err(_) => Number::from_f64(base + n as f64).map_or(Value::Null, Value::Number),
            };
        }
        let (whole, fraction) = written.split_once('.').unwrap_or((written, ""));
        let whole = match rule.range {
            Some((low, high)) => self.between(low, high).to_string(),
            None => whole.to_owned(),
        };
        let Some((least, most)) = rule.digits else {
            return whole.parse::<i64>().map_or(Value::Null, Value::from);
        };
        let (least, most) = (least.min(most).cast_signed(), least.max(most).cast_signed());
        let count = usize::try_from(self.between(least, most)).unwrap_or(0);
        let mut digits: String = fraction.chars().take(count).collect();
        while digits.len() < count {
            // The last digit is not 0, or it would not be seen.
            let is_last = digits.len() + 1 == count;
            let digit = if is_last { 1 + self.below(9) } else { self.below(10) };
            digits.push_str(&digit.to_string());
        }
        let number = format!("{whole}.{digits}0").parse::<f64>().ok();
        number.and_then(Number::from_f64).map_or(Value::Null, Value::Number)
    }

    fn boolean(&mut self, value: bool, rule: &Rule) -> bool {
        let Some((low, high)) = rule.range else { return value };
        let high = if rule.is_single { 1 } else { high };
        self.bool_of(low, high, value)
    }

    /// `value` with a probability of `low` in `low + high`.
    pub(super) fn bool_of(&mut self, low: i64, high: i64, value: bool) -> bool {
        let part = |n: i64| u64::try_from(n).unwrap_or(0).min(1 << 32);
        let (low, all) = (part(low), part(low) + part(high));
        if self.below(all.max(1)) < low { value } else { !value }
    }

    fn object(&mut self, members: &'a [(String, Node)], rule: &Rule) -> Result<Value, String> {
        let count = members.len() as u64;
        let mut wanted = self.times(rule).map_or(count, |times| times.min(count));
        let mut chosen = Vec::new();
        for (at, (name, node)) in members.iter().enumerate() {
            // Each set of that size is as likely as every other.
            let left = count - at as u64;
            if wanted > 0 && (wanted == left || self.below(left) < wanted) {
                chosen.push((name, node));
                wanted -= 1;
            }
        }
        self.scopes.push(Scope { members, made: Map::new(), current: "" });
        let mut result = Ok(());
        for (name, node) in &chosen {
            result = self.member(self.scopes.len() - 1, name, node);
            if result.is_err() {
                break;
            }
        }
        let mut made = self.scopes.pop().map(|scope| scope.made).unwrap_or_default();
        result?;
        let in_order = chosen.into_iter().filter_map(|(name, _)| made.remove_entry(name));
        Ok(Value::Object(in_order.collect()))
    }

    /// Makes a member of the object at `level`, unless it is made.
    fn member(&mut self, level: usize, name: &'a str, node: &'a Node) -> Result<(), String> {
        let Some(scope) = self.scopes.get_mut(level) else { return Ok(()) };
        if scope.made.contains_key(name) {
            return Ok(());
        }
        let before = std::mem::replace(&mut scope.current, name);
        let deeper = self.scopes.split_off(level + 1);
        let value = self.within(name, node);
        self.scopes.extend(deeper);
        if let Some(scope) = self.scopes.get_mut(level) {
            scope.current = before;
            scope.made.insert(name.to_owned(), value?);
        }
        Ok(())
    }

    fn array(&mut self, elements: &'a [Node], rule: &Rule, turn: usize) -> Result<Value, String> {
        if rule.step.is_some() || (rule.is_single && rule.range == Some((1, 1))) {
            let count = elements.len() as u64;
            let step = u64::try_from(rule.step.unwrap_or(0)).unwrap_or(1);
            let at = match rule.step {
                Some(_) => self.turn(turn).wrapping_mul(step) % count.max(1),
                None => self.below(count),
            };
            let chosen = elements.get(usize::try_from(at).unwrap_or(0));
            return chosen.map_or(Ok(Value::Null), |node| self.within("0", node));
        }
        let mut all = Vec::new();
        for _ in 0..self.times(rule).unwrap_or(1) {
            self.spend(0)?;
            for node in elements {
                let place = all.len().to_string();
                all.push(self.within(&place, node)?);
            }
        }
        Ok(Value::Array(all))
    }

    /// The value that `@key`, `@/a/b` or `@../b` refers to.
    fn reference(&mut self, path: &str) -> Result<Option<Value>, String> {
        if self.references >= REFERENCES_MAX || self.scopes.is_empty() {
            return Ok(None);
        }
        self.references += 1;
        let found = self.referenced(path);
        self.references -= 1;
        found
    }

    fn referenced(&mut self, path: &str) -> Result<Option<Value>, String> {
        let mut level = if path.starts_with('/') { 0 } else { self.scopes.len() - 1 };
        let mut parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
        while let Some(part) = parts.next() {
            if part == ".." {
                let Some(up) = level.checked_sub(1) else { return Ok(None) };
                level = up;
                continue;
            }
            let Some(scope) = self.scopes.get(level) else { return Ok(None) };
            let is_being_made = scope.current == part;
            if is_being_made && !scope.made.contains_key(part) {
                level += 1;
                continue;
            }
            if let Some((name, node)) = scope.members.iter().find(|(name, _)| name == part) {
                self.member(level, name, node)?;
            }
            let made = self.scopes.get(level).and_then(|scope| scope.made.get(part));
            let whole = made.and_then(|made| {
                parts.try_fold(made, |value, part| match value {
                    Value::Array(all) => all.get(part.parse::<usize>().ok()?),
                    other => other.get(part),
                })
            });
            return Ok(whole.cloned());
        }
        Ok(None)
    }
}
