//! Numbers within bounds, on the steps of `multipleOf`; whole numbers and steps are counted in
//! decimals, as fractions in binary lead off them.

use serde_json::{Number, Value};

use super::decimal::Decimal;
use super::{Generator, Spot};
use crate::definition::whole_numbers;

impl Generator<'_> {
    pub(super) fn number(&self, schema: &Value, spot: &Spot, whole: bool) -> Result<Value, String> {
        let bounds = Bounds::of(schema);
        let nothing = || format!("{}: no number lies within the bounds", spot.pointer);
        let step = schema.get("multipleOf").and_then(Decimal::of).filter(Decimal::is_positive);
        let dice = self.chance.roll(&spot.pointer, spot.attempt);
        if whole {
            return self.whole(&bounds, step.map_or(1, Decimal::whole_step), dice, spot);
        }
        if let Some(step) = step {
            let ends = [bounds.low, bounds.high].into_iter().flatten().map(|end| end.places);
            let places = ends.fold(step.places, u32::max);
            let step = step.units(places);
            let (low, high) = bounds.units(places, step.saturating_mul(100));
            let first = ceiled(low, step);
            if first > high {
                return Err(nothing());
            }
            let count = ((high - first) / step).min(1_000_000_000) + 1;
            let at = if self.is_dynamic() { i128::from(dice) % count } else { 0 };
            return Decimal { units: first + at * step, places }.number().ok_or_else(nothing);
        }
        let (least, greatest) =
            (bounds.low.map(Decimal::approximate), bounds.high.map(Decimal::approximate));
        let low = least.or(greatest.map(|high| high - 100.0)).unwrap_or(0.0);
        let high = greatest.unwrap_or(low + 1_000.0);
        if low > high || low == high && (bounds.low_open || bounds.high_open) {
            return Err(nothing());
        }
        let zero_fits = low <= 0.0 && high >= 0.0;
        let is_open_zero = bounds.low_open && low == 0.0 || bounds.high_open && high == 0.0;
        if !self.is_dynamic() && zero_fits && !is_open_zero {
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
        let first = ceiled(low, step);
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
        let number = Decimal { units: value, places: 0 }.number();
        number.ok_or_else(|| format!("{}: the number is too large", spot.pointer))
    }
}

/// The least multiple of `step` that is not below `low`.
fn ceiled(low: i128, step: i128) -> i128 {
    let below = low.div_euclid(step).saturating_mul(step);
    if below < low { below.saturating_add(step) } else { below }
}

struct Bounds {
    low: Option<Decimal>,
    high: Option<Decimal>,
    low_open: bool,
    high_open: bool,
    /// Bounds of the format.
    format: (i128, i128),
}

impl Bounds {
    fn of(schema: &Value) -> Self {
        let number = |key: &str| schema.get(key).and_then(Decimal::of);
        let (low, open_low) = (number("minimum"), number("exclusiveMinimum"));
        let (high, open_high) = (number("maximum"), number("exclusiveMaximum"));
        let low_open = open_low.is_some_and(|open| low.is_none_or(|low| open >= low));
        let high_open = open_high.is_some_and(|open| high.is_none_or(|high| open <= high));
        let format = schema.get("format").and_then(Value::as_str).and_then(whole_numbers);
        Self {
            low: if low_open { open_low } else { low },
            high: if high_open { open_high } else { high },
            low_open,
            high_open,
            format: format.unwrap_or((i32::MIN.into(), i32::MAX.into())),
        }
    }

    fn is_open_ended(&self) -> bool {
        self.low.is_none() && self.high.is_none()
    }

    /// The least and greatest number, counted in units of this many places, which no bound has more
    /// of; at most `span` apart, where one of them is missing.
    fn units(&self, places: u32, span: i128) -> (i128, i128) {
        let low = self.low.map(|low| low.units(places) + i128::from(self.low_open));
        let high = self.high.map(|high| high.units(places) - i128::from(self.high_open));
        match (low, high) {
            (None, None) => (0, span),
            (Some(low), None) => (low, low.saturating_add(span)),
            // Zero first, if it fits.
            (None, Some(high)) => (if high >= 0 { 0 } else { high.saturating_sub(span) }, high),
            (Some(low), Some(high)) => (low, high),
        }
    }

    /// The least and greatest whole number.
    fn whole(&self) -> (i128, i128) {
        let low = self.low.map(|low| match low.exact() {
            Some(own) => own + i128::from(self.low_open),
            None => low.floor() + 1,
        });
        let high = self.high.map(|high| match high.exact() {
            Some(own) => own - i128::from(self.high_open),
            None => high.floor(),
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
