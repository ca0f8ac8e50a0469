//! Services that registries list.

use axum::response::Response;
use http::StatusCode;

use super::Call;
use super::describe::{Endpoint, Parameter, operation, read};
use super::shared::OK_OBJECT;
use crate::answer::{Failure, ok_json};

const SERVICE: Parameter =
    Parameter { place: "path", name: "name", kind: "string", doc: "Name, as in `lb://name`." };

/// In the order of the document.
pub(super) static ENDPOINTS: &[Endpoint] = &[
    read(
        "/gateway/services",
        "gateway",
        operation!(ListServices: list),
        "Services that registries list, and how the registries are.",
        &[OK_OBJECT],
    ),
    Endpoint {
        parameters: &[SERVICE],
        ..read(
            "/gateway/services/{name}",
            "gateway",
            operation!(GetService: async get),
            "The instances of a service, and why one takes no requests.",
            &[OK_OBJECT, (StatusCode::NOT_FOUND, Some("Error"), "No registry lists it.")],
        )
    },
];

pub(super) fn list(call: &Call) -> Result<Response, Failure> {
    let all = (call.site.hooks.services)(None);
    Ok(ok_json(&all.unwrap_or_default()))
}

pub(super) async fn get(mut call: Call) -> Result<Response, Failure> {
    let name = call.segment("name").await?;
    let found = (call.site.hooks.services)(Some(&name));
    Ok(ok_json(&found.ok_or(Failure::missing())?))
}
