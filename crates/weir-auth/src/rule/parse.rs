//! Reads a rule: recursive descent over words, with a bound on depth.

use super::{Rule, RuleError};

/// Longest text, in bytes.
const BYTES_MAX: usize = 4096;
/// Deepest nesting of `not` and parentheses.
const DEPTH_MAX: usize = 32;

const TERMS: &str = "`scope:…`, `authority:…`, `role:…`, `claim:…`, `authenticated`, `not` or `(`";

impl Rule {
    /// Reads a rule.
    ///
    /// # Errors
    /// The first place that does not fit the grammar, or goes beyond 4096 bytes or 32 levels.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        if text.len() > BYTES_MAX {
            return Err(error(BYTES_MAX, "the rule is longer than 4096 bytes"));
        }
        let mut reader = Reader { text, at: 0, depth: 0 };
        let rule = reader.any()?;
        reader.skip_space();
        match reader.rest().chars().next() {
            None => Ok(rule),
            Some(')') => Err(error(reader.at, "this `)` closes nothing")),
            Some(_) => Err(error(reader.at, "`and`, `or` or the end is expected here")),
        }
    }
}

fn error(at: usize, message: impl Into<String>) -> RuleError {
    RuleError { at, message: message.into() }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn any(&mut self) -> Result<Rule, RuleError> {
        let mut rules = vec![self.all()?];
        while self.takes_word("or") {
            rules.push(self.all()?);
        }
        Ok(single(rules, Rule::Any))
    }

    fn all(&mut self) -> Result<Rule, RuleError> {
        let mut rules = vec![self.term()?];
        while self.takes_word("and") {
            rules.push(self.term()?);
        }
        Ok(single(rules, Rule::All))
    }

    fn term(&mut self) -> Result<Rule, RuleError> {
        self.skip_space();
        if self.depth == DEPTH_MAX {
            return Err(error(self.at, "the rule is nested more than 32 levels deep"));
        }
        self.depth += 1;
        let term = self.term_inside();
        self.depth -= 1;
        term
    }

    fn term_inside(&mut self) -> Result<Rule, RuleError> {
        let start = self.at;
        if self.takes("(") {
            let rule = self.any()?;
            self.skip_space();
            if !self.takes(")") {
                return Err(error(start, "this `(` is not closed"));
            }
            return Ok(rule);
        }
        if self.takes_word("not") {
            return Ok(Rule::Not(Box::new(self.term()?)));
        }
        if self.takes_word("authenticated") {
            return Ok(Rule::Authenticated);
        }
        let kind = self.until(|c| c == ':' || is_end(c));
        if !self.takes(":") {
            return Err(error(start, format!("{TERMS} is expected here")));
        }
        match kind {
            "scope" => self.value().map(Rule::Scope),
            "authority" => self.value().map(Rule::Authority),
            "role" => self.value().map(Rule::Role),
            "claim" => self.claim(),
            _ => Err(error(start, format!("`{kind}` is not known: {TERMS} is expected here"))),
        }
    }

    fn claim(&mut self) -> Result<Rule, RuleError> {
        let path = self.part(|c| c == '=' || is_end(c))?;
        if !self.takes("=") {
            return self.ends_here(Rule::Claim(path));
        }
        Ok(Rule::ClaimIs(path, self.value()?))
    }

    fn value(&mut self) -> Result<String, RuleError> {
        let value = self.part(is_end)?;
        self.ends_here(value)
    }

    /// A quoted string, or the text up to a character for which `ends` holds; the latter is not
    /// empty.
    fn part(&mut self, ends: impl Fn(char) -> bool) -> Result<String, RuleError> {
        let start = self.at;
        if self.takes("\"") {
            let text = self.until(|c| c == '"');
            if !self.takes("\"") {
                return Err(error(start, "this quote is not closed"));
            }
            return Ok(text.to_owned());
        }
        match self.until(ends) {
            "" => Err(error(start, "a value is expected here")),
            text if text.contains('"') => Err(error(start, "quotes stand around a whole value")),
            text => Ok(text.to_owned()),
        }
    }

    /// `found`, if a word ends here.
    fn ends_here<T>(&self, found: T) -> Result<T, RuleError> {
        match self.rest().chars().next() {
            Some(next) if !is_end(next) => Err(error(self.at, "a space is expected here")),
            _ => Ok(found),
        }
    }

    /// Consumes `word`, in lower or upper case, if it is next.
    fn takes_word(&mut self, word: &str) -> bool {
        self.skip_space();
        let rest = self.rest();
        let found = rest.split(is_end).next().unwrap_or_default();
        let is_word = found == word || found == word.to_ascii_uppercase();
        if is_word {
            self.at += word.len();
        }
        is_word
    }

    fn takes(&mut self, mark: &str) -> bool {
        let found = self.rest().starts_with(mark);
        if found {
            self.at += mark.len();
        }
        found
    }

    fn until(&mut self, ends: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let found = rest.split(ends).next().unwrap_or_default();
        self.at += found.len();
        found
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }
}

/// Whether a word ends before `c`.
fn is_end(c: char) -> bool {
    c.is_whitespace() || matches!(c, '(' | ')')
}

fn single(mut rules: Vec<Rule>, several: fn(Vec<Rule>) -> Rule) -> Rule {
    match rules.pop() {
        Some(only) if rules.is_empty() => only,
        Some(last) => {
            rules.push(last);
            several(rules)
        }
        None => several(rules),
    }
}
