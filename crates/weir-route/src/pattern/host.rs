//! Host patterns as SCG reads them: Spring's `AntPathMatcher` with `.` between labels.
//!
//! Unlike SCG, case does not matter (RFC 9110 4.2.3), a trailing dot of the name neither, and an
//! empty label (`a..b`) is not skipped over.

use std::fmt;

use super::PatternError;
use super::glob::{Glob, Item};
use super::path::SegmentShape;
use super::regex::{Flags, RegexCache, RegexError, check_syntax, quote};
use crate::request::Vars;

/// A compiled host pattern.
#[derive(Clone, Debug)]
pub struct HostPattern {
    text: Box<str>,
    /// Empty for a pattern that is literal throughout.
    parts: Box<[Part]>,
    include_port: bool,
}

/// What one label of a pattern demands. Names are compared in lower case.
#[derive(Clone, Copy, Debug)]
pub enum Label<'a> {
    /// This text, in lower case.
    Literal(&'a str),
    /// Any one label.
    One {
        /// Name of the variable it captures.
        variable: Option<&'a str>,
    },
    /// One label of a certain shape.
    Shape(&'a SegmentShape),
    /// `**`: any number of labels, none too.
    Many,
}

#[derive(Clone, Debug)]
enum Part {
    Literal(Box<str>),
    One(Option<Box<str>>),
    Shape(Box<SegmentShape>),
    Many,
}

impl HostPattern {
    /// Compiles `text`. With `include_port`, the last label is compared with the `:port` that the
    /// request states, as SCG does by default.
    ///
    /// # Errors
    /// Where and why `text` is not a host pattern.
    pub fn parse(
        text: &str,
        include_port: bool,
        regexes: &RegexCache,
    ) -> Result<Self, PatternError> {
        let mut parts = Vec::new();
        let mut column = 0;
        let name = text.strip_suffix('.').unwrap_or(text);
        for label in name.split('.') {
            parts.push(parse_label(label, regexes).map_err(|error| error.shift(column))?);
            column += label.len() + 1;
        }
        if parts.iter().all(|part| matches!(part, Part::Literal(_))) {
            parts.clear();
        }
        let text = if parts.is_empty() { name.to_ascii_lowercase() } else { text.to_owned() };
        Ok(Self { text: text.into(), parts: parts.into(), include_port })
    }

    /// The pattern as written (a literal one in lower case).
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The one host that matches, in lower case, with its port if the pattern names one.
    pub fn literal(&self) -> Option<&str> {
        self.parts.is_empty().then_some(&*self.text)
    }

    /// Whether the port takes part: compare with [`HostLabels::text`] of the same flag.
    pub fn includes_port(&self) -> bool {
        self.include_port
    }

    /// The labels, left to right.
    pub fn labels(&self) -> impl DoubleEndedIterator<Item = Label<'_>> + Clone {
        let literal = self.literal().into_iter().flat_map(|text| text.split('.'));
        let parts = self.parts.iter().map(|part| match part {
            Part::Literal(text) => Label::Literal(text),
            Part::One(variable) => Label::One { variable: variable.as_deref() },
            Part::Shape(shape) => Label::Shape(shape),
            Part::Many => Label::Many,
        });
        literal.map(Label::Literal).chain(parts)
    }

    /// Whether it publishes variables.
    pub fn has_variables(&self) -> bool {
        self.labels().any(|label| match label {
            Label::Literal(_) | Label::Many => false,
            Label::One { variable } => variable.is_some(),
            Label::Shape(shape) => shape.has_variables(),
        })
    }

    /// Whether `host` matches.
    ///
    /// # Errors
    /// A regular expression that runs out of steps, or has groups of its own.
    pub fn matches(&self, host: &HostLabels) -> Result<bool, RegexError> {
        if host.is_empty() {
            return Ok(false);
        }
        match self.literal() {
            Some(text) => Ok(host.text(self.include_port) == text),
            None => Ok(self.align(host)?.is_some()),
        }
    }

    /// Publishes the variables of a `host` that matches; does nothing if it does not.
    pub fn capture(&self, host: &HostLabels, vars: &mut Vars) {
        if !self.has_variables() || host.is_empty() {
            return;
        }
        let Ok(Some(places)) = self.align(host) else { return };
        let mut labels = self.labels();
        for at in places {
            let text = host.label(at, self.include_port).unwrap_or_default();
            match labels.find(|label| !matches!(label, Label::Many)) {
                Some(Label::One { variable: Some(name) }) => vars.set(name, text.to_owned()),
                Some(Label::Shape(shape)) => shape.capture(text, vars),
                _ => {}
            }
        }
    }

    /// The label of the host that each label of the pattern takes (`**` left out), if all agree.
    /// What stands between two `**` goes as far left as it can: no other choice can do better.
    fn align(&self, host: &HostLabels) -> Result<Option<Vec<usize>>, RegexError> {
        let mut pattern = self.labels();
        let mut places = Vec::new();
        let mut at = 0;
        // Behind the last `**`: the labels to come, how many were placed, and where to try next.
        let mut retry = None;
        loop {
            let agreed = match pattern.next() {
                Some(Label::Many) => {
                    retry = Some((pattern.clone(), places.len(), at));
                    continue;
                }
                Some(label) => match host.label(at, self.include_port) {
                    Some(text) => label.accepts(text)?,
                    None => return Ok(None),
                },
                None if at == host.len() => return Ok(Some(places)),
                None => false,
            };
            if agreed {
                places.push(at);
                at += 1;
                continue;
            }
            let Some((labels, placed, from)) = &mut retry else { return Ok(None) };
            *from += 1;
            if *from > host.len() {
                return Ok(None);
            }
            pattern = labels.clone();
            places.truncate(*placed);
            at = *from;
        }
    }
}

impl Label<'_> {
    /// Whether this label takes `text`, in lower case. `**` takes any.
    ///
    /// # Errors
    /// A regular expression that cannot decide.
    pub fn accepts(&self, text: &str) -> Result<bool, RegexError> {
        match self {
            Self::Literal(literal) => Ok(*literal == text),
            Self::One { .. } => Ok(!text.is_empty()),
            Self::Shape(shape) => shape.accepts(text),
            Self::Many => Ok(true),
        }
    }
}

impl fmt::Display for HostPattern {
    /// The pattern as written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Elements of a label: `?`, `*`, `{name}`, `{name:regex}`; what is not one is text.
fn parse_label(label: &str, regexes: &RegexCache) -> Result<Part, PatternError> {
    let mut items = Vec::new();
    let mut source = String::new();
    let mut variables: Vec<Box<str>> = Vec::new();
    let mut needs_regex = false;
    let mut rest = label;
    let ignore_case = Flags { ignore_case: true, ..Flags::default() };
    while let Some(char) = rest.chars().next() {
        if let Some((name, regex, behind)) = variable(rest) {
            if let Some(regex) = regex {
                needs_regex = true;
                // Alone first, for an error that tells its place.
                let column = label.len() - rest.len() + name.len() + 2;
                check_syntax(regex).map_err(|error| error.shift(column))?;
            }
            source.push_str(&regex.map_or("((?s:.*))".to_owned(), |regex| format!("({regex})")));
            items.push(Item::Any(Some(name.into())));
            variables.push(name.into());
            rest = behind;
            continue;
        }
        rest = rest.get(char.len_utf8()..).unwrap_or_default();
        match char {
            '*' => {
                items.push(Item::Any(None));
                source.push_str(".*");
            }
            '?' => {
                items.push(Item::Char);
                source.push('.');
            }
            _ => {
                let text = char.to_lowercase().to_string();
                source.push_str(&quote(&text));
                items.push(Item::Text(text.into()));
            }
        }
    }
    if needs_regex {
        let regex = regexes.get(&source, ignore_case).map_err(|error| error.at(0))?;
        let broken = regex.groups() != variables.len();
        let variables = variables.into();
        return Ok(Part::Shape(Box::new(SegmentShape::Regex { regex, variables, broken })));
    }
    Ok(match items.as_slice() {
        [Item::Any(variable)] => Part::One(variable.clone()),
        [Item::Any(None), Item::Any(None)] => Part::Many,
        items if items.iter().all(|item| matches!(item, Item::Text(_))) => {
            Part::Literal(label.to_lowercase().into())
        }
        _ => Part::Shape(Box::new(SegmentShape::Glob(Glob::new(items)))),
    })
}

/// `{name}` or `{name:regex}` at the start of `text`, and what follows it.
fn variable(text: &str) -> Option<(&str, Option<&str>, &str)> {
    let mut depth = 0;
    for (at, char) in text.char_indices() {
        match char {
            '{' => depth += 1,
            '}' if depth == 1 => {
                let inside = text.get(1..at)?;
                let behind = text.get(at + 1..)?;
                return match inside.split_once(':') {
                    _ if inside.is_empty() => None,
                    Some((name, regex)) => Some((name, Some(regex), behind)),
                    None => Some((inside, None, behind)),
                };
            }
            '}' => depth -= 1,
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// The host that a request asks for, in lower case, cut into labels. Reuse one value for many
/// requests: nothing is freed.
///
/// A dot at the end of the name is dropped, also before a port.
#[derive(Clone, Debug, Default)]
pub struct HostLabels {
    text: String,
    /// Length of the name without its port.
    name_len: usize,
    /// Where each label ends in `text`; the last one without its port.
    ends: Vec<u32>,
}

impl HostLabels {
    /// The labels of `raw`.
    pub fn of(raw: &[u8]) -> Self {
        let mut labels = Self::default();
        labels.read(raw);
        labels
    }

    /// Replaces the labels by those of `raw`, a Host field or an authority: `name[:port]`.
    pub fn read(&mut self, raw: &[u8]) {
        self.text.clear();
        self.ends.clear();
        match std::str::from_utf8(raw) {
            Ok(text) => self.text.push_str(text),
            Err(_) => self.text.push_str(&String::from_utf8_lossy(raw)),
        }
        self.text.make_ascii_lowercase();
        let digits =
            self.text.len() - self.text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let port_len = match self.text.len() - digits {
            before if self.text.get(..before).is_some_and(|t| t.ends_with(':')) => digits + 1,
            _ => 0,
        };
        self.name_len = self.text.len() - port_len;
        if self.name_len > 1 && self.text.get(..self.name_len).is_some_and(|t| t.ends_with('.')) {
            self.name_len -= 1;
            self.text.remove(self.name_len);
        }
        if self.name_len == 0 {
            return;
        }
        let name = self.text.as_bytes().get(..self.name_len).unwrap_or_default();
        self.ends.extend(memchr::memchr_iter(b'.', name).map(|at| at as u32));
        self.ends.push(self.name_len as u32);
    }

    /// The whole host, with its port or without.
    pub fn text(&self, with_port: bool) -> &str {
        let len = if with_port { self.text.len() } else { self.name_len };
        self.text.get(..len).unwrap_or_default()
    }

    /// Number of labels.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether the request names no host.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Label `at` from the left; the last one with the `:port` if `with_port`.
    pub fn label(&self, at: usize, with_port: bool) -> Option<&str> {
        let end = match *self.ends.get(at)? as usize {
            _ if with_port && at + 1 == self.ends.len() => self.text.len(),
            end => end,
        };
        let before = at.checked_sub(1).and_then(|before| self.ends.get(before));
        let start = before.map_or(0, |end| *end as usize + 1);
        self.text.get(start..end)
    }
}
