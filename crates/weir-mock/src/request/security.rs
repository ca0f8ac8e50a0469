//! Checks that the credentials that an operation requires are present; a mock cannot check their
//! validity.

use super::call::Call;
use crate::definition::{Challenge, Operation, ParameterPlace};
use crate::problem::Fault;

pub(super) fn check(operation: &Operation, call: &Call<'_>) -> Result<(), Fault> {
    let any = &operation.security;
    if any.is_empty() || any.iter().any(|all| all.iter().all(|one| is_met(one, call))) {
        return Ok(());
    }
    let mut challenges: Vec<String> = Vec::new();
    for one in any.iter().flatten() {
        let text = match one {
            Challenge::Http(scheme) => {
                let mut text = capital(scheme);
                if scheme.eq_ignore_ascii_case("basic") {
                    text.push_str(" realm=\"*\"");
                }
                text
            }
            Challenge::Key(place, name) => format!("ApiKey in={} name={name}", place.name()),
            Challenge::Unseen => continue,
        };
        if !challenges.contains(&text) {
            challenges.push(text);
        }
    }
    Err(Fault::Unauthorized(challenges.join(", ")))
}

fn is_met(challenge: &Challenge, call: &Call<'_>) -> bool {
    let is_filled = |value: Option<String>| value.is_some_and(|value| !value.is_empty());
    match challenge {
        Challenge::Http(scheme) => {
            let value = call.header("authorization").unwrap_or_default();
            let (own, rest) = value.split_once(' ').unwrap_or((&value, ""));
            own.eq_ignore_ascii_case(scheme) && !rest.trim().is_empty()
        }
        Challenge::Key(ParameterPlace::Query, name) => {
            call.pairs().iter().any(|(own, value)| own == name && !value.is_empty())
        }
        Challenge::Key(ParameterPlace::Cookie, name) => is_filled(call.cookie(name)),
        Challenge::Key(_, name) => is_filled(call.header(name)),
        Challenge::Unseen => true,
    }
}

fn capital(scheme: &str) -> String {
    let mut letters = scheme.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
