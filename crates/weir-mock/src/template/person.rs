//! Names of people who do not exist.

use serde_json::Value;

use super::evaluate::Evaluator;
use crate::generate::names::{FAMILY, FIRST, GIVEN, LAST};

pub(super) const NAMES: &[&str] = &["first", "last", "name", "cfirst", "clast", "cname"];

impl Evaluator<'_> {
    pub(super) fn person(
        &mut self,
        name: &str,
        arguments: &[Value],
    ) -> Result<Option<Value>, String> {
        let made = match name {
            "first" => self.word_of(FIRST).to_owned(),
            "last" => self.word_of(LAST).to_owned(),
            "name" => {
                let first = self.word_of(FIRST);
                let has_middle = arguments.first() == Some(&Value::Bool(true));
                let middle =
                    if has_middle { format!("{} ", self.word_of(FIRST)) } else { String::new() };
                format!("{first} {middle}{}", self.word_of(LAST))
            }
            // In Chinese, the family name is the first one.
            "cfirst" => self.word_of(FAMILY).to_owned(),
            "clast" => self.word_of(GIVEN).to_owned(),
            "cname" => format!("{}{}", self.word_of(FAMILY), self.word_of(GIVEN)),
            _ => return Ok(None),
        };
        Ok(Some(Value::String(made)))
    }
}
