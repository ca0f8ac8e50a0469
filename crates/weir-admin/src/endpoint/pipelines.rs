//! Pipelines, and how they are.

use axum::response::Response;

use super::Call;
use crate::answer::{Failure, ok_json};

pub(super) fn list(call: &Call) -> Result<Response, Failure> {
    let all = (call.site.hooks.pipelines)(None);
    Ok(ok_json(&all.unwrap_or_default()))
}

pub(super) async fn get(mut call: Call) -> Result<Response, Failure> {
    let id = call.segment("id").await?;
    let found = (call.site.hooks.pipelines)(Some(&id));
    Ok(ok_json(&found.ok_or(Failure::missing())?))
}
