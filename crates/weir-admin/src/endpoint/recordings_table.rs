//! The endpoints for recordings of live traffic.

use http::StatusCode;

use super::describe::{Answer, BodySpec, Endpoint, Parameter, operation, query, read, write};
use super::recordings;
use super::shared::{
    BAD, BUSY, FAULT, FORBIDDEN, FULL, IF_NONE_MATCH, JSON_MEDIA, MEDIA, TOO_LARGE, UNAUTHORIZED,
};

const NAME: Parameter = Parameter {
    place: "path",
    name: "name",
    kind: "string",
    doc: "Name of the recording, and of the definition that comes of it.",
};
const RECORDED_TENANT: Parameter =
    query("tenant", "string", "The tenant that the definition is for; without it, none.");
const NOT_FOUND: Answer = (StatusCode::NOT_FOUND, Some("Error"), "No such recording.");
const NOTHING: Answer = (StatusCode::CONFLICT, Some("Error"), "Nothing was recorded yet.");

/// In the order of the document.
pub(crate) static RECORDING_ENDPOINTS: &[Endpoint] = &[
    read(
        "/weir/recordings",
        "apis",
        operation!(ListRecordings: recordings::list),
        "Recordings of live traffic, the oldest first.",
        &[(StatusCode::OK, Some("Recordings"), "As of now.")],
    ),
    Endpoint {
        parameters: &[NAME],
        ..read(
            "/weir/recordings/{name}",
            "apis",
            operation!(GetRecording: async recordings::get),
            "What a recording is of, and how much it has.",
            &[(StatusCode::OK, Some("Recording"), "As of now."), NOT_FOUND],
        )
    },
    Endpoint {
        parameters: &[NAME],
        body: Some(BodySpec { media: JSON_MEDIA, schema: "RecordingStart" }),
        ..write(
            "PUT",
            "/weir/recordings/{name}",
            "apis",
            operation!(StartRecording: async recordings::start),
            "Starts a recording of what upstreams answer.",
            &[
                (StatusCode::CREATED, Some("Recording"), "It runs."),
                BAD,
                UNAUTHORIZED,
                FORBIDDEN,
                (StatusCode::CONFLICT, Some("Error"), "It runs already, or too many others do."),
                TOO_LARGE,
                MEDIA,
            ],
        )
    },
    Endpoint {
        parameters: &[NAME],
        ..write(
            "DELETE",
            "/weir/recordings/{name}",
            "apis",
            operation!(CancelRecording: async recordings::cancel),
            "Ends a recording and forgets it.",
            &[(StatusCode::NO_CONTENT, None, "Done."), UNAUTHORIZED, FORBIDDEN, NOT_FOUND],
        )
    },
    Endpoint {
        parameters: &[NAME],
        // It shows what clients and upstreams have said.
        ..write(
            "GET",
            "/weir/recordings/{name}/definition",
            "apis",
            operation!(RecordedDefinition: async recordings::definition),
            "The definition that would be stored now; the recording goes on.",
            &[
                (StatusCode::OK, Some("RecordedDefinition"), "The definition."),
                UNAUTHORIZED,
                FORBIDDEN,
                NOT_FOUND,
                NOTHING,
            ],
        )
    },
    Endpoint {
        parameters: &[
            NAME,
            Parameter {
                place: "header",
                name: "If-Match",
                kind: "string",
                doc: "Only if the definition is at this revision (its ETag).",
            },
            IF_NONE_MATCH,
            RECORDED_TENANT,
        ],
        ..write(
            "POST",
            "/weir/recordings/{name}/stop",
            "apis",
            operation!(StopRecording: async recordings::stop),
            "Ends a recording and stores its definition; if that is refused, it goes on.",
            &[
                (StatusCode::CREATED, Some("RecordingStop"), "Stored and in force."),
                (StatusCode::OK, Some("RecordingStop"), "The same, and there was one before."),
                BAD,
                UNAUTHORIZED,
                FORBIDDEN,
                NOT_FOUND,
                NOTHING,
                (
                    StatusCode::PRECONDITION_FAILED,
                    Some("Error"),
                    "There is a definition of this name, or it is at another revision.",
                ),
                BUSY,
                FULL,
                FAULT,
            ],
        )
    },
];
