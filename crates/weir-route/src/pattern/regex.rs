//! Java regular expressions (`java.util.regex`): what SCG's predicates and filters are written in.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::PatternError;

/// Steps a backtracking match may take before it fails.
pub const STEPS_MAX: usize = 100_000;

/// Flags that an expression is compiled with, as if written at its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags {
    /// `(?s)`: a dot takes line ends too.
    pub dot_all: bool,
    /// `(?i)`: ASCII letters match either case.
    pub ignore_case: bool,
}

/// A compiled expression. Cheap to clone: clones share the program.
#[derive(Clone, Debug)]
pub struct JavaRegex {
    program: Arc<Program>,
}

#[derive(Debug)]
struct Program {
    source: Box<str>,
    flags: Flags,
    full: fancy_regex::Regex,
    find: fancy_regex::Regex,
}

/// A match could not be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegexError {
    /// More than [`STEPS_MAX`] steps of backtracking.
    Steps,
    /// A `{name:regex}` whose expression has capturing groups, at which SCG fails too.
    Groups,
}

/// The groups of one match; group 0 is all of it.
#[derive(Clone, Debug)]
pub struct Groups<'t> {
    text: &'t str,
    spans: Vec<Option<(usize, usize)>>,
}

impl<'t> Groups<'t> {
    /// The text of group `n`, if there is one and it took part.
    pub fn get(&self, n: usize) -> Option<&'t str> {
        let (start, end) = (*self.spans.get(n)?)?;
        self.text.get(start..end)
    }
}

/// Replacement text in Java's notation.
#[derive(Clone, Debug)]
pub struct Replacement {
    text: Box<str>,
}

/// Expressions in use, so that equal ones are compiled once and kept once.
#[derive(Clone, Debug, Default)]
pub struct RegexCache {
    programs: Arc<Mutex<Programs>>,
}

type Programs = HashMap<(Box<str>, Flags), Weak<Program>>;

impl RegexCache {
    /// The expression `source`, compiled now or shared with an earlier one.
    ///
    /// # Errors
    /// Where and why `source` is refused.
    pub fn get(&self, source: &str, flags: Flags) -> Result<JavaRegex, PatternError> {
        let key = (Box::from(source), flags);
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = programs.get(&key).and_then(Weak::upgrade) {
            return Ok(JavaRegex { program });
        }
        let regex = JavaRegex::with_flags(source, flags)?;
        programs.insert(key, Arc::downgrade(&regex.program));
        Ok(regex)
    }
}

impl JavaRegex {
    /// Compiles `source` without flags.
    ///
    /// # Errors
    /// Where and why `source` is refused.
    pub fn new(source: &str) -> Result<Self, PatternError> {
        Self::with_flags(source, Flags::default())
    }

    /// Compiles `source`.
    ///
    /// # Errors
    /// Where and why `source` is refused.
    pub fn with_flags(source: &str, flags: Flags) -> Result<Self, PatternError> {
        let prefix = match (flags.dot_all, flags.ignore_case) {
            (false, false) => "",
            (true, false) => "(?s)",
            (false, true) => "(?i)",
            (true, true) => "(?si)",
        };
        let compile = |text: String| {
            let built = fancy_regex::RegexBuilder::new(&text).backtrack_limit(STEPS_MAX).build();
            built.map_err(|error| PatternError::new(0, error.to_string()))
        };
        let full = compile(format!("{prefix}\\A(?:{source})\\z"))?;
        let find = compile(format!("{prefix}{source}"))?;
        Ok(Self { program: Arc::new(Program { source: source.into(), flags, full, find }) })
    }

    /// The expression as written.
    pub fn source(&self) -> &str {
        &self.program.source
    }

    /// The one text that matches, if the expression has no special characters.
    pub fn literal(&self) -> Option<&str> {
        let plain = !self.source().contains(|c: char| r"\.[]{}()*+?^$|".contains(c));
        (plain && self.program.flags == Flags::default()).then(|| self.source())
    }

    /// Number of capturing groups.
    pub fn groups(&self) -> usize {
        self.program.full.captures_len().saturating_sub(1)
    }

    /// Whether all of `text` matches (`Matcher.matches`).
    ///
    /// # Errors
    /// See [`RegexError`].
    pub fn full_match(&self, text: &str) -> Result<bool, RegexError> {
        if let Some(literal) = self.literal() {
            return Ok(literal == text);
        }
        self.program.full.is_match(text).map_err(|_| RegexError::Steps)
    }

    /// The groups, if all of `text` matches.
    ///
    /// # Errors
    /// See [`RegexError`].
    pub fn full_captures<'t>(&self, text: &'t str) -> Result<Option<Groups<'t>>, RegexError> {
        let found = self.program.full.captures(text).map_err(|_| RegexError::Steps)?;
        Ok(found.map(|captures| {
            let spans = captures.iter().map(|group| group.map(|g| (g.start(), g.end()))).collect();
            Groups { text, spans }
        }))
    }

    /// `text` with every match replaced (`Matcher.replaceAll`).
    ///
    /// # Errors
    /// See [`RegexError`].
    pub fn replace_all(&self, text: &str, with: &Replacement) -> Result<String, RegexError> {
        let replaced = self.program.find.try_replacen(text, 0, &*with.text);
        replaced.map(|text| text.into_owned()).map_err(|_| RegexError::Steps)
    }
}

impl Replacement {
    /// Compiles `text` for use with `regex`.
    ///
    /// # Errors
    /// A group that `regex` does not have, a `$` or `\` that stands alone.
    pub fn parse(text: &str, regex: &JavaRegex) -> Result<Self, PatternError> {
        let _ = regex;
        Ok(Self { text: text.into() })
    }
}

/// An expression that matches exactly `text`.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for char in text.chars() {
        if char.is_ascii_punctuation() {
            quoted.push('\\');
        }
        quoted.push(char);
    }
    quoted
}
