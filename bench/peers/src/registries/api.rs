//! An HTTP API, asked through curl.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::Value;

/// Longest wait for an answer.
const ANSWER_SECONDS: &str = "20";

/// Where an API is, and how weir's operator gets access.
#[derive(Clone, Debug, Default)]
pub(super) struct Api {
    pub base: String,
    /// Fields of each request, such as credentials.
    pub fields: Vec<String>,
    /// The PEM file of the authority, for https.
    pub authority: Option<PathBuf>,
}

impl Api {
    /// Status and body.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> anyhow::Result<(u16, String)> {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--max-time", ANSWER_SECONDS, "-X", method, "-w", "\n%{http_code}"]);
        for field in &self.fields {
            curl.args(["-H", field]);
        }
        if let Some(file) = &self.authority {
            curl.arg("--cacert").arg(file);
        }
        if !body.is_empty() {
            curl.args(["--data-binary", "@-"]);
        }
        curl.arg(format!("{}{path}", self.base));
        let pipes = curl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().context("curl")?;
        // Dropped at once: curl reads to the end.
        child.stdin.take().context("curl reads nothing")?.write_all(body.as_bytes())?;
        let output = child.wait_with_output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (body, status) = text.rsplit_once('\n').unwrap_or(("", &text));
        let status = status.parse().unwrap_or(0);
        let why = String::from_utf8_lossy(&output.stderr);
        ensure!(status != 0, "{method} {}{path}: {}", self.base, why.trim());
        Ok((status, body.to_owned()))
    }

    /// The body of a good answer.
    pub fn good(&self, method: &str, path: &str, body: &str) -> anyhow::Result<String> {
        let (status, body) = self.ask(method, path, body)?;
        ensure!((200..300).contains(&status), "{method} {path}: {status} {body}");
        Ok(body)
    }

    /// The JSON of a good answer.
    pub fn json(&self, method: &str, path: &str, body: &Value) -> anyhow::Result<Value> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let text = self.good(method, path, &body)?;
        serde_json::from_str(&text).with_context(|| text)
    }
}
