//! Preferences of a client: `Prefer: code=404, example=none` (RFC 7240), or `?__code=404`.

use crate::behaviour::{DELAY_MS_MAX, InjectedFault};
use crate::request::{Call, Enforcement, Violation};

/// Preferences of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Prefer {
    pub code: Option<u16>,
    pub example: Option<String>,
    pub dynamic: Option<bool>,
    pub seed: Option<u64>,
    pub delay_ms: Option<u64>,
    pub validation: Option<Enforcement>,
    pub fault: Option<InjectedFault>,
    /// Explain the outcome instead of answering the request.
    pub explain: bool,
    /// The preferences as written, for `Preference-Applied`.
    written: Vec<String>,
}

impl Prefer {
    /// The preferences of `call`; a header replaces those of the query.
    pub(super) fn read(call: &Call<'_>) -> Result<Self, Violation> {
        let mut prefer = Self::default();
        if call.fields.contains(b"prefer") {
            for line in call.fields.get_all(b"prefer") {
                let line = String::from_utf8_lossy(line).into_owned();
                for part in line.split([',', ';']) {
                    let (name, value) = part.split_once('=').unwrap_or((part, "true"));
                    let value = value.trim().trim_matches('"');
                    prefer.set(name.trim(), value, &["header", "prefer"])?;
                }
            }
            return Ok(prefer);
        }
        for (name, value) in call.pairs() {
            if let Some(name) = name.strip_prefix("__") {
                prefer.set(name, &value, &["query", &format!("__{name}")])?;
            }
        }
        Ok(prefer)
    }

    /// Whether `call` asks for an explanation. Costs next to nothing if it prefers nothing.
    pub(super) fn asks_why(call: &Call<'_>) -> bool {
        let query = call.query.unwrap_or_default();
        let may = call.fields.contains(b"prefer") || memchr::memmem::find(query, b"__").is_some();
        may && Self::read(call).is_ok_and(|prefer| prefer.explain)
    }

    fn set(&mut self, name: &str, value: &str, place: &[&str]) -> Result<(), Violation> {
        let wrong = |expected: &str| {
            let location = place.iter().map(|part| (*part).to_owned()).collect();
            let message = format!("`{value}` is not what `{name}` takes: {expected}");
            Violation::new(location, "prefer", message)
        };
        match name.to_ascii_lowercase().as_str() {
            "code" | "status" => {
                let code = value.parse().ok().filter(|code| (100..=999).contains(code));
                self.code = Some(code.ok_or_else(|| wrong("a status such as 404"))?);
            }
            "example" => self.example = Some(value.to_owned()),
            "dynamic" => {
                self.dynamic = Some(value.parse().map_err(|_| wrong("`true` or `false`"))?);
            }
            "seed" => {
                // Any text is a seed, as in Prism; a number is itself.
                let of_text = || {
                    value.bytes().fold(17, |sum: u64, byte| {
                        sum.wrapping_mul(31).wrapping_add(u64::from(byte))
                    })
                };
                self.seed = Some(value.parse().unwrap_or_else(|_| of_text()));
            }
            "delay" => {
                let delay = value.parse().ok().filter(|delay| *delay <= DELAY_MS_MAX);
                self.delay_ms = Some(delay.ok_or_else(|| wrong("milliseconds up to 600000"))?);
            }
            "validate" => {
                self.validation = Some(match value {
                    "off" | "false" => Enforcement::Off,
                    "report" => Enforcement::Report,
                    "on" | "true" | "enforce" => Enforcement::Enforce,
                    _ => return Err(wrong("`enforce`, `report` or `off`")),
                });
            }
            "explain" => {
                self.explain = value.parse().map_err(|_| wrong("`true` or `false`"))?;
            }
            "fault" => {
                let status = value.parse().ok().filter(|code| (200..=999).contains(code));
                self.fault = Some(match (value, status) {
                    (_, Some(status)) => InjectedFault::Status(status),
                    ("reset", _) => InjectedFault::Reset,
                    ("truncated", _) => InjectedFault::Truncated(0),
                    ("malformed", _) => InjectedFault::Malformed,
                    ("timeout", _) => InjectedFault::Timeout,
                    _ => {
                        return Err(wrong(
                            "`reset`, `truncated`, `malformed`, `timeout` or a status",
                        ));
                    }
                });
            }
            // Others are not for weir (RFC 7240, section 2).
            _ => return Ok(()),
        }
        self.written.push(format!("{}={value}", name.to_ascii_lowercase()));
        Ok(())
    }

    /// For `Preference-Applied`.
    pub(super) fn applied(&self) -> String {
        self.written.join(", ")
    }
}
