//! Durations: Spring Boot's `DurationStyle`.

use std::time::Duration;

use super::ValueError;

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// Reads `10ms`, `5m`, `1d`, `PT1S` (ISO 8601), or a bare number of milliseconds.
///
/// # Errors
/// Not a duration, a negative one, or one longer than 584 years.
pub fn parse_duration(text: &str) -> Result<Duration, ValueError> {
    let refuse = |what: &str| ValueError {
        message: format!("`{text}` {what}"),
        help: "write a number and a unit (ns, us, ms, s, m, h, d), such as `500ms`, or ISO 8601, \
               such as `PT0.5S`; a bare number means milliseconds",
    };
    let trimmed = text.trim();
    if trimmed.starts_with('-') {
        return Err(refuse("is negative"));
    }
    let unsigned = trimmed.strip_prefix('+').unwrap_or(trimmed);
    let nanos = match unsigned.strip_prefix(['p', 'P']) {
        Some(iso) => iso_nanos(iso),
        None => simple_nanos(unsigned),
    };
    let nanos = nanos.ok_or_else(|| refuse("is not a duration"))?;
    let nanos = u64::try_from(nanos).map_err(|_| refuse("is too long"))?;
    Ok(Duration::from_nanos(nanos))
}

fn simple_nanos(text: &str) -> Option<u128> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(unit_at)?;
    let factor = match unit.to_ascii_lowercase().as_str() {
        "ns" => 1,
        "us" => 1_000,
        "" | "ms" => 1_000_000,
        "s" => NANOS_PER_SECOND,
        "m" => 60 * NANOS_PER_SECOND,
        "h" => 3_600 * NANOS_PER_SECOND,
        "d" => 86_400 * NANOS_PER_SECOND,
        _ => return None,
    };
    number.parse::<u128>().ok()?.checked_mul(factor)
}

/// Parses `1DT2H3M4.5S`, the text after `P`. Years and months have no fixed length.
fn iso_nanos(text: &str) -> Option<u128> {
    let (days, time) = match text.split_once(['t', 'T']) {
        Some((days, time)) if !time.is_empty() => (days, time),
        Some(_) => return None,
        None if text.is_empty() => return None,
        None => (text, ""),
    };
    let mut nanos = 0_u128;
    if !days.is_empty() {
        let number = days.strip_suffix(['d', 'D'])?;
        nanos = fixed_nanos(number, 86_400, false)?;
    }
    let mut rest = time;
    for (unit, seconds) in [('H', 3_600), ('M', 60), ('S', 1)] {
        let Some(at) = rest.find([unit, unit.to_ascii_lowercase()]) else { continue };
        let (number, behind) = rest.split_at_checked(at)?;
        nanos = nanos.checked_add(fixed_nanos(number, seconds, unit == 'S')?)?;
        rest = behind.get(1..)?;
    }
    rest.is_empty().then_some(nanos)
}

fn fixed_nanos(number: &str, seconds: u128, fraction: bool) -> Option<u128> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let dotted = number.contains('.');
    if whole.is_empty() || !digits(whole) || !digits(part) || (dotted && !fraction) {
        return None;
    }
    let part = part.get(..part.len().min(9))?;
    let part = format!("{part:0<9}").parse::<u128>().ok()?;
    let unit = seconds.checked_mul(NANOS_PER_SECOND)?;
    whole.parse::<u128>().ok()?.checked_mul(unit)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::parse_duration;

    fn check(text: &str, expected: Option<Duration>) {
        assert_eq!(parse_duration(text).ok(), expected, "{text}");
    }

    #[test]
    fn durations_are_read_as_spring_boot_reads_them() {
        check("10ms", Some(Duration::from_millis(10)));
        check("5m", Some(Duration::from_secs(300)));
        check("1S", Some(Duration::from_secs(1)));
        check("+2h", Some(Duration::from_secs(7_200)));
        check("1d", Some(Duration::from_secs(86_400)));
        check("3us", Some(Duration::from_micros(3)));
        check("250", Some(Duration::from_millis(250)));
        check("PT1S", Some(Duration::from_secs(1)));
        check("pt0.5s", Some(Duration::from_millis(500)));
        check("P1DT2H3M4.25S", Some(Duration::from_millis(93_784_250)));
        check("P2D", Some(Duration::from_secs(172_800)));
    }

    #[test]
    fn what_is_not_a_duration_is_refused() {
        for text in ["", "ms", "1.5s", "-1s", "1w", "P", "PT", "P1M", "PT1", "PT1.5H", "PT.S"] {
            check(text, None);
        }
        check("1 s", None);
        check("99999999999999999999d", None);
        check("999999999999999999999999999999999999999999s", None);
    }
}
