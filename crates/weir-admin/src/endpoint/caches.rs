//! Caches of responses, in the form of Spring Boot's `/actuator/caches`, and emptying them.

use axum::response::Response;
use http::StatusCode;

use super::Call;
use super::describe::{Answer, Endpoint, Parameter, operation, read, write};
use super::shared::{FORBIDDEN, OK_OBJECT, UNAUTHORIZED};
use crate::answer::{Failure, empty, ok_json};

const CACHE: Parameter = Parameter {
    place: "path",
    name: "name",
    kind: "string",
    doc: "Id of its route, or `response-cache` for the one that routes share.",
};
const NO_CACHE: Answer = (StatusCode::NOT_FOUND, Some("Error"), "No route uses it.");
const EMPTIED: Answer = (StatusCode::NO_CONTENT, None, "Empty; what is being fetched is not kept.");

/// In the order of the document.
pub(super) static ENDPOINTS: &[Endpoint] = &[
    read(
        "/caches",
        "caches",
        operation!(ListCaches: list),
        "Caches of responses, with what they hold and have done.",
        &[OK_OBJECT],
    ),
    Endpoint {
        parameters: &[CACHE],
        ..read(
            "/caches/{name}",
            "caches",
            operation!(GetCache: async get),
            "One cache.",
            &[OK_OBJECT, NO_CACHE],
        )
    },
    write(
        "DELETE",
        "/caches",
        "caches",
        operation!(EmptyCaches: empty_all),
        "Empties all caches.",
        &[EMPTIED, UNAUTHORIZED, FORBIDDEN],
    ),
    Endpoint {
        parameters: &[CACHE],
        ..write(
            "DELETE",
            "/caches/{name}",
            "caches",
            operation!(EmptyCache: async empty_one),
            "Empties a cache.",
            &[EMPTIED, UNAUTHORIZED, FORBIDDEN, NO_CACHE],
        )
    },
];

pub(super) fn list(call: &Call) -> Result<Response, Failure> {
    Ok(ok_json(&(call.site.hooks.caches)(None).unwrap_or_default()))
}

pub(super) async fn get(mut call: Call) -> Result<Response, Failure> {
    let name = call.segment("name").await?;
    let found = (call.site.hooks.caches)(Some(&name));
    Ok(ok_json(&found.ok_or(Failure::missing())?))
}

pub(super) fn empty_all(call: &Call) -> Result<Response, Failure> {
    tracing::info!(who = call.who, "all caches were emptied");
    (call.site.hooks.empty_caches)(None);
    Ok(empty(StatusCode::NO_CONTENT))
}

pub(super) async fn empty_one(mut call: Call) -> Result<Response, Failure> {
    let name = call.segment("name").await?;
    if !(call.site.hooks.empty_caches)(Some(&name)) {
        return Err(Failure::missing());
    }
    tracing::info!(cache = name, who = call.who, "a cache was emptied");
    Ok(empty(StatusCode::NO_CONTENT))
}
