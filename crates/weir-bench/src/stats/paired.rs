//! Paired comparison of A and B: the Hodges-Lehmann estimate of the log ratio, its exact Wilcoxon
//! confidence interval, and an equivalence band.

/// Pairs below which no interval is given: the Wilcoxon interval at 95 % needs six.
pub const PAIRS_MIN: usize = 6;

/// The conclusion about B against A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// B's value is higher beyond the band.
    Higher,
    /// B's value is lower beyond the band.
    Lower,
    /// The difference lies within the band.
    Same,
    /// The interval reaches across a bound of the band.
    CannotTell,
}

/// B in units of A.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Comparison {
    /// Estimate of B / A.
    pub ratio: f64,
    /// Lower bound at 95 %.
    pub low: f64,
    /// Upper bound at 95 %.
    pub high: f64,
    /// The conclusion.
    pub answer: Answer,
}

/// Compares pairs (a, b) of positive values; `band` is the ratio that does not matter, such as
/// 0.02.
pub fn compare(pairs: &[(f64, f64)], band: f64) -> Option<Comparison> {
    let logs: Vec<f64> = pairs.iter().map(|(a, b)| (b / a).ln()).collect();
    if logs.is_empty() || logs.iter().any(|log| !log.is_finite()) {
        return None;
    }
    let mut walsh = Vec::with_capacity(logs.len() * (logs.len() + 1) / 2);
    for (at, one) in logs.iter().enumerate() {
        walsh.extend(logs.iter().skip(at).map(|other| (one + other) / 2.0));
    }
    walsh.sort_by(f64::total_cmp);
    let ratio = super::median(&walsh).exp();
    if logs.len() < PAIRS_MIN {
        let (low, high) = (0.0, f64::INFINITY);
        return Some(Comparison { ratio, low, high, answer: Answer::CannotTell });
    }
    let skip = signed_rank_critical(logs.len());
    let (low, high) = (walsh[skip].exp(), walsh[walsh.len() - 1 - skip].exp());
    let answer = if low > 1.0 + band {
        Answer::Higher
    } else if high < 1.0 / (1.0 + band) {
        Answer::Lower
    } else if low >= 1.0 / (1.0 + band) && high <= 1.0 + band {
        Answer::Same
    } else {
        Answer::CannotTell
    };
    Some(Comparison { ratio, low, high, answer })
}

/// The number of Walsh averages to leave out at either end: the greatest c with P(W < c) ≤ 0.025
/// under the exact distribution of the signed-rank sum.
fn signed_rank_critical(n: usize) -> usize {
    let top = n * (n + 1) / 2;
    let mut ways = vec![0.0f64; top + 1];
    ways[0] = 1.0;
    for rank in 1..=n {
        for sum in (rank..=top).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    let all = 2f64.powi(n as i32);
    let mut below = 0.0;
    for (sum, count) in ways.iter().enumerate() {
        below += count / all;
        if below > 0.025 {
            return sum;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::{Answer, compare, signed_rank_critical};
    use crate::dice::Dice;

    /// Against the published table of Wilcoxon's T (two-sided 5 %): T ≤ 0 for 6, 2 for 7, 8 for 10,
    /// 52 for 20; one more average is left out than that.
    #[test]
    fn critical_values_are_those_of_the_table() {
        for (n, table) in [(6, 0), (7, 2), (8, 3), (10, 8), (20, 52)] {
            assert_eq!(signed_rank_critical(n), table + 1, "{n}");
        }
    }

    fn check(ratio: f64, noise: f64, pairs: usize, expected: Answer) {
        let mut dice = Dice::new(11);
        let mut jitter = || 1.0 + noise * (dice.unit() - 0.5);
        let pairs: Vec<_> =
            (0..pairs).map(|_| (100.0 * jitter(), 100.0 * ratio * jitter())).collect();
        let got = compare(&pairs, 0.02).unwrap();
        assert_eq!(got.answer, expected, "{got:?}");
        assert!((got.ratio - ratio).abs() < noise.max(1e-6), "{got:?}");
    }

    #[test]
    fn answers_fit_their_differences() {
        check(1.10, 0.02, 10, Answer::Higher);
        check(0.90, 0.02, 10, Answer::Lower);
        check(1.00, 0.01, 12, Answer::Same);
        check(1.03, 0.30, 8, Answer::CannotTell);
        check(2.00, 0.01, 5, Answer::CannotTell);
    }

    /// The interval contains the true value at least about as often as stated.
    #[test]
    fn coverage_is_at_least_nominal() {
        let mut dice = Dice::new(3);
        let runs = 2_000;
        let covered = (0..runs).filter(|_| {
            let mut noisy = || (0.2 * (dice.unit() + dice.unit() - 1.0)).exp();
            let pairs: Vec<_> = (0..8).map(|_| (noisy(), 1.05 * noisy())).collect();
            let got = compare(&pairs, 0.02).unwrap();
            (got.low..=got.high).contains(&1.05)
        });
        let share = covered.count() as f64 / f64::from(runs);
        assert!((0.94..0.99).contains(&share), "{share}");
    }
}
