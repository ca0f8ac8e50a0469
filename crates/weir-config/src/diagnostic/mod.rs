//! Diagnostics: what is wrong, different or missing, with its place and a remedy.
//!
//! Everything is collected, nothing stops at the first finding. [`Code`]s are stable: scripts may
//! rely on them.

mod code;
mod render;
mod secret;
mod severity;

pub use code::{Category, Code, findings_reference};
pub use render::{Style, render, to_json};
pub use secret::is_secret;
pub(crate) use secret::{fills_in_secret, mask_url};
pub use severity::Severity;

use crate::source::Span;

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is; the code's own unless raised or lowered.
    pub severity: Severity,
    /// What kind of finding.
    pub code: Code,
    /// Where, if it has a place in a text.
    pub at: Option<Span>,
    /// What is wrong: lower case, no full stop.
    pub message: String,
    /// What to do about it.
    pub help: String,
    /// The marked text holds a secret: the excerpt hides all of its line.
    pub secret: bool,
    /// Properties that settle it, as lines of YAML; empty if no property does.
    pub paste: Vec<String>,
}

impl Diagnostic {
    /// A finding with the severity of its code.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            severity: code.severity(),
            code,
            at: None,
            message: message.into(),
            help: String::new(),
            secret: false,
            paste: Vec::new(),
        }
    }

    /// The same at a place.
    pub fn at(mut self, span: Span) -> Self {
        self.at = Some(span);
        self
    }

    /// The same with a remedy.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    /// The same with another severity.
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// The same with the properties that settle it.
    pub fn paste(mut self, lines: Vec<String>) -> Self {
        self.paste = lines;
        self
    }

    /// The same with its line hidden.
    pub fn secret(mut self, secret: bool) -> Self {
        self.secret = secret;
        self
    }
}
