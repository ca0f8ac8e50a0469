//! Types of plain YAML scalars, as SnakeYAML resolves them, and their text in Spring.
//!
//! `yes` becomes `true`, `12.50` becomes `12.5`, `010` becomes `8`: surprising, but these are the
//! values of a filter's arguments in Spring Cloud Gateway. (SnakeYAML class `Resolver`; YAML 1.1
//! types.)

use std::borrow::Cow;

/// A scalar with its type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar<'t> {
    /// `~`, `null`, or an empty text.
    Null,
    /// `true`, `yes`, `on` and their opposites.
    Bool(bool),
    /// Decimal, octal, hexadecimal, binary, base 60.
    Int(i128),
    /// With a point or an exponent.
    Float(f64),
    /// Anything else.
    Text(Cow<'t, str>),
}

impl<'t> Scalar<'t> {
    /// The text of Java's `toString`.
    pub fn into_text(self) -> Cow<'t, str> {
        match self {
            Self::Null => Cow::Borrowed(""),
            Self::Bool(true) => Cow::Borrowed("true"),
            Self::Bool(false) => Cow::Borrowed("false"),
            Self::Int(n) => Cow::Owned(n.to_string()),
            Self::Float(x) => Cow::Owned(java_double(x)),
            Self::Text(text) => text,
        }
    }
}

/// The type of the plain scalar `text`.
pub(crate) fn resolve(text: &str) -> Scalar<'_> {
    match text.as_bytes().first() {
        None => Scalar::Null,
        Some(b'0'..=b'9' | b'-' | b'+' | b'.') => number(text),
        Some(b'~' | b'n' | b'N' | b'y' | b'Y' | b't' | b'T' | b'f' | b'F' | b'o' | b'O') => {
            word(text)
        }
        Some(_) => Scalar::Text(Cow::Borrowed(text)),
    }
}

fn word(text: &str) -> Scalar<'_> {
    match text {
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Scalar::Bool(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        _ => Scalar::Text(Cow::Borrowed(text)),
    }
}

fn number(text: &str) -> Scalar<'_> {
    if let Some(n) = int(text) {
        return Scalar::Int(n);
    }
    if let Some(x) = float(text) {
        return Scalar::Float(x);
    }
    Scalar::Text(Cow::Borrowed(text))
}

fn int(text: &str) -> Option<i128> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, text.get(1..)?),
        b'+' => (1, text.get(1..)?),
        _ => (1, text),
    };
    if let Some(binary) = digits.strip_prefix("0b") {
        return radix(binary, 2).map(|n| sign * n);
    }
    if let Some(hex) = digits.strip_prefix("0x") {
        return radix(hex, 16).map(|n| sign * n);
    }
    if digits == "0" {
        return Some(0);
    }
    if let Some(octal) = digits.strip_prefix('0') {
        return radix(octal, 8).map(|n| sign * n);
    }
    if digits.contains(':') {
        return base_60(digits).map(|n| sign * n);
    }
    radix(digits, 10).map(|n| sign * n)
}

/// Digits with optional `_`. More than 30 digits stay text: Java's BigInteger prints the same.
fn radix(digits: &str, radix: u32) -> Option<i128> {
    if !digits.starts_with(|c: char| c == '_' || c.is_digit(radix)) || digits.len() > 30 {
        return None;
    }
    if radix == 10 && digits.starts_with('_') {
        return None;
    }
    let plain: String = digits.chars().filter(|c| *c != '_').collect();
    if plain.is_empty() || !plain.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    i128::from_str_radix(&plain, radix).ok()
}

/// `1:30` is 90.
fn base_60(digits: &str) -> Option<i128> {
    let mut parts = digits.split(':');
    let mut value = radix(parts.next()?, 10)?;
    for part in parts {
        let ok = matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']);
        if !ok {
            return None;
        }
        value = value.checked_mul(60)?.checked_add(part.parse().ok()?)?;
    }
    Some(value)
}

fn float(text: &str) -> Option<f64> {
    match text {
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Some(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Some(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" => return Some(f64::NAN),
        _ => {}
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    if let Some(exponent) = exponent {
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
    }
    let point = mantissa.contains('.');
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let leads = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
    let shaped = match whole.is_empty() {
        true => leads(fraction) && unsigned.len() == text.len(),
        false => leads(whole) && (point || exponent.is_some()),
    };
    if !shaped || !digits(whole) || !digits(fraction) {
        return None;
    }
    text.replace('_', "").parse().ok()
}

/// `Double.toString`: plain from 1e-3 to 1e7, else `1.0E10`.
fn java_double(x: f64) -> String {
    if x.is_nan() {
        return "NaN".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "Infinity".to_owned() } else { "-Infinity".to_owned() };
    }
    let size = x.abs();
    if x == 0.0 || (1e-3..1e7).contains(&size) {
        return format!("{x:?}");
    }
    let text = format!("{x:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let point = if mantissa.contains('.') { "" } else { ".0" };
    format!("{mantissa}{point}E{exponent}")
}

#[cfg(test)]
mod tests {
    use super::resolve;

    fn check(written: &str, expected: &str) {
        assert_eq!(resolve(written).into_text(), expected, "for {written}");
    }

    #[test]
    fn plain_scalars_arrive_as_snakeyaml_reads_them() {
        check("yes", "true");
        check("Off", "false");
        check("y", "y");
        check("~", "");
        check("", "");
        check("null", "");
        check("NULLs", "NULLs");
        check("12.50", "12.5");
        check("1.10", "1.1");
        check("1.0", "1.0");
        check("1.", "1.0");
        check(".5", "0.5");
        check("-.5", "-.5");
        check("1e3", "1000.0");
        check("1.5e10", "1.5E10");
        check("1e-4", "1.0E-4");
        check(".inf", "Infinity");
        check("010", "8");
        check("08", "08");
        check("0", "0");
        check("0x1F", "31");
        check("0b101", "5");
        check("1_000", "1000");
        check("+7", "7");
        check("-7", "-7");
        check("1:30", "90");
        check("1:75", "1:75");
        check("127.0.0.1", "127.0.0.1");
        check("10ms", "10ms");
        check("2024-01-01", "2024-01-01");
        check("1.2.3", "1.2.3");
        check("-", "-");
        check(".", ".");
        check("+", "+");
        check("0x", "0x");
        check("12345678901234567890", "12345678901234567890");
    }
}
