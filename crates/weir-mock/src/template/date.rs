//! Dates and times, in UTC, by mock.js's formats.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::basic::text;
use super::evaluate::Evaluator;

pub(super) const NAMES: &[&str] = &["date", "time", "datetime", "now", "timestamp"];

const UNITS: &[&str] = &["year", "month", "week", "day", "hour", "minute", "second"];

impl Evaluator<'_> {
    pub(super) fn date_group(
        &mut self,
        name: &str,
        arguments: &[Value],
    ) -> Result<Option<Value>, String> {
        let usual = match name {
            "date" => "yyyy-MM-dd",
            "time" => "HH:mm:ss",
            _ => "yyyy-MM-dd HH:mm:ss",
        };
        let made = match name {
            "date" | "time" | "datetime" => {
                let moment = self.moment();
                written(text(arguments, 0).unwrap_or(usual), moment, self.now_ms)
            }
            "now" => {
                let first = text(arguments, 0).unwrap_or_default();
                let is_unit = UNITS.contains(&first);
                let format = match is_unit {
                    true => text(arguments, 1),
                    false => Some(first).filter(|first| !first.is_empty()),
                };
                let now = civil(self.now_ms);
                let start = if is_unit { start_of(now, first) } else { now };
                written(format.unwrap_or(usual), start, self.now_ms)
            }
            "timestamp" => return Ok(Some(Value::from(self.now_ms / 1000))),
            _ => return Ok(None),
        };
        Ok(Some(Value::String(made)))
    }

    /// Some moment between 1970 and now.
    fn moment(&mut self) -> DateTime {
        let ms = self.between(0, self.now_ms.max(1));
        civil(ms)
    }
}

fn civil(ms: i64) -> DateTime {
    let moment = Timestamp::from_millisecond(ms).unwrap_or_default();
    TimeZone::UTC.to_datetime(moment)
}

/// The beginning of the year, month, week (which begins on Sunday) and so on of a moment.
fn start_of(now: DateTime, unit: &str) -> DateTime {
    let day = now.date();
    let at = |hour: i8, minute: i8, second: i8| day.at(hour, minute, second, 0);
    match unit {
        "year" => day.first_of_year().at(0, 0, 0, 0),
        "month" => day.first_of_month().at(0, 0, 0, 0),
        "week" => {
            let since = i64::from(day.weekday().to_sunday_zero_offset());
            let sunday = day.checked_sub(jiff::Span::new().days(since)).unwrap_or(day);
            sunday.at(0, 0, 0, 0)
        }
        "day" => at(0, 0, 0),
        "hour" => at(now.hour(), 0, 0),
        "minute" => at(now.hour(), now.minute(), 0),
        _ => at(now.hour(), now.minute(), now.second()),
    }
}

/// A moment in the letters of mock.js.
fn written(format: &str, moment: DateTime, now_ms: i64) -> String {
    let mut out = String::new();
    let mut rest = format;
    let half = match moment.hour() % 12 {
        0 => 12,
        hour => hour,
    };
    let is_morning = moment.hour() < 12;
    let ms = moment.millisecond();
    while let Some(first) = rest.chars().next() {
        let formats: [(&str, String); 20] = [
            ("yyyy", format!("{:04}", moment.year())),
            ("yy", format!("{:02}", moment.year().rem_euclid(100))),
            ("y", format!("{:02}", moment.year().rem_euclid(100))),
            ("MM", format!("{:02}", moment.month())),
            ("M", moment.month().to_string()),
            ("dd", format!("{:02}", moment.day())),
            ("d", moment.day().to_string()),
            ("HH", format!("{:02}", moment.hour())),
            ("H", moment.hour().to_string()),
            ("hh", format!("{half:02}")),
            ("h", half.to_string()),
            ("mm", format!("{:02}", moment.minute())),
            ("m", moment.minute().to_string()),
            ("ss", format!("{:02}", moment.second())),
            ("s", moment.second().to_string()),
            ("SS", format!("{ms:03}")),
            ("S", ms.to_string()),
            ("A", if is_morning { "AM" } else { "PM" }.to_owned()),
            ("a", if is_morning { "am" } else { "pm" }.to_owned()),
            ("T", unix_ms(moment).unwrap_or(now_ms).to_string()),
        ];
        let found = formats.into_iter().find(|(letters, _)| rest.starts_with(letters));
        let used = match found {
            // ISO 8601: between digits, `T` is itself.
            Some(("T", _)) if rest.len() < format.len() => {
                out.push('T');
                1
            }
            Some((letters, text)) => {
                out.push_str(&text);
                letters.len()
            }
            None => {
                out.push(first);
                first.len_utf8()
            }
        };
        rest = rest.get(used..).unwrap_or_default();
    }
    out
}

fn unix_ms(moment: DateTime) -> Option<i64> {
    Some(TimeZone::UTC.to_timestamp(moment).ok()?.as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_asked() {
        let check = |format: &str, expected: &str| {
            let moment = jiff::civil::date(2024, 3, 5).at(15, 4, 9, 7_000_000);
            assert_eq!(written(format, moment, 0), expected, "{format}");
        };
        check("yyyy-MM-dd HH:mm:ss", "2024-03-05 15:04:09");
        check("yy/M/d h:m:s A a SS S", "24/3/5 3:4:9 PM pm 007 7");
        check("yyyy-MM-ddTHH:mm", "2024-03-05T15:04");
        check("T", "1709651049007");
        check("年é", "年é");
    }

    #[test]
    fn units_begin() {
        let now = jiff::civil::date(2024, 3, 5).at(15, 4, 9, 0);
        let check = |unit: &str, expected: &str| {
            assert_eq!(start_of(now, unit).to_string(), expected, "{unit}");
        };
        check("year", "2024-01-01T00:00:00");
        check("month", "2024-03-01T00:00:00");
        check("week", "2024-03-03T00:00:00");
        check("hour", "2024-03-05T15:00:00");
    }
}
