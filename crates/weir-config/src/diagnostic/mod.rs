//! Diagnostics: errors, differences and unsupported features, each with its place and a remedy.
//!
//! All findings are collected; none stops the check. [`Code`]s are stable: scripts may rely on
//! them.

mod code;
mod filled_in;
mod render;
mod secret;
mod severity;

pub use code::{Category, Code, findings_reference};
pub(crate) use filled_in::mask_filled_in;
pub use render::{Style, render, to_json};
use secret::HIDDEN;
pub use secret::is_secret;
pub(crate) use secret::{fills_in_secret, mask_url};
pub use severity::Severity;

use crate::source::Span;

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Severity; that of the code unless changed.
    pub severity: Severity,
    /// Kind of finding.
    pub code: Code,
    /// Place in a text, if there is one.
    pub at: Option<Span>,
    /// Description: lower case, no full stop.
    pub message: String,
    /// A remedy.
    pub help: String,
    /// The marked text contains a secret: the excerpt hides its whole line.
    pub secret: bool,
    /// Texts that contain no secret, whatever their names: `key` of a limit is none.
    pub open: Vec<Span>,
    /// Properties that solve it, as lines of YAML; may be empty.
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
            open: Vec::new(),
            paste: Vec::new(),
        }
    }

    /// The same finding at a place.
    pub fn at(mut self, span: Span) -> Self {
        self.at = Some(span);
        self
    }

    /// The same finding with a remedy.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    /// The same finding with another severity.
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// The same finding with the properties that solve it.
    pub fn paste(mut self, lines: Vec<String>) -> Self {
        self.paste = lines;
        self
    }

    /// The same finding with texts that contain no secret.
    pub(crate) fn open(mut self, texts: Vec<Span>) -> Self {
        self.open = texts;
        self
    }

    /// The same finding with its line hidden, if `secret`.
    pub fn secret(mut self, secret: bool) -> Self {
        self.secret = secret;
        self
    }
}
