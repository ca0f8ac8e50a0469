//! Values from the placeholder that belongs to a schema. The schema has the last word: a value that
//! violates it is discarded.

use serde_json::{Number, Value};

use super::{Generator, Spot};
use crate::template::{Evaluator, Template};

/// Tries that go by the placeholder; later ones go by the type.
const TRIES_MAX: u64 = 4;

impl Generator<'_> {
    pub(super) fn by_field_rule(&self, schema: &Value, spot: &Spot) -> Option<Value> {
        let rule = field_rule(schema).filter(|rule| !rule.contains("{{"))?;
        if spot.attempt >= TRIES_MAX {
            return None;
        }
        let template = Template::of_text(rule);
        let none = |_: &str| None;
        let mut evaluator = Evaluator::new(self.chance, self.now_ms, &none);
        let pointer = format!("{}#{}", spot.pointer, spot.attempt);
        let made = evaluator.template(&template, &pointer).ok()?;
        Some(match (self.kind(schema, spot), made) {
            ("string", made @ (Value::Number(_) | Value::Bool(_))) => {
                Value::String(made.to_string())
            }
            ("integer" | "number", Value::String(text)) => number(&text)?,
            ("boolean", Value::String(text)) => Value::Bool(text.parse().ok()?),
            (_, made) => made,
        })
    }
}

/// The placeholder that a schema has for its values: `x-apifox-mock`, or YApi's `mock`.
pub(crate) fn field_rule(schema: &Value) -> Option<&str> {
    let own = schema.get("mock");
    let own = own.and_then(|own| own.get("mock").or(Some(own))).and_then(Value::as_str);
    let rule = own.or_else(|| schema.get("x-apifox-mock")?.as_str());
    rule.filter(|rule| !rule.is_empty())
}

fn number(text: &str) -> Option<Value> {
    let whole = text.parse::<i64>().ok().map(Value::from);
    whole.or_else(|| text.parse().ok().and_then(Number::from_f64).map(Value::Number))
}
