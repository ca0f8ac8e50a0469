//! Values of properties: durations, sizes, truth values, as Spring Boot converts them.

use std::time::Duration;

/// Longest duration taken: about 100 years, so that sums of durations never overflow.
const MILLIS_MAX: u64 = 100 * 366 * 24 * 3_600 * 1_000;

/// `10ms`, `5s`, `2m`, `1h`, `1d`, `PT1.5S`, bare milliseconds (class `DurationStyle`). Negative
/// ones are refused.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    if text.starts_with(['P', 'p', '+']) {
        return iso(text.strip_prefix('+').unwrap_or(text));
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let nanos_per: u64 = match unit.trim_start().to_ascii_lowercase().as_str() {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "" | "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    bounded(u128::from(number) * u128::from(nanos_per))
}

/// ISO 8601 as `java.time.Duration.parse` takes it: days, hours, minutes, seconds.
fn iso(text: &str) -> Option<Duration> {
    let upper = text.to_ascii_uppercase();
    let rest = upper.strip_prefix('P')?;
    let (days, time) = rest.split_once('T').unwrap_or((rest, ""));
    if days.is_empty() && time.is_empty() {
        return None;
    }
    let mut nanos: u128 = 0;
    if !days.is_empty() {
        let number: u32 = days.strip_suffix('D')?.parse().ok()?;
        nanos += u128::from(number) * 86_400_000_000_000;
    }
    let mut rest = time;
    for (unit, nanos_per) in [('H', 3_600_000_000_000_u128), ('M', 60_000_000_000)] {
        if let Some((number, after)) = rest.split_once(unit) {
            nanos += u128::from(number.parse::<u32>().ok()?) * nanos_per;
            rest = after;
        }
    }
    if !rest.is_empty() {
        let number = rest.strip_suffix('S')?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        if fraction.is_empty() || fraction.len() > 9 {
            return None;
        }
        let scale = 10_u128.pow(9 - u32::try_from(fraction.len()).ok()?);
        nanos += u128::from(whole.parse::<u32>().ok()?) * 1_000_000_000;
        nanos += u128::from(fraction.parse::<u32>().ok()?) * scale;
    }
    bounded(nanos)
}

fn bounded(nanos: u128) -> Option<Duration> {
    let millis = u64::try_from(nanos / 1_000_000).ok()?;
    if millis > MILLIS_MAX {
        return None;
    }
    let rest = u64::try_from(nanos % 1_000_000).ok()?;
    Some(Duration::from_millis(millis) + Duration::from_nanos(rest))
}

/// `5MB`, `16KB`, `100B`, bare bytes; 1024-based (class `DataSize`).
pub(crate) fn data_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let shift = match unit.trim_start().to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "KB" => 10,
        "MB" => 20,
        "GB" => 30,
        "TB" => 40,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

/// `true`, `on`, `yes`, `1` and their opposites in any case (class `StringToBooleanConverter`).
pub(crate) fn bool(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "on" | "yes" | "1" => Some(true),
        "false" | "off" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// The candidate nearest to `word`, if it is near enough to be meant.
pub(crate) fn nearest<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    let letters = |text: &str| -> Vec<char> { text.to_lowercase().chars().collect() };
    let word = letters(word);
    let best = candidates
        .into_iter()
        .map(|candidate| (distance(&word, &letters(candidate)), candidate))
        .min_by_key(|(distance, _)| *distance)?;
    let limit = (word.len() / 3).max(1);
    (best.0 <= limit).then_some(best.1)
}

/// Edits from one word to the other; two letters that changed places are one edit.
fn distance(one: &[char], two: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=two.len()).collect();
    for (at, letter) in one.iter().enumerate() {
        let mut row = vec![at + 1];
        for (other_at, other) in two.iter().enumerate() {
            let get = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX / 2);
            let same = usize::from(letter != other);
            let mut best = (get(&last, other_at) + same)
                .min(get(&last, other_at + 1) + 1)
                .min(get(&row, other_at) + 1);
            let swapped = at > 0
                && other_at > 0
                && one.get(at - 1) == Some(other)
                && two.get(other_at - 1) == Some(letter);
            if swapped {
                best = best.min(get(&before, other_at - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{data_size, duration, nearest};

    #[test]
    fn durations() {
        fn check(text: &str, millis: Option<u64>) {
            assert_eq!(duration(text).map(|d| d.as_millis() as u64), millis, "for {text}");
        }
        check("10", Some(10));
        check("10ms", Some(10));
        check("10 s", Some(10_000));
        check("2m", Some(120_000));
        check("1H", Some(3_600_000));
        check("1d", Some(86_400_000));
        check("PT1S", Some(1_000));
        check("pt1.5s", Some(1_500));
        check("P1DT2H3M4S", Some(93_784_000));
        check("PT0.005S", Some(5));
        check("-1", None);
        check("P", None);
        check("PT", None);
        check("1.5s", None);
        check("x", None);
        check("", None);
        check("99999999999999999999", None);
        check("999999999999d", None);
    }

    #[test]
    fn sizes() {
        assert_eq!(data_size("5MB"), Some(5 << 20));
        assert_eq!(data_size("16 kb"), Some(16 << 10));
        assert_eq!(data_size("7"), Some(7));
        assert_eq!(data_size("7B"), Some(7));
        assert_eq!(data_size("7X"), None);
        assert_eq!(data_size("99999999999TB"), None);
    }

    #[test]
    fn near_words() {
        let words = ["server", "store", "access-log"];
        assert_eq!(nearest("sever", words), Some("server"));
        assert_eq!(nearest("acces-log", words), Some("access-log"));
        assert_eq!(nearest("sotre", words), Some("store"));
        assert_eq!(nearest("banana", words), None);
    }
}
