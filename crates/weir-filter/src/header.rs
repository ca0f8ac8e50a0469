//! Header names and values as arguments of filters: checked when built, so that nothing which is no
//! header field can be written later.

use std::fmt;

use smol_str::SmolStr;
use weir_route::{ArgError, Vars};
use weir_wire::{is_field_value, is_token};

use crate::context::FilterError;
use crate::template::Template;

/// A header name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HeaderName(SmolStr);

impl HeaderName {
    /// Takes `text`, the value of argument `arg`.
    ///
    /// # Errors
    /// Not a token (RFC 9110 section 5.1).
    pub(crate) fn new(arg: &str, text: &str) -> Result<Self, ArgError> {
        if is_token(text.as_bytes()) {
            return Ok(Self(text.into()));
        }
        Err(ArgError::new(arg, format!("`{text}` is not a header name"))
            .help("use letters, digits and `-`, such as `X-Request-Id`"))
    }

    /// As [`HeaderName::new`], for a field that the filter writes.
    ///
    /// # Errors
    /// Not a token, or a field that only the gateway may write.
    pub(crate) fn writable(arg: &str, text: &str) -> Result<Self, ArgError> {
        let name = Self::new(arg, text)?;
        if ["content-length", "transfer-encoding"].iter().any(|f| name.0.eq_ignore_ascii_case(f)) {
            return Err(ArgError::new(arg, format!("`{text}` cannot be written by a filter"))
                .help("remove this filter: weir frames every message itself"));
        }
        Ok(name)
    }

    /// The name, case as written.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The name, case as written.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Display for HeaderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A header name and the template of its value, kept as one text `name:value`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FieldTemplate(FieldText);

/// A text that most often is longer than what a `SmolStr` holds without memory of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum FieldText {
    /// The first `len` bytes; all others are 0.
    Inline {
        len: u8,
        bytes: [u8; FIELD_INLINE_MAX],
    },
    Heap(Box<str>),
}

/// Bytes of a field that lies in the value itself.
const FIELD_INLINE_MAX: usize = 38;

impl From<String> for FieldText {
    fn from(text: String) -> Self {
        let mut bytes = [0; FIELD_INLINE_MAX];
        match (bytes.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(place), Ok(len)) => {
                place.copy_from_slice(text.as_bytes());
                Self::Inline { len, bytes }
            }
            _ => Self::Heap(text.into()),
        }
    }
}

impl std::ops::Deref for FieldText {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        match self {
            Self::Inline { len, bytes } => {
                let bytes = bytes.get(..usize::from(*len)).unwrap_or_default();
                // They were those of a text.
                std::str::from_utf8(bytes).unwrap_or_default()
            }
            Self::Heap(text) => text,
        }
    }
}

impl FieldTemplate {
    /// Takes the values of the arguments `name_arg` and `value_arg`.
    ///
    /// # Errors
    /// The name is not one that a filter may write, or the value has a control character.
    pub(crate) fn new(
        (name_arg, name): (&str, &str),
        (value_arg, value): (&str, &str),
    ) -> Result<Self, ArgError> {
        let name = HeaderName::writable(name_arg, name)?;
        check_value(value_arg, value)?;
        let mut field = String::with_capacity(name.0.len() + 1 + value.len());
        field.extend([name.as_str(), ":", value]);
        Ok(Self(field.into()))
    }

    /// Name and value.
    pub(crate) fn parts(&self) -> (&str, Template<'_>) {
        let (name, value) = self.0.split_once(':').unwrap_or_default();
        (name, Template(value))
    }

    /// The header name.
    pub(crate) fn name(&self) -> &str {
        self.parts().0
    }

    /// The value.
    pub(crate) fn value(&self) -> Template<'_> {
        self.parts().1
    }

    /// Gives name and value to `write`, variables replaced. Allocates only if there are variables.
    ///
    /// # Errors
    /// A variable that is not set, or whose value cannot stand in a header field.
    pub(crate) fn with(
        &self,
        vars: &Vars,
        write: impl FnOnce(&[u8], &[u8]),
    ) -> Result<(), FilterError> {
        let (name, value) = self.parts();
        match value.constant() {
            Some(value) => write(name.as_bytes(), value.as_bytes()),
            None => {
                let value = expand_value(value, vars)?;
                write(name.as_bytes(), value.as_bytes());
            }
        }
        Ok(())
    }
}

/// Expands a template to a header value.
///
/// # Errors
/// A variable that is not set, or whose value cannot stand in a header field.
pub(crate) fn expand_value(value: Template<'_>, vars: &Vars) -> Result<String, FilterError> {
    let value = value.expand(vars)?;
    check_sendable(value.as_bytes())?;
    Ok(value)
}

/// Checks that a value which depends on the request can stand in a header field.
///
/// # Errors
/// It has CR, LF, NUL or another control character: it must never be sent (RFC 9110 section 5.5).
pub(crate) fn check_sendable(value: &[u8]) -> Result<(), FilterError> {
    if is_field_value(value) {
        return Ok(());
    }
    let shown = value.escape_ascii();
    Err(FilterError(format!("`{shown}` has a control character and cannot be sent in a header")))
}

/// Checks that the value of argument `arg` can stand in a header field.
///
/// # Errors
/// It has a control character.
pub(crate) fn check_value(arg: &str, value: &str) -> Result<(), ArgError> {
    if is_field_value(value.as_bytes()) {
        return Ok(());
    }
    let shown = value.escape_debug();
    Err(ArgError::new(arg, format!("`{shown}` cannot be a header value"))
        .help("remove line ends and control characters"))
}

/// Whether every value is empty or blank, as for a header that is missing.
pub(crate) fn all_blank<'a>(mut values: impl Iterator<Item = &'a [u8]>) -> bool {
    values.all(|value| value.trim_ascii().is_empty())
}

#[cfg(test)]
mod tests {
    use weir_route::Vars;

    use super::{FieldTemplate, HeaderName};

    fn check(name: &str, value: &str, expected: Result<&str, &str>) {
        let built = FieldTemplate::new(("name", name), ("value", value));
        let mut vars = Vars::default();
        vars.set("v", "a\r\nb".to_owned());
        vars.set("w", "1:2".to_owned());
        let mut line = String::new();
        let written = built.map_err(|error| error.message).and_then(|field| {
            let write = |name: &[u8], value: &[u8]| {
                line = format!("{}|{}", name.escape_ascii(), value.escape_ascii());
            };
            field.with(&vars, write).map_err(|error| error.0)
        });
        match expected {
            Ok(expected) => assert_eq!((written, &*line), (Ok(()), expected)),
            Err(part) => assert!(written.as_ref().is_err_and(|e| e.contains(part)), "{written:?}"),
        }
    }

    #[test]
    fn lines_keep_name_and_value_apart() {
        check("X-A", "1", Ok("X-A|1"));
        check("X-A", "", Ok("X-A|"));
        check("X-A", "a:b:{w}", Ok("X-A|a:b:1:2"));
        check("X-A", "{}", Ok("X-A|{}"));
        let [short, long] = [34, 35].map(|len| "v".repeat(len));
        check("X-A", &short, Ok(&format!("X-A|{short}")));
        check("X-A", &long, Ok(&format!("X-A|{long}")));
        assert!(size_of::<FieldTemplate>() <= 40);
    }

    #[test]
    fn what_is_no_field_is_refused() {
        check("", "1", Err("is not a header name"));
        check("X A", "1", Err("is not a header name"));
        check("X:A", "1", Err("is not a header name"));
        check("X-A", "a\nb", Err("cannot be a header value"));
        check("content-Length", "1", Err("cannot be written by a filter"));
        check("X-A", "{v}", Err("control character"));
        check("X-A", "{zzz}", Err("template variable"));
        assert!(HeaderName::new("name", "Content-Length").is_ok());
    }
}
