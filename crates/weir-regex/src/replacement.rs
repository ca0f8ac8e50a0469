//! Replacement text in Java's notation: `$1`, `${name}`, and `\` to escape a character.

use crate::error::{PatternError, RegexError};
use crate::groups::Groups;
use crate::java_regex::JavaRegex;
use crate::limits::REPLACE_STEPS_MAX;

/// A compiled replacement (`Matcher.appendReplacement`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    parts: Box<[Part]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(Box<str>),
    Group(usize),
}

impl Replacement {
    /// Compiles `text` for the groups of `regex`, and prepares `regex` for searching.
    ///
    /// # Errors
    /// A group that `regex` does not have, or a trailing or invalid `$` or `\`: Java fails at the
    /// first match, weir when it reads the configuration.
    pub fn parse(text: &str, regex: &JavaRegex) -> Result<Self, PatternError> {
        regex.prepare_find()?;
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(char) = rest.chars().next() {
            let column = text.len() - rest.len();
            rest = rest.get(char.len_utf8()..).unwrap_or_default();
            match char {
                '\\' => {
                    let Some(escaped) = rest.chars().next() else {
                        return Err(PatternError::new(column, "`\\` stands before nothing")
                            .help("write `\\\\` for the character"));
                    };
                    plain.push(escaped);
                    rest = rest.get(escaped.len_utf8()..).unwrap_or_default();
                }
                '$' => {
                    let (group, behind) = reference(rest, column, regex)?;
                    if !plain.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut plain).into()));
                    }
                    parts.push(Part::Group(group));
                    rest = behind;
                }
                char => plain.push(char),
            }
        }
        if !plain.is_empty() {
            parts.push(Part::Text(plain.into()));
        }
        Ok(Self { parts: parts.into() })
    }

    /// Appends the replacement of a match.
    fn expand(&self, groups: &Groups<'_>, out: &mut String) {
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Group(group) => out.push_str(groups.get(*group).unwrap_or_default()),
            }
        }
    }
}

impl JavaRegex {
    /// `text` with every match replaced (`Matcher.replaceAll`), including an empty match directly
    /// after another match: `.*` is replaced twice.
    ///
    /// # Errors
    /// See [`RegexError`].
    pub fn replace_all(&self, text: &str, with: &Replacement) -> Result<String, RegexError> {
        let mut out = String::with_capacity(text.len());
        let mut copied = 0;
        let mut next = 0;
        let mut spent = 0;
        while next <= text.len() {
            let Some(groups) = self.find_spending(text, next, &mut spent)? else { break };
            if spent > REPLACE_STEPS_MAX {
                return Err(RegexError::Steps);
            }
            let (start, end) = groups.span();
            out.push_str(text.get(copied..start).unwrap_or_default());
            with.expand(&groups, &mut out);
            copied = end;
            next = if start == end { after_char(text, end) } else { end };
        }
        out.push_str(text.get(copied..).unwrap_or_default());
        Ok(out)
    }
}

/// The offset after the character at byte `at`.
fn after_char(text: &str, at: usize) -> usize {
    let char = text.get(at..).and_then(|rest| rest.chars().next());
    at + char.map_or(1, char::len_utf8)
}

/// The group named by the text after a `$`, and the rest of the text.
fn reference<'t>(
    text: &'t str,
    column: usize,
    regex: &JavaRegex,
) -> Result<(usize, &'t str), PatternError> {
    let unknown = |group: &str| {
        PatternError::new(column, format!("the expression has no group `{group}`"))
            .help("name one of its groups, or write `\\$` for the character")
    };
    if let Some(rest) = text.strip_prefix('{') {
        let (name, behind) = rest.split_once('}').ok_or_else(|| {
            PatternError::new(column, "`${` is not closed by `}`")
                .help("write `\\$` for the character")
        })?;
        let group = regex.group(name).ok_or_else(|| unknown(name))?;
        return Ok((group, behind));
    }
    let mut group = None;
    let mut rest = text;
    while let Some(digit) = rest.chars().next().and_then(|char| char.to_digit(10)) {
        let longer = group.unwrap_or(0) * 10 + digit as usize;
        if group.is_some() && longer > regex.groups() {
            break;
        }
        group = Some(longer);
        rest = rest.get(1..).unwrap_or_default();
    }
    match group {
        Some(group) if group <= regex.groups() => Ok((group, rest)),
        Some(group) => Err(unknown(&group.to_string())),
        None => Err(PatternError::new(column, "`$` names no group")
            .help("write `$1` or `${name}`, or `\\$` for the character")),
    }
}

#[cfg(test)]
mod tests {
    use super::Replacement;
    use crate::java_regex::JavaRegex;

    fn check(regex: &str, text: &str, with: &str, expected: Result<&str, &str>) {
        let regex = JavaRegex::new(regex).expect("an expression");
        let replaced = Replacement::parse(with, &regex)
            .map(|with| regex.replace_all(text, &with).expect("few steps"));
        let replaced = replaced.as_ref().map(String::as_str).map_err(|e| e.message.as_str());
        assert_eq!(replaced, expected, "{with}");
    }

    #[test]
    fn groups_are_put_in() {
        check("/red/?(?<segment>.*)", "/red/a/b", "/${segment}", Ok("/a/b"));
        check("(a)(b)?", "ab ac", "$1$2.", Ok("ab. a.c"));
        check("(a)", "a", "$11", Ok("a1"));
        check("(a)", "a", "$0$0", Ok("aa"));
        check("a", "a", r"\$1\\", Ok(r"$1\"));
        check(".*", "abc", "x", Ok("xx"));
        check("x*", "abc", "-", Ok("-a-b-c-"));
        check("x*", "\u{e4}x", "-", Ok("-\u{e4}--"));
    }

    #[test]
    fn what_no_match_could_fill_is_refused() {
        check("(a)", "a", "$2", Err("the expression has no group `2`"));
        check("(a)", "a", "${x}", Err("the expression has no group `x`"));
        check("(a)", "a", "${x", Err("`${` is not closed by `}`"));
        check("(a)", "a", "$x", Err("`$` names no group"));
        check("(a)", "a", "x\\", Err("`\\` stands before nothing"));
    }
}
