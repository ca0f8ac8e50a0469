//! Parameters, media types and answers that endpoints of several tables have.

use http::StatusCode;

use super::describe::{Answer, Parameter, query};

pub(super) const IF_NONE_MATCH: Parameter = Parameter {
    place: "header",
    name: "If-None-Match",
    kind: "string",
    doc: "`*`: only if the route does not exist.",
};
pub(super) const PAGE: Parameter = query("page", "integer", "Number of the page, from 0.");

pub(super) const OK_OBJECT: Answer = (StatusCode::OK, Some("Object"), "As of now.");
pub(super) const BAD: Answer =
    (StatusCode::BAD_REQUEST, Some("Error"), "Refused, with every problem.");
pub(super) const UNAUTHORIZED: Answer =
    (StatusCode::UNAUTHORIZED, Some("Error"), "The token is wrong.");
pub(super) const FORBIDDEN: Answer =
    (StatusCode::FORBIDDEN, Some("Error"), "Not from here: peer, Host or Origin.");
pub(super) const TOO_LARGE: Answer =
    (StatusCode::PAYLOAD_TOO_LARGE, Some("Error"), "The body is over the bound.");
pub(super) const MEDIA: Answer = (StatusCode::UNSUPPORTED_MEDIA_TYPE, Some("Error"), "Not JSON.");
pub(super) const BUSY: Answer =
    (StatusCode::SERVICE_UNAVAILABLE, Some("Error"), "Too many changes, or the store failed.");
pub(super) const FULL: Answer =
    (StatusCode::INSUFFICIENT_STORAGE, Some("Error"), "No space for the store.");
pub(super) const FAULT: Answer =
    (StatusCode::INTERNAL_SERVER_ERROR, Some("Error"), "A fault, or the store is damaged.");

pub(super) const JSON_MEDIA: &[&str] = &["application/json"];
