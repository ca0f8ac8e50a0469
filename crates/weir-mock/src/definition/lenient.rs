//! JSON as people write it into YApi: comments, single quotes, bare keys, commas at the end
//! (JSON5 without its numbers). Called for bodies of YApi only; files are read by `parse`.

use serde_json::{Map, Number, Value};

/// The maximum depth of nested values.
const DEPTH_MAX: usize = 100;

/// Reads a text as one value.
///
/// # Errors
/// What is wrong, with its line and column.
pub(crate) fn read(text: &str) -> Result<Value, String> {
    // Plain JSON keeps its numbers as written.
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    let mut reader = Reader { text, at: 0 };
    let result = reader.value(0).and_then(|value| {
        reader.blank()?;
        match reader.peek() {
            None => Ok(value),
            Some(_) => Err("something follows the value".to_owned()),
        }
    });
    result.map_err(|why| {
        let before = text.get(..reader.at.min(text.len())).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("line {line}, column {column}: {why}")
    })
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn takes(&mut self, wanted: char) -> bool {
        let is = self.peek() == Some(wanted);
        if is {
            self.at += wanted.len_utf8();
        }
        is
    }

    /// Skips blanks and comments.
    fn blank(&mut self) -> Result<(), String> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if trimmed.starts_with("/*") {
                self.at += trimmed.find("*/").ok_or("a comment does not end")? + 2;
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > DEPTH_MAX {
            return Err(format!("more than {DEPTH_MAX} values within each other"));
        }
        self.blank()?;
        match self.peek() {
            Some('{') => self.object(depth),
            Some('[') => self.array(depth),
            Some('"' | '\'') => self.quoted().map(Value::String),
            Some('/') => Err("for a regular expression write `\"name|regexp\": \"…\"`".to_owned()),
            Some(_) => self.word(),
            None => Err("a value is missing".to_owned()),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, String> {
        self.take();
        let mut members = Map::new();
        loop {
            self.blank()?;
            if self.takes('}') {
                return Ok(Value::Object(members));
            }
            let key = match self.peek() {
                Some('"' | '\'') => self.quoted()?,
                _ => self.bare().to_owned(),
            };
            self.blank()?;
            if key.is_empty() || !self.takes(':') {
                return Err("a key and `:` are expected".to_owned());
            }
            let value = self.value(depth + 1)?;
            members.insert(key, value);
            self.blank()?;
            if !self.takes(',') && self.peek() != Some('}') {
                return Err("`,` or `}` is expected".to_owned());
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, String> {
        self.take();
        let mut elements = Vec::new();
        loop {
            self.blank()?;
            if self.takes(']') {
                return Ok(Value::Array(elements));
            }
            elements.push(self.value(depth + 1)?);
            self.blank()?;
            if !self.takes(',') && self.peek() != Some(']') {
                return Err("`,` or `]` is expected".to_owned());
            }
        }
    }

    fn quoted(&mut self) -> Result<String, String> {
        let quote = self.take();
        let mut out = String::new();
        loop {
            match self.take().ok_or("a text does not end")? {
                end if Some(end) == quote => return Ok(out),
                '\\' => match self.take().ok_or("a text does not end")? {
                    'n' => out.push('\n'),
                    'r' => out.push('\r'),
                    't' => out.push('\t'),
                    'b' => out.push('\u{8}'),
                    'f' => out.push('\u{c}'),
                    '\n' => {}
                    'u' => out.push(self.unicode()?),
                    other => out.push(other),
                },
                other => out.push(other),
            }
        }
    }

    fn unicode(&mut self) -> Result<char, String> {
        let first = self.hex()?;
        if !(0xd800..0xdc00).contains(&first) {
            return Ok(char::from_u32(first).unwrap_or('\u{fffd}'));
        }
        if !self.rest().starts_with("\\u") {
            return Ok('\u{fffd}');
        }
        self.at += 2;
        let second = self.hex()?;
        let low = second.wrapping_sub(0xdc00) & 0x3ff;
        Ok(char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + low).unwrap_or('\u{fffd}'))
    }

    fn hex(&mut self) -> Result<u32, String> {
        let digits = self.rest().get(..4).ok_or("four digits follow `\\u`")?;
        let number = u32::from_str_radix(digits, 16).map_err(|_| "four digits follow `\\u`")?;
        self.at += 4;
        Ok(number)
    }

    /// An unquoted token: a key, a number, `true`.
    fn bare(&mut self) -> &'t str {
        let rest = self.rest();
        let ends = |c: char| c.is_whitespace() || ",:{}[]\"'/".contains(c);
        let word = rest.get(..rest.find(ends).unwrap_or(rest.len())).unwrap_or_default();
        self.at += word.len();
        word
    }

    fn word(&mut self) -> Result<Value, String> {
        let start = self.at;
        let word = self.bare();
        let number = || {
            let plain = word.trim_start_matches('+');
            let whole = plain.parse::<i64>().ok().map(Number::from);
            let numeric =
                plain.bytes().all(|byte| byte.is_ascii_digit() || b"-.eE+".contains(&byte));
            let broken = || plain.parse().ok().filter(|_| numeric).and_then(Number::from_f64);
            whole.or_else(broken).map(Value::Number)
        };
        let found = match word {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            "null" | "undefined" => Some(Value::Null),
            _ => number(),
        };
        found.ok_or_else(|| {
            self.at = start;
            match word.starts_with("function") {
                true => "scripts are not run; write a value or a placeholder".to_owned(),
                false => format!("`{word}` is no value"),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        match (read(text), expected) {
            (Ok(value), Ok(json)) => assert_eq!(value.to_string(), json, "{text}"),
            (Err(error), Err(part)) => assert!(error.contains(part), "{text}: {error}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }

    #[test]
    fn what_people_write_is_read() {
        check(
            "{a: 1, 'b|1-3': [true,], /* c */ \"d\": 'x\\'y', // e\n}",
            Ok(r#"{"a":1,"b|1-3":[true],"d":"x'y"}"#),
        );
        check("[.5, -2, 1e3, null]", Ok("[0.5,-2,1000.0,null]"));
        check(r#"{a: "\ud83d\ude00\u4e2d"}"#, Ok("{\"a\":\"😀中\"}"));
        check("{\n a: 1\n b: 2 }", Err("line 3, column 2: `,` or `}`"));
        check("{a: function() { return 1 }}", Err("scripts"));
        check("{a: /x/}", Err("regexp"));
        check("{a: inf}", Err("`inf` is no value"));
        check("{} {}", Err("follows"));
        check("/* a", Err("does not end"));
        check(&"[".repeat(100_000), Err("within each other"));
    }
}
