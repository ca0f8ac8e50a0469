//! Header names and values as arguments of filters. They are validated when a filter is built, so
//! that it can only write valid header fields.

use std::fmt;

use smol_str::SmolStr;
use weir_route::{ArgError, Vars};
use weir_wire::{FieldLine, Fields, is_field_value, is_token};

use crate::context::FilterError;
use crate::template::{Piece, Template, variable};

/// A valid header name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HeaderName(SmolStr);

impl HeaderName {
    /// Validates `text`, the value of argument `arg`.
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

    /// As [`HeaderName::new`], for a field that a filter writes.
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

    /// The name as written.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as written.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Display for HeaderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A header name and the template of its value, stored as the line to send if there are no
/// variables: `name: value CRLF`. Most lines are longer than a `SmolStr` stores inline.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FieldTemplate {
    Inline {
        len: u8,
        name_len: u8,
        /// There are no variables.
        constant: bool,
        /// The line in the first `len` bytes; the others are 0.
        bytes: [u8; LINE_INLINE_MAX],
    },
    Heap {
        line: Box<str>,
        name_len: u32,
        constant: bool,
    },
}

/// Maximum size in bytes of a line that is stored inline.
const LINE_INLINE_MAX: usize = 36;

impl FieldTemplate {
    /// Validates the values of the arguments `name_arg` and `value_arg`.
    ///
    /// # Errors
    /// A filter may not write the field, or the value has a control character.
    pub(crate) fn new(
        (name_arg, name): (&str, &str),
        (value_arg, value): (&str, &str),
    ) -> Result<Self, ArgError> {
        HeaderName::writable(name_arg, name)?;
        check_value(value_arg, value)?;
        let constant = !Template(value).has_variables();
        let line = [name, ": ", value, "\r\n"].concat();
        let mut bytes = [0; LINE_INLINE_MAX];
        let Some(place) = bytes.get_mut(..line.len()) else {
            return Ok(Self::Heap { line: line.into(), name_len: name.len() as u32, constant });
        };
        place.copy_from_slice(line.as_bytes());
        Ok(Self::Inline { len: line.len() as u8, name_len: name.len() as u8, constant, bytes })
    }

    /// The line, the length of its name, and whether it is constant.
    fn line(&self) -> (&[u8], usize, bool) {
        match self {
            Self::Inline { len, name_len, constant, bytes } => {
                let line = bytes.get(..usize::from(*len)).unwrap_or_default();
                (line, usize::from(*name_len), *constant)
            }
            Self::Heap { line, name_len, constant } => {
                (line.as_bytes(), *name_len as usize, *constant)
            }
        }
    }

    /// The line, if there are no variables.
    fn constant(&self) -> Option<FieldLine<'_>> {
        let (line, name_len, constant) = self.line();
        constant.then(|| FieldLine::new(line, name_len))
    }

    /// Name and value.
    pub(crate) fn parts(&self) -> (&str, Template<'_>) {
        let (line, name_len, _) = self.line();
        // The bytes were made from a `str`.
        let line = std::str::from_utf8(line).unwrap_or_default();
        let (name, rest) = line.split_at_checked(name_len).unwrap_or_default();
        let value = rest.get(2..rest.len().saturating_sub(2)).unwrap_or_default();
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

    /// Appends the field to `fields` with its variables replaced. Allocates only if there are
    /// variables.
    ///
    /// # Errors
    /// A variable that is not set, or whose value is not a valid field value.
    pub(crate) fn append_to(&self, fields: &mut Fields, vars: &Vars) -> Result<(), FilterError> {
        match self.constant() {
            Some(line) => fields.append_line(line),
            None => {
                let (name, value) = self.parts();
                fields.append(name.as_bytes(), expand_field(name, value, vars)?.as_bytes());
            }
        }
        Ok(())
    }

    /// Replaces the fields of its name, otherwise as [`FieldTemplate::append_to`].
    ///
    /// # Errors
    /// A variable that is not set, or whose value is not a valid field value.
    pub(crate) fn set_in(&self, fields: &mut Fields, vars: &Vars) -> Result<(), FilterError> {
        match self.constant() {
            Some(line) => fields.set_line(line),
            None => {
                let (name, value) = self.parts();
                fields.set(name.as_bytes(), expand_field(name, value, vars)?.as_bytes());
            }
        }
        Ok(())
    }
}

/// Headers whose value is a URL or contains URLs.
const URL_HEADERS: &[&str] = &[
    "location",
    "content-location",
    "refresh",
    "link",
    "origin",
    "referer",
    "access-control-allow-origin",
];

/// Expands a template to the value of the header `name`.
///
/// # Errors
/// A variable that is not set, or whose value is not a valid field value.
pub(crate) fn expand_field(
    name: &str,
    value: Template<'_>,
    vars: &Vars,
) -> Result<String, FilterError> {
    if !URL_HEADERS.iter().any(|own| own.eq_ignore_ascii_case(name)) {
        return expand_value(value, vars);
    }
    let mut out = String::new();
    for piece in value.pieces() {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Variable(name) => push_url_part(variable(vars, name)?, &mut out),
        }
    }
    check_sendable(out.as_bytes())?;
    Ok(out)
}

/// Appends the value of a variable to a URL. The client chooses the value, so it must not change
/// the host (`//host`, `/\host`) or begin a query: slashes are joined, as in SCG, and characters
/// that browsers treat as slashes, skip or treat as the end of the path are percent-encoded.
fn push_url_part(value: &str, out: &mut String) {
    for c in value.chars() {
        match c {
            '/' if out.ends_with('/') => {}
            '\\' => out.push_str("%5C"),
            '?' => out.push_str("%3F"),
            '#' => out.push_str("%23"),
            ' ' => out.push_str("%20"),
            '\t' => out.push_str("%09"),
            c => out.push(c),
        }
    }
}

/// Expands a template to a header value.
///
/// # Errors
/// A variable that is not set, or whose value is not a valid field value.
pub(crate) fn expand_value(value: Template<'_>, vars: &Vars) -> Result<String, FilterError> {
    let value = value.expand(vars)?;
    check_sendable(value.as_bytes())?;
    Ok(value)
}

/// Checks that a value that depends on the request is a valid field value.
///
/// # Errors
/// CR, LF, NUL or another control character, which must never be sent (RFC 9110 section 5.5).
pub(crate) fn check_sendable(value: &[u8]) -> Result<(), FilterError> {
    if is_field_value(value) {
        return Ok(());
    }
    let shown = value.escape_ascii();
    Err(FilterError(format!("`{shown}` has a control character and cannot be sent in a header")))
}

/// Checks that the value of argument `arg` is a valid field value.
///
/// # Errors
/// A control character.
pub(crate) fn check_value(arg: &str, value: &str) -> Result<(), ArgError> {
    if is_field_value(value.as_bytes()) {
        return Ok(());
    }
    let shown = value.escape_debug();
    Err(ArgError::new(arg, format!("`{shown}` cannot be a header value"))
        .help("remove line ends and control characters"))
}

/// Whether all values are empty or blank, or there is none.
pub(crate) fn all_blank<'a>(mut values: impl Iterator<Item = &'a [u8]>) -> bool {
    values.all(|value| value.trim_ascii().is_empty())
}

#[cfg(test)]
mod tests {
    use weir_route::Vars;
    use weir_wire::Fields;

    use super::{FieldTemplate, HeaderName, expand_field};
    use crate::template::Template;

    #[test]
    fn variables_in_urls_lead_to_no_other_host() {
        let check = |name: &str, template: &str, value: &str, expected: &str| {
            let mut vars = Vars::default();
            vars.set("v", value.to_owned());
            let expanded = expand_field(name, Template(template), &vars);
            assert_eq!(expanded.as_deref(), Ok(expected), "{template} {value:?}");
        };
        check("Location", "/{v}", "//evil.example", "/evil.example");
        check("Location", "{v}", "//evil.example", "/evil.example");
        check("location", "/{v}", "\\evil.example", "/%5Cevil.example");
        check("Location", "/{v}", "\t/evil.example", "/%09/evil.example");
        check("Content-Location", "/{v}", "a?b#c", "/a%3Fb%23c");
        check("Refresh", "0;url=/{v}", "/evil.example", "0;url=/evil.example");
        check("Link", "<https://a.example/{v}>", "b/c", "<https://a.example/b/c>");
        check("X-Any", "/{v}", "//a?", "///a?");
    }

    fn check(name: &str, value: &str, expected: Result<&str, &str>) {
        let built = FieldTemplate::new(("name", name), ("value", value));
        let mut vars = Vars::default();
        vars.set("v", "a\r\nb".to_owned());
        vars.set("w", "1:2".to_owned());
        let mut appended = Fields::default();
        let mut set = Fields::default();
        set.append(name.to_uppercase().as_bytes(), b"before");
        let written = built.map_err(|error| error.message).and_then(|field| {
            let written = field.append_to(&mut appended, &vars);
            written.and(field.set_in(&mut set, &vars)).map_err(|error| error.0)
        });
        match expected {
            Ok(expected) => {
                assert_eq!(written, Ok(()));
                let value = expected.as_bytes();
                assert_eq!(appended.iter().collect::<Vec<_>>(), [(name.as_bytes(), value)]);
                let kept = name.to_uppercase();
                assert_eq!(set.iter().collect::<Vec<_>>(), [(kept.as_bytes(), value)]);
            }
            Err(part) => assert!(written.as_ref().is_err_and(|e| e.contains(part)), "{written:?}"),
        }
    }

    #[test]
    fn lines_keep_name_and_value_apart() {
        check("X-A", "1", Ok("1"));
        check("X-A", "", Ok(""));
        check("X-A", "a: b:{w}", Ok("a: b:1:2"));
        check("X-A", "{}", Ok("{}"));
        let [short, long] = [29, 30].map(|len| "v".repeat(len));
        for value in [short, long] {
            check("X-A", &value, Ok(&value));
            check("X-A", &format!("{value}{{w}}"), Ok(&format!("{value}1:2")));
        }
        assert!(size_of::<FieldTemplate>() <= 40);
    }

    #[test]
    fn parts_are_as_written() {
        for value in ["", "1", "{w}", "a: b\u{e9}", &"v".repeat(99)] {
            let field = FieldTemplate::new(("name", "X-A"), ("value", value)).unwrap();
            assert_eq!((field.name(), field.value().0), ("X-A", value));
        }
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
