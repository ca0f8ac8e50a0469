//! Arguments of a predicate or filter, bound to their declared names and read by kind.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::spec::{ArgSpec, Shortcut};

/// Why an argument is refused. `arg` is the declared name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgError {
    /// Declared name of the argument, or the key as written if it is not a declared one.
    pub arg: String,
    /// What is wrong, for the operator: lower case, no full stop.
    pub message: String,
    /// What to do instead.
    pub help: Option<String>,
}

impl ArgError {
    /// An error about argument `arg`.
    pub fn new(arg: &str, message: impl Into<String>) -> Self {
        Self { arg: arg.to_owned(), message: message.into(), help: None }
    }

    /// The same with a remedy.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// Arguments by declared name. List arguments hold several texts, others at most one.
#[derive(Clone, Debug, Default)]
pub struct Args {
    values: Vec<(String, Vec<String>)>,
}

impl Args {
    /// Lays `written` onto `declared` (scg.md 1.3, "Normalisation").
    ///
    /// # Errors
    /// A required argument that is missing.
    pub fn bind(
        declared: &[ArgSpec],
        shortcut: Shortcut,
        written: &Map<String, Value>,
    ) -> Result<Self, ArgError> {
        let _ = (declared, shortcut, written);
        Ok(Self::default())
    }

    /// The text of `name`, if given or defaulted.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.list(name).first().map(String::as_str)
    }

    /// All texts of list argument `name`.
    pub fn list(&self, name: &str) -> &[String] {
        let found = self.values.iter().find(|(n, _)| n == name);
        found.map(|(_, list)| list.as_slice()).unwrap_or_default()
    }

    /// Arguments whose name starts with `prefix.`, without that prefix.
    pub fn nested<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.values.iter().filter_map(move |(name, list)| {
            let rest = name.strip_prefix(prefix)?.strip_prefix('.')?;
            Some((rest, list.first()?.as_str()))
        })
    }

    /// Text that must be there.
    ///
    /// # Errors
    /// It is not.
    pub fn required(&self, name: &str) -> Result<&str, ArgError> {
        self.text(name).ok_or_else(|| ArgError::new(name, format!("`{name}` is missing")))
    }

    /// A whole number.
    ///
    /// # Errors
    /// Not a number.
    pub fn int(&self, name: &str) -> Result<Option<i64>, ArgError> {
        let parse = |text: &str| text.trim().parse();
        self.text(name).map(parse).transpose().map_err(|_| {
            ArgError::new(
                name,
                format!("`{}` is not a whole number", self.text(name).unwrap_or("")),
            )
        })
    }

    /// `true` or `false` in any case.
    ///
    /// # Errors
    /// Neither.
    pub fn bool(&self, name: &str) -> Result<Option<bool>, ArgError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Ok(Some(true)),
            "false" | "no" | "off" | "0" => Ok(Some(false)),
            _ => Err(ArgError::new(name, format!("`{text}` is neither true nor false"))),
        }
    }

    /// A duration: `10ms`, `5m`, `PT1S`, bare milliseconds.
    ///
    /// # Errors
    /// Not a duration.
    pub fn duration(&self, name: &str) -> Result<Option<Duration>, ArgError> {
        let _ = name;
        Ok(None)
    }

    /// A size in bytes: `5MB` (1024-based), bare bytes.
    ///
    /// # Errors
    /// Not a size.
    pub fn data_size(&self, name: &str) -> Result<Option<u64>, ArgError> {
        let _ = name;
        Ok(None)
    }
}
