//! The endpoints for caches of responses.

use http::StatusCode;

use super::caches;
use super::describe::{Answer, Endpoint, Parameter, operation, read, write};
use super::shared::{FORBIDDEN, OK_OBJECT, UNAUTHORIZED};

const CACHE: Parameter = Parameter {
    place: "path",
    name: "name",
    kind: "string",
    doc: "Id of its route, or `response-cache` for the one that routes share.",
};
const NO_CACHE: Answer = (StatusCode::NOT_FOUND, Some("Error"), "No route uses it.");
const EMPTIED: Answer = (StatusCode::NO_CONTENT, None, "Empty; what is being fetched is not kept.");

/// In the order of the document.
pub(crate) static CACHE_ENDPOINTS: &[Endpoint] = &[
    read(
        "/caches",
        "caches",
        operation!(ListCaches: caches::list),
        "Caches of responses, with what they hold and have done.",
        &[OK_OBJECT],
    ),
    Endpoint {
        parameters: &[CACHE],
        ..read(
            "/caches/{name}",
            "caches",
            operation!(GetCache: async caches::get),
            "One cache.",
            &[OK_OBJECT, NO_CACHE],
        )
    },
    write(
        "DELETE",
        "/caches",
        "caches",
        operation!(EmptyCaches: caches::empty_all),
        "Empties all caches.",
        &[EMPTIED, UNAUTHORIZED, FORBIDDEN],
    ),
    Endpoint {
        parameters: &[CACHE],
        ..write(
            "DELETE",
            "/caches/{name}",
            "caches",
            operation!(EmptyCache: async caches::empty_one),
            "Empties a cache.",
            &[EMPTIED, UNAUTHORIZED, FORBIDDEN, NO_CACHE],
        )
    },
];
