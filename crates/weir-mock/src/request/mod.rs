//! Validation of requests against their operation.

pub(crate) mod body;
mod call;
mod condition;
mod parameters;
mod security;
mod value;
mod violation;

use serde_json::Value;

use crate::definition::{Operation, ParameterPlace};
use crate::problem::Fault;

pub use call::Call;
pub(crate) use condition::Asked;
pub use condition::{BodyCondition, Condition};
pub(crate) use value::{Shape, array, coerce, form_pairs};
pub(crate) use violation::violations;
pub use violation::{Enforcement, Violation};

/// Validates a request. Reports the first of: credentials, media type, all other violations. For a
/// valid request, returns the values of its body.
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

/// Validates a request as far as its head permits: of its body only the presence and the type.
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

/// Whether the content of a request is needed to validate it.
pub(crate) fn needs_content(operation: &Operation, call: &Call<'_>) -> bool {
    operation.body.as_ref().is_some_and(|declared| body::is_looked_at(declared, call))
}

/// The violations in the parameters of a request.
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
