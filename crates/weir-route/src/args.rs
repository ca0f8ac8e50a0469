//! Arguments of a predicate or filter, bound to their declared names and read by kind.

mod bind;

use std::borrow::Cow;
use std::cell::Cell;
use std::time::Duration;

use smol_str::SmolStr;

use crate::pattern::{Flags, JavaRegex, PatternError, RegexCache};
use crate::spec::ArgKind;
use crate::value::{Moment, ValueError, parse_data_size, parse_duration, parse_status};

/// Reason for which an argument is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgError {
    /// Declared name of the argument, or the key as written if it is not a declared one.
    pub arg: String,
    /// Description for the operator: lower case, no full stop.
    pub message: String,
    /// A remedy.
    pub help: Option<String>,
}

impl ArgError {
    /// An error about argument `arg`.
    pub fn new(arg: &str, message: impl Into<String>) -> Self {
        Self { arg: arg.to_owned(), message: message.into(), help: None }
    }

    /// The same error with a remedy.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// An error about the pattern `text` of argument `arg`.
    pub fn of_pattern(arg: &str, text: &str, error: PatternError) -> Self {
        let at = text.get(..error.column).unwrap_or(text).chars().count() + 1;
        let message = format!("`{text}`: {} (character {at})", error.message);
        Self { arg: arg.to_owned(), message, help: error.help }
    }

    fn of_value(arg: &str, error: ValueError) -> Self {
        Self::new(arg, error.message).help(error.help)
    }
}

/// Arguments by declared name. List arguments have several texts, others at most one.
#[derive(Clone, Debug, Default)]
pub struct Args {
    /// One entry for each declared argument, in order, then undeclared ones.
    values: Vec<Value>,
    declared: usize,
    /// Bit n: declared argument n was read.
    read: Cell<u64>,
}

#[derive(Clone, Debug)]
struct Value {
    name: Cow<'static, str>,
    texts: Texts,
    kind: Option<ArgKind>,
    /// Whether it was written, rather than set to its default.
    written: bool,
}

/// The texts of one argument; a single one is stored inline.
#[derive(Clone, Debug, Default)]
enum Texts {
    #[default]
    None,
    One(SmolStr),
    Several(Vec<SmolStr>),
}

impl Texts {
    fn push(&mut self, text: SmolStr) {
        *self = match std::mem::take(self) {
            Self::None => Self::One(text),
            Self::One(first) => Self::Several(vec![first, text]),
            Self::Several(mut texts) => {
                texts.push(text);
                Self::Several(texts)
            }
        }
    }

    fn as_slice(&self) -> &[SmolStr] {
        match self {
            Self::None => &[],
            Self::One(text) => std::slice::from_ref(text),
            Self::Several(texts) => texts,
        }
    }
}

impl Args {
    /// The text of `name`, if given or defaulted.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.list(name).first().map(SmolStr::as_str)
    }

    /// All texts of list argument `name`.
    pub fn list(&self, name: &str) -> &[SmolStr] {
        let Some(at) = self.values.iter().position(|value| value.name == name) else {
            return &[];
        };
        if at < self.declared.min(64) {
            self.read.set(self.read.get() | 1 << at);
        }
        self.values.get(at).map(|value| value.texts.as_slice()).unwrap_or_default()
    }

    /// Whether `name` was written, rather than set to its default.
    pub fn is_written(&self, name: &str) -> bool {
        self.values.iter().any(|value| value.name == name && value.written)
    }

    /// Arguments whose name starts with `prefix.`, without that prefix.
    pub fn nested<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.values.iter().filter_map(move |value| {
            let (base, rest) = value.name.split_once('.')?;
            let text = value.texts.as_slice().first()?;
            is_same_name(base, prefix).then_some((rest, text.as_str()))
        })
    }

    /// Names of undeclared arguments: SCG ignores them, `weir check` warns.
    pub fn unknown(&self) -> impl Iterator<Item = &str> {
        let (declared, undeclared) = self.values.split_at(self.declared.min(self.values.len()));
        let is_nested = |value: &&Value| {
            let base = value.name.split_once('.').map(|(base, _)| base);
            base.is_some_and(|base| declared.iter().any(|one| is_same_name(base, &one.name)))
        };
        undeclared.iter().filter(move |value| !is_nested(value)).map(|value| &*value.name)
    }

    /// Declared arguments that were never read; for tests of a registry.
    pub fn unread(&self) -> impl Iterator<Item = &str> {
        let read = self.read.get();
        let declared = self.values.iter().take(self.declared).enumerate();
        declared.filter(move |(at, _)| read & (1 << at) == 0).map(|(_, value)| &*value.name)
    }

    /// A required text, possibly empty.
    ///
    /// # Errors
    /// It is missing.
    pub fn required(&self, name: &str) -> Result<&str, ArgError> {
        self.text(name).ok_or_else(|| ArgError::new(name, format!("`{name}` is missing")))
    }

    /// A required text that is not empty.
    ///
    /// # Errors
    /// It is missing or empty.
    pub fn filled(&self, name: &str) -> Result<&str, ArgError> {
        let text = self.required(name)?;
        if text.is_empty() {
            return Err(ArgError::new(name, format!("`{name}` is empty")));
        }
        Ok(text)
    }

    /// A whole number.
    ///
    /// # Errors
    /// Not a number.
    pub fn int(&self, name: &str) -> Result<Option<i64>, ArgError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let number = text.trim().parse().ok();
        let refuse = || ArgError::new(name, format!("`{text}` is not a whole number"));
        number.map(Some).ok_or_else(refuse)
    }

    /// `true` or `false` in any case.
    ///
    /// # Errors
    /// Neither.
    pub fn bool(&self, name: &str) -> Result<Option<bool>, ArgError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let is_one = |words: [&str; 4]| words.iter().any(|w| w.eq_ignore_ascii_case(text.trim()));
        match (is_one(["true", "yes", "on", "1"]), is_one(["false", "no", "off", "0"])) {
            (true, _) => Ok(Some(true)),
            (_, true) => Ok(Some(false)),
            _ => Err(ArgError::new(name, format!("`{text}` is neither true nor false"))),
        }
    }

    /// A duration: `10ms`, `5m`, `PT1S`, bare milliseconds.
    ///
    /// # Errors
    /// Not a duration.
    pub fn duration(&self, name: &str) -> Result<Option<Duration>, ArgError> {
        self.read_as(name, parse_duration)
    }

    /// A size in bytes: `5MB` (1024-based), bare bytes.
    ///
    /// # Errors
    /// Not a size.
    pub fn data_size(&self, name: &str) -> Result<Option<u64>, ArgError> {
        self.read_as(name, parse_data_size)
    }

    /// A status by number or name.
    ///
    /// # Errors
    /// The text is neither.
    pub fn status(&self, name: &str) -> Result<Option<u16>, ArgError> {
        self.read_as(name, parse_status)
    }

    /// Several statuses by number or name.
    ///
    /// # Errors
    /// A text is neither.
    pub fn statuses(&self, name: &str) -> Result<Vec<u16>, ArgError> {
        let parse = |text: &SmolStr| parse_status(text).map_err(|e| ArgError::of_value(name, e));
        self.list(name).iter().map(parse).collect()
    }

    /// A required date and time.
    ///
    /// # Errors
    /// It is missing or invalid.
    pub fn date_time(&self, name: &str) -> Result<Moment, ArgError> {
        Moment::parse(self.filled(name)?).map_err(|error| ArgError::of_value(name, error))
    }

    /// A Java regular expression; a blank text counts as missing.
    ///
    /// # Errors
    /// Position and reason if it is rejected.
    pub fn regex(&self, name: &str, regexes: &RegexCache) -> Result<Option<JavaRegex>, ArgError> {
        let Some(text) = self.text(name).filter(|text| !text.trim().is_empty()) else {
            return Ok(None);
        };
        let regex = regexes.get(text, Flags::default());
        regex.map(Some).map_err(|error| ArgError::of_pattern(name, text, error))
    }

    /// One of the argument's declared names, as declared; case, `-` and `_` are ignored.
    ///
    /// # Errors
    /// Any other text.
    pub fn one_of(&self, name: &str) -> Result<Option<&'static str>, ArgError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let kind = self.values.iter().find(|value| value.name == name).and_then(|v| v.kind);
        let Some(ArgKind::OneOf(choices)) = kind else {
            return Err(ArgError::new(name, format!("`{name}` has no choices")));
        };
        let found = choices.iter().find(|choice| is_same_name(choice, text.trim()));
        found.copied().map(Some).ok_or_else(|| {
            ArgError::new(name, format!("`{text}` is not a known choice"))
                .help(format!("write one of: {}", choices.join(", ")))
        })
    }

    /// The name in a bean reference `#{@name}`.
    ///
    /// # Errors
    /// Any other text.
    pub fn bean(&self, name: &str) -> Result<Option<&str>, ArgError> {
        let Some(text) = self.text(name).map(str::trim) else { return Ok(None) };
        let refuse = || {
            ArgError::new(name, format!("`{text}` is not a reference"))
                .help("write `#{@name}` with a name that weir knows")
        };
        bean_name(text).map(Some).ok_or_else(refuse)
    }

    fn read_as<T>(
        &self,
        name: &str,
        parse: fn(&str) -> Result<T, ValueError>,
    ) -> Result<Option<T>, ArgError> {
        self.text(name).map(parse).transpose().map_err(|error| ArgError::of_value(name, error))
    }
}

/// The name in `#{@name}`.
fn bean_name(text: &str) -> Option<&str> {
    let inside = text.trim().strip_prefix("#{")?.strip_suffix('}')?.trim();
    inside.strip_prefix('@').map(str::trim)
}

/// Spring's relaxed names: `from-header`, `fromHeader` and `FROM_HEADER` are the same.
fn is_same_name(one: &str, other: &str) -> bool {
    fn relaxed(name: &str) -> impl Iterator<Item = char> {
        name.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase)
    }
    one == other || relaxed(one).eq(relaxed(other))
}
