//! The endpoints for API definitions, which Spring has no like of.

use http::StatusCode;

use super::describe::{Answer, BodySpec, Endpoint, Parameter, operation, query, read, write};
use super::shared::{
    BAD, BUSY, FAULT, FORBIDDEN, FULL, IF_NONE_MATCH, JSON_MEDIA, MEDIA, OK_OBJECT, PAGE,
    TOO_LARGE, UNAUTHORIZED,
};
use super::{apis, tenants, webhooks};
use crate::rights::Reach;

const NAME: Parameter =
    Parameter { place: "path", name: "name", kind: "string", doc: "Name of the definition." };
const WEBHOOK: Parameter =
    Parameter { place: "path", name: "webhook", kind: "string", doc: "Name of the webhook." };
const IF_MATCH: Parameter = Parameter {
    place: "header",
    name: "If-Match",
    kind: "string",
    doc: "Only if the definition is at this revision (its ETag); `*`: only if it exists.",
};
const Q: Parameter = query("q", "string", "Text in name, title, base path, host or a path.");
const SIZE: Parameter =
    query("size", "integer", "Definitions on a page, up to 10000; without page and size: all.");
const ALL: Parameter = query("all", "boolean", "`true` removes every definition.");
const FORM: Parameter = query("form", "string", "`entry`: as they were written.");
const BASE_PATH: Parameter =
    query("base-path", "string", "What stands in front of its paths; for a document alone.");
const HOST: Parameter =
    query("host", "string", "The host whose requests it is for; for a document alone.");
/// Whose definitions an endpoint is about.
const TENANT: Parameter = query(
    "tenant",
    "string",
    "The tenant whose definitions are meant; without it, that of the token, or none.",
);
const LIST_TENANT: Parameter = query(
    "tenant",
    "string",
    "The tenant whose definitions are meant; without it, that of the token, or none; `*`: all.",
);
const IMPORT_TENANT: Parameter = query(
    "tenant",
    "string",
    "The tenant that all of them are written to; without it, that of the token, or the `tenant` of \
     each, or none.",
);
const NOT_FOUND: Answer = (StatusCode::NOT_FOUND, None, "No such definition.");
const CHANGED: Answer =
    (StatusCode::PRECONDITION_FAILED, Some("Error"), "The definition is at another revision.");

/// In the order of the document.
pub(crate) static API_ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        reach: Reach::Tenants,
        parameters: &[LIST_TENANT, PAGE, SIZE, Q, FORM],
        ..read(
            "/weir/apis",
            "apis",
            operation!(ListApis: async apis::list),
            "API definitions of the store by name; X-Total-Count and Link say what is left.",
            &[(StatusCode::OK, Some("ApiSummaries"), "The definitions."), BAD],
        )
    },
    Endpoint {
        reach: Reach::Tenants,
        parameters: &[IMPORT_TENANT],
        body: Some(BodySpec {
            media: &["application/json", "application/x-ndjson"],
            schema: "Apis",
        }),
        ..write(
            "POST",
            "/weir/apis",
            "apis",
            operation!(ImportApis: async apis::import),
            "Writes many definitions, each with its `name`: all of them in one swap, or none.",
            &[
                (StatusCode::OK, None, "Written and in force; X-Weir-Created and -Replaced count."),
                BAD,
                UNAUTHORIZED,
                FORBIDDEN,
                TOO_LARGE,
                MEDIA,
                BUSY,
                FULL,
                FAULT,
            ],
        )
    },
    Endpoint {
        reach: Reach::Tenants,
        parameters: &[TENANT, ALL, Q],
        ..write(
            "DELETE",
            "/weir/apis",
            "apis",
            operation!(DeleteApis: async apis::delete_matching),
            "Removes the definitions that match; needs a condition, or all=true.",
            &[
                (StatusCode::OK, Some("Deleted"), "How many were removed."),
                BAD,
                UNAUTHORIZED,
                FORBIDDEN,
                BUSY,
                FULL,
                FAULT,
            ],
        )
    },
    Endpoint {
        reach: Reach::Tenants,
        parameters: &[NAME, TENANT],
        ..read(
            "/weir/apis/{name}",
            "apis",
            operation!(GetApi: async apis::get),
            "One definition as it was written, with its operations; ETag is its revision.",
            &[(StatusCode::OK, Some("Object"), "The definition."), NOT_FOUND, BUSY, FAULT],
        )
    },
    Endpoint {
        reach: Reach::Tenants,
        parameters: &[NAME, TENANT, IF_MATCH, IF_NONE_MATCH, BASE_PATH, HOST],
        body: Some(BodySpec { media: &["application/json", "application/yaml"], schema: "Api" }),
        ..write(
            "PUT",
            "/weir/apis/{name}",
            "apis",
            operation!(PutApi: async apis::put),
            "Writes a definition: JSON with a `definition`, or the document alone.",
            &[
                (StatusCode::CREATED, None, "Written and in force; ETag says which revision."),
                (StatusCode::OK, None, "The same, and there was one before."),
                BAD,
                UNAUTHORIZED,
                FORBIDDEN,
                CHANGED,
                TOO_LARGE,
                BUSY,
                FULL,
                FAULT,
            ],
        )
    },
    Endpoint {
        reach: Reach::Tenants,
        parameters: &[NAME, TENANT, IF_MATCH],
        ..write(
            "DELETE",
            "/weir/apis/{name}",
            "apis",
            operation!(DeleteApi: async apis::delete),
            "Removes a definition.",
            &[
                (StatusCode::OK, None, "Removed."),
                UNAUTHORIZED,
                FORBIDDEN,
                NOT_FOUND,
                CHANGED,
                BUSY,
                FULL,
                FAULT,
            ],
        )
    },
    Endpoint {
        reach: Reach::Tenants,
        parameters: &[NAME, TENANT],
        method: "POST",
        body: Some(BodySpec { media: JSON_MEDIA, schema: "ApiQuestion" }),
        ..read(
            "/weir/apis/{name}/try",
            "apis",
            operation!(TryApi: async apis::try_out),
            "What a request to this definition is answered, and why.",
            &[OK_OBJECT, BAD, NOT_FOUND, MEDIA],
        )
    },
    Endpoint {
        reach: Reach::Tenants,
        parameters: &[NAME, TENANT],
        ..write(
            "POST",
            "/weir/apis/{name}/reset",
            "apis",
            operation!(ResetApi: async apis::reset),
            "Forgets what clients have written to a stateful definition.",
            &[(StatusCode::NO_CONTENT, None, "Done."), UNAUTHORIZED, FORBIDDEN, NOT_FOUND],
        )
    },
    Endpoint {
        reach: Reach::Tenants,
        parameters: &[NAME, TENANT, WEBHOOK],
        body: Some(BodySpec { media: JSON_MEDIA, schema: "Firing" }),
        ..write(
            "POST",
            "/weir/apis/{name}/webhooks/{webhook}",
            "apis",
            operation!(FireWebhook: async webhooks::fire),
            "Sends a webhook once, to a server that weir.mock.callbacks.allow lists.",
            &[
                (StatusCode::OK, Some("Fired"), "What was sent, and what came of it."),
                BAD,
                UNAUTHORIZED,
                FORBIDDEN,
                (StatusCode::NOT_FOUND, None, "No such definition or webhook."),
                MEDIA,
            ],
        )
    },
    Endpoint {
        reach: Reach::Tenants,
        ..read(
            "/weir/tenants",
            "apis",
            operation!(ListTenants: tenants::list),
            "Tenants that have API definitions in the store, with their number and bytes.",
            &[(StatusCode::OK, Some("Tenants"), "The tenants."), UNAUTHORIZED],
        )
    },
];
