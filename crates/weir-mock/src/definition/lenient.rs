//! JSON as people write it into YApi: comments, single quotes, bare keys, commas at the end
//! (JSON5 without its numbers). Called for bodies of YApi only; files are read by `parse`.

use serde_json::{Map, Number, Value};

/// The maximum depth of nested values.
const DEPTH_MAX: usize = 100;

/// The maximum number of problems that are reported for one text.
const PROBLEMS_MAX: usize = 20;

/// Reads a text as one value.
///
/// # Errors
/// What is wrong, each with its line and column: one problem for each line, as a second one in a
/// line is mostly a consequence of the first.
pub(crate) fn read(text: &str) -> Result<Value, Vec<String>> {
    // Plain JSON keeps its numbers as written.
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    let mut reader = Reader { text, at: 0, problems: Vec::new() };
    let value = reader.value(0).unwrap_or_else(|why| {
        reader.wrong(why);
        reader.skip();
        Value::Null
    });
    reader.blank();
    if reader.peek().is_some() {
        reader.wrong("something follows the value");
    }
    if reader.problems.is_empty() {
        return Ok(value);
    }
    let each = reader.problems.into_iter();
    Err(each.map(|one| format!("line {}, column {}: {}", one.line, one.column, one.why)).collect())
}

/// What is wrong at a place, counted from 1.
struct Problem {
    line: usize,
    column: usize,
    why: String,
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    problems: Vec<Problem>,
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

    /// Notes a problem here, unless this line has one already.
    fn wrong(&mut self, why: impl Into<String>) {
        let before = self.text.get(..self.at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let is_second = self.problems.last().is_some_and(|last| last.line >= line);
        if is_second || self.problems.len() >= PROBLEMS_MAX {
            return;
        }
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        self.problems.push(Problem { line, column, why: why.into() });
        if self.problems.len() >= PROBLEMS_MAX {
            self.at = self.text.len();
        }
    }

    /// Skips what cannot be read: up to the next `,`, closing bracket or line, brackets included.
    fn skip(&mut self) {
        let mut depth = 0_usize;
        while let Some(next) = self.peek() {
            match next {
                '{' | '[' | '(' => depth += 1,
                '}' | ']' | ',' | '\n' if depth == 0 => return,
                '}' | ']' | ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.take();
        }
    }

    /// Skips blanks and comments.
    fn blank(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if trimmed.starts_with("/*") {
                match trimmed.find("*/") {
                    Some(end) => self.at += end + 2,
                    None => {
                        self.wrong("this comment does not end");
                        self.at = self.text.len();
                    }
                }
            } else {
                return;
            }
        }
    }

    /// A value. On a problem the reader is where it is.
    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > DEPTH_MAX {
            self.wrong(format!("more than {DEPTH_MAX} values within each other"));
            self.at = self.text.len();
            return Ok(Value::Null);
        }
        self.blank();
        match self.peek() {
            Some('{') => Ok(self.object(depth)),
            Some('[') => Ok(self.array(depth)),
            Some('"' | '\'') => self.quoted().map(Value::String),
            Some('/') => Err("for a regular expression write `\"name|regexp\": \"…\"`".to_owned()),
            None | Some(',' | ':' | '}' | ']') => Err("a value is missing".to_owned()),
            Some(_) => self.word(),
        }
    }

    /// A value, or a note of what is wrong and nothing; the reader goes on behind it.
    fn noted(&mut self, depth: usize) -> Value {
        self.value(depth).unwrap_or_else(|why| {
            self.wrong(why);
            self.skip();
            Value::Null
        })
    }

    fn object(&mut self, depth: usize) -> Value {
        self.take();
        let mut members = Map::new();
        loop {
            self.blank();
            if self.ends('}', ']') {
                return Value::Object(members);
            }
            match self.key() {
                Ok(key) => {
                    let value = self.noted(depth + 1);
                    members.insert(key, value);
                }
                Err(why) => {
                    self.wrong(why);
                    self.skip();
                }
            }
            self.blank();
            if !self.takes(',') && !matches!(self.peek(), Some('}' | ']') | None) {
                self.wrong("`,` or `}` is expected");
            }
        }
    }

    /// A key with its `:`.
    fn key(&mut self) -> Result<String, String> {
        let key = match self.peek() {
            Some('"' | '\'') => self.quoted()?,
            _ => self.bare().to_owned(),
        };
        self.blank();
        match !key.is_empty() && self.takes(':') {
            true => Ok(key),
            false => Err("a key and `:` are expected".to_owned()),
        }
    }

    fn array(&mut self, depth: usize) -> Value {
        self.take();
        let mut elements = Vec::new();
        loop {
            self.blank();
            if self.ends(']', '}') {
                return Value::Array(elements);
            }
            let start = self.at;
            elements.push(self.noted(depth + 1));
            self.blank();
            if self.peek() == Some(':') {
                // The list ended before; the object around it goes on.
                self.at = start;
                self.wrong("`]` is missing before this key");
                return Value::Array(elements);
            }
            if !self.takes(',') && !matches!(self.peek(), Some('}' | ']') | None) {
                self.wrong("`,` or `]` is expected");
            }
        }
    }

    /// Whether an object or list ends here, with its own bracket or for lack of it.
    fn ends(&mut self, own: char, other: char) -> bool {
        if self.takes(own) {
            return true;
        }
        let is_over = self.peek().is_none_or(|next| next == other);
        if is_over {
            self.wrong(format!("`{own}` is missing"));
        }
        is_over
    }

    fn quoted(&mut self) -> Result<String, String> {
        let start = self.at;
        let quote = self.take();
        let mut out = String::new();
        loop {
            let next = self.take();
            let escaped = if next == Some('\\') { self.take() } else { next };
            let (Some(next), Some(escaped)) = (next, escaped) else {
                self.at = start;
                return Err("this text does not end".to_owned());
            };
            match next {
                end if Some(end) == quote => return Ok(out),
                '\\' => match escaped {
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
            (Err(errors), Err(parts)) => {
                let told = errors.join("\n");
                let parts: Vec<&str> = parts.split('|').collect();
                let all = parts.iter().zip(&errors).all(|(part, error)| error.contains(part));
                assert!(all && parts.len() == errors.len(), "{text}:\n{told}");
            }
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
        check("", Err("line 1, column 1: a value is missing"));
        check(&"[".repeat(100_000), Err("within each other"));
    }

    #[test]
    fn every_problem_is_named() {
        let text = "{\n a: nope,\n b: [1, 2,\n \"c\": 3,\n d: function() {\n return 1 },\n \
                    e: /x/\n f 1,\n g: 'x\n}";
        check(
            text,
            Err("line 2, column 5: `nope`|line 4, column 2: `]` is missing|line 5, column 5: \
                 scripts|line 7, column 5: for a regular|line 8, column 2: `,` or `}`|line 9, \
                 column 5: this text does not end"),
        );
        check("{a: [1, 2}", Err("line 1, column 10: `]` is missing"));
        check("{a: {b: 1\n, c: [", Err("line 2, column 7: `]` is missing"));
        check("[1,\n2\n3,\n,]", Err("line 3, column 1: `,`|line 4, column 1: a value"));
        let many = format!("[{}]", "?,\n".repeat(1_000));
        check(&many, Err("no value|".repeat(20).trim_end_matches('|')));
    }
}
