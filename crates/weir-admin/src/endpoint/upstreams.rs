//! Upstreams with rules: how they are, and which of their instances are drained.

use axum::response::Response;

use super::{Call, body};
use crate::answer::{Failure, ok_json};

pub(super) fn list(call: &Call) -> Result<Response, Failure> {
    let all = (call.site.hooks.upstreams)(None);
    Ok(ok_json(&all.unwrap_or_default()))
}

pub(super) async fn get(mut call: Call) -> Result<Response, Failure> {
    let name = call.segment("name").await?;
    let found = (call.site.hooks.upstreams)(Some(&name));
    Ok(ok_json(&found.ok_or(Failure::missing())?))
}

/// `{"instance": "host:port", "drained": true}`.
pub(super) async fn set(mut call: Call) -> Result<Response, Failure> {
    let name = call.segment("name").await?;
    let bytes_max = call.site.options.limits.body_bytes_max;
    let asked = body::read_json(&call.parts.headers, call.body, bytes_max).await?;
    let (Some(instance), Some(drained)) = (asked["instance"].as_str(), asked["drained"].as_bool())
    else {
        let help = "write an object such as {\"instance\": \"10.0.0.7:8080\", \"drained\": true}";
        return Err(Failure::bad_request(help));
    };
    tracing::info!(upstream = name, who = call.who, instance, drained, "an instance was set");
    let found = (call.site.hooks.drain)(&name, instance, drained);
    Ok(ok_json(&found.ok_or(Failure::missing())?))
}
