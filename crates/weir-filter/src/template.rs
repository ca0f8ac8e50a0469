//! Value templates: text with `{variable}` parts, filled from the URI variables of the matched
//! route.
//!
//! Templates are stored as text and parsed for each request: most have no variable, and with a
//! million routes a parsed form would cost more memory than it saves time. SCG expands them with
//! `UriComponentsBuilder`; the syntax of variables is the same as there
//! (`HierarchicalUriComponents`).

use std::fmt::Write;

use weir_route::Vars;

use crate::context::FilterError;

/// A text whose `{variable}` parts are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Template<'a>(pub &'a str);

/// A piece of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Literal text.
    Text(&'a str),
    /// The name of a variable.
    Variable(&'a str),
}

impl<'a> Template<'a> {
    /// The text, if there are no variables.
    pub(crate) fn constant(self) -> Option<&'a str> {
        (!self.has_variables()).then_some(self.0)
    }

    /// Whether there are variables.
    pub(crate) fn has_variables(self) -> bool {
        memchr::memchr(b'{', self.0.as_bytes()).is_some() && self.variables().next().is_some()
    }

    /// The names of all variables in order.
    pub(crate) fn variables(self) -> impl Iterator<Item = &'a str> {
        self.pieces().filter_map(|piece| match piece {
            Piece::Variable(name) => Some(name),
            Piece::Text(_) => None,
        })
    }

    /// Texts and variables in order.
    pub(crate) fn pieces(self) -> Pieces<'a> {
        Pieces { rest: self.0 }
    }

    /// The text with all variables replaced.
    ///
    /// # Errors
    /// A variable that no predicate of the route has set.
    pub(crate) fn expand(self, vars: &Vars) -> Result<String, FilterError> {
        let mut out = String::with_capacity(self.0.len() + 32);
        for piece in self.pieces() {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Variable(name) => out.push_str(variable(vars, name)?),
            }
        }
        Ok(out)
    }

    /// As [`Template::expand`], but percent-encodes every byte that is not `legal`.
    ///
    /// # Errors
    /// A variable that no predicate of the route has set.
    pub(crate) fn expand_encoded(
        self,
        vars: &Vars,
        legal: fn(u8) -> bool,
    ) -> Result<String, FilterError> {
        let mut out = String::with_capacity(self.0.len() + 32);
        for piece in self.pieces() {
            match piece {
                Piece::Text(text) => encode(text, legal, &mut out),
                Piece::Variable(name) => encode(variable(vars, name)?, legal, &mut out),
            }
        }
        Ok(out)
    }

    /// Checks that `vars` has all variables.
    ///
    /// # Errors
    /// The first variable that is not set.
    pub(crate) fn require(self, vars: &Vars) -> Result<(), FilterError> {
        self.variables().try_for_each(|name| variable(vars, name).map(|_| ()))
    }
}

/// The value of the variable `name`.
///
/// # Errors
/// No predicate of the route has set the variable.
pub(crate) fn variable<'v>(vars: &'v Vars, name: &str) -> Result<&'v str, FilterError> {
    vars.get(name).ok_or_else(|| {
        FilterError(format!("no predicate of this route sets the template variable `{name}`"))
    })
}

/// Appends `text` to `out`, with each byte that is not `legal` as `%XX`.
pub(crate) fn encode(text: &str, legal: fn(u8) -> bool, out: &mut String) {
    for &byte in text.as_bytes() {
        if byte.is_ascii() && legal(byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

/// Iterates over the pieces of a template.
#[derive(Clone, Debug)]
pub(crate) struct Pieces<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let Some((start, end)) = next_variable(self.rest) else {
            return Some(Piece::Text(std::mem::take(&mut self.rest)));
        };
        if start > 0 {
            let (text, rest) = self.rest.split_at(start);
            self.rest = rest;
            return Some(Piece::Text(text));
        }
        let (braced, rest) = self.rest.split_at(end);
        self.rest = rest;
        let name = braced.get(1..braced.len() - 1).unwrap_or_default();
        Some(Piece::Variable(name.split_once(':').map_or(name, |(name, _)| name)))
    }
}

/// Position of the first `{…}`: at least one character, no `/`; `{id:[0-9]{8}}` is one variable.
fn next_variable(text: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    loop {
        let start = from + text.get(from..)?.find('{')?;
        if let Some(end) = closing_brace(text.get(start..)?) {
            return Some((start, start + end));
        }
        from = start + 1;
    }
}

/// Length of the variable that `text` starts with.
fn closing_brace(text: &str) -> Option<usize> {
    let mut depth = 0;
    let mut expression = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth > 1 && expression => depth -= 1,
            b'}' => return (at > 1).then_some(at + 1),
            b':' => expression = true,
            b'/' if !expression => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use weir_route::Vars;

    use super::Template;

    fn check(template: &str, expected: Result<&str, &str>) {
        let mut vars = Vars::default();
        vars.set("a", "1".to_owned());
        vars.set("b", "x y/é".to_owned());
        let result = Template(template).expand(&vars);
        match expected {
            Ok(text) => assert_eq!(result.as_deref(), Ok(text), "{template:?}"),
            Err(name) => {
                let error = result.expect_err(template);
                assert!(error.0.ends_with(&format!("`{name}`")), "{error:?}");
            }
        }
    }

    #[test]
    fn variables_are_replaced() {
        check("", Ok(""));
        check("plain", Ok("plain"));
        check("{a}", Ok("1"));
        check("x{a}y{a}{b}", Ok("x1y1x y/é"));
        check("{a:[0-9]{8}}!", Ok("1!"));
        check("{zzz}", Err("zzz"));
        check("{a}{zzz}", Err("zzz"));
        check("{\"k\":1}", Err("\"k\""));
    }

    #[test]
    fn what_is_no_variable_stays() {
        for text in ["{}", "{", "}", "a{b/c}", "{a", "{}{", "a}b{"] {
            check(text, Ok(text));
            assert!(!Template(text).has_variables());
        }
    }

    #[test]
    fn encoding_takes_templates_and_values_alike() {
        let mut vars = Vars::default();
        vars.set("b", "x y/é%".to_owned());
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'/';
        let text = Template("/ü {b}").expand_encoded(&vars, legal);
        assert_eq!(text.as_deref(), Ok("/%C3%BC%20x%20y/%C3%A9%25"));
    }
}
