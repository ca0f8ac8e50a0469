//! Tokens of an expression: its characters, with `\Q…\E` resolved.

use crate::error::PatternError;

/// A character of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// Its byte offset in the expression.
    pub(super) at: usize,
    /// The character.
    pub(super) char: char,
    /// Whether it was quoted by `\Q…\E`, and so is literal.
    pub(super) quoted: bool,
}

impl Token {
    /// Whether it is `char`, unquoted.
    pub(super) fn is(self, char: char) -> bool {
        self.char == char && !self.quoted
    }
}

/// A cursor over an expression.
pub(super) struct Tokens {
    list: Vec<Token>,
    at: usize,
    end: usize,
}

impl Tokens {
    /// The characters of `source`.
    pub(super) fn of(source: &str) -> Self {
        let mut list = Vec::with_capacity(source.len());
        let mut quoted = false;
        let mut chars = source.char_indices().peekable();
        while let Some((at, char)) = chars.next() {
            let next = chars.peek().map(|(_, next)| *next);
            match (quoted, char, next) {
                (false, '\\', Some('Q')) => {
                    quoted = true;
                    chars.next();
                }
                (true, '\\', Some('E')) => {
                    quoted = false;
                    chars.next();
                }
                (false, '\\', Some(escaped)) => {
                    list.push(Token { at, char, quoted });
                    list.push(Token { at: at + 1, char: escaped, quoted });
                    chars.next();
                }
                _ => list.push(Token { at, char, quoted }),
            }
        }
        Self { list, at: 0, end: source.len() }
    }

    /// The next character, not consumed; with `comments`, blanks and `#…` before it are skipped.
    pub(super) fn peek(&mut self, comments: bool) -> Option<Token> {
        if comments {
            self.skip_comments();
        }
        self.ahead(0)
    }

    fn skip_comments(&mut self) {
        while let Some(token) = self.ahead(0).filter(|token| !token.quoted) {
            match token.char {
                ' ' | '\t'..='\r' => self.at += 1,
                '#' => {
                    let rest = self.list.get(self.at..).unwrap_or_default();
                    let ends = |token: &Token| "\n\r\u{85}\u{2028}\u{2029}".contains(token.char);
                    self.at += rest.iter().position(ends).unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    /// The character `by` positions after the next.
    pub(super) fn ahead(&self, by: usize) -> Option<Token> {
        self.list.get(self.at + by).copied()
    }

    /// Consumes the next character.
    pub(super) fn next(&mut self) -> Option<Token> {
        let token = self.ahead(0);
        self.at += usize::from(token.is_some());
        token
    }

    /// Byte offset of the next character, or of the end.
    pub(super) fn column(&self) -> usize {
        self.ahead(0).map_or(self.end, |token| token.at)
    }
}

/// A syntax error.
pub(super) fn syntax_error(column: usize, message: impl Into<String>) -> PatternError {
    PatternError::new(column, message)
}
