//! Medians and ratios with their spread.

use serde::Serialize;

/// A median and its range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The middle value; of an even number, the mean of the two middle ones.
    pub median: f64,
    /// Least value.
    pub min: f64,
    /// Greatest value.
    pub max: f64,
    /// Number of values.
    pub n: usize,
}

impl Spread {
    /// Of all numbers in `values`; `None` if there is none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
        Some(Self { median, min, max, n })
    }

    /// The ratio of this to that, round by round, so that effects of a round on both cancel out.
    pub fn ratio(this: &[f64], that: &[f64]) -> Option<Self> {
        Self::of(this.iter().zip(that).map(|(this, that)| this / that))
    }

    /// As `0.94 (0.91–0.97)`, or the median alone if there is one value.
    pub fn show(&self, decimals: usize) -> String {
        let number = |value: f64| grouped(value, decimals);
        if self.n < 2 {
            return number(self.median);
        }
        format!("{} ({}–{})", number(self.median), number(self.min), number(self.max))
    }
}

/// `value` with so many decimals and with commas between thousands.
pub fn grouped(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (whole, fraction) = text.split_once('.').map_or((&*text, None), |(w, f)| (w, Some(f)));
    let digits = whole.trim_start_matches('-');
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    let sign = if whole.starts_with('-') { "-" } else { "" };
    let fraction = fraction.map(|f| format!(".{f}")).unwrap_or_default();
    format!("{sign}{out}{fraction}")
}

#[cfg(test)]
mod tests {
    use super::{Spread, grouped};

    fn check(values: &[f64], expected: Option<(f64, f64, f64)>) {
        let got = Spread::of(values.iter().copied());
        assert_eq!(got.map(|s| (s.median, s.min, s.max)), expected, "{values:?}");
    }

    #[test]
    fn spreads() {
        check(&[], None);
        check(&[3.0], Some((3.0, 3.0, 3.0)));
        check(&[9.0, 1.0, 2.0], Some((2.0, 1.0, 9.0)));
        check(&[4.0, 1.0, 2.0, 9.0], Some((3.0, 1.0, 9.0)));
        check(&[f64::NAN, 1.0, f64::INFINITY], Some((1.0, 1.0, 1.0)));
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        // Twice as slow a round for both leaves the ratio as it is.
        let ratio = Spread::ratio(&[8.0, 16.0, 9.0], &[10.0, 20.0, 10.0]).unwrap();
        assert_eq!((ratio.median, ratio.min, ratio.max), (0.8, 0.8, 0.9));
        assert_eq!(ratio.show(2), "0.80 (0.80–0.90)");
        assert_eq!(Spread::ratio(&[1.0], &[0.0]), None);
    }

    #[test]
    fn numbers_are_grouped() {
        for (value, decimals, expected) in [
            (0.0, 0, "0"),
            (999.0, 0, "999"),
            (1000.4, 0, "1,000"),
            (-1234567.891, 2, "-1,234,567.89"),
            (12.345, 1, "12.3"),
        ] {
            assert_eq!(grouped(value, decimals), expected);
        }
    }
}
