//! Host patterns as SCG reads them: Spring's `AntPathMatcher` with `.` between labels.
//!
//! Unlike SCG, matching ignores case (RFC 9110 4.2.3) and a trailing dot of the name, and does not
//! skip an empty label (`a..b`).

use std::fmt;

use smol_str::SmolStr;
use weir_wire::each_place;

use super::PatternError;
use super::glob::{Glob, Item};
use super::path::SegmentShape;
use crate::vars::Vars;
use weir_regex::{Flags, RegexCache, RegexError, check_syntax, quote};

/// A compiled host pattern, stored as text like a [`PathPattern`](super::PathPattern).
#[derive(Clone, Debug)]
pub struct HostPattern {
    /// Literal labels in lower case.
    text: SmolStr,
    more: Option<Box<More>>,
    form: Form,
    include_port: bool,
}

/// Kinds of patterns, for a fast path of matching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Literal labels only.
    Literal,
    /// `**`, then literal labels: a suffix of hosts.
    Suffix,
    /// Any other pattern, compared label by label.
    Other,
}

/// Rarely used parts of a pattern.
#[derive(Clone, Debug)]
struct More {
    /// The pattern as written, if it differs from `text`.
    written: Option<Box<str>>,
    /// Shapes of its labels, in order, for labels whose text alone does not define a match.
    shapes: Box<[SegmentShape]>,
}

/// Condition on one label. Names are compared in lower case.
#[derive(Clone, Copy, Debug)]
pub enum Label<'a> {
    /// This text, in lower case.
    Literal(&'a str),
    /// Any one label.
    One {
        /// Name of the captured variable.
        variable: Option<&'a str>,
    },
    /// One label of a certain shape.
    Shape(&'a SegmentShape),
    /// `**`: any number of labels, including none.
    Many,
}

impl HostPattern {
    /// Compiles `text`. With `include_port`, the last label is compared including the `:port` of
    /// the request, as SCG does by default.
    ///
    /// # Errors
    /// Position and reason if `text` is not a host pattern.
    pub fn parse(
        text: &str,
        include_port: bool,
        regexes: &RegexCache,
    ) -> Result<Self, PatternError> {
        let mut shapes = Vec::new();
        let mut canonical = String::new();
        let mut form = Form::Literal;
        let mut column = 0;
        let name = text.strip_suffix('.').unwrap_or(text);
        for label in name.split('.') {
            if column > 0 {
                canonical.push('.');
            }
            match plain(label) {
                Some(Label::Literal(text)) => canonical.push_str(&text.to_lowercase()),
                Some(label_form) => {
                    let is_suffix = column == 0 && matches!(label_form, Label::Many);
                    form = if is_suffix { Form::Suffix } else { Form::Other };
                    canonical.push_str(label);
                }
                None => {
                    form = Form::Other;
                    let shape = parse_shape(label, regexes);
                    shapes.push(shape.map_err(|error| error.shift(column))?);
                    canonical.push_str(label);
                }
            }
            column += label.len() + 1;
        }
        let written = (form != Form::Literal && canonical != text).then(|| text.into());
        let has_more = written.is_some() || !shapes.is_empty();
        let more = has_more.then(|| Box::new(More { written, shapes: shapes.into() }));
        Ok(Self { text: canonical.into(), more, form, include_port })
    }

    /// The pattern as written (a literal one in lower case).
    pub fn text(&self) -> &str {
        let written = self.more.as_ref().and_then(|more| more.written.as_deref());
        written.unwrap_or(&self.text)
    }

    /// The only host that matches, in lower case, with its port if the pattern has one.
    pub fn literal(&self) -> Option<&str> {
        (self.form == Form::Literal).then_some(&*self.text)
    }

    /// Whether the port is part of the comparison: use [`HostLabels::text`] with the same flag.
    pub fn includes_port(&self) -> bool {
        self.include_port
    }

    /// The labels, left to right.
    pub fn labels(&self) -> impl DoubleEndedIterator<Item = Label<'_>> + Clone {
        let shapes = self.more.as_ref().map_or(&[][..], |more| &more.shapes);
        Labels { texts: self.text.split('.'), shapes: shapes.iter() }
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
    /// A regular expression that exceeds its step limit, or contains groups.
    pub fn matches(&self, host: &HostLabels) -> Result<bool, RegexError> {
        if host.is_empty() {
            return Ok(false);
        }
        let text = host.text(self.include_port);
        match self.form {
            Form::Literal => Ok(text == self.text),
            Form::Suffix => {
                let suffix = self.text.get("**".len()..).unwrap_or_default();
                Ok(text.ends_with(suffix) || suffix.strip_prefix('.') == Some(text))
            }
            Form::Other => self.align(host, |_, _| {}),
        }
    }

    /// Publishes the variables of a `host` that matches; does nothing if it does not.
    pub fn capture(&self, host: &HostLabels, vars: &mut Vars) {
        if !self.has_variables() || host.is_empty() {
            return;
        }
        let mut places = Vec::new();
        let place = |nth, at| {
            places.truncate(nth);
            places.push(at);
        };
        if self.align(host, place) != Ok(true) {
            return;
        }
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

    /// Whether all labels match. `place` is called with the host label for the n-th label of the
    /// pattern (not counting `**`), and again if that changes. Labels between two `**` are placed
    /// as far left as possible: no other choice can do better.
    fn align(
        &self,
        host: &HostLabels,
        mut place: impl FnMut(usize, usize),
    ) -> Result<bool, RegexError> {
        let mut pattern = self.labels();
        let mut at = 0;
        // Labels placed so far.
        let mut count = 0;
        // State behind the last `**`: labels to match, number of placed labels, next position to
        // try.
        let mut retry = None;
        loop {
            let agreed = match pattern.next() {
                Some(Label::Many) => {
                    retry = Some((pattern.clone(), count, at));
                    continue;
                }
                Some(label) => match host.label(at, self.include_port) {
                    Some(text) => label.accepts(text)?,
                    None => return Ok(false),
                },
                None if at == host.len() => return Ok(true),
                None => false,
            };
            if agreed {
                place(count, at);
                count += 1;
                at += 1;
                continue;
            }
            let Some((labels, placed, from)) = &mut retry else { return Ok(false) };
            *from += 1;
            if *from > host.len() {
                return Ok(false);
            }
            pattern = labels.clone();
            count = *placed;
            at = *from;
        }
    }
}

impl Label<'_> {
    /// Whether this label matches `text`, in lower case. `**` matches any.
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
        f.write_str(self.text())
    }
}

/// The labels of a pattern in order, from either end.
#[derive(Clone, Debug)]
struct Labels<'a> {
    texts: std::str::Split<'a, char>,
    /// Shapes of the labels between both ends.
    shapes: std::slice::Iter<'a, SegmentShape>,
}

impl<'a> Iterator for Labels<'a> {
    type Item = Label<'a>;

    fn next(&mut self) -> Option<Label<'a>> {
        let text = self.texts.next()?;
        plain(text).or_else(|| self.shapes.next().map(Label::Shape))
    }
}

impl DoubleEndedIterator for Labels<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let text = self.texts.next_back()?;
        plain(text).or_else(|| self.shapes.next_back().map(Label::Shape))
    }
}

/// The label of this text; `None` if it has a shape.
fn plain(label: &str) -> Option<Label<'_>> {
    if !label.bytes().any(|byte| matches!(byte, b'*' | b'?' | b'{')) {
        return Some(Label::Literal(label));
    }
    match label {
        "*" => return Some(Label::One { variable: None }),
        "**" => return Some(Label::Many),
        _ => {}
    }
    if let Some((name, None, "")) = variable(label) {
        return Some(Label::One { variable: Some(name) });
    }
    let mut braces = label.match_indices('{').filter_map(|(at, _)| label.get(at..));
    let is_text = !label.contains(['*', '?']) && braces.all(|rest| variable(rest).is_none());
    is_text.then_some(Label::Literal(label))
}

/// Parses the elements of a label: `?`, `*`, `{name}`, `{name:regex}`; anything else is text.
fn parse_shape(label: &str, regexes: &RegexCache) -> Result<SegmentShape, PatternError> {
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
                // Compiled alone first, for an error with the right position.
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
        return Ok(SegmentShape::Regex { regex, variables, broken });
    }
    Ok(SegmentShape::Glob(Glob::new(items)))
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

/// The host of a request in lower case, split into labels. Reuse one value for many requests: its
/// memory is kept.
///
/// A dot at the end of the name is dropped, also before a port.
#[derive(Clone, Debug, Default)]
pub struct HostLabels {
    /// The bytes that were parsed.
    raw: Vec<u8>,
    text: String,
    /// Length of the name without its port.
    name_len: usize,
    /// End of each label in `text`; of the last label without its port.
    ends: Vec<u32>,
}

impl HostLabels {
    /// The labels of `raw`.
    pub fn of(raw: &[u8]) -> Self {
        let mut labels = Self::default();
        labels.read(raw);
        labels
    }

    /// Replaces the labels by those of `raw`, the value of a Host field or an authority:
    /// `name[:port]`.
    pub fn read(&mut self, raw: &[u8]) {
        // Consecutive requests often have the same host.
        if raw == self.raw {
            return;
        }
        self.raw.clear();
        self.raw.extend_from_slice(raw);
        self.ends.clear();
        let mut text = std::mem::take(&mut self.text).into_bytes();
        text.clear();
        text.extend_from_slice(raw);
        text.make_ascii_lowercase();
        self.text = String::from_utf8(text)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        let text = self.text.as_bytes();
        let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let before = text.len() - digits;
        let has_port = text.get(..before).is_some_and(|text| text.ends_with(b":"));
        self.name_len = if has_port { before - 1 } else { text.len() };
        if self.name_len > 1 && text.get(self.name_len - 1) == Some(&b'.') {
            self.name_len -= 1;
            self.text.remove(self.name_len);
        }
        if self.name_len == 0 {
            return;
        }
        let name = self.text.as_bytes().get(..self.name_len).unwrap_or_default();
        each_place(name, b'.', |at| self.ends.push(at as u32));
        self.ends.push(self.name_len as u32);
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        let text = self.raw.capacity() + self.text.capacity();
        text + self.ends.capacity() * size_of::<u32>()
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

    /// Whether the request has no host.
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
