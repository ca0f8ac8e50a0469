//! Letters, words and sentences, in English and Chinese, and their case.

use serde_json::Value;

use super::basic::text;
use super::evaluate::Evaluator;
use super::letters::LOWER;

pub(super) const NAMES: &[&str] = &[
    "paragraph",
    "sentence",
    "word",
    "title",
    "cparagraph",
    "csentence",
    "cword",
    "ctitle",
    "capitalize",
    "upper",
    "lower",
];

const HAN: &str = "山水风云天地人和春夏秋冬花草树木日月星光江河湖海城市道路东西南北高低远近新旧大小多少\
                   上下左右前后书画琴棋茶酒米面金石玉瓷青白红黄安静明亮清平";

impl Evaluator<'_> {
    pub(super) fn text_group(
        &mut self,
        name: &str,
        arguments: &[Value],
    ) -> Result<Option<Value>, String> {
        let given = text(arguments, 0).unwrap_or_default();
        let made = match name {
            "paragraph" => {
                let count = self.length(arguments, 3, 7)?;
                self.joined(count, " ", |own| own.sentence(12, 18))
            }
            "sentence" => {
                let count = self.length(arguments, 12, 18)?.cast_signed();
                self.sentence(count, count)
            }
            "word" => {
                let count = self.length(arguments, 3, 10)?;
                self.string(LOWER, count)
            }
            "title" => {
                let count = self.length(arguments, 3, 7)?;
                self.joined(count, " ", |own| capital(&own.word()))
            }
            "cparagraph" => {
                let count = self.length(arguments, 3, 7)?;
                self.joined(count, "", |own| {
                    let count = own.between(12, 18).cast_unsigned();
                    own.string(HAN, count) + "。"
                })
            }
            "csentence" => {
                let count = self.length(arguments, 12, 18)?;
                self.string(HAN, count) + "。"
            }
            "cword" => {
                let has_pool = !given.is_empty();
                let rest = arguments.get(usize::from(has_pool)..).unwrap_or_default();
                let count = self.length(rest, 1, 1)?;
                self.string(if has_pool { given } else { HAN }, count)
            }
            "ctitle" => {
                let count = self.length(arguments, 3, 7)?;
                self.string(HAN, count)
            }
            "capitalize" => capital(given),
            "upper" => given.to_uppercase(),
            "lower" => given.to_lowercase(),
            _ => return Ok(None),
        };
        Ok(Some(Value::String(made)))
    }

    /// Characters of `pool`.
    pub(super) fn string(&mut self, pool: &str, count: u64) -> String {
        let letters: Vec<char> = pool.chars().collect();
        (0..count).filter_map(|_| self.pick(&letters)).collect()
    }

    pub(super) fn word(&mut self) -> String {
        let count = self.between(3, 10).cast_unsigned();
        self.string(LOWER, count)
    }

    fn sentence(&mut self, least: i64, most: i64) -> String {
        let count = self.between(least, most);
        let words: Vec<String> = (0..count).map(|_| self.word()).collect();
        capital(&words.join(" ")) + "."
    }

    fn joined(
        &mut self,
        count: u64,
        between: &str,
        mut make: impl FnMut(&mut Self) -> String,
    ) -> String {
        let all: Vec<String> = (0..count).map(|_| make(self)).collect();
        all.join(between)
    }
}

/// The text with its first letter as a capital.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
