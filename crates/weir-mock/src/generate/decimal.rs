//! Decimal fractions, exact where binary ones are not: `0.07` is seven hundredths. Used to count
//! the steps of `multipleOf` and whole numbers beyond 2^53.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// The maximum number of places behind the point; what is finer is cut off.
const PLACES_MAX: u32 = 15;
/// The greatest absolute number of units; greater numbers become it. It leaves room to add steps.
const UNITS_MAX: i128 = 10_i128.pow(36);

/// `units` / 10^`places`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal {
    pub units: i128,
    pub places: u32,
}

impl Decimal {
    /// A number as it is written.
    pub(super) fn of(value: &Value) -> Option<Self> {
        let text = value.as_number()?.to_string();
        let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let fraction = fraction.trim_end_matches('0');
        let units = format!("{whole}{fraction}").parse::<i128>().ok()?;
        let shift = exponent.parse::<i64>().ok()? - i64::try_from(fraction.len()).ok()?;
        let power = |n: u64| 10_i128.checked_pow(u32::try_from(n).unwrap_or(u32::MAX));
        if shift >= 0 {
            let units = power(shift.unsigned_abs()).and_then(|power| units.checked_mul(power));
            let greatest = if text.starts_with('-') { -UNITS_MAX } else { UNITS_MAX };
            return Some(Self { units: units.unwrap_or(greatest), places: 0 }.within());
        }
        let places = shift.unsigned_abs();
        let cut = power(places.saturating_sub(PLACES_MAX.into()));
        let units = cut.map_or(0, |cut| units.div_euclid(cut));
        let places = u32::try_from(places).unwrap_or(u32::MAX).min(PLACES_MAX);
        Some(Self { units, places }.within())
    }

    fn within(self) -> Self {
        Self { units: self.units.clamp(-UNITS_MAX, UNITS_MAX), ..self }
    }

    pub(super) fn is_positive(&self) -> bool {
        self.units > 0
    }

    /// Units of this many places, which are not fewer than its own.
    pub(super) fn units(self, places: u32) -> i128 {
        let power = 10_i128.pow(places.saturating_sub(self.places).min(PLACES_MAX));
        self.units.saturating_mul(power).clamp(-UNITS_MAX, UNITS_MAX)
    }

    fn one(self) -> i128 {
        10_i128.pow(self.places.min(PLACES_MAX))
    }

    /// The greatest whole number that is not above it.
    pub(super) fn floor(self) -> i128 {
        self.units.div_euclid(self.one())
    }

    /// Itself, if it is a whole number.
    pub(super) fn exact(self) -> Option<i128> {
        (self.units.rem_euclid(self.one()) == 0).then(|| self.floor())
    }

    /// The least whole number that is a multiple of it.
    pub(super) fn whole_step(self) -> i128 {
        let (mut a, mut b) = (self.units, self.one());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        (self.units / a).max(1)
    }

    pub(super) fn approximate(self) -> f64 {
        self.text().parse().unwrap_or(0.0)
    }

    fn text(self) -> String {
        let (one, sign) = (self.one(), if self.units < 0 { "-" } else { "" });
        let (whole, rest) = (self.units.abs() / one, self.units.abs() % one);
        let places = self.places as usize;
        match self.places {
            0 => format!("{sign}{whole}"),
            _ => format!("{sign}{whole}.{rest:0places$}"),
        }
    }

    /// As JSON: whole numbers up to 64 bits exactly, others as the nearest fraction.
    pub(super) fn number(self) -> Option<Value> {
        if let Some(whole) = self.exact() {
            let whole = i64::try_from(whole).map(Number::from);
            let whole = whole.or_else(|_| u64::try_from(self.floor()).map(Number::from));
            if let Ok(whole) = whole {
                return Some(Value::Number(whole));
            }
        }
        Number::from_f64(self.approximate()).map(Value::Number)
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let places = self.places.max(other.places);
        self.units(places).cmp(&other.units(places))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(json: &str) -> Decimal {
        Decimal::of(&serde_json::from_str(json).expect("JSON")).expect("a number")
    }

    #[test]
    fn numbers_are_what_they_are_written_as() {
        let check = |json: &str, units: i128, places: u32| {
            let found = decimal(json);
            assert_eq!((found.units, found.places), (units, places), "{json}");
        };
        check("0.07", 7, 2);
        check("-1.50", -15, 1);
        check("1e3", 1_000, 0);
        check("1e-7", 1, 7);
        check("9007199254740993", 9_007_199_254_740_993, 0);
        check("1e300", UNITS_MAX, 0);
        check("-1e300", -UNITS_MAX, 0);
        check("1e-300", 0, PLACES_MAX);
    }

    #[test]
    fn numbers_are_written_back() {
        let check = |json: &str| {
            assert_eq!(decimal(json).number().expect("a number").to_string(), json);
        };
        ["0.07", "-0.5", "-12.34", "18446744073709551615", "-9223372036854775808", "0"]
            .into_iter()
            .for_each(check);
        assert_eq!(decimal("2.5").whole_step(), 5);
        assert_eq!(decimal("4").whole_step(), 4);
        assert_eq!((decimal("-2.5").floor(), decimal("-2.5").exact()), (-3, None));
        assert!(decimal("0.3") > decimal("0.29") && decimal("3") == decimal("3.0"));
    }
}
