//! Filters as text, in the form of SCG's actuator (class `GatewayToStringStyler`).

use std::fmt;

/// Writes the fields of one filter: `[Name a = 'x', b = 1]`.
pub(crate) struct Styled<'f, 'w> {
    out: &'f mut fmt::Formatter<'w>,
    first: bool,
}

impl<'f, 'w> Styled<'f, 'w> {
    /// Starts the filter called `name`.
    ///
    /// # Errors
    /// Errors of the writer.
    pub(crate) fn start(out: &'f mut fmt::Formatter<'w>, name: &str) -> Result<Self, fmt::Error> {
        write!(out, "[{name}")?;
        Ok(Self { out, first: true })
    }

    /// Writes a quoted text.
    ///
    /// # Errors
    /// Errors of the writer.
    pub(crate) fn text(&mut self, name: &str, value: &str) -> fmt::Result {
        self.plain(name, format_args!("'{value}'"))
    }

    /// Writes a number, a flag or the name of a constant.
    ///
    /// # Errors
    /// Errors of the writer.
    pub(crate) fn plain(&mut self, name: &str, value: impl fmt::Display) -> fmt::Result {
        self.separate()?;
        write!(self.out, " {name} = {value}")
    }

    /// Writes a text without a name.
    ///
    /// # Errors
    /// Errors of the writer.
    pub(crate) fn bare(&mut self, value: &str) -> fmt::Result {
        self.separate()?;
        write!(self.out, " '{value}'")
    }

    fn separate(&mut self) -> fmt::Result {
        let separator = if self.first { "" } else { "," };
        self.first = false;
        self.out.write_str(separator)
    }

    /// Ends the filter.
    ///
    /// # Errors
    /// Errors of the writer.
    pub(crate) fn end(self) -> fmt::Result {
        self.out.write_str("]")
    }
}
