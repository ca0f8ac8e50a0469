//! Parser of Java's regular expressions (`java.util.regex.Pattern`, JDK 17); makes a [`Node`].

use crate::ast::{Assert, Node};
use crate::class::Class;
use crate::error::PatternError;
use crate::token::{Tokens, syntax_error};

/// Maximum nesting of groups.
pub(super) const DEPTH_MAX: usize = 100;

/// Flags that an expression is compiled with, as if written at its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags {
    /// `(?s)`: a dot matches line ends too.
    pub dot_all: bool,
    /// `(?i)`: ASCII letters match either case.
    pub ignore_case: bool,
}

/// Flags in force at a position of an expression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ModeFlags {
    /// `(?i)`
    pub(super) ignore_case: bool,
    /// `(?u)`
    pub(super) unicode_case: bool,
    /// `(?m)`
    pub(super) multi_line: bool,
    /// `(?s)`
    pub(super) dot_all: bool,
    /// `(?d)`
    pub(super) unix_lines: bool,
    /// `(?x)`
    pub(super) comments: bool,
    /// `(?U)`
    pub(super) unicode_class: bool,
}

/// A parsed expression.
#[derive(Clone, Debug)]
pub(super) struct Parsed {
    /// Its syntax tree.
    pub(super) node: Node,
    /// The names of its groups; group n is at n - 1.
    pub(super) groups: Vec<Option<Box<str>>>,
}

/// Parses `source` as Java does when it is compiled with `flags`.
pub(super) fn parse_with(source: &str, flags: Flags) -> Result<Parsed, PatternError> {
    let Flags { dot_all, ignore_case } = flags;
    parse(source, ModeFlags { dot_all, ignore_case, ..ModeFlags::default() })
}

/// Parses `source` as Java does with these initial flags.
fn parse(source: &str, flags: ModeFlags) -> Result<Parsed, PatternError> {
    let tokens = Tokens::of(source);
    let mut parser = Parser { tokens, flags, groups: Vec::new(), backrefs: Vec::new(), depth: 0 };
    let mut node = parser.alternation()?;
    if let Some(token) = parser.tokens.peek(false) {
        return Err(
            syntax_error(token.at, "`)` closes nothing").help("write `\\)` for the character")
        );
    }
    if parser.backrefs.iter().any(|group| *group > parser.groups.len()) {
        drop_dead_backrefs(&mut node, parser.groups.len());
    }
    Ok(Parsed { node, groups: parser.groups })
}

/// Makes references to missing groups never match.
fn drop_dead_backrefs(node: &mut Node, groups: usize) {
    match node {
        Node::Backref(group) if *group > groups => *node = Node::Class(Class::of(&[])),
        Node::Concat(nodes) | Node::Alternate(nodes) => {
            nodes.iter_mut().for_each(|node| drop_dead_backrefs(node, groups));
        }
        Node::Group(_, node)
        | Node::Repeat { node, .. }
        | Node::Atomic(node)
        | Node::Look { node, .. }
        | Node::Folded(node) => drop_dead_backrefs(node, groups),
        Node::Text(_) | Node::Class(_) | Node::Backref(_) | Node::Assert(_) => {}
    }
}

/// State of the parser.
pub(super) struct Parser {
    pub(super) tokens: Tokens,
    pub(super) flags: ModeFlags,
    pub(super) groups: Vec<Option<Box<str>>>,
    pub(super) backrefs: Vec<usize>,
    pub(super) depth: usize,
}

impl Parser {
    /// Parses alternatives up to a `)` or the end.
    fn alternation(&mut self) -> Result<Node, PatternError> {
        let mut branches = vec![self.concatenation()?];
        while self.eat('|') {
            branches.push(self.concatenation()?);
        }
        match branches.len() {
            1 => Ok(branches.pop().unwrap_or_else(Node::empty)),
            _ => Ok(Node::Alternate(branches)),
        }
    }

    fn concatenation(&mut self) -> Result<Node, PatternError> {
        let mut nodes: Vec<Node> = Vec::new();
        while let Some(token) = self.tokens.peek(self.flags.comments) {
            if token.is('|') || token.is(')') {
                break;
            }
            let Some(atom) = self.atom()? else { continue };
            let node = self.quantified(atom)?;
            match (nodes.last_mut(), node) {
                (Some(Node::Text(text)), Node::Text(more)) => text.push_str(&more),
                (_, Node::Text(text)) if text.is_empty() => {}
                (_, node) => nodes.push(node),
            }
        }
        match nodes.len() {
            0 => Ok(Node::empty()),
            1 => Ok(nodes.pop().unwrap_or_else(Node::empty)),
            _ => Ok(Node::Concat(nodes)),
        }
    }

    /// Parses an atom; `None` for a group that only sets flags.
    fn atom(&mut self) -> Result<Option<Node>, PatternError> {
        let Some(token) = self.tokens.peek(self.flags.comments) else { return Ok(None) };
        if token.quoted {
            self.tokens.next();
            return Ok(Some(self.char(token.char)));
        }
        match token.char {
            '*' | '+' | '?' => {
                return Err(syntax_error(token.at, format!("`{}` repeats nothing", token.char))
                    .help(format!("write `\\{}` for the character", token.char)));
            }
            // Java reads an empty text here and applies the quantifier to it.
            '{' => return Ok(Some(Node::empty())),
            '[' => return self.class_atom().map(Some),
            '(' => return self.group(),
            '\\' => return self.escape().map(Some),
            _ => {}
        }
        self.tokens.next();
        let unix = self.flags.unix_lines;
        Ok(Some(match token.char {
            '.' => Node::Class(self.dot()),
            '^' if self.flags.multi_line => Node::Assert(Assert::LineStart { unix }),
            '^' => Node::Assert(Assert::Start),
            '$' if self.flags.multi_line => Node::Assert(Assert::LineEnd { unix }),
            '$' => Node::Assert(Assert::FinalEnd { unix }),
            char => self.char(char),
        }))
    }

    fn class_atom(&mut self) -> Result<Node, PatternError> {
        self.tokens.next();
        let class = self.class(true)?;
        Ok(self.class_node(class))
    }

    /// A character under the current flags.
    pub(super) fn char(&self, char: char) -> Node {
        let flags = self.flags;
        if !flags.ignore_case {
            return Node::Text(char.to_string());
        }
        if flags.unicode_case {
            return Node::Folded(Box::new(Node::Text(char.to_string())));
        }
        if char.is_ascii_alphabetic() {
            let cases = [char.to_ascii_lowercase(), char.to_ascii_uppercase()];
            return Node::Class(Class::of_chars(&cases));
        }
        Node::Text(char.to_string())
    }

    /// A class under the current flags, possibly folded by Unicode's rules.
    pub(super) fn class_node(&self, class: Class) -> Node {
        let node = Node::Class(class);
        let folds = self.flags.ignore_case && self.flags.unicode_case;
        if folds { Node::Folded(Box::new(node)) } else { node }
    }

    fn dot(&self) -> Class {
        let line_ends: &[char] = match (self.flags.dot_all, self.flags.unix_lines) {
            (true, _) => &[],
            (false, true) => &['\n'],
            (false, false) => &['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'],
        };
        Class::of_chars(line_ends).negation()
    }

    /// `atom` with the quantifier that follows it, if any.
    fn quantified(&mut self, atom: Node) -> Result<Node, PatternError> {
        let Some(token) = self.tokens.peek(self.flags.comments) else { return Ok(atom) };
        let (min, max) = match token.char {
            _ if token.quoted => return Ok(atom),
            '*' => (0, None),
            '+' => (1, None),
            '?' => (0, Some(1)),
            '{' => self.counts(token.at)?,
            _ => return Ok(atom),
        };
        if token.char != '{' {
            self.tokens.next();
        }
        let lazy = self.eat('?');
        let possessive = !lazy && self.eat('+');
        let repeat = match max {
            Some(0) => Node::repeat(atom, 0, max, true),
            // Repeating a zero-width node has no effect.
            _ if atom.takes_nothing() && min > 0 => atom,
            _ if atom.takes_nothing() && lazy => Node::Alternate(vec![Node::empty(), atom]),
            _ if atom.takes_nothing() => Node::Alternate(vec![atom, Node::empty()]),
            _ => Node::repeat(atom, min, max, !lazy),
        };
        Ok(if possessive { Node::Atomic(Box::new(repeat)) } else { repeat })
    }

    /// Parses `{2}`, `{2,}` or `{2,3}`.
    fn counts(&mut self, at: usize) -> Result<(u32, Option<u32>), PatternError> {
        let refuse = |message: &str| {
            Err(syntax_error(at, message)
                .help("write `{2}`, `{2,}` or `{2,3}`, or `\\{` for the character"))
        };
        self.tokens.next();
        let Some(min) = self.number() else { return refuse("`{` is not followed by a number") };
        let mut max = Some(min.clone());
        if self.eat_raw(',') {
            max = self.number();
        }
        if !self.eat_raw('}') {
            return refuse("`{` is not closed by `}`");
        }
        match (min.parse(), max.map(|max| max.parse()).transpose()) {
            (Ok(min), Ok(max)) if max.is_none_or(|max| min <= max) => Ok((min, max)),
            (Ok(_), Ok(_)) => refuse("the first number of `{…}` is larger than the second"),
            _ => refuse("a number of `{…}` is too large"),
        }
    }

    fn number(&mut self) -> Option<String> {
        let mut digits = String::new();
        while let Some(token) = self.tokens.peek(false).filter(|token| !token.quoted) {
            if !token.char.is_ascii_digit() {
                break;
            }
            digits.push(token.char);
            self.tokens.next();
        }
        (!digits.is_empty()).then_some(digits)
    }

    /// Parses a group; `None` for flags alone, `(?i)`.
    fn group(&mut self) -> Result<Option<Node>, PatternError> {
        let open = self.tokens.next().map_or(0, |token| token.at);
        if self.depth >= DEPTH_MAX {
            return Err(syntax_error(open, "groups are nested too deeply"));
        }
        let outer = self.flags;
        let make: fn(Box<Node>) -> Node = if self.eat_raw('?') {
            match self.special_group(open)? {
                Special::Group(make) => make,
                Special::Named(name) => {
                    return self.capture(open, Some(name)).map(Some);
                }
                Special::Flags => return Ok(None),
            }
        } else {
            return self.capture(open, None).map(Some);
        };
        let node = self.group_body(open, outer)?;
        Ok(Some(make(Box::new(node))))
    }

    fn capture(&mut self, open: usize, name: Option<Box<str>>) -> Result<Node, PatternError> {
        if let Some(name) = &name
            && self.groups.contains(&Some(name.clone()))
        {
            return Err(syntax_error(open, format!("two groups are called `{name}`")));
        }
        self.groups.push(name);
        let number = self.groups.len();
        let node = self.group_body(open, self.flags)?;
        Ok(Node::Group(number, Box::new(node)))
    }

    /// Parses the content of a group and its `)`, and restores the flags `outer`.
    fn group_body(&mut self, open: usize, outer: ModeFlags) -> Result<Node, PatternError> {
        self.depth += 1;
        let node = self.alternation()?;
        self.depth -= 1;
        if !self.eat(')') {
            return Err(syntax_error(open, "`(` is not closed by `)`")
                .help("write `\\(` for the character"));
        }
        self.flags = outer;
        Ok(node)
    }

    /// Parses the text after `(?`.
    fn special_group(&mut self, open: usize) -> Result<Special, PatternError> {
        let look = |ahead, negative| -> fn(Box<Node>) -> Node {
            match (ahead, negative) {
                (true, false) => |node| Node::Look { ahead: true, negative: false, node },
                (true, true) => |node| Node::Look { ahead: true, negative: true, node },
                (false, false) => |node| Node::Look { ahead: false, negative: false, node },
                (false, true) => |node| Node::Look { ahead: false, negative: true, node },
            }
        };
        if self.eat_raw(':') {
            return Ok(Special::Group(|node| *node));
        }
        if self.eat_raw('=') {
            return Ok(Special::Group(look(true, false)));
        }
        if self.eat_raw('!') {
            return Ok(Special::Group(look(true, true)));
        }
        if self.eat_raw('>') {
            return Ok(Special::Group(Node::Atomic));
        }
        if self.eat_raw('<') {
            if self.eat_raw('=') {
                return Ok(Special::Group(look(false, false)));
            }
            if self.eat_raw('!') {
                return Ok(Special::Group(look(false, true)));
            }
            return self.name('>', open).map(Special::Named);
        }
        self.inline_flags(open)
    }

    /// Parses `i-s)` or `i-s:` of `(?i-s)` and `(?i-s:…)`.
    fn inline_flags(&mut self, open: usize) -> Result<Special, PatternError> {
        let mut on = true;
        loop {
            let token = self.tokens.next();
            let flag = match token.map(|token| token.char) {
                Some('-') if on => {
                    on = false;
                    continue;
                }
                Some(')') => return Ok(Special::Flags),
                Some(':') => return Ok(Special::Group(|node| *node)),
                Some('i') => &mut self.flags.ignore_case,
                Some('u') => &mut self.flags.unicode_case,
                Some('m') => &mut self.flags.multi_line,
                Some('s') => &mut self.flags.dot_all,
                Some('d') => &mut self.flags.unix_lines,
                Some('x') => &mut self.flags.comments,
                Some('U') => {
                    self.flags.unicode_case = on;
                    &mut self.flags.unicode_class
                }
                _ => {
                    let at = token.map_or(open, |token| token.at);
                    return Err(syntax_error(at, "Java has no such group").help(
                        "behind `(?` stand `:`, `=`, `!`, `>`, `<=`, `<!`, `<name>` or flags out \
                         of `idmsuxU`",
                    ));
                }
            };
            *flag = on;
        }
    }

    /// Parses a group's name up to `close`.
    pub(super) fn name(&mut self, close: char, open: usize) -> Result<Box<str>, PatternError> {
        let mut name = String::new();
        while let Some(token) = self.tokens.next() {
            if token.char == close && !name.is_empty() {
                return Ok(name.into());
            }
            let first = name.is_empty();
            let digit = !first && token.char.is_ascii_digit();
            if !token.char.is_ascii_alphabetic() && !digit {
                return Err(syntax_error(token.at, "this cannot stand in the name of a group")
                    .help("Java allows letters and digits of ASCII, starting with a letter"));
            }
            name.push(token.char);
        }
        Err(syntax_error(open, "the name of a group is not closed"))
    }

    /// Consumes `char` if it is next, skipping blanks and comments under `(?x)`.
    fn eat(&mut self, char: char) -> bool {
        let found = self.tokens.peek(self.flags.comments).is_some_and(|token| token.is(char));
        if found {
            self.tokens.next();
        }
        found
    }

    /// Consumes `char` if it is next.
    pub(super) fn eat_raw(&mut self, char: char) -> bool {
        let found = self.tokens.peek(false).is_some_and(|token| token.is(char));
        if found {
            self.tokens.next();
        }
        found
    }
}

/// A construct that starts with `(?`.
enum Special {
    Group(fn(Box<Node>) -> Node),
    Named(Box<str>),
    Flags,
}
