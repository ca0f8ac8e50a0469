//! Character classes in brackets: `[a-z&&[^aeiou]]`.

use super::class::Class;
use super::escape::Escaped;
use super::parse::Parser;
use super::token::syntax_error;
use crate::error::PatternError;

/// Maximum nesting of classes.
const DEPTH_MAX: usize = 20;

impl Parser {
    /// Parses a class behind its `[`, up to its `]`, which is consumed if `closes`. Follows Java's
    /// `Pattern.clazz`: a negation applies to the whole class, and the text between a `&&` and the
    /// next `&&` or `]` is one operand.
    pub(super) fn class(&mut self, closes: bool) -> Result<Class, PatternError> {
        let open = self.tokens.column();
        self.depth += 1;
        if self.depth > DEPTH_MAX + super::parse::DEPTH_MAX {
            return Err(syntax_error(open, "classes are nested too deeply"));
        }
        let negated = closes && self.eat_raw('^');
        let mut class: Option<Class> = None;
        loop {
            let Some(token) = self.tokens.peek(self.flags.comments) else {
                return Err(syntax_error(open, "`[` is not closed by `]`")
                    .help("write `\\[` for the character"));
            };
            if token.is('[') {
                self.tokens.next();
                let inner = self.class(true)?;
                class = Some(join(class, inner));
                continue;
            }
            if token.is(']') && class.is_some() {
                break;
            }
            if token.is('&') && self.tokens.ahead(1).is_some_and(|token| token.is('&')) {
                self.tokens.next();
                self.tokens.next();
                class = self.intersected(class)?;
                continue;
            }
            let item = self.class_item()?;
            class = Some(join(class, item));
        }
        if closes {
            self.tokens.next();
        }
        self.depth -= 1;
        let class = class.unwrap_or_else(|| Class::of(&[]));
        Ok(if negated { class.negation() } else { class })
    }

    /// The intersection of `left` with the operand behind `&&`.
    fn intersected(&mut self, left: Option<Class>) -> Result<Option<Class>, PatternError> {
        let mut right: Option<Class> = None;
        while let Some(token) = self.tokens.peek(self.flags.comments) {
            if token.is(']') || token.is('&') {
                break;
            }
            let operand = if token.is('[') {
                self.tokens.next();
                self.class(true)?
            } else {
                self.class(false)?
            };
            right = Some(join(right, operand));
        }
        Ok(match (left, right) {
            (Some(left), Some(right)) => Some(left.intersection(right)),
            (left, right) => left.or(right),
        })
    }

    /// One character, range, escape or property.
    fn class_item(&mut self) -> Result<Class, PatternError> {
        let start = match self.class_char()? {
            Escaped::Class(class) => return Ok(class),
            Escaped::Char(char) => char,
        };
        let dash = self.tokens.peek(self.flags.comments).is_some_and(|token| token.is('-'));
        let behind = self.tokens.ahead(1);
        if !dash || behind.is_none_or(|token| token.is(']') || token.is('[')) {
            return Ok(self.range(start, start));
        }
        let at = self.tokens.next().map_or(0, |token| token.at);
        let _ = self.tokens.peek(self.flags.comments);
        match self.class_char()? {
            Escaped::Char(end) if start <= end => Ok(self.range(start, end)),
            Escaped::Char(end) => {
                Err(syntax_error(at, format!("the range `{start}-{end}` runs backwards")))
            }
            Escaped::Class(_) => Err(syntax_error(at, "a range ends in a set of characters")
                .help("write `\\-` for the character, or put it last")),
        }
    }

    fn class_char(&mut self) -> Result<Escaped, PatternError> {
        match self.tokens.next() {
            Some(token) if token.is('\\') => self.simple_escape(token.at),
            Some(token) => Ok(Escaped::Char(token.char)),
            None => Err(syntax_error(self.tokens.column(), "`[` is not closed by `]`")),
        }
    }

    fn range(&self, start: char, end: char) -> Class {
        let class = Class::of(&[(start.into(), end.into())]);
        match class {
            Class::Ranges(ranges) if self.flags.ignore_case => Class::Ranges(ranges.fold_ascii()),
            class => class,
        }
    }
}

fn join(class: Option<Class>, more: Class) -> Class {
    match class {
        Some(class) => class.union(more),
        None => more,
    }
}
