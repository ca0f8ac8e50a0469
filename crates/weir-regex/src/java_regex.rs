//! Compiled expressions, and the choice of the engine that matches them.

use std::sync::{Arc, OnceLock};

use crate::ast::Node;
use crate::budget::{Budget, Share};
use crate::emit::Target;
use crate::engine::Engine;
use crate::error::{PatternError, RegexError};
use crate::groups::Groups;
use crate::limits::{SOURCE_BYTES_MAX, STATES_MAX};
use crate::parse::{Flags, parse_with};
use crate::required::Required;
use crate::small::{Small, Steps};

/// A compiled expression. Cheap to clone: clones share the program.
#[derive(Clone, Debug)]
pub struct JavaRegex {
    pub(crate) program: Arc<Program>,
}

#[derive(Debug)]
pub(crate) struct Program {
    source: Box<str>,
    flags: Flags,
    /// Names of the groups; group n is at n - 1.
    groups: Box<[Option<Box<str>>]>,
    /// The only text that matches.
    literal: Option<Box<str>>,
    /// Text that every match contains, unless `literal` is set.
    required: Option<Box<Required>>,
    /// `$` or `\Z` occurs: a text with line ends needs engines that handle a final line end.
    has_final_end: bool,
    /// The small engine, which handles most expressions on most texts.
    small: Option<Box<Small>>,
    /// Engines for everything else, built on first use.
    engines: OnceLock<Box<Engines>>,
    /// Share of the cache's budget that the engines use.
    share: Share,
}

#[derive(Debug, Default)]
struct Engines {
    full: OnceLock<Engine>,
    find: OnceLock<Engine>,
    full_with_line_ends: OnceLock<Engine>,
    find_with_line_ends: OnceLock<Engine>,
}

impl JavaRegex {
    /// Compiles `source` without flags.
    ///
    /// # Errors
    /// Position and reason if `source` is rejected.
    pub fn new(source: &str) -> Result<Self, PatternError> {
        Self::with_flags(source, Flags::default())
    }

    /// Compiles `source`.
    ///
    /// # Errors
    /// Position and reason if `source` is rejected: it is invalid in Java too, too large, or uses
    /// an unsupported feature.
    pub fn with_flags(source: &str, flags: Flags) -> Result<Self, PatternError> {
        Self::within(source, flags, &Budget::default())
    }

    pub(crate) fn within(
        source: &str,
        flags: Flags,
        budget: &Budget,
    ) -> Result<Self, PatternError> {
        if source.len() > SOURCE_BYTES_MAX {
            return Err(PatternError::new(0, "the expression is longer than 16 KiB"));
        }
        let parsed = parse_with(source, flags)?;
        if parsed.node.size() > STATES_MAX {
            return Err(PatternError::new(0, "the expression is too large once it is spelled out")
                .help("lower the counts of its repetitions"));
        }
        let literal = parsed.node.literal().map(Into::into);
        let small = match literal {
            Some(_) => None,
            None => Small::new(&parsed.node, parsed.groups.len()).map(Box::new),
        };
        let required = match literal {
            Some(_) => None,
            None => Required::of(&parsed.node, flags.ignore_case).map(Box::new),
        };
        let program = Program {
            source: source.into(),
            flags,
            literal,
            required,
            has_final_end: parsed.node.has_final_end(),
            groups: parsed.groups.into(),
            small,
            engines: OnceLock::new(),
            share: Share::of(budget),
        };
        if program.literal.is_none() && program.small.is_none() {
            let engine = program.build(&parsed.node, Target { full: true, line_ends: false })?;
            // The program is not shared yet, so the slot is empty.
            let _ = program.engines.get_or_init(Box::default).full.set(engine);
        }
        Ok(Self { program: Arc::new(program) })
    }

    /// The expression as written.
    pub fn source(&self) -> &str {
        &self.program.source
    }

    /// The only text that matches, if there is just one (`a\.b` matches `a.b`).
    pub fn literal(&self) -> Option<&str> {
        self.program.literal.as_deref()
    }

    /// Plain text that every full match contains, if more than one text matches.
    ///
    /// For an expression with [`Flags::ignore_case`] it is in lower case, and applies to lower-case
    /// texts.
    pub fn required(&self) -> Option<&Required> {
        self.program.required.as_deref()
    }

    /// Number of capturing groups.
    pub fn groups(&self) -> usize {
        self.program.groups.len()
    }

    /// Number of the group with this name.
    pub fn group(&self, name: &str) -> Option<usize> {
        let at = self.program.groups.iter().position(|group| group.as_deref() == Some(name));
        at.map(|at| at + 1)
    }

    /// Whether all of `text` matches (`Matcher.matches`).
    ///
    /// # Errors
    /// See [`RegexError`].
    pub fn full_match(&self, text: &str) -> Result<bool, RegexError> {
        if let Some(literal) = self.literal() {
            return Ok(literal == text);
        }
        if let Some(small) = &self.program.small {
            match small.is_full_match(text) {
                Ok(matched) => return Ok(matched),
                Err(Steps) if small.is_alone() => return Err(RegexError::Steps),
                Err(Steps) => {}
            }
        }
        self.program.engine(true, text).is_match(text)
    }

    /// The groups, if all of `text` matches.
    ///
    /// # Errors
    /// See [`RegexError`].
    pub fn full_captures<'t>(&self, text: &'t str) -> Result<Option<Groups<'t>>, RegexError> {
        match self.literal() {
            Some(literal) if literal == text => {
                Ok(Some(Groups { text, spans: vec![Some((0, text.len()))] }))
            }
            Some(_) => Ok(None),
            None => self.captures_at(true, text, 0, &mut 0),
        }
    }

    /// The first match at or after byte `start` of `text` (`Matcher.find`).
    ///
    /// # Errors
    /// See [`RegexError`].
    pub fn find_at<'t>(
        &self,
        text: &'t str,
        start: usize,
    ) -> Result<Option<Groups<'t>>, RegexError> {
        self.find_spending(text, start, &mut 0)
    }

    /// [`JavaRegex::find_at`]; adds its steps to `spent`.
    pub(crate) fn find_spending<'t>(
        &self,
        text: &'t str,
        start: usize,
        spent: &mut usize,
    ) -> Result<Option<Groups<'t>>, RegexError> {
        let Some(literal) = self.literal() else {
            return self.captures_at(false, text, start, spent);
        };
        let found = text.get(start..).and_then(|rest| rest.find(literal));
        let span = found.map(|at| (start + at, start + at + literal.len()));
        Ok(span.map(|span| Groups { text, spans: vec![Some(span)] }))
    }

    fn captures_at<'t>(
        &self,
        full: bool,
        text: &'t str,
        start: usize,
        spent: &mut usize,
    ) -> Result<Option<Groups<'t>>, RegexError> {
        let small = self.program.small.as_ref().map(|small| {
            let spans = match full {
                true => small.full_captures(text),
                false => small.captures_at(text, start, spent),
            };
            (spans, small.is_alone())
        });
        let spans = match small {
            Some((Ok(spans), _)) => spans,
            Some((Err(Steps), true)) => return Err(RegexError::Steps),
            Some((Err(Steps), false)) | None => {
                let engine = self.program.engine(full, text);
                *spent += engine.steps(text.len().saturating_sub(start));
                engine.captures_at(text, start)?
            }
        };
        Ok(spans.map(|spans| Groups { text, spans }))
    }

    /// Builds the search engine now, so that no request waits for it.
    pub(crate) fn prepare_find(&self) -> Result<(), PatternError> {
        if self.program.literal.is_some() || self.program.small.is_some() {
            return Ok(());
        }
        let find = &self.program.engines.get_or_init(Box::default).find;
        if find.get().is_none() {
            let _ = find.set(self.program.compile(Target { full: false, line_ends: false })?);
        }
        Ok(())
    }
}

impl Program {
    /// The engine that handles `text`.
    fn engine(&self, full: bool, text: &str) -> &Engine {
        let line_ends =
            self.has_final_end && text.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']);
        let target = Target { full, line_ends };
        let engines = self.engines.get_or_init(Box::default);
        let slot = match (target.full, target.line_ends) {
            (true, false) => &engines.full,
            (true, true) => &engines.full_with_line_ends,
            (false, false) => &engines.find,
            (false, true) => &engines.find_with_line_ends,
        };
        slot.get_or_init(|| self.compile(target).unwrap_or(Engine::Unusable))
    }

    fn compile(&self, target: Target) -> Result<Engine, PatternError> {
        self.build(&parse_with(&self.source, self.flags)?.node, target)
    }

    fn build(&self, node: &Node, target: Target) -> Result<Engine, PatternError> {
        self.share.take(node.size())?;
        Engine::new(node, target)
    }
}

/// Checks the syntax of `source` without compiling it.
///
/// # Errors
/// Position and reason if it is invalid.
pub fn check_syntax(source: &str) -> Result<(), PatternError> {
    parse_with(source, Flags::default()).map(|_| ())
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

#[cfg(test)]
mod tests {
    use super::{JavaRegex, quote};
    use crate::error::RegexError;
    use crate::limits::SOURCE_BYTES_MAX;

    fn check_refused(source: &str, column: usize, message: &str) {
        let error = JavaRegex::new(source).expect_err(source);
        assert_eq!((error.column, error.message.as_str()), (column, message), "{source}");
    }

    #[test]
    fn refusals_say_where_and_why() {
        check_refused("a(b", 1, "`(` is not closed by `)`");
        check_refused("ab)", 2, "`)` closes nothing");
        check_refused("*a", 0, "`*` repeats nothing");
        check_refused("é**", 3, "`*` repeats nothing");
        check_refused("[a", 1, "`[` is not closed by `]`");
        check_refused("[z-a]", 2, "the range `z-a` runs backwards");
        check_refused("x{2,1}", 1, "the first number of `{…}` is larger than the second");
        check_refused("a\\y", 1, "Java has no escape `\\y`");
        check_refused("\\p{Foo}", 0, "there is no character property `Foo`");
        check_refused("(?P<n>a)", 2, "Java has no such group");
        check_refused("a\\X", 1, "weir does not support `\\X`");
    }

    #[test]
    fn what_would_take_too_much_is_refused() {
        let large = "the expression is too large once it is spelled out";
        check_refused("(a{1000}){1000}", 0, large);
        check_refused("((a{0,99}){0,99}){0,99}", 0, large);
        check_refused("(?=a{2147483647})a", 0, large);
        check_refused(&"(".repeat(5_000), 100, "groups are nested too deeply");
        let nested = "[a".repeat(5_000);
        assert!(JavaRegex::new(&nested).is_err());
        let long = "a".repeat(SOURCE_BYTES_MAX + 1);
        check_refused(&long, 0, "the expression is longer than 16 KiB");
    }

    #[test]
    fn endless_backtracking_ends_in_an_error() {
        let text = "a".repeat(40);
        let regex = JavaRegex::new("((a|aa)(?=a*))+\\2c").expect("an expression");
        assert_eq!(regex.full_match(&text), Err(RegexError::Steps));
        let linear = JavaRegex::new("(a+)+b").expect("an expression");
        assert_eq!(linear.full_match(&text), Ok(false));
    }

    #[test]
    fn literals_are_recognised() {
        let literal = |source| {
            let regex = JavaRegex::new(source).expect("an expression");
            regex.literal().map(str::to_owned)
        };
        assert_eq!(literal("abc").as_deref(), Some("abc"));
        assert_eq!(literal("a\\.b\\Q*\\E").as_deref(), Some("a.b*"));
        assert_eq!(literal("").as_deref(), Some(""));
        assert_eq!(literal("a.b"), None);
        assert_eq!(literal("(a)"), None);
        assert_eq!(literal("(?i)a"), None);
        assert_eq!(literal("(?i)12").as_deref(), Some("12"));
    }

    #[test]
    fn quoted_text_matches_itself() {
        let text = "/a.b*(c)[d]{e}\\^$|?+<>\u{e9} #-";
        let regex = JavaRegex::new(&quote(text)).expect("an expression");
        assert_eq!(regex.literal(), Some(text));
    }
}
