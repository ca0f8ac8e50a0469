//! Texts: by pattern, by format, by the name of the field.

use base64::Engine;
use serde_json::Value;

use super::{Generator, Spot, example, names, pattern};

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
            // For a pattern with look-ahead only the schema's examples are used.
            let made = made.map(Value::String).or_else(|| example(schema).cloned());
            return made.ok_or_else(|| {
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
        let moment = jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string();
        let (date, time) = moment.split_once('T').unwrap_or_default();
        Some(match format {
            "date-time" => moment,
            "date" => date.to_owned(),
            "time" => time.to_owned(),
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
