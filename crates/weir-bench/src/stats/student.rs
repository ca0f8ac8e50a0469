//! Student's t distribution, by the continued fraction of the incomplete beta function (Numerical
//! Recipes 6.4; Lentz).

/// ln Γ(x) for x > 0 (Lanczos, g = 7, nine terms).
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let mut sum = 0.999_999_999_999_809_9;
    for (at, term) in TERMS.iter().enumerate() {
        sum += term / (x + at as f64 + 1.0);
    }
    let t = x + 7.5;
    0.5 * std::f64::consts::TAU.ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// The regularised incomplete beta function I_x(a, b).
fn beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta(1.0 - x, b, a);
    }
    let front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln();
    let tiny = 1e-300;
    let keep = |value: f64| if value.abs() < tiny { tiny } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / keep(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for step in 1..500 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / keep(1.0 + even * d);
        c = keep(1.0 + even / c);
        fraction *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / keep(1.0 + odd * d);
        c = keep(1.0 + odd / c);
        let change = d * c;
        fraction *= change;
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    front.exp() * fraction / a
}

/// P(T ≤ t) with `freedom` degrees of freedom.
pub fn cumulative(t: f64, freedom: f64) -> f64 {
    let tail = 0.5 * beta(freedom / (freedom + t * t), freedom / 2.0, 0.5);
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// The t with P(T ≤ t) = `probability`, for 0.5 ≤ `probability` < 1.
pub fn quantile(probability: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while cumulative(high, freedom) < probability && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if cumulative(middle, freedom) < probability { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::{cumulative, quantile};

    /// Against published tables of Student's t.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        let table = [
            (0.975, 1.0, 12.706_2),
            (0.975, 10.0, 2.228_1),
            (0.995, 5.0, 4.032_1),
            (0.9995, 2.0, 31.599_1),
            (0.9995, 4.0, 8.610_3),
            (0.9995, 19.0, 3.883_4),
            (0.9995, 120.0, 3.373_5),
        ];
        for (probability, freedom, want) in table {
            let got = quantile(probability, freedom);
            assert!((got - want).abs() < 2e-4, "{probability} {freedom}: {got}");
        }
        assert!((cumulative(0.0, 7.0) - 0.5).abs() < 1e-12);
        assert!((cumulative(-2.228_1, 10.0) - 0.025).abs() < 1e-5);
    }
}
