//! Caches of responses, in the form of Spring Boot's `/actuator/caches`, and emptying them.

use axum::response::Response;
use http::StatusCode;

use super::Call;
use crate::answer::{Failure, empty, ok_json};

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
