//! Identifiers, dice, colours, pictures, and what platforms added to mock.js.

use serde_json::Value;

use super::basic::{text, whole};
use super::evaluate::Evaluator;
use crate::generate::chinese;

pub(super) const NAMES: &[&str] = &[
    "guid",
    "uuid",
    "id",
    "increment",
    "inc",
    "d4",
    "d6",
    "d8",
    "d10",
    "d12",
    "d20",
    "d100",
    "color",
    "hex",
    "rgb",
    "rgba",
    "hsl",
    "image",
    "img",
    "dataimage",
    "phone",
    "regexp",
];

const SIZES: &[&str] = &["300x250", "250x250", "240x400", "336x280", "720x300", "468x60"];
/// A picture of one transparent pixel.
const POINT: &str =
    "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";

impl Evaluator<'_> {
    pub(super) fn misc(
        &mut self,
        name: &str,
        arguments: &[Value],
    ) -> Result<Option<Value>, String> {
        let channel = |own: &mut Self| own.below(256);
        let made = match name {
            "guid" | "uuid" => {
                let hex = self.string("0123456789abcdef", 30);
                let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
                let variant = self.word_of(&["8", "9", "a", "b"]);
                let (first, second, third) = (part(0, 8), part(8, 12), part(12, 15));
                format!("{first}-{second}-4{third}-{variant}{}-{}", part(15, 18), part(18, 30))
            }
            "id" => {
                let n = self.below(1 << 40);
                chinese::resident_id(self.chance, "id", n)
            }
            "increment" | "inc" => {
                let step = whole(arguments, 0).unwrap_or(1);
                let counter = self.counters.entry("increment".to_owned()).or_default();
                *counter = counter.wrapping_add(step);
                return Ok(Some(Value::from(*counter)));
            }
            "color" | "hex" => format!("#{:06x}", self.below(0x100_0000)),
            "rgb" => format!("rgb({}, {}, {})", channel(self), channel(self), channel(self)),
            "rgba" => {
                let alpha = self.below(100);
                let (red, green, blue) = (channel(self), channel(self), channel(self));
                format!("rgba({red}, {green}, {blue}, 0.{alpha:02})")
            }
            "hsl" => {
                format!("hsl({}, {}, {})", self.below(360), self.below(101), self.below(101))
            }
            "image" | "img" => self.image(arguments),
            "dataimage" => POINT.to_owned(),
            "phone" => {
                let n = self.below(1 << 40);
                chinese::mobile(self.chance, "phone", n)
            }
            "regexp" => {
                let pattern = text(arguments, 0).unwrap_or_default();
                let pattern = pattern.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
                let given = text(arguments, 0).unwrap_or_default().to_owned();
                let pattern = pattern.map_or(given, str::to_owned);
                return self.matching(&pattern).map(Some);
            }
            _ => {
                let sides = name.strip_prefix('d').and_then(|sides| sides.parse::<i64>().ok());
                let Some(sides) = sides else { return Ok(None) };
                return Ok(Some(Value::from(self.between(1, sides))));
            }
        };
        Ok(Some(Value::String(made)))
    }

    /// `(size, background, foreground, format, text)`, whatever is missing left out.
    fn image(&mut self, arguments: &[Value]) -> String {
        let size = match text(arguments, 0) {
            Some(size) => size.to_owned(),
            None => self.word_of(SIZES).to_owned(),
        };
        let mut url = format!("https://dummyimage.com/{size}");
        let colors = [text(arguments, 1), text(arguments, 2)];
        for color in colors.into_iter().flatten() {
            url.push('/');
            url.push_str(color.trim_start_matches('#'));
        }
        // Of three or more arguments the last is the text; a format may precede it.
        let (format, shown) = match arguments.len() {
            5.. => (text(arguments, 3), text(arguments, 4)),
            _ => (None, text(arguments, 3)),
        };
        if let Some(format) = format {
            url.push('.');
            url.push_str(format);
        }
        if let Some(shown) = shown {
            url.push_str("&text=");
            url.push_str(shown);
        }
        url
    }
}
