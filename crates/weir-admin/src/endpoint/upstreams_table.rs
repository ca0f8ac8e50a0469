//! The endpoints for upstreams with rules of weir's own.

use http::StatusCode;

use super::describe::{Answer, BodySpec, Endpoint, Parameter, operation, read, write};
use super::shared::{BAD, FORBIDDEN, JSON_MEDIA, MEDIA, OK_OBJECT, UNAUTHORIZED};
use super::upstreams;

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
        operation!(ListUpstreams: upstreams::list),
        "Upstreams with rules, and how their instances are.",
        &[OK_OBJECT],
    ),
    Endpoint {
        parameters: &[UPSTREAM],
        ..read(
            "/gateway/upstreams/{name}",
            "gateway",
            operation!(GetUpstream: async upstreams::get),
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
            operation!(SetUpstream: async upstreams::set),
            "Gives an instance no new requests, or gives it some again.",
            &[OK_OBJECT, BAD, UNAUTHORIZED, FORBIDDEN, NO_UPSTREAM, MEDIA],
        )
    },
];
