//! Points in time as Java's `Instant.toString` prints them.

const SECONDS_PER_DAY: i64 = 86_400;
/// The years 0000 to 9999, which have four digits.
const SHOWN_S: std::ops::RangeInclusive<i64> = -62_167_219_200..=253_402_300_799;

/// `at_s`, in seconds since 1970, as `2024-01-01T00:00:00Z`. Times outside the years 0 to 9999 are
/// clamped to them.
pub(crate) fn shown(at_s: i64) -> String {
    let at_s = at_s.clamp(*SHOWN_S.start(), *SHOWN_S.end());
    let (days, second) = (at_s.div_euclid(SECONDS_PER_DAY), at_s.rem_euclid(SECONDS_PER_DAY));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day of a day since 1970 (Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms", `civil_from_days`): years begin in March, eras have 400 years.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn moments_are_shown_as_java_does() {
        let check = |at_s, expected| assert_eq!(shown(at_s), expected);
        check(0, "1970-01-01T00:00:00Z");
        check(-1, "1969-12-31T23:59:59Z");
        check(1_300_819_380, "2011-03-22T18:43:00Z");
        check(1_709_164_800, "2024-02-29T00:00:00Z");
        check(951_782_400, "2000-02-29T00:00:00Z");
        check(4_107_542_400, "2100-03-01T00:00:00Z");
        check(i64::MIN, "0000-01-01T00:00:00Z");
        check(i64::MAX, "9999-12-31T23:59:59Z");
    }
}
