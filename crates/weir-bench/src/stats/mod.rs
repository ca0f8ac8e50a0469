//! Statistics over repeats: confidence intervals, paired comparison, change points. Pure functions.

mod change;
mod paired;
mod student;

pub use change::{Change, change_points};
pub use paired::{Answer, Comparison, PAIRS_MIN, compare};
pub use student::{cumulative, quantile};

/// Mean of some values; 0 for none.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Sample standard deviation; NaN below two values.
pub fn stdev(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return f64::NAN;
    }
    let mean = mean(values);
    let square: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (square / (values.len() - 1) as f64).sqrt()
}

/// JMH's error: half the width of the 99.9 % confidence interval of the mean; NaN below three
/// values, as JMH has it (`AbstractStatistics.getMeanErrorAt`).
pub fn jmh_error(values: &[f64]) -> f64 {
    if values.len() <= 2 {
        return f64::NAN;
    }
    let n = values.len() as f64;
    quantile(1.0 - 0.001 / 2.0, n - 1.0) * stdev(values) / n.sqrt()
}

/// Median of some values; NaN for none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match (sorted.len(), sorted.get(half)) {
        (0, _) | (_, None) => f64::NAN,
        (n, Some(upper)) if n % 2 == 1 => *upper,
        (_, Some(upper)) => (sorted[half - 1] + upper) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::{jmh_error, median, stdev};

    #[test]
    fn closed_forms() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!((stdev(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]) - 2.138_089_935).abs() < 1e-8);
        assert!(jmh_error(&[1.0, 2.0]).is_nan());
    }

    /// For n values of standard deviation s the half-width is so many s: 18.2 for 3, 3.85 for 5,
    /// 1.51 for 10, 0.75 for 25.
    #[test]
    fn jmh_errors_in_standard_deviations() {
        for (n, want) in [(3usize, 18.2), (5, 3.85), (10, 1.51), (25, 0.75)] {
            let values: Vec<f64> = (0..n).map(|at| at as f64).collect();
            let got = jmh_error(&values) / stdev(&values);
            assert!((got - want).abs() < 0.006 * want + 0.005, "{n}: {got}");
        }
    }
}
