//! The endpoints for upstreams with rules of weir's own.

use http::StatusCode;

use super::describe::{Answer, BodySpec, Endpoint, Operation, Parameter, read, write};
use super::shared::{BAD, FORBIDDEN, JSON_MEDIA, MEDIA, OK_OBJECT, UNAUTHORIZED};

const UPSTREAM: Parameter = Parameter {
    place: "path",
    name: "name",
    kind: "string",
    doc: "Name, as in `upstream://name`.",
};
const NO_UPSTREAM: Answer =
    (StatusCode::NOT_FOUND, Some("Error"), "No route leads to it, or it has no such instance.");

/// In the order of the document.
pub(crate) static UPSTREAM_ENDPOINTS: &[Endpoint] = &[
    read(
        "/gateway/upstreams",
        "gateway",
        Operation::ListUpstreams,
        "Upstreams with rules, and how their instances are.",
        &[OK_OBJECT],
    ),
    Endpoint {
        parameters: &[UPSTREAM],
        ..read(
            "/gateway/upstreams/{name}",
            "gateway",
            Operation::GetUpstream,
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
            Operation::SetUpstream,
            "Gives an instance no new requests, or gives it some again.",
            &[OK_OBJECT, BAD, UNAUTHORIZED, FORBIDDEN, NO_UPSTREAM, MEDIA],
        )
    },
];
