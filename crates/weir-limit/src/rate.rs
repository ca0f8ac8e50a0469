//! A rate: an exact number of events per period.

use std::fmt;

const SECOND_NS: u64 = 1_000_000_000;
/// Digits behind the point that a rate may have.
const DECIMALS: u32 = 3;
/// Thousandths.
const UNIT: u64 = 10_u64.pow(DECIMALS);
/// Highest number of events in a period.
const EVENTS_MAX: u64 = 1_000_000_000;

/// A number of events per period. Kept as a fraction, so that rounding errors do not add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    /// Events in thousandths; not 0.
    thousandths: u64,
    period_ns: u64,
}

/// Syntax error in a rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateError(&'static str);

impl fmt::Display for RateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Rate {
    /// `count` events a second.
    ///
    /// # Errors
    /// `count` is 0 or beyond a thousand million.
    pub fn per_second(count: u64) -> Result<Self, RateError> {
        Self::new(count.saturating_mul(UNIT), SECOND_NS)
    }

    fn new(thousandths: u64, period_ns: u64) -> Result<Self, RateError> {
        match thousandths {
            0 => Err(RateError("it lets nothing pass; write a number above 0")),
            n if n > EVENTS_MAX * UNIT => Err(RateError("it is higher than a thousand million")),
            _ => Ok(Self { thousandths, period_ns }),
        }
    }

    /// Reads `500/s`, `333.3/s`, `30/min`, `10/h`; a bare number is per second.
    ///
    /// # Errors
    /// The text is malformed.
    pub fn parse(text: &str) -> Result<Self, RateError> {
        let (count, unit) = text.trim().split_once('/').unwrap_or((text.trim(), "s"));
        let period = match unit.trim() {
            "s" | "sec" | "second" => SECOND_NS,
            "m" | "min" | "minute" => 60 * SECOND_NS,
            "h" | "hour" => 3_600 * SECOND_NS,
            _ => return Err(RateError("its unit is none of `/s`, `/min`, `/h`")),
        };
        let (whole, rest) = count.trim().split_once('.').unwrap_or((count.trim(), ""));
        let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(rest) {
            return Err(RateError("write a number above 0, such as `500/s` or `0.5/min`"));
        }
        if rest.len() > DECIMALS as usize {
            return Err(RateError("it has more than three digits behind the point"));
        }
        let long = |_| RateError("it is higher than a thousand million");
        let whole: u64 = whole.parse().map_err(long)?;
        let rest: u64 = format!("{rest:0<3}").parse().map_err(long)?;
        Self::new(whole.saturating_mul(UNIT).saturating_add(rest), period)
    }

    /// Distance between events, in nanoseconds, rounded up.
    pub fn interval_ns(self) -> u64 {
        let time = u128::from(self.period_ns) * u128::from(UNIT);
        u64::try_from(time.div_ceil(u128::from(self.thousandths))).unwrap_or(u64::MAX)
    }

    /// Duration of `count` events, in nanoseconds, rounded down.
    pub fn time_of(self, count: u64) -> u64 {
        let time = u128::from(count) * u128::from(self.period_ns) * u128::from(UNIT)
            / u128::from(self.thousandths);
        u64::try_from(time).unwrap_or(u64::MAX)
    }

    /// The same rate as a whole number of events in the fewest seconds possible.
    pub fn quota(self) -> (u64, u64) {
        // 333.3 in a second are 3333 in ten.
        let is_whole = |factor: &u64| (self.thousandths * factor).is_multiple_of(UNIT);
        let factor = [1, 10, 100].into_iter().find(is_whole).unwrap_or(UNIT);
        (self.thousandths * factor / UNIT, self.period_ns / SECOND_NS * factor)
    }

    /// Events of a second, rounded up; at least 1.
    pub fn of_a_second(self) -> u64 {
        let events = u128::from(self.thousandths) * u128::from(SECOND_NS);
        let per = u128::from(self.period_ns) * u128::from(UNIT);
        u64::try_from(events.div_ceil(per)).unwrap_or(u64::MAX).max(1)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.period_ns / SECOND_NS {
            60 => "min",
            3_600 => "h",
            _ => "s",
        };
        let (whole, rest) = (self.thousandths / UNIT, self.thousandths % UNIT);
        match rest {
            0 => write!(f, "{whole}/{unit}"),
            _ => write!(f, "{whole}.{}/{unit}", format!("{rest:03}").trim_end_matches('0')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rate;

    #[test]
    fn texts() {
        let check = |text: &str, expected: &str| {
            let found = Rate::parse(text).map_or_else(|e| format!("error: {e}"), |r| r.to_string());
            assert_eq!(found, expected, "{text}");
        };
        check("500/s", "500/s");
        check(" 333.3 / s ", "333.3/s");
        check("30/min", "30/min");
        check("0.5/h", "0.5/h");
        check("7", "7/s");
        for bad in ["0/s", "-1/s", "NaN/s", "1e3/s", "/s", "1/d", "1.2345/s", "∞", "", "0.000/s"]
        {
            assert!(Rate::parse(bad).is_err(), "{bad}");
        }
        assert!(Rate::parse("99999999999999999999/s").is_err());
    }

    #[test]
    fn a_quota_is_a_whole_number() {
        let check = |text: &str, expected: (u64, u64)| {
            assert_eq!(Rate::parse(text).expect("a rate").quota(), expected, "{text}");
        };
        check("500/s", (500, 1));
        check("333.3/s", (3_333, 10));
        check("0.25/min", (25, 6_000));
        check("0.125/s", (125, 1_000));
        check("30/h", (30, 3_600));
    }

    #[test]
    fn no_rounding_adds_up() {
        let rate = Rate::parse("333.3/s").expect("a rate");
        assert_eq!(rate.time_of(3_333), 10_000_000_000);
        assert_eq!(rate.of_a_second(), 334);
        assert_eq!(Rate::parse("10/h").expect("a rate").time_of(10), 3_600_000_000_000);
    }
}
