//! The violations of a request, and their consequences.

use serde_json::{Value, json};

use crate::definition::Schema;

/// The handling of a request that violates its definition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enforcement {
    /// The request is refused.
    #[default]
    Enforce,
    /// The request is answered, and the violations are listed in the header `sl-violations`.
    Report,
    /// The request is not validated.
    Off,
}

/// One way in which a request breaks its definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// `["query", "limit"]`, `["body", "pets", "0", "name"]`.
    pub location: Vec<String>,
    /// The keyword that it breaks.
    pub code: String,
    /// In words.
    pub message: String,
}

impl Violation {
    pub(crate) fn new(
        location: Vec<String>,
        code: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self { location, code: code.into(), message: message.into() }
    }

    pub(crate) fn document(&self) -> Value {
        json!({
            "location": self.location,
            "severity": "Error",
            "code": self.code,
            "message": self.message,
        })
    }
}

/// The violations of `value` against a schema, below `location`.
pub(crate) fn violations(
    schema: &Schema,
    value: &Value,
    location: &[String],
    found: &mut Vec<Violation>,
) {
    /// The maximum number of reported violations of one value.
    const TOLD_MAX: usize = 100;
    let validator = match schema.source().validator() {
        Ok(validator) => validator,
        Err(why) => {
            found.push(Violation::new(location.to_vec(), "schema", why));
            return;
        }
    };
    if validator.is_valid(value) {
        return;
    }
    for error in validator.iter_errors(value).take(TOLD_MAX) {
        let mut place = location.to_vec();
        let pointer = error.instance_path().to_string();
        place.extend(
            pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~")),
        );
        // Keywords of our own stand for formats.
        let code = match error.kind().keyword() {
            own if own.starts_with("x-weir-") => "format",
            known => known,
        };
        found.push(Violation::new(place, code, error.to_string()));
    }
}
