//! Basic values: booleans, numbers, letters, ranges; and the parsing of arguments.

use serde_json::{Number, Value};

use super::evaluate::Evaluator;
use super::letters::{ANY, pool};

pub(super) const NAMES: &[&str] = &[
    "boolean",
    "bool",
    "natural",
    "integer",
    "int",
    "float",
    "character",
    "char",
    "string",
    "str",
    "range",
];

/// The maximum number of characters of one text, or elements of one list.
pub(super) const LENGTH_MAX: i64 = 10_000;
/// The greatest whole number that JavaScript is exact in.
const WHOLE_MAX: i64 = 9_007_199_254_740_992;

/// An argument as a whole number.
pub(super) fn whole(arguments: &[Value], at: usize) -> Option<i64> {
    let value = arguments.get(at)?;
    value.as_i64().or_else(|| value.as_f64().map(|number| number as i64))
}

/// An argument as text.
pub(super) fn text(arguments: &[Value], at: usize) -> Option<&str> {
    arguments.get(at).and_then(Value::as_str)
}

impl Evaluator<'_> {
    pub(super) fn basic(
        &mut self,
        name: &str,
        arguments: &[Value],
    ) -> Result<Option<Value>, String> {
        let low_high = |low: i64, high: i64| {
            (whole(arguments, 0).unwrap_or(low), whole(arguments, 1).unwrap_or(high))
        };
        Ok(Some(match name {
            "boolean" | "bool" => {
                let (low, high) = low_high(1, 1);
                let value = arguments.get(2).and_then(Value::as_bool).unwrap_or(true);
                Value::Bool(self.bool_of(low, high, value))
            }
            "natural" => {
                let (low, high) = low_high(0, WHOLE_MAX);
                Value::from(self.between(low.max(0), high.max(0)))
            }
            "integer" | "int" => {
                let (low, high) = low_high(-WHOLE_MAX, WHOLE_MAX);
                Value::from(self.between(low, high))
            }
            "float" => self.float(arguments),
            "character" | "char" => {
                let pool = text(arguments, 0).map_or(ANY, pool).to_owned();
                Value::String(self.string(&pool, 1))
            }
            "string" | "str" => {
                let named = text(arguments, 0).map(|own| pool(own).to_owned());
                let rest = arguments.get(usize::from(named.is_some())..).unwrap_or_default();
                let count = self.length(rest, 3, 7)?;
                Value::String(self.string(named.as_deref().unwrap_or(ANY), count))
            }
            "range" => range(arguments)?,
            _ => return Ok(None),
        }))
    }

    /// The length of a value: `(5)` or `(3, 7)`.
    pub(super) fn length(
        &mut self,
        arguments: &[Value],
        low: i64,
        high: i64,
    ) -> Result<u64, String> {
        let (low, high) = match (whole(arguments, 0), whole(arguments, 1)) {
            (Some(low), Some(high)) => (low, high),
            (Some(single), None) => (single, single),
            _ => (low, high),
        };
        if low.max(high) > LENGTH_MAX {
            return Err(format!(
                "a placeholder asks for a length of {}; {LENGTH_MAX} are allowed",
                low.max(high)
            ));
        }
        Ok(u64::try_from(self.between(low, high)).unwrap_or(0))
    }

    /// `(min, max, least digits, most digits)`.
    fn float(&mut self, arguments: &[Value]) -> Value {
        let low = whole(arguments, 0).unwrap_or(-1_000_000);
        let high = whole(arguments, 1).unwrap_or(1_000_000).max(low);
        let least = whole(arguments, 2).unwrap_or(1).clamp(0, 15);
        let most = whole(arguments, 3).unwrap_or(least.max(6)).clamp(0, 15);
        let count = self.between(least, most);
        let whole = self.between(low, high);
        // At the upper end there is nothing behind the point, or it would be beyond.
        let digits: String = (0..count)
            .map(|at| {
                let digit = if at + 1 == count { 1 + self.below(9) } else { self.below(10) };
                char::from(b'0' + u8::try_from(digit).unwrap_or(0))
            })
            .collect();
        let written = match whole {
            whole if whole == high => format!("{whole}.0"),
            // Behind a minus, digits lead away from zero and below the lower end.
            whole if whole < 0 => format!("{}{}.{digits}0", "-", -(whole + 1)),
            whole => format!("{whole}.{digits}0"),
        };
        let number = written.parse::<f64>().ok().and_then(Number::from_f64);
        number.map_or(Value::Null, Value::Number)
    }
}

/// `(stop)`, `(start, stop)` or `(start, stop, step)`; the end is not part of it.
fn range(arguments: &[Value]) -> Result<Value, String> {
    let (start, stop) = match (whole(arguments, 0), whole(arguments, 1)) {
        (Some(start), Some(stop)) => (start, stop),
        (Some(stop), None) => (0, stop),
        _ => (0, 0),
    };
    let step = whole(arguments, 2).unwrap_or(1);
    let (mut all, mut at) = (Vec::new(), start);
    while step != 0 && (if step > 0 { at < stop } else { at > stop }) {
        if all.len() as i64 >= LENGTH_MAX {
            return Err(format!("`@range` asks for more than {LENGTH_MAX} numbers"));
        }
        all.push(Value::from(at));
        at = at.saturating_add(step);
        if at == i64::MAX || at == i64::MIN {
            break;
        }
    }
    Ok(Value::Array(all))
}
