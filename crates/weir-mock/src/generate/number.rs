//! Numbers within bounds, on the steps of `multipleOf`.

use serde_json::{Number, Value};

use super::{Generator, Spot};
use crate::definition::whole_numbers;

impl Generator<'_> {
    pub(super) fn number(&self, schema: &Value, spot: &Spot, whole: bool) -> Result<Value, String> {
        let bounds = Bounds::of(schema);
        let nothing = || format!("{}: no number lies within the bounds", spot.pointer);
        let step = schema.get("multipleOf").and_then(Value::as_f64).filter(|step| *step > 0.0);
        let dice = self.chance.roll(&spot.pointer, spot.attempt);
        if whole && step.is_none_or(|step| step.fract() == 0.0) {
            return self.whole(&bounds, step.map_or(1, |step| step as i128), dice, spot);
        }
        if let Some(step) = step {
            // Counted in steps, so that no rounding leads off them.
            let (low, high) = (bounds.low.unwrap_or(0.0), bounds.high);
            let mut first = (low / step).ceil();
            if bounds.low_open && first * step <= low {
                first += 1.0;
            }
            let last = high.map_or(first + 100.0, |high| (high / step).floor());
            if first > last {
                return Err(nothing());
            }
            let span = (last - first).min(1e9);
            let at = if self.is_dynamic() { dice as f64 % (span + 1.0) } else { 0.0 };
            return decimal((first + at.floor()) * step, step).ok_or_else(nothing);
        }
        let low = bounds.low.or(bounds.high.map(|high| high - 100.0)).unwrap_or(0.0);
        let high = bounds.high.unwrap_or(low + 1_000.0);
        if low > high || low == high && (bounds.low_open || bounds.high_open) {
            return Err(nothing());
        }
        let zero_fits = low <= 0.0 && high >= 0.0;
        if !self.is_dynamic() && zero_fits && !(bounds.low_open && low == 0.0) {
            return Ok(Value::from(0));
        }
        let share = if self.is_dynamic() { (dice % 9_999 + 1) as f64 / 10_001.0 } else { 0.5 };
        let value = low + (high - low) * share;
        let rounded = (value * 100.0).round() / 100.0;
        let value = if rounded > low && rounded < high { rounded } else { value };
        Number::from_f64(value).map(Value::Number).ok_or_else(nothing)
    }

    fn whole(&self, bounds: &Bounds, step: i128, dice: u64, spot: &Spot) -> Result<Value, String> {
        let (low, high) = bounds.whole();
        let first = low.div_euclid(step) * step;
        let first = if first < low { first + step } else { first };
        if first > high {
            return Err(format!("{}: no whole number lies within the bounds", spot.pointer));
        }
        let count = (high - first) / step + 1;
        let value = if self.is_dynamic() {
            match bounds.is_open_ended().then(|| super::names::number(&spot.name)).flatten() {
                Some((low, high)) => {
                    i128::from(low) + i128::from(dice) % i128::from(high - low + 1)
                }
                None => first + i128::from(dice) % count * step,
            }
        } else if first <= 0 && high >= 0 {
            0
        } else {
            first
        };
        let number = i64::try_from(value).map(Value::from);
        Ok(number.unwrap_or_else(|_| Value::from(value as f64)))
    }
}

struct Bounds {
    low: Option<f64>,
    high: Option<f64>,
    low_open: bool,
    high_open: bool,
    /// Bounds of the format.
    format: (i128, i128),
}

impl Bounds {
    fn of(schema: &Value) -> Self {
        let number = |key: &str| schema.get(key).and_then(Value::as_f64);
        let (low, open_low) = (number("minimum"), number("exclusiveMinimum"));
        let (high, open_high) = (number("maximum"), number("exclusiveMaximum"));
        let low_open = open_low.is_some_and(|open| low.is_none_or(|low| open >= low));
        let high_open = open_high.is_some_and(|open| high.is_none_or(|high| open <= high));
        let format = schema.get("format").and_then(Value::as_str).and_then(whole_numbers);
        let (least, greatest) = format.unwrap_or((i32::MIN.into(), i32::MAX.into()));
        Self {
            low: if low_open { open_low } else { low },
            high: if high_open { open_high } else { high },
            low_open,
            high_open,
            format: (least.into(), greatest.into()),
        }
    }

    fn is_open_ended(&self) -> bool {
        self.low.is_none() && self.high.is_none()
    }

    /// The least and greatest whole number.
    fn whole(&self) -> (i128, i128) {
        let low = self.low.map(|low| {
            let up = low.ceil() as i128;
            if self.low_open && up as f64 <= low { up + 1 } else { up }
        });
        let high = self.high.map(|high| {
            let down = high.floor() as i128;
            if self.high_open && down as f64 >= high { down - 1 } else { down }
        });
        // Without bounds, numbers that people read easily.
        match (low, high) {
            (None, None) => (self.format.0.max(0), self.format.1.min(1_000)),
            (Some(low), None) => (low, (low + 1_000).min(self.format.1.max(low))),
            (None, Some(high)) => ((high - 1_000).max(self.format.0.min(high)), high),
            (Some(low), Some(high)) => (low, high),
        }
    }
}

/// `value`, written with as many places as `step` has.
fn decimal(value: f64, step: f64) -> Option<Value> {
    let text = step.to_string();
    let places = text.split_once('.').map_or(0, |(_, places)| places.len());
    let text = format!("{value:.places$}");
    if places == 0 {
        return text.parse::<i64>().ok().map(Value::from);
    }
    text.parse::<f64>().ok().and_then(Number::from_f64).map(Value::Number)
}
