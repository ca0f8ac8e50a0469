//! Texts: by pattern, by format, by the name of the field.

use base64::Engine;
use serde_json::Value;

use super::{Generator, Spot, names, pattern};

impl Generator<'_> {
    pub(super) fn string(&self, schema: &Value, spot: &Spot) -> Result<Value, String> {
        let count = |key: &str| schema.get(key).and_then(Value::as_u64);
        let least = usize::try_from(count("minLength").unwrap_or(0)).unwrap_or(usize::MAX);
        let most = count("maxLength").and_then(|most| usize::try_from(most).ok());
        let most = most.unwrap_or(usize::MAX);
        if least > most || least > 1_000_000 {
            return Err(format!("{}: no text has such a length", spot.pointer));
        }
        if let Some(own) = schema.get("pattern").and_then(Value::as_str) {
            let most = most.min(least.saturating_add(64).max(256));
            let made = pattern::text(own, self.chance, &spot.pointer, spot.attempt, least, most);
            return made.map(Value::String).ok_or_else(|| {
                format!("{}: no text was found that matches `{own}`", spot.pointer)
            });
        }
        if let Some(format) = schema.get("format").and_then(Value::as_str)
            && let Some(text) = self.format(format, spot)
        {
            return Ok(Value::String(text));
        }
        let text = match self.is_dynamic() {
            true => names::text(&spot.name, self.chance, &spot.pointer, spot.attempt)
                .unwrap_or_else(|| names::word(self.chance, &spot.pointer, spot.attempt)),
            false => "string".to_owned(),
        };
        Ok(Value::String(fit(text, least, most)))
    }

    /// A text of a format that JSON Schema or OpenAPI names.
    fn format(&self, format: &str, spot: &Spot) -> Option<String> {
        let roll = |n: u64, end: u64| match self.is_dynamic() {
            true => self.chance.below(&spot.pointer, spot.attempt * 16 + n, end),
            false => 0,
        };
        // Up to two years before now, so that it looks like something that has happened.
        let seconds = match self.is_dynamic() {
            true => self.now_ms / 1000 - i64::try_from(roll(0, 63_072_000)).unwrap_or(0),
            false => 1_566_656_122,
        };
        let (date, time) = date_time(seconds);
        Some(match format {
            "date-time" => format!("{date}T{time}Z"),
            "date" => date,
            "time" => format!("{time}Z"),
            "duration" => format!("P{}D", 1 + roll(1, 30)),
            "email" | "idn-email" => match self.is_dynamic() {
                true => names::text("email", self.chance, &spot.pointer, spot.attempt)?,
                false => "user@example.com".to_owned(),
            },
            "hostname" | "idn-hostname" => "example.com".to_owned(),
            "ipv4" => format!("192.0.2.{}", 1 + roll(2, 254)),
            "ipv6" => format!("2001:db8::{:x}", 1 + roll(3, 65_000)),
            "uri" | "url" | "iri" => format!("https://example.com/{}", roll(4, 1000)),
            "uri-reference" | "iri-reference" => format!("/{}", roll(4, 1000)),
            "uri-template" => "https://example.com/{id}".to_owned(),
            "uuid" => match self.is_dynamic() {
                true => {
                    let high = self.chance.roll(&spot.pointer, spot.attempt * 16 + 5);
                    let low = self.chance.roll(&spot.pointer, spot.attempt * 16 + 6);
                    let number = u128::from(high) << 64 | u128::from(low);
                    let number = number & !(0xf << 76) | 4 << 76;
                    let number = number & !(3 << 62) | 2 << 62;
                    let hex = format!("{number:032x}");
                    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
                    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
                }
                false => "497f6eca-6276-4993-bfeb-53cbbbba6f08".to_owned(),
            },
            "json-pointer" => "/a/b".to_owned(),
            "relative-json-pointer" => "0/a".to_owned(),
            "regex" => "^[a-z]+$".to_owned(),
            "byte" => base64::engine::general_purpose::STANDARD.encode("weir"),
            "password" => "pa$$word".to_owned(),
            _ => return None,
        })
    }
}

/// The text, no shorter and no longer than that, in characters.
fn fit(text: String, least: usize, most: usize) -> String {
    let length = text.chars().count();
    if length > most {
        return text.chars().take(most).collect();
    }
    let missing = least.saturating_sub(length);
    text.chars().chain("string".chars().cycle().take(missing)).collect()
}

/// Seconds since 1970 as date and time in UTC (Howard Hinnant's days-from-civil, turned round).
fn date_time(seconds: i64) -> (String, String) {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    (format!("{year:04}-{month:02}-{day:02}"), format!("{hour:02}:{minute:02}:{:02}", second % 60))
}

#[cfg(test)]
mod tests {
    use super::date_time;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let check = |seconds, date: &str, time: &str| {
            assert_eq!(date_time(seconds), (date.to_owned(), time.to_owned()));
        };
        check(0, "1970-01-01", "00:00:00");
        check(951_782_400, "2000-02-29", "00:00:00");
        check(1_566_656_122, "2019-08-24", "14:15:22");
    }
}
