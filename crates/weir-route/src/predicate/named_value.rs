//! A name with a pattern for its value: shared by `Cookie`, `Header` and `Query`.

use smol_str::SmolStr;

use crate::args::{ArgError, Args};
use crate::pattern::{JavaRegex, RegexCache, RegexError, Required};

/// A name and the pattern of its whole value, unless presence is enough.
///
/// Most patterns are plain text. Such a pattern is stored behind the name and not compiled: if both
/// are short they are stored in the predicate itself, which saves cache misses in a table of a
/// million routes.
#[derive(Clone, Debug)]
pub(super) struct NamedValue {
    /// The name, followed by the pattern if that is plain text.
    text: SmolStr,
    /// A pattern that is not plain text.
    regex: Option<JavaRegex>,
    name_len: u32,
    has_text: bool,
    /// Whether values are split at commas; stored here because there is padding.
    pub(super) splits: bool,
}

/// Pattern of a whole value.
#[derive(Clone, Copy, Debug)]
pub enum ValuePattern<'a> {
    /// A literal text, the only match of its expression.
    Text(&'a str),
    /// Any other expression.
    Regex(&'a JavaRegex),
}

impl NamedValue {
    /// Reads the name from the argument `name`, and the pattern from `regexp`.
    ///
    /// # Errors
    /// A name that is missing, empty or longer than 4 GiB; an invalid expression.
    pub(super) fn bind(args: &Args, name: &str, regexes: &RegexCache) -> Result<Self, ArgError> {
        let (arg, name) = (name, args.filled(name)?);
        let regex = args.regex("regexp", regexes)?;
        let too_long = |_| ArgError::new(arg, format!("`{arg}` is longer than 4 GiB"));
        let name_len = u32::try_from(name.len()).map_err(too_long)?;
        let plain = regex.as_ref().filter(|regex| regex.literal() == Some(regex.source()));
        let text = match plain {
            Some(plain) => [name, plain.source()].concat().into(),
            None => name.into(),
        };
        let has_text = plain.is_some();
        let regex = regex.filter(|_| !has_text);
        Ok(Self { text, regex, name_len, has_text, splits: false })
    }

    pub(super) fn name(&self) -> &str {
        self.text.get(..self.name_len as usize).unwrap_or_default()
    }

    /// The pattern of the value; `None` if any value matches.
    pub(super) fn value(&self) -> Option<ValuePattern<'_>> {
        match &self.regex {
            Some(regex) => Some(ValuePattern::Regex(regex)),
            None if self.has_text => {
                self.text.get(self.name_len as usize..).map(ValuePattern::Text)
            }
            None => None,
        }
    }

    /// The expression as SCG's actuator prints it.
    pub(super) fn source(&self) -> &str {
        self.value().map_or("null", ValuePattern::source)
    }
}

impl<'a> ValuePattern<'a> {
    /// The expression as written.
    pub fn source(self) -> &'a str {
        match self {
            Self::Text(text) => text,
            Self::Regex(regex) => regex.source(),
        }
    }

    /// The only value that matches, if there is just one (`a\.b` matches `a.b`).
    pub fn literal(self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Regex(regex) => regex.literal(),
        }
    }

    /// Plain text in every matching value, if more than one value matches.
    pub fn required(self) -> Option<&'a Required> {
        match self {
            Self::Text(_) => None,
            Self::Regex(regex) => regex.required(),
        }
    }

    /// Whether all of `value` matches; a value that is not UTF-8 never does.
    ///
    /// # Errors
    /// See [`JavaRegex::full_match`].
    pub fn full_match(self, value: &[u8]) -> Result<bool, RegexError> {
        match self {
            Self::Text(text) => Ok(text.as_bytes() == value),
            Self::Regex(regex) => {
                std::str::from_utf8(value).map_or(Ok(false), |value| regex.full_match(value))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ValuePattern;
    use crate::pattern::JavaRegex;
    use crate::predicate::Predicate;
    use crate::predicate::spec_tests::build;

    #[test]
    fn plain_text_needs_no_expression() {
        for source in ["v1", "ab-c", r"a\.b", "a.*", "[a]"] {
            let regex = JavaRegex::new(source).expect("an expression");
            let Predicate::Header(header) = build(&format!("Header=name,{source}")) else {
                panic!("a header predicate");
            };
            let value = header.regexp().expect("as given");
            assert_eq!((header.name(), value.source()), ("name", source));
            assert_eq!(value.literal(), regex.literal(), "{source}");
            assert_eq!(value.required().is_some(), regex.required().is_some(), "{source}");
            for text in ["v1", "", "ab-c", "a.b", "axb", "a", r"a\.b"] {
                let matched = value.full_match(text.as_bytes());
                assert_eq!(matched, regex.full_match(text), "{source} {text}");
            }
            let is_plain = !source.contains(['\\', '.', '[']);
            assert_eq!(matches!(value, ValuePattern::Text(_)), is_plain, "{source}");
        }
    }
}
