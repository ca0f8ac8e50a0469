//! A request, and whether it is what its definition says.

pub(crate) mod body;
mod condition;
mod parameters;
mod security;
mod value;

use serde_json::{Value, json};
use weir_wire::Fields;

use crate::definition::{Operation, ParameterPlace};
use crate::problem::Fault;

pub(crate) use condition::Asked;
pub use condition::{BodyCondition, Condition};
pub(crate) use value::{Shape, array, coerce, form_pairs};

/// A request as it came, body included.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Method.
    pub method: &'a [u8],
    /// Path as it came, percent-encoded.
    pub path: &'a [u8],
    /// Query, without `?`.
    pub query: Option<&'a [u8]>,
    /// Header fields.
    pub fields: &'a Fields,
    /// Content, framing undone.
    pub body: &'a [u8],
}

impl Call<'_> {
    /// The value of a header, as text.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let value = self.fields.get(name.as_bytes())?;
        Some(String::from_utf8_lossy(value).into_owned())
    }

    /// The value of a cookie.
    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        let lines = self.fields.get_all(b"cookie");
        let mut pairs = lines.flat_map(|line| line.split(|byte| *byte == b';'));
        pairs.find_map(|pair| {
            let text = String::from_utf8_lossy(pair.trim_ascii()).into_owned();
            let (own, value) = text.split_once('=')?;
            (own == name).then(|| value.to_owned())
        })
    }

    /// Whether the head says that content follows.
    fn announces_body(&self) -> bool {
        let length = self.fields.get(b"content-length");
        length.is_some_and(|length| length.iter().any(|byte| !b"0 \t".contains(byte)))
            || self.fields.contains(b"transfer-encoding")
    }

    /// Names and values of the query, decoded; a plus is a blank.
    pub(crate) fn pairs(&self) -> Vec<(String, String)> {
        form_pairs(self.query.unwrap_or_default())
    }
}

/// What becomes of a request that breaks its definition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enforcement {
    /// It is refused.
    #[default]
    Enforce,
    /// It is answered, and the violations are told in the header `sl-violations`.
    Report,
    /// It is not looked at.
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

/// What is wrong with a request: the first of credential, media type, and all else. With the
/// bodies of requests that are right, what they hold.
pub(crate) fn check(
    operation: &Operation,
    path_values: &[(&str, String)],
    call: &Call<'_>,
) -> Result<Option<Value>, Fault> {
    let mut violations = check_head(operation, path_values, call)?;
    let body = match &operation.body {
        Some(declared) => body::check(declared, call, &mut violations)?,
        None => None,
    };
    if violations.is_empty() { Ok(body) } else { Err(Fault::Invalid(violations)) }
}

/// The same as far as the head of a request tells: of its body only whether it is there and of a
/// declared type.
pub(crate) fn check_all_but_content(
    operation: &Operation,
    path_values: &[(&str, String)],
    call: &Call<'_>,
) -> Result<(), Fault> {
    let mut violations = check_head(operation, path_values, call)?;
    if let Some(declared) = &operation.body {
        body::check_head(declared, call, &mut violations)?;
    }
    if violations.is_empty() { Ok(()) } else { Err(Fault::Invalid(violations)) }
}

/// Whether the content of a request has to be read to know whether it is right.
pub(crate) fn needs_content(operation: &Operation, call: &Call<'_>) -> bool {
    operation.body.as_ref().is_some_and(|declared| body::is_looked_at(declared, call))
}

/// What is wrong with the parameters of a request.
///
/// # Errors
/// It lacks a credential.
fn check_head(
    operation: &Operation,
    path_values: &[(&str, String)],
    call: &Call<'_>,
) -> Result<Vec<Violation>, Fault> {
    security::check(operation, call)?;
    let mut violations = Vec::new();
    let pairs = call.pairs();
    for parameter in &operation.parameters {
        let found = match parameter.place {
            ParameterPlace::Path => parameters::from_path(parameter, path_values),
            ParameterPlace::Query => parameters::from_query(parameter, &pairs),
            ParameterPlace::Header => parameters::from_header(parameter, call),
            ParameterPlace::Cookie => parameters::from_cookie(parameter, call),
        };
        parameters::check(parameter, found, &mut violations);
    }
    Ok(violations)
}

/// The violations of `value` against a schema, below `location`.
pub(crate) fn violations(
    schema: &crate::definition::Schema,
    value: &Value,
    location: &[String],
    found: &mut Vec<Violation>,
) {
    /// Violations of one value that are told.
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
        let code = error.kind().keyword().to_owned();
        found.push(Violation::new(place, code, error.to_string()));
    }
}
