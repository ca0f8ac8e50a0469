//! Expressions of the discovery locator: the subset of Spring's expression language (SpEL) that is
//! used there. Only the names listed here can be accessed or called.
//!
//! ```text
//! or    = and  (("or" | "||") and)*
//! and   = not  (("and" | "&&") not)*
//! not   = ("not" | "!") not | equal
//! equal = sum (("==" | "!=" | "eq" | "ne") sum)?
//! sum   = call ("+" call)*
//! call  = atom ("." method "(" (or ("," or)*)? ")")*
//! atom  = 'text' | "text" | true | false | null | ( or )
//!       | serviceId | host | port | uri | metadata['key'] | metadata.key | metadata.get('key')
//! ```
//! Methods: toLowerCase, toUpperCase, trim, equals, equalsIgnoreCase, startsWith, endsWith,
//! contains, isEmpty, replace.

use weir_balance::Instance;

/// Maximum nesting of an expression.
const DEPTH_MAX: usize = 32;
/// Maximum length of an expression in bytes.
const BYTES_MAX: usize = 4 * 1024;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expression(Node);

/// Input of an expression: an instance, and the name of its service.
pub(crate) struct Subject<'a> {
    pub id: &'a str,
    pub instance: &'a Instance,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Text(String),
    Bool(bool),
    Null,
    Field(Field),
    Metadata(String),
    Not(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    Equal(Box<Self>, Box<Self>, bool),
    Sum(Box<Self>, Box<Self>),
    Call(Box<Self>, Method, Vec<Self>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Field {
    ServiceId,
    Host,
    Port,
    Uri,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Method {
    ToLowerCase,
    ToUpperCase,
    Trim,
    Equals,
    EqualsIgnoreCase,
    StartsWith,
    EndsWith,
    Contains,
    IsEmpty,
    Replace,
}

/// Methods by name, with their number of arguments.
const METHODS: &[(&str, Method, usize)] = &[
    ("toLowerCase", Method::ToLowerCase, 0),
    ("toUpperCase", Method::ToUpperCase, 0),
    ("trim", Method::Trim, 0),
    ("equals", Method::Equals, 1),
    ("equalsIgnoreCase", Method::EqualsIgnoreCase, 1),
    ("startsWith", Method::StartsWith, 1),
    ("endsWith", Method::EndsWith, 1),
    ("contains", Method::Contains, 1),
    ("isEmpty", Method::IsEmpty, 0),
    ("replace", Method::Replace, 2),
];

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Text(String),
    Bool(bool),
    Null,
}

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    /// The unsupported part.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > BYTES_MAX {
            return Err(format!("it is longer than {BYTES_MAX} bytes"));
        }
        let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0 };
        let node = parser.or()?;
        match parser.peek() {
            None => Ok(Self(node)),
            Some(token) => Err(format!("`{}` is not understood here", token.shown())),
        }
    }

    /// The expression `null`.
    pub fn nothing() -> Self {
        Self(Node::Null)
    }

    /// Its value as text; `null` is empty.
    pub fn text(&self, subject: &Subject<'_>) -> String {
        self.0.value(subject).text()
    }

    /// Whether it evaluates to true.
    pub fn holds(&self, subject: &Subject<'_>) -> bool {
        match self.0.value(subject) {
            Value::Bool(holds) => holds,
            Value::Text(text) => text.eq_ignore_ascii_case("true"),
            Value::Null => false,
        }
    }
}

impl Value {
    fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Bool(value) => value.to_string(),
            Self::Null => String::new(),
        }
    }
}

impl Node {
    fn value(&self, subject: &Subject<'_>) -> Value {
        let holds = |node: &Self| Self::holds(node, subject);
        match self {
            Self::Text(text) => Value::Text(text.clone()),
            Self::Bool(value) => Value::Bool(*value),
            Self::Null => Value::Null,
            Self::Field(field) => Value::Text(field.of(subject)),
            Self::Metadata(key) => {
                let found = subject.instance.metadata.get(key);
                found.map_or(Value::Null, |text| Value::Text(text.clone()))
            }
            Self::Not(node) => Value::Bool(!holds(node)),
            Self::And(a, b) => Value::Bool(holds(a) && holds(b)),
            Self::Or(a, b) => Value::Bool(holds(a) || holds(b)),
            Self::Equal(a, b, equal) => {
                Value::Bool((a.value(subject) == b.value(subject)) == *equal)
            }
            Self::Sum(a, b) => Value::Text(a.value(subject).text() + &b.value(subject).text()),
            Self::Call(on, method, args) => {
                let args: Vec<String> = args.iter().map(|arg| arg.value(subject).text()).collect();
                match on.value(subject) {
                    // SpEL throws here, and the service gets no route; `null` compares as unequal.
                    Value::Null => Value::Null,
                    on => method.call(on.text(), &args),
                }
            }
        }
    }

    fn holds(&self, subject: &Subject<'_>) -> bool {
        Expression(self.clone()).holds(subject)
    }
}

impl Field {
    fn of(self, subject: &Subject<'_>) -> String {
        let target = &subject.instance.target;
        match self {
            Self::ServiceId => subject.id.to_owned(),
            Self::Host => target.host.clone(),
            Self::Port => target.port.to_string(),
            Self::Uri => format!("http://{}:{}", target.host, target.port),
        }
    }
}

impl Method {
    fn call(self, on: String, args: &[String]) -> Value {
        let arg = |at: usize| args.get(at).map_or("", String::as_str);
        match self {
            Self::ToLowerCase => Value::Text(on.to_lowercase()),
            Self::ToUpperCase => Value::Text(on.to_uppercase()),
            Self::Trim => Value::Text(on.trim().to_owned()),
            Self::Equals => Value::Bool(on == arg(0)),
            Self::EqualsIgnoreCase => Value::Bool(on.to_lowercase() == arg(0).to_lowercase()),
            Self::StartsWith => Value::Bool(on.starts_with(arg(0))),
            Self::EndsWith => Value::Bool(on.ends_with(arg(0))),
            Self::Contains => Value::Bool(on.contains(arg(0))),
            Self::IsEmpty => Value::Bool(on.is_empty()),
            Self::Replace => Value::Text(on.replace(arg(0), arg(1))),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Text(String),
    Word(String),
    Sign(&'static str),
}

impl Token {
    fn shown(&self) -> &str {
        match self {
            Self::Text(text) | Self::Word(text) => text,
            Self::Sign(sign) => sign,
        }
    }
}

const SIGNS: &[&str] = &["==", "!=", "&&", "||", "?.", "+", "!", "(", ")", "[", "]", ".", ",", "#"];

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if first == '\'' || first == '"' {
            let (token, after) = literal(rest, first)?;
            tokens.push(token);
            rest = after.trim_start();
            continue;
        }
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '-');
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        if end > 0 {
            let (word, after) = rest.split_at(end);
            tokens.push(Token::Word(word.to_owned()));
            rest = after.trim_start();
            continue;
        }
        let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) else {
            return Err(format!("`{first}` is not understood"));
        };
        tokens.push(Token::Sign(sign));
        rest = rest.strip_prefix(*sign).unwrap_or_default().trim_start();
    }
    Ok(tokens)
}

/// A quoted text, in which quotes are doubled.
fn literal(rest: &str, quote: char) -> Result<(Token, &str), String> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c != quote {
            text.push(c);
        } else if chars.peek().is_some_and(|(_, next)| *next == quote) {
            text.push(quote);
            chars.next();
        } else {
            let after = rest.get(at + quote.len_utf8()..).unwrap_or_default();
            return Ok((Token::Text(text), after));
        }
    }
    Err(format!("a {quote} is not closed"))
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    /// Consumes the next token if it is one of these operators or words.
    fn take(&mut self, names: &[&str]) -> Option<String> {
        let found = match self.peek()? {
            Token::Sign(sign) if names.contains(sign) => (*sign).to_owned(),
            Token::Word(word) if names.contains(&word.as_str()) => word.clone(),
            _ => return None,
        };
        self.at += 1;
        Some(found)
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), String> {
        match self.take(&[sign]) {
            Some(_) => Ok(()),
            None => Err(format!("a `{sign}` is missing")),
        }
    }

    fn or(&mut self) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("it is nested too deeply".to_owned());
        }
        let mut node = self.and()?;
        while self.take(&["or", "||"]).is_some() {
            node = Node::Or(Box::new(node), Box::new(self.and()?));
        }
        self.depth -= 1;
        Ok(node)
    }

    fn and(&mut self) -> Result<Node, String> {
        let mut node = self.not()?;
        while self.take(&["and", "&&"]).is_some() {
            node = Node::And(Box::new(node), Box::new(self.not()?));
        }
        Ok(node)
    }

    fn not(&mut self) -> Result<Node, String> {
        let mut negated = false;
        while self.take(&["not", "!"]).is_some() {
            negated = !negated;
        }
        let node = self.equal()?;
        Ok(if negated { Node::Not(Box::new(node)) } else { node })
    }

    fn equal(&mut self) -> Result<Node, String> {
        let node = self.sum()?;
        let Some(sign) = self.take(&["==", "!=", "eq", "ne"]) else { return Ok(node) };
        let equal = matches!(sign.as_str(), "==" | "eq");
        Ok(Node::Equal(Box::new(node), Box::new(self.sum()?), equal))
    }

    fn sum(&mut self) -> Result<Node, String> {
        let mut node = self.call()?;
        while self.take(&["+"]).is_some() {
            node = Node::Sum(Box::new(node), Box::new(self.call()?));
        }
        Ok(node)
    }

    fn call(&mut self) -> Result<Node, String> {
        let mut node = self.atom()?;
        while self.take(&[".", "?."]).is_some() {
            let Some(Token::Word(name)) = self.next() else {
                return Err("a method is missing after `.`".to_owned());
            };
            let known = METHODS.iter().find(|(known, ..)| *known == name);
            let Some((_, method, count)) = known else {
                return Err(format!("`{name}` is not a method that weir knows"));
            };
            let args = self.arguments()?;
            if args.len() != *count {
                return Err(format!("`{name}` takes {count} arguments"));
            }
            node = Node::Call(Box::new(node), *method, args);
        }
        Ok(node)
    }

    fn arguments(&mut self) -> Result<Vec<Node>, String> {
        self.expect("(")?;
        let mut args = Vec::new();
        if self.take(&[")"]).is_some() {
            return Ok(args);
        }
        loop {
            args.push(self.or()?);
            if self.take(&[","]).is_none() {
                self.expect(")")?;
                return Ok(args);
            }
        }
    }

    fn atom(&mut self) -> Result<Node, String> {
        match self.next() {
            None => Err("it ends too early".to_owned()),
            Some(Token::Text(text)) => Ok(Node::Text(text)),
            Some(Token::Sign("(")) => {
                let node = self.or()?;
                self.expect(")")?;
                Ok(node)
            }
            Some(Token::Word(word)) => self.word(&word),
            Some(Token::Sign(sign)) => Err(format!("`{sign}` is not understood here")),
        }
    }

    fn word(&mut self, word: &str) -> Result<Node, String> {
        Ok(match word {
            "true" => Node::Bool(true),
            "false" => Node::Bool(false),
            "null" => Node::Null,
            "serviceId" => Node::Field(Field::ServiceId),
            "host" => Node::Field(Field::Host),
            "port" => Node::Field(Field::Port),
            "uri" | "url" => Node::Field(Field::Uri),
            "metadata" => Node::Metadata(self.key()?),
            digits if digits.chars().all(|c| c.is_ascii_digit()) => Node::Text(digits.to_owned()),
            other => return Err(format!("`{other}` is not something weir knows of a service")),
        })
    }

    /// The key after `metadata`.
    fn key(&mut self) -> Result<String, String> {
        if self.take(&["["]).is_some() {
            let key = match self.next() {
                Some(Token::Text(key) | Token::Word(key)) => key,
                _ => return Err("`metadata[…]` takes a key in quotes".to_owned()),
            };
            self.expect("]")?;
            return Ok(key);
        }
        if self.take(&[".", "?."]).is_none() {
            return Err("write `metadata['key']`".to_owned());
        }
        let Some(Token::Word(name)) = self.next() else {
            return Err("write `metadata['key']`".to_owned());
        };
        if name != "get" || self.peek() != Some(&Token::Sign("(")) {
            return Ok(name);
        }
        let mut args = self.arguments()?;
        match (args.pop(), args.is_empty()) {
            (Some(Node::Text(key)), true) => Ok(key),
            _ => Err("`metadata.get(…)` takes a key in quotes".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_balance::Instance;

    use super::{Expression, Subject};

    /// Checks the value as text, or the error.
    fn check(text: &str, expected: &str) {
        let mut instance = Instance::new("h", 81, false);
        instance.metadata.insert("edge".into(), "true".into());
        instance.metadata.insert("version".into(), "v1".into());
        let subject = Subject { id: "User-Service", instance: &instance };
        let found = match Expression::parse(text) {
            Ok(expression) => expression.text(&subject),
            Err(why) => format!("error: {why}"),
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn what_people_write() {
        check("'lb://'+serviceId", "lb://User-Service");
        check("'/'+serviceId+'/**'", "/User-Service/**");
        check("'/services/'+serviceId.toLowerCase()+'/**'", "/services/user-service/**");
        check("\"'/x'\"", "'/x'");
        check("'/' + serviceId + '/?(?<remaining>.*)'", "/User-Service/?(?<remaining>.*)");
        check("'/${remaining}'", "/${remaining}");
        check("'it''s'", "it's");
        check("true", "true");
        check("metadata['edge'] == 'true'", "true");
        check("metadata.version", "v1");
        check("metadata.get('none') == null", "true");
        check("metadata['none'] == 'x' or serviceId.startsWith('User')", "true");
        check("!(serviceId eq 'User-Service') && true", "false");
        check("not serviceId.contains('gate') and port == '81'", "true");
        check("host + ':' + port", "h:81");
        check("serviceId.replace('-Service','').toUpperCase()", "USER");
    }

    #[test]
    fn everything_else_is_refused() {
        check(
            "T(java.lang.Runtime).getRuntime()",
            "error: `T` is not something weir knows of a service",
        );
        check("@bean", "error: `@` is not understood");
        check("serviceId.getClass()", "error: `getClass` is not a method that weir knows");
        check("'a", "error: a ' is not closed");
        check("", "error: it ends too early");
        check("'a' 'b'", "error: `b` is not understood here");
        check("serviceId.trim(1)", "error: `trim` takes 0 arguments");
        check(&"(".repeat(100), "error: it is nested too deeply");
        check("metadata", "error: write `metadata['key']`");
    }
}
