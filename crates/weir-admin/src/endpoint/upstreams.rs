//! Upstreams with rules: how they are, and which of their instances are drained.

use axum::response::Response;
use http::StatusCode;

use super::describe::{Answer, BodySpec, Endpoint, Parameter, operation, read, write};
use super::shared::{BAD, FORBIDDEN, JSON_MEDIA, MEDIA, OK_OBJECT, UNAUTHORIZED};
use super::{Call, body};
use crate::answer::{Failure, ok_json};

const UPSTREAM: Parameter = Parameter {
    place: "path",
    name: "name",
    kind: "string",
    doc: "Name, as in `upstream://name`.",
};
const NO_UPSTREAM: Answer =
    (StatusCode::NOT_FOUND, Some("Error"), "No route leads to it, or it has no such instance.");

/// In the order of the document.
pub(super) static ENDPOINTS: &[Endpoint] = &[
    read(
        "/gateway/upstreams",
        "gateway",
        operation!(ListUpstreams: list),
        "Upstreams with rules, and how their instances are.",
        &[OK_OBJECT],
    ),
    Endpoint {
        parameters: &[UPSTREAM],
        ..read(
            "/gateway/upstreams/{name}",
            "gateway",
            operation!(GetUpstream: async get),
            "The instances of an upstream, and why one is not used.",
            &[OK_OBJECT, NO_UPSTREAM],
        )
    },
    Endpoint {
        parameters: &[UPSTREAM],
        body: Some(BodySpec { media: JSON_MEDIA, schema: "Drain" }),
        ..write(
            "POST",
            "/gateway/upstreams/{name}",
            "gateway",
            operation!(SetUpstream: async set),
            "Gives an instance no new requests, or gives it some again.",
            &[OK_OBJECT, BAD, UNAUTHORIZED, FORBIDDEN, NO_UPSTREAM, MEDIA],
        )
    },
];

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
