//! A request found in a text, and its form in a plan.

use crate::target::Target;
use anyhow::bail;
use std::fmt::Write;

/// Information that the text of a format lacks.
#[derive(Clone, Debug, Default)]
pub struct Given<'a> {
    /// Base URL to use instead of the one in the text.
    pub target: Option<&'a str>,
    /// Name of the file, for a plan that refers to it.
    pub file: &'a str,
}

/// A request found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Found {
    /// The place in the text; empty where the format's reader has reported the place.
    pub(super) place: String,
    pub(super) method: String,
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<String>,
    /// More lines of the request in the plan, without indentation.
    pub(super) more: Vec<String>,
}

/// A plan's other part: lines before its requests.
pub(super) type Head = Vec<String>;

/// Fields the bench writes itself.
const OWN: [&str; 4] = ["host", "content-length", "connection", "accept-encoding"];

impl Found {
    /// The place as the beginning of a message.
    pub(super) fn at(&self) -> String {
        if self.place.is_empty() { String::new() } else { format!("{}: ", self.place) }
    }

    /// The target. With a target given, requests recorded over TLS may be imported.
    pub(super) fn target(&self, given: &Given<'_>) -> anyhow::Result<Target> {
        let url = match (self.url.strip_prefix("https://"), given.target) {
            (Some(rest), Some(_)) => format!("http://{rest}"),
            (Some(_), None) => bail!(
                "{}{}: weir bench speaks http:// only; give --target http://HOST:PORT to send it \
                 there instead",
                self.at(),
                self.url
            ),
            (None, _) => self.url.clone(),
        };
        Target::parse(&url).map_err(|why| anyhow::anyhow!("{}{why}", self.at()))
    }

    pub(super) fn write(&self, path: &str, out: &mut String) {
        let _ = writeln!(out, "  - method: {}", quote(&self.method));
        let _ = writeln!(out, "    path: {}", quote(path));
        let kept =
            || self.headers.iter().filter(|(name, _)| !OWN.contains(&&*name.to_ascii_lowercase()));
        if kept().next().is_some() {
            out.push_str("    headers:\n");
        }
        for (name, value) in kept() {
            let _ = writeln!(out, "      {}: {}", quote(name), quote(value));
        }
        if let Some(body) = &self.body {
            let _ = writeln!(out, "    body: {}", quote(body));
        }
        for line in &self.more {
            let _ = writeln!(out, "    {line}");
        }
    }
}

/// A YAML string; JSON's strings are YAML's.
pub(super) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
