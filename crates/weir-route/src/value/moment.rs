//! Moments: ISO date-times with offset and epoch milliseconds (SCG class
//! `StringToZonedDateTimeConverter`).

use std::cmp::Ordering;
use std::fmt;

use jiff::Timestamp;

use super::ValueError;

/// A moment with its text. Comparison is by time.
#[derive(Clone, Debug)]
pub struct Moment {
    at: Timestamp,
    text: Box<str>,
}

impl Moment {
    /// Reads `2017-01-20T17:42:47.789-07:00`, optionally followed by a zone in brackets (which does
    /// not change the moment), or milliseconds since 1970.
    ///
    /// # Errors
    /// The text is neither.
    pub fn parse(text: &str) -> Result<Self, ValueError> {
        let refuse = || ValueError {
            message: format!("`{text}` is not a date and time with offset"),
            help: "write `2017-01-20T17:42:47-07:00`, or milliseconds since 1970",
        };
        let trimmed = text.trim();
        if let Ok(millis) = trimmed.parse() {
            let at = Timestamp::from_millisecond(millis).map_err(|_| refuse())?;
            return Ok(Self { at, text: at.to_string().into() });
        }
        let time = match trimmed.strip_suffix(']') {
            Some(zoned) => {
                let (time, zone) = zoned.split_once('[').ok_or_else(refuse)?;
                let known = |c: char| c.is_ascii_alphanumeric() || "/_+-:~".contains(c);
                if zone.is_empty() || !zone.chars().all(known) {
                    return Err(refuse());
                }
                time
            }
            None => trimmed,
        };
        let at = time.parse().map_err(|_| refuse())?;
        Ok(Self { at, text: trimmed.into() })
    }

    /// Whether this moment is strictly before `ms` milliseconds since 1970.
    pub fn is_before(&self, ms: i64) -> bool {
        self.at.as_nanosecond() < i128::from(ms) * 1_000_000
    }

    /// Whether this moment is strictly after `ms` milliseconds since 1970.
    pub fn is_after(&self, ms: i64) -> bool {
        self.at.as_nanosecond() > i128::from(ms) * 1_000_000
    }

    /// Milliseconds since 1970, rounded down.
    pub fn millis(&self) -> i64 {
        self.at.as_millisecond()
    }
}

impl PartialEq for Moment {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.at.cmp(&other.at))
    }
}

impl fmt::Display for Moment {
    /// Prints as written; a number is printed as ISO date-time in UTC.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `ms` milliseconds since 1970 as an ISO date-time in UTC.
pub fn iso_time(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map_or_else(|_| format!("{ms} ms"), |at| at.to_string())
}

#[cfg(test)]
mod tests {
    use super::Moment;

    fn check(text: &str, millis: Option<i64>) {
        assert_eq!(Moment::parse(text).ok().map(|moment| moment.millis()), millis, "{text}");
    }

    #[test]
    fn moments_are_read() {
        check("2017-01-20T17:42:47.789-07:00[America/Denver]", Some(1_484_959_367_789));
        check("2017-01-20T17:42:47.789-07:00", Some(1_484_959_367_789));
        check("2017-01-21T00:42:47.789Z", Some(1_484_959_367_789));
        check("2017-01-21T08:42:47+08:00[Asia/Shanghai]", Some(1_484_959_367_000));
        check("2017-01-21T00:42Z", Some(1_484_959_320_000));
        check("1484959367789", Some(1_484_959_367_789));
        check("-1", Some(-1));
    }

    #[test]
    fn what_has_no_offset_is_refused() {
        check("2017-01-20T17:42:47.789", None);
        check("2017-01-20T17:42:47[America/Denver]", None);
        check("2017-01-20", None);
        check("2017-13-20T17:42:47Z", None);
        check("2017-01-20T17:42:47Z[]", None);
        check("", None);
    }

    #[test]
    fn comparison_is_strict_and_finer_than_a_millisecond() {
        let moment = Moment::parse("1970-01-01T00:00:00.0015Z").expect("a moment");
        assert!(!moment.is_before(1) && moment.is_before(2));
        assert!(moment.is_after(1) && !moment.is_after(2));
        let moment = Moment::parse("7").expect("a moment");
        assert!(!moment.is_before(7) && !moment.is_after(7));
        assert_eq!(moment.to_string(), "1970-01-01T00:00:00.007Z");
    }
}
