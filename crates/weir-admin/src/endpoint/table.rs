//! Every endpoint, once: the router and the OpenAPI document are both made from this list.

use http::StatusCode;

use super::apis_table::API_ENDPOINTS;
use super::describe::{Answer, BodySpec, Endpoint, Parameter, operation, query, read, write};
use super::recordings_table::RECORDING_ENDPOINTS;
use super::shared::{
    BAD, BUSY, FAULT, FORBIDDEN, FULL, IF_NONE_MATCH, JSON_MEDIA, MEDIA, OK_OBJECT, PAGE,
    TOO_LARGE, UNAUTHORIZED,
};
use super::{breakers, caches, gateway, limits, pipelines, process, routes, services, upstreams};
use crate::access::Intent;
use crate::rights::Reach;

const ID: Parameter =
    Parameter { place: "path", name: "id", kind: "string", doc: "Identifier of the route." };
const IF_MATCH: Parameter = Parameter {
    place: "header",
    name: "If-Match",
    kind: "string",
    doc: "Only if the route is at this revision (its ETag); `*`: only if it exists.",
};
const Q: Parameter =
    query("q", "string", "Text anywhere in id, uri, group, predicates or filters.");
const URI: Parameter = query("uri", "string", "Text in the uri.");
const PATH: Parameter = query("path", "string", "Text in a pattern of a Path predicate.");
const ID_PREFIX: Parameter = query("id", "string", "Start of the id.");
const METADATA: Parameter =
    query("metadata", "string", "`key:value` of the metadata; may be repeated.");
const SIZE: Parameter =
    query("size", "integer", "Routes on a page, up to 10000; without page and size: all of them.");
const FROM: Parameter = query("from", "string", "`file` or `store`; without it both.");
const FORM: Parameter =
    query("form", "string", "`scg`, or `entry`: definition, source and revision.");
const ALL: Parameter = query("all", "boolean", "`true` removes every route of the store.");
const SHAPE: Parameter = query(
    "shape",
    "boolean",
    "`true`: how the index tells routes apart, and which can never match; reads the whole table.",
);
const BEFORE: Parameter = query("before", "integer", "Entries before this sequence number.");
const COUNT: Parameter = query("count", "integer", "How many entries, up to 1000 (100).");
const LOGGER: Parameter =
    Parameter { place: "path", name: "name", kind: "string", doc: "ROOT or a log target." };

const NOT_FOUND: Answer = (StatusCode::NOT_FOUND, None, "No such route.");
const CHANGED: Answer =
    (StatusCode::PRECONDITION_FAILED, Some("Error"), "The route is at another revision.");

const ROUTE: Option<BodySpec> = Some(BodySpec { media: JSON_MEDIA, schema: "RouteDefinition" });
const PUT_ANSWERS: &[Answer] = &[
    (StatusCode::CREATED, None, "Written and in force; Location and ETag say where and which."),
    BAD,
    UNAUTHORIZED,
    FORBIDDEN,
    CHANGED,
    TOO_LARGE,
    MEDIA,
    BUSY,
    FULL,
    FAULT,
];

const HEALTH_ANSWERS: &[Answer] = &[
    (StatusCode::OK, Some("Health"), "UP."),
    (StatusCode::SERVICE_UNAVAILABLE, Some("Health"), "DOWN or OUT_OF_SERVICE."),
];

/// The lists of all files.
static LISTS: &[&[Endpoint]] = &[
    ENDPOINTS,
    limits::ENDPOINTS,
    breakers::ENDPOINTS,
    pipelines::ENDPOINTS,
    services::ENDPOINTS,
    caches::ENDPOINTS,
    upstreams::ENDPOINTS,
    API_ENDPOINTS,
    RECORDING_ENDPOINTS,
];

/// All endpoints.
pub(crate) fn endpoints() -> impl Iterator<Item = &'static Endpoint> {
    LISTS.iter().copied().flatten()
}

/// The actuator, in the order of the document.
static ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        reach: Reach::Open,
        ..read(
            "",
            "index",
            operation!(Index: process::index),
            "Links to what is exposed.",
            &[OK_OBJECT],
        )
    },
    Endpoint {
        intent: Intent::Probe,
        reach: Reach::Open,
        ..read(
            "/health",
            "health",
            operation!(Health: process::health),
            "Health of the whole.",
            HEALTH_ANSWERS,
        )
    },
    Endpoint {
        intent: Intent::Probe,
        reach: Reach::Open,
        ..read(
            "/health/liveness",
            "health",
            operation!(Liveness: process::liveness),
            "Whether the process works.",
            HEALTH_ANSWERS,
        )
    },
    Endpoint {
        intent: Intent::Probe,
        reach: Reach::Open,
        ..read(
            "/health/readiness",
            "health",
            operation!(Readiness: process::readiness),
            "Whether it wants traffic: not while it drains.",
            HEALTH_ANSWERS,
        )
    },
    Endpoint {
        reach: Reach::Open,
        ..read(
            "/info",
            "info",
            operation!(Info: process::info),
            "Which build this is.",
            &[OK_OBJECT],
        )
    },
    read("/loggers", "loggers", operation!(Loggers: process::loggers), "Log levels.", &[OK_OBJECT]),
    Endpoint {
        parameters: &[LOGGER],
        ..read(
            "/loggers/{name}",
            "loggers",
            operation!(Logger: async process::logger),
            "One log level.",
            &[OK_OBJECT, (StatusCode::NOT_FOUND, Some("Error"), "No such logger.")],
        )
    },
    Endpoint {
        parameters: &[LOGGER],
        body: Some(BodySpec { media: JSON_MEDIA, schema: "LoggerLevel" }),
        ..write(
            "POST",
            "/loggers/{name}",
            "loggers",
            operation!(SetLogger: async process::set_logger),
            "Sets or clears a log level.",
            &[(StatusCode::NO_CONTENT, None, "Done."), BAD, UNAUTHORIZED, FORBIDDEN, MEDIA],
        )
    },
    Endpoint {
        reach: Reach::Open,
        ..read(
            "/prometheus",
            "prometheus",
            operation!(Prometheus: process::prometheus),
            "Metrics in the Prometheus text format.",
            &[(StatusCode::OK, Some("Text"), "The metrics.")],
        )
    },
    write(
        "POST",
        "/refresh",
        "refresh",
        operation!(RefreshConfiguration: async process::refresh),
        "Reads the configuration again, servers included; tells which of their properties changed.",
        &[
            (StatusCode::OK, Some("Names"), "In force; the names of what changed, no values."),
            UNAUTHORIZED,
            FORBIDDEN,
            (StatusCode::SERVICE_UNAVAILABLE, Some("Error"), "It is being read already."),
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                Some("Error"),
                "Why the old configuration stays in use.",
            ),
        ],
    ),
    read(
        "/gateway",
        "gateway",
        operation!(GatewayIndex: gateway::index),
        "What there is below.",
        &[OK_OBJECT],
    ),
    Endpoint {
        reads_store: true,
        parameters: &[PAGE, SIZE, Q, URI, PATH, ID_PREFIX, METADATA, FROM, FORM],
        ..read(
            "/gateway/routes",
            "gateway",
            operation!(ListRoutes: async routes::list),
            "Routes in the order they are tried; X-Total-Count and Link say what is left.",
            &[(StatusCode::OK, Some("Routes"), "The routes."), BAD, BUSY, FAULT],
        )
    },
    Endpoint {
        body: Some(BodySpec {
            media: &["application/json", "application/x-ndjson"],
            schema: "RouteDefinitions",
        }),
        ..write(
            "POST",
            "/gateway/routes",
            "gateway",
            operation!(ImportRoutes: async routes::import),
            "Writes many routes at once: all of them in one swap, or none.",
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
        parameters: &[ALL, Q, URI, PATH, ID_PREFIX, METADATA],
        ..write(
            "DELETE",
            "/gateway/routes",
            "gateway",
            operation!(DeleteRoutes: async routes::delete_matching),
            "Removes the routes of the store that match; needs a condition, or all=true.",
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
        reads_store: true,
        parameters: &[ID, FORM],
        ..read(
            "/gateway/routes/{id}",
            "gateway",
            operation!(GetRoute: async routes::get),
            "One route; ETag is its revision if it is in the store.",
            &[(StatusCode::OK, Some("Route"), "The route."), BAD, NOT_FOUND, BUSY, FAULT],
        )
    },
    Endpoint {
        parameters: &[ID, IF_MATCH, IF_NONE_MATCH],
        body: ROUTE,
        ..write(
            "POST",
            "/gateway/routes/{id}",
            "gateway",
            operation!(PutRoute: async routes::put),
            "Writes a route; the id of the path counts.",
            PUT_ANSWERS,
        )
    },
    Endpoint {
        parameters: &[ID, IF_MATCH, IF_NONE_MATCH],
        body: ROUTE,
        ..write(
            "PUT",
            "/gateway/routes/{id}",
            "gateway",
            operation!(PutRoute: async routes::put),
            "The same as POST.",
            PUT_ANSWERS,
        )
    },
    Endpoint {
        parameters: &[ID, IF_MATCH],
        ..write(
            "DELETE",
            "/gateway/routes/{id}",
            "gateway",
            operation!(DeleteRoute: async routes::delete),
            "Removes a route of the store; those of files are not found.",
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
        reads_store: true,
        parameters: &[ID],
        ..read(
            "/gateway/routes/{id}/combinedfilters",
            "gateway",
            operation!(CombinedFilters: async routes::combined_filters),
            "The route as text, with its filters in order; `{}` if there is none.",
            &[OK_OBJECT, BUSY, FAULT],
        )
    },
    Endpoint {
        reads_store: true,
        is_verbose: true,
        ..read(
            "/gateway/routedefinitions",
            "gateway",
            operation!(RouteDefinitions: routes::definitions),
            "All routes as they were written.",
            &[(StatusCode::OK, Some("RouteDefinitions"), "The definitions."), BUSY, FAULT],
        )
    },
    read(
        "/gateway/globalfilters",
        "gateway",
        operation!(GlobalFilters: gateway::global_filters),
        "What runs on every route, by SCG's names, with its order.",
        &[OK_OBJECT],
    ),
    read(
        "/gateway/routefilters",
        "gateway",
        operation!(RouteFilters: gateway::route_filters),
        "Filters that routes can name.",
        &[OK_OBJECT],
    ),
    read(
        "/gateway/routepredicates",
        "gateway",
        operation!(RoutePredicates: gateway::route_predicates),
        "Predicates that routes can name.",
        &[OK_OBJECT],
    ),
    write(
        "POST",
        "/gateway/refresh",
        "gateway",
        operation!(Refresh: gateway::refresh),
        "Nothing to do: every change is in force when it is answered.",
        &[(StatusCode::OK, None, "Done."), UNAUTHORIZED, FORBIDDEN],
    ),
    Endpoint {
        parameters: &[SHAPE],
        ..read(
            "/gateway/stats",
            "gateway",
            operation!(Stats: async gateway::stats),
            "Counts of the route table, the store and the data plane, and where the memory is.",
            &[OK_OBJECT, BAD, FAULT],
        )
    },
    Endpoint {
        reads_store: true,
        parameters: &[BEFORE, COUNT],
        ..read(
            "/gateway/audit",
            "gateway",
            operation!(Audit: gateway::audit),
            "Who changed what, newest first.",
            &[(StatusCode::OK, Some("AuditLog"), "The entries."), BAD, BUSY, FAULT],
        )
    },
    Endpoint {
        method: "POST",
        body: Some(BodySpec { media: &["application/json"], schema: "Question" }),
        ..read(
            "/gateway/explain",
            "gateway",
            operation!(Explain: async gateway::explain),
            "Why a request goes where it goes; nothing is sent or changed.",
            &[OK_OBJECT, BAD, MEDIA],
        )
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::endpoints;
    use crate::access::Intent;
    use crate::site::ENDPOINTS;

    #[test]
    fn what_can_be_read_below_the_base_path_is_in_the_index_and_on_the_main_port() {
        let is_read = |intent| matches!(intent, Intent::Read | Intent::Probe);
        let readable: BTreeSet<&str> = endpoints()
            .filter(|it| is_read(it.intent) && it.name != "index" && it.address("/b") != it.path)
            .map(|endpoint| endpoint.name)
            .collect();
        assert_eq!(readable, BTreeSet::from(ENDPOINTS));
    }
}
