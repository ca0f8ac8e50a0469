//! Pipelines, and how they are.

use axum::response::Response;
use http::StatusCode;

use super::Call;
use super::describe::{Endpoint, Parameter, operation, read};
use super::shared::OK_OBJECT;
use crate::answer::{Failure, ok_json};

const PIPELINE: Parameter =
    Parameter { place: "path", name: "id", kind: "string", doc: "Its `id`." };

/// In the order of the document.
pub(super) static ENDPOINTS: &[Endpoint] = &[
    read(
        "/gateway/pipelines",
        "gateway",
        operation!(ListPipelines: list),
        "Pipelines: where they listen, what they have counted, and how their upstreams are.",
        &[OK_OBJECT],
    ),
    Endpoint {
        parameters: &[PIPELINE],
        ..read(
            "/gateway/pipelines/{id}",
            "gateway",
            operation!(GetPipeline: async get),
            "One pipeline.",
            &[OK_OBJECT, (StatusCode::NOT_FOUND, Some("Error"), "No entry has this name.")],
        )
    },
];

pub(super) fn list(call: &Call) -> Result<Response, Failure> {
    let all = (call.site.hooks.pipelines)(None);
    Ok(ok_json(&all.unwrap_or_default()))
}

pub(super) async fn get(mut call: Call) -> Result<Response, Failure> {
    let id = call.segment("id").await?;
    let found = (call.site.hooks.pipelines)(Some(&id));
    Ok(ok_json(&found.ok_or(Failure::missing())?))
}
