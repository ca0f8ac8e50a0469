//! Times, rates and sizes as people write and read them.

/// Seconds from `250ms`, `10s`, `5m`, `1h`, `100us`; a bare number is seconds.
///
/// # Errors
/// A sentence for the operator.
pub fn seconds(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic() || c == 'µ').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale = match unit {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("'{text}' is not a time (such as 250ms, 10s, 5m)")),
    };
    match number.trim().parse::<f64>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value * scale),
        _ => Err(format!("'{text}' is not a time (such as 250ms, 10s, 5m)")),
    }
}

/// A duration; see [`seconds`].
///
/// # Errors
/// A sentence for the operator.
pub fn duration(text: &str) -> Result<std::time::Duration, String> {
    std::time::Duration::try_from_secs_f64(seconds(text)?).map_err(|why| why.to_string())
}

/// A rate or count from `500`, `1k`, `2.5k`, `1M`, with or without `/s`.
///
/// # Errors
/// A sentence for the operator.
pub fn rate(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let number = text.strip_suffix("/s").unwrap_or(text);
    let (number, scale) = match number.as_bytes().last() {
        Some(b'k' | b'K') => (&number[..number.len() - 1], 1e3),
        Some(b'M') => (&number[..number.len() - 1], 1e6),
        _ => (number, 1.0),
    };
    match number.parse::<f64>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value * scale),
        _ => Err(format!("'{text}' is not a rate (such as 500, 2.5k)")),
    }
}

/// A count from `10000`, `10k`.
///
/// # Errors
/// A sentence for the operator.
pub fn count(text: &str) -> Result<u64, String> {
    let value = rate(text)?;
    if value.fract() != 0.0 || value > u64::MAX as f64 {
        return Err(format!("'{text}' is not a whole number"));
    }
    Ok(value as u64)
}

/// Nanoseconds for people, three significant digits: `1.23ms`.
pub fn show_time(nanos: f64) -> String {
    let (value, unit) = match nanos {
        n if n >= 100e9 => return format!("{:.0}s", n / 1e9),
        n if n >= 1e9 => (n / 1e9, "s"),
        n if n >= 1e6 => (n / 1e6, "ms"),
        n if n >= 1e3 => (n / 1e3, "µs"),
        n => return format!("{n:.0}ns"),
    };
    let digits = if value >= 100.0 { 0 } else { 1 + usize::from(value < 10.0) };
    format!("{value:.digits$}{unit}")
}

/// A rate or count with thousands separated: `12,941`.
pub fn show_count(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if value <= -0.5 { format!("-{out}") } else { out }
}

/// A size: `1.5 MB`.
pub fn show_bytes(bytes: f64) -> String {
    match bytes {
        b if b >= 1e9 => format!("{:.2} GB", b / 1e9),
        b if b >= 1e6 => format!("{:.2} MB", b / 1e6),
        b if b >= 1e3 => format!("{:.1} kB", b / 1e3),
        b => format!("{b:.0} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::{count, rate, seconds, show_count, show_time};

    fn check(got: Result<f64, String>, expected: Option<f64>) {
        match (got, expected) {
            (Ok(got), Some(want)) => assert!((got - want).abs() < 1e-12, "{got} {want}"),
            (got, want) => assert_eq!(got.is_ok(), want.is_some(), "{got:?}"),
        }
    }

    #[test]
    fn units_are_read() {
        check(seconds("250ms"), Some(0.25));
        check(seconds("1.5m"), Some(90.0));
        check(seconds("10"), Some(10.0));
        check(seconds("100us"), Some(1e-4));
        check(seconds("-1s"), None);
        check(seconds("1d"), None);
        check(rate("2.5k"), Some(2500.0));
        check(rate("300/s"), Some(300.0));
        check(rate("NaN"), None);
        check(count("10k").map(|n| n as f64), Some(10_000.0));
        check(count("1.5").map(|n| n as f64), None);
    }

    #[test]
    fn units_are_shown() {
        let times = [12.0, 1_234.0, 45_678_900.0, 1_500_000_000.0, 123e6].map(show_time);
        assert_eq!(times, ["12ns", "1.23µs", "45.7ms", "1.50s", "123ms"]);
        assert_eq!([12_941.3, 999.0, -1000.0].map(show_count), ["12,941", "999", "-1,000"]);
    }
}
