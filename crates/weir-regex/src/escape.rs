//! Escapes: `\d`, `\x41`, `\p{L}`, back-references.

use super::ast::{Assert, Node};
use super::class::Class;
use super::parse::Parser;
use super::property::property;
use super::token::syntax_error;
use crate::error::PatternError;

/// Meaning of an escape that is valid both inside and outside a class.
pub(super) enum Escaped {
    Char(char),
    Class(Class),
}

impl Parser {
    /// Parses an escape outside a class; the `\` is the next character.
    pub(super) fn escape(&mut self) -> Result<Node, PatternError> {
        let at = self.tokens.next().map_or(0, |token| token.at);
        let unicode = self.flags.unicode_class;
        let unix = self.flags.unix_lines;
        let assert = match self.tokens.ahead(0).map(|token| token.char) {
            Some('A') => Some(Assert::Start),
            Some('z') => Some(Assert::End),
            Some('Z') => Some(Assert::FinalEnd { unix }),
            Some('b') => Some(Assert::WordBoundary { unicode }),
            Some('B') => Some(Assert::NotWordBoundary { unicode }),
            Some('G') => Some(Assert::PreviousEnd),
            _ => None,
        };
        if let Some(assert) = assert {
            self.tokens.next();
            let grapheme = matches!(assert, Assert::WordBoundary { .. })
                && ['{', 'g', '}']
                    .iter()
                    .enumerate()
                    .all(|(n, char)| self.tokens.ahead(n).is_some_and(|token| token.is(*char)));
            return if grapheme {
                Err(unsupported(at, "\\b{g}"))
            } else {
                Ok(Node::Assert(assert))
            };
        }
        match self.tokens.ahead(0).map(|token| token.char) {
            Some('k') => self.named_backref(at),
            Some('1'..='9') => Ok(self.numbered_backref()),
            Some('R') => {
                self.tokens.next();
                Ok(any_line_end())
            }
            Some('X') => Err(unsupported(at, "\\X")),
            _ => Ok(match self.simple_escape(at)? {
                Escaped::Char(char) => self.char(char),
                Escaped::Class(class) => self.class_node(class),
            }),
        }
    }

    /// `\k<name>`; `k` is the next character.
    fn named_backref(&mut self, at: usize) -> Result<Node, PatternError> {
        self.tokens.next();
        if !self.eat_raw('<') {
            return Err(syntax_error(at, "`\\k` is not followed by `<name>`"));
        }
        let name = self.name('>', at)?;
        let group = self.groups.iter().position(|group| group.as_deref() == Some(&*name));
        match group {
            Some(index) => Ok(self.backref(index + 1)),
            None => Err(syntax_error(at, format!("no group before this is called `{name}`"))),
        }
    }

    /// `\11` refers to group 11 if there are that many groups before it, otherwise to group 1,
    /// followed by `1`.
    fn numbered_backref(&mut self) -> Node {
        let mut group = 0;
        while let Some(digit) = self.tokens.ahead(0).and_then(|token| token.char.to_digit(10)) {
            let longer = group * 10 + digit as usize;
            if group > 0 && longer > self.groups.len() {
                break;
            }
            group = longer;
            self.tokens.next();
        }
        self.backref(group)
    }

    fn backref(&mut self, group: usize) -> Node {
        self.backrefs.push(group);
        let node = Node::Backref(group);
        if self.flags.ignore_case { Node::Folded(Box::new(node)) } else { node }
    }

    /// Parses an escape for a character or a set; the `\` at byte `at` has been consumed.
    pub(super) fn simple_escape(&mut self, at: usize) -> Result<Escaped, PatternError> {
        let Some(token) = self.tokens.next() else {
            return Err(
                syntax_error(at, "`\\` escapes nothing").help("write `\\\\` for the character")
            );
        };
        let class = |class: Class| Ok(Escaped::Class(class));
        Ok(Escaped::Char(match token.char {
            'd' => return class(self.predefined("Digit")),
            'D' => return class(self.predefined("Digit").negation()),
            's' => return class(self.predefined("Space")),
            'S' => return class(self.predefined("Space").negation()),
            'w' => return class(self.word()),
            'W' => return class(self.word().negation()),
            'h' => return class(horizontal()),
            'H' => return class(horizontal().negation()),
            'v' => return class(vertical()),
            'V' => return class(vertical().negation()),
            'p' => return self.property_escape(at).map(Escaped::Class),
            'P' => return self.property_escape(at).map(|class| Escaped::Class(class.negation())),
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'f' => '\u{c}',
            'a' => '\u{7}',
            'e' => '\u{1b}',
            '0' => self.octal(at)?,
            'x' => self.hex(at)?,
            'u' => self.utf16(at)?,
            'c' => self.control(at)?,
            'N' => return Err(unsupported(at, "\\N{…}")),
            char if char.is_ascii_alphanumeric() => {
                let message = format!("Java has no escape `\\{char}`");
                let help = format!("write `{char}` for the character");
                return Err(syntax_error(at, message).help(help));
            }
            char => char,
        }))
    }

    fn predefined(&self, name: &str) -> Class {
        property(name, self.flags).unwrap_or_else(|| Class::of(&[]))
    }

    fn word(&self) -> Class {
        if self.flags.unicode_class {
            let class = "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}]";
            return Class::Property(class.to_owned());
        }
        Class::of(&[(0x30, 0x39), (0x41, 0x5a), (0x5f, 0x5f), (0x61, 0x7a)])
    }

    /// `{name}` or one letter.
    fn property_escape(&mut self, at: usize) -> Result<Class, PatternError> {
        let mut name = String::new();
        if self.eat_raw('{') {
            loop {
                match self.tokens.next() {
                    Some(token) if token.char == '}' => break,
                    Some(token) => name.push(token.char),
                    None => return Err(syntax_error(at, "`\\p{` is not closed by `}`")),
                }
            }
        } else {
            name.extend(self.tokens.next().map(|token| token.char));
        }
        property(&name, self.flags).ok_or_else(|| {
            syntax_error(at, format!("there is no character property `{name}`"))
                .help("write a category (`\\p{L}`), `\\p{Alpha}` and the like, or `\\p{IsGreek}`")
        })
    }

    fn digits(&mut self, radix: u32, most: usize) -> (u32, usize) {
        let (mut value, mut count) = (0, 0);
        while count < most
            && let Some(digit) = self.tokens.ahead(0).and_then(|token| token.char.to_digit(radix))
        {
            value = value * radix + digit;
            count += 1;
            self.tokens.next();
        }
        (value, count)
    }

    /// `\0n`, `\0nn`, `\0mnn` with m up to 3.
    fn octal(&mut self, at: usize) -> Result<char, PatternError> {
        let wide = self.tokens.ahead(0).is_some_and(|token| ('0'..='3').contains(&token.char));
        let (value, count) = self.digits(8, if wide { 3 } else { 2 });
        match char::from_u32(value).filter(|_| count > 0) {
            Some(char) => Ok(char),
            None => Err(syntax_error(at, "`\\0` is not followed by octal digits")),
        }
    }

    /// `\xhh` or `\x{h…}`.
    fn hex(&mut self, at: usize) -> Result<char, PatternError> {
        let braced = self.eat_raw('{');
        let (value, count) = self.digits(16, if braced { 6 } else { 2 });
        let complete = if braced { count > 0 && self.eat_raw('}') } else { count == 2 };
        match char::from_u32(value).filter(|_| complete) {
            Some(char) => Ok(char),
            None => Err(syntax_error(at, "`\\x` is not followed by the number of a character")
                .help("write two hexadecimal digits, or `\\x{…}`")),
        }
    }

    /// `\uhhhh`; a surrogate pair of them for a character beyond U+FFFF.
    fn utf16(&mut self, at: usize) -> Result<char, PatternError> {
        let refused =
            || syntax_error(at, "`\\u` is not followed by the four digits of a character");
        let (first, count) = self.digits(16, 4);
        if count < 4 {
            return Err(refused());
        }
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first).ok_or_else(refused);
        }
        if !(self.eat_raw('\\') && self.eat_raw('u')) {
            return Err(refused());
        }
        let (second, count) = self.digits(16, 4);
        let pair = [first as u16, second as u16];
        let decoded = char::decode_utf16(pair).next().and_then(Result::ok);
        decoded.filter(|_| count == 4).ok_or_else(refused)
    }

    fn control(&mut self, at: usize) -> Result<char, PatternError> {
        let next = self.tokens.next().map(|token| u32::from(token.char) ^ 64);
        let refused = || syntax_error(at, "`\\c` is not followed by a character");
        next.and_then(char::from_u32).ok_or_else(refused)
    }
}

fn unsupported(at: usize, what: &str) -> PatternError {
    syntax_error(at, format!("weir does not support `{what}`"))
}

fn horizontal() -> Class {
    Class::of(&[
        (0x9, 0x9),
        (0x20, 0x20),
        (0xa0, 0xa0),
        (0x1680, 0x1680),
        (0x180e, 0x180e),
        (0x2000, 0x200a),
        (0x202f, 0x202f),
        (0x205f, 0x205f),
        (0x3000, 0x3000),
    ])
}

fn vertical() -> Class {
    Class::of(&[(0xa, 0xd), (0x85, 0x85), (0x2028, 0x2029)])
}

/// `\R`: CR LF is one line end, but backtracking may split it.
fn any_line_end() -> Node {
    Node::Alternate(vec![Node::Text("\r\n".to_owned()), Node::Class(vertical())])
}
