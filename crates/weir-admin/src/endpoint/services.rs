//! Services that registries list.

use axum::response::Response;

use super::Call;
use crate::answer::{Failure, ok_json};

pub(super) fn list(call: &Call) -> Result<Response, Failure> {
    let all = (call.site.hooks.services)(None);
    Ok(ok_json(&all.unwrap_or_default()))
}

pub(super) async fn get(mut call: Call) -> Result<Response, Failure> {
    let name = call.segment("name").await?;
    let found = (call.site.hooks.services)(Some(&name));
    Ok(ok_json(&found.ok_or(Failure::missing())?))
}
