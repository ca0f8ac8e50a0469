//! The OpenAPI document, made from the endpoint table.

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::describe::Endpoint;
use super::table::endpoints;
use crate::access::Intent;
use crate::rights::Reach;

/// OpenAPI 3.1 of the whole admin API, for the reference.
pub fn openapi() -> Value {
    document("/actuator", |_| true)
}

/// OpenAPI 3.1 of the endpoints that `is_served` lets through.
pub(super) fn document(base_path: &str, is_served: impl Fn(&Endpoint) -> bool) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for endpoint in endpoints().filter(|endpoint| is_served(endpoint)) {
        let path = endpoint.address(base_path);
        let methods = paths.entry(path).or_insert_with(|| json!({}));
        if let Value::Object(methods) = methods {
            methods.insert(endpoint.method.to_ascii_lowercase(), operation(endpoint));
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "weir admin API",
            "description": "Spring Cloud Gateway's actuator, with checks, revisions and search.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
            "version": env!("CARGO_PKG_VERSION"),
        },
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer",
                "description": "weir.admin.token; not needed from a loopback peer. Endpoints with \
                    `x-weir-tenants` take a token of weir.admin.tenant-tokens too, and keep to its \
                    tenants: another one is 404, whether it exists or not, and revisions are \
                    numbers without order. With such tokens, what has `security` needs one to be \
                    read, too." } },
            "schemas": schemas(),
        },
    })
}

fn operation(endpoint: &Endpoint) -> Value {
    let mut answers = Map::new();
    for (status, schema, doc) in endpoint.answers {
        let mut answer = json!({ "description": doc });
        if let Some(schema) = schema {
            let media = media_of(endpoint.name, schema);
            answer["content"] = json!({ media: { "schema": reference(schema) } });
        }
        answers.insert(status.as_u16().to_string(), answer);
    }
    for (status, schema, doc) in answers_of_tokens(endpoint) {
        let content = json!({ "application/json": { "schema": reference(schema) } });
        let answer = json!({ "description": doc, "content": content });
        answers.entry(status.as_u16().to_string()).or_insert(answer);
    }
    let parameters = endpoint.parameters.iter().map(|parameter| {
        json!({
            "in": parameter.place,
            "name": parameter.name,
            "required": parameter.place == "path",
            "description": parameter.doc,
            "schema": { "type": parameter.kind },
        })
    });
    let parameters: Vec<Value> = parameters.collect();
    let mut operation = json!({
        "operationId": format!("{}-{}", endpoint.operation.id, endpoint.method),
        "summary": endpoint.summary,
        "tags": [endpoint.name],
        "parameters": parameters,
        "responses": answers,
    });
    if let Some(body) = endpoint.body {
        let content: Map<String, Value> = body
            .media
            .iter()
            .map(|&media| (media.to_owned(), json!({ "schema": reference(body.schema) })))
            .collect();
        operation["requestBody"] = json!({ "required": true, "content": content });
    }
    if endpoint.intent == Intent::Write || endpoint.reach != Reach::Open {
        operation["security"] = json!([{ "token": [] }, {}]);
    }
    if endpoint.reach == Reach::Tenants {
        operation["x-weir-tenants"] = true.into();
    }
    operation
}

/// The refusals of an endpoint once there are tokens of tenants: status, schema and meaning.
fn answers_of_tokens(
    endpoint: &Endpoint,
) -> impl Iterator<Item = (StatusCode, &'static str, &'static str)> {
    let is_guarded = endpoint.reach != Reach::Open;
    let guarded = [
        (StatusCode::UNAUTHORIZED, "Error", "With tokens of tenants: it needs a token."),
        (StatusCode::FORBIDDEN, "Error", "Host or Origin; or the token is for tenants alone."),
    ];
    let missing = (StatusCode::NOT_FOUND, "Error", "The token has no such tenant.");
    let missing = (endpoint.reach == Reach::Tenants).then_some(missing);
    guarded.into_iter().filter(move |_| is_guarded).chain(missing)
}

fn media_of(name: &str, schema: &str) -> &'static str {
    match (name, schema) {
        (_, "Text") => "text/plain",
        (_, "Error") | ("gateway" | "apis", _) => "application/json",
        _ => "application/vnd.spring-boot.actuator.v3+json",
    }
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

fn schemas() -> Map<String, Value> {
    let parts =
        [process_schemas(), route_schemas(), api_schemas(), recording_schemas(), answer_schemas()];
    let objects = parts.into_iter().filter_map(|part| match part {
        Value::Object(schemas) => Some(schemas),
        _ => None,
    });
    objects.flatten().collect()
}

fn process_schemas() -> Value {
    json!({
        "Object": { "type": "object" },
        "Text": { "type": "string" },
        "Health": {
            "type": "object",
            "required": ["status"],
            "properties": { "status": { "enum": ["UP", "DOWN", "OUT_OF_SERVICE"] } },
        },
        "LoggerLevel": {
            "type": "object",
            "properties": { "configuredLevel": {
                "enum": ["OFF", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", null] } },
        },
        "Limit": {
            "type": "object",
            "properties": {
                "rate": { "type": "string", "examples": ["50/s"] },
                "mode": { "enum": ["pace", "window"] },
                "burst": { "type": "integer", "minimum": 1 },
                "concurrency": { "type": "integer", "minimum": 1 },
                "queue": { "type": "integer", "minimum": 0 },
                "queue-bytes": { "type": "string", "examples": ["64MB"] },
                "max-wait": { "type": "string", "examples": ["30s"] },
                "order": { "enum": ["fifo", "fair"] },
                "enforce": { "type": "boolean" },
                "paused": { "type": "boolean" },
                "flush": { "type": "boolean", "description": "Refuses all waiting requests." },
            },
        },
        "Drain": {
            "type": "object",
            "required": ["instance", "drained"],
            "properties": {
                "instance": { "type": "string", "description": "Its id, or `host:port`." },
                "drained": { "type": "boolean" },
            },
        },
        "NamedArgs": {
            "oneOf": [
                { "type": "string", "description": "Shortcut: `Name=a,b`." },
                { "type": "object", "required": ["name"], "properties": {
                    "name": { "type": "string" }, "args": { "type": "object" } } },
            ],
        },
    })
}

fn route_schemas() -> Value {
    json!({
        "RouteDefinition": {
            "type": "object",
            "required": ["uri"],
            "properties": {
                "id": { "type": "string" },
                "uri": { "type": "string" },
                "predicates": { "type": "array", "items": reference("NamedArgs") },
                "filters": { "type": "array", "items": reference("NamedArgs") },
                "metadata": { "type": "object" },
                "order": { "type": "integer", "format": "int32", "default": 0 },
                "enabled": { "type": "boolean", "default": true },
                "group": { "type": "string" },
            },
        },
        "RouteDefinitions": { "type": "array", "items": reference("RouteDefinition") },
        "Route": {
            "type": "object",
            "properties": {
                "predicate": { "type": "string" },
                "metadata": { "type": "object" },
                "route_id": { "type": "string" },
                "filters": { "type": "array", "items": { "type": "string" } },
                "uri": { "type": "string" },
                "order": { "type": "integer" },
                "group": { "type": "string" },
            },
        },
        "Routes": { "type": "array", "items": reference("Route") },
        "Names": { "type": "array", "items": { "type": "string" } },
        "Deleted": { "type": "object", "properties": { "deleted": { "type": "integer" } } },
        "AuditLog": { "type": "array", "items": { "type": "object", "properties": {
            "sequence": { "type": "integer" },
            "timestamp": { "type": "string", "format": "date-time" },
            "who": { "type": "string" },
            "action": { "enum": ["create", "replace", "delete", "import", "reload"] },
            "ids": { "type": "array", "items": { "type": "string" } },
            "count": { "type": "integer" },
            "revision": { "type": "integer" },
        } } },
    })
}

fn api_schemas() -> Value {
    let own = json!({
        "name": { "type": "string" },
        "tenant": { "type": "string", "description": "Whose it is; absent: no tenant's." },
        "definition": { "type": ["string", "object", "array"],
            "description": "The document, or its text." },
        "base-path": { "type": "string", "description": "Stands in front of its paths." },
        "host": { "type": ["string", "array"], "description": "For requests to these hosts only." },
        "settings": { "type": "object", "description": "As below `x-weir-mock`." },
    });
    json!({
        "Api": { "type": "object", "required": ["definition"], "properties": own },
        "Apis": { "type": "array", "items": reference("Api") },
        "Tenants": { "type": "array", "items": { "type": "object", "properties": {
            "tenant": { "type": "string" },
            "definitions": { "type": "integer" },
            "bytes": { "type": "integer", "description": "Of their stored form." },
            "not-served": { "type": "integer", "description": "How many of them are broken." },
        } } },
        "ApiSummary": { "type": "object", "properties": {
            "name": { "type": "string" },
            "tenant": { "type": "string" },
            "revision": { "type": "integer" },
            "kind": { "enum": ["openapi", "yapi", "postman", "har", "apifox"] },
            "title": { "type": "string" },
            "version": { "type": "string" },
            "operations": { "type": "integer" },
            "base-path": { "type": ["string", "null"] },
            "host": { "type": "array", "items": { "type": "string" } },
            "problems": { "type": "array", "items": reference("Problem") },
        } },
        "ApiSummaries": { "type": "array", "items": reference("ApiSummary") },
        "ApiQuestion": { "type": "object", "required": ["method", "target"], "properties": {
            "method": { "type": "string" },
            "target": { "type": "string" },
            "headers": { "type": "array", "items": {
                "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 2,
            } },
            "body": { "type": "string" },
        } },
        "Firing": { "type": "object", "required": ["to"], "properties": {
            "to": { "type": "string", "format": "uri" },
            "dynamic": { "type": "boolean" },
            "seed": { "type": "integer" },
            "example": { "type": "string" },
        } },
        "Fired": { "type": "object", "properties": {
            "method": { "type": "string" },
            "url": { "type": "string" },
            "headers": { "type": "array" },
            "body": { "type": "string" },
            "why": { "type": "string" },
            "status": { "type": "integer" },
            "answer": { "type": "string" },
            "error": { "type": "string" },
        } },
    })
}

fn recording_schemas() -> Value {
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    let integer = json!({ "type": "integer" });
    let counts = json!({ "operations": integer, "examples": integer, "secrets": integer });
    let with = |name: &str, own: Value| {
        let mut all = counts.clone();
        all[name] = own;
        json!({ "type": "object", "properties": all })
    };
    json!({
        "RecordingStart": { "type": "object", "properties": {
            "routes": { "type": "array", "items": { "type": "string" },
                "description": "Ids of routes; without them, all." },
            "paths": { "type": "array", "items": { "type": "string" },
                "description": "Patterns of what clients ask for, as in `Path=`; else all." },
            "max-exchanges": { "type": "integer", "default": 1000, "maximum": 10000 },
            "max-body": { "type": "string", "default": "64KB", "description": "At most 1MB." },
            "for": { "type": "string", "default": "1h", "description": "At most 24h." },
        } },
        "Recording": { "type": "object", "properties": {
            "name": { "type": "string" },
            "state": { "type": "string", "description": "`recording`, or why it keeps no more." },
            "exchanges": { "type": "integer", "description": "Different ones." },
            "seen": { "type": "integer", "description": "All of them." },
            "bytes": integer,
            "bodies-left-out": { "type": "integer", "description": "Too long, or not decoded." },
            "routes": texts,
            "paths": texts,
            "started": { "type": "string", "format": "date-time" },
            "for-ms": integer,
            "max-exchanges": integer,
            "max-body": integer,
        } },
        "Recordings": { "type": "array", "items": reference("Recording") },
        "RecordedDefinition": with("definition", json!({ "type": "object" })),
        "RecordingStop": with("revision", integer.clone()),
    })
}

fn answer_schemas() -> Value {
    json!({
        "Question": {
            "type": "object",
            "required": ["method", "target"],
            "properties": {
                "method": { "type": "string" },
                "target": { "type": "string" },
                "headers": { "type": "array", "items": {
                    "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 2,
                } },
                "peer": { "type": "string" },
                "dice": { "type": "integer" },
            },
        },
        "Problem": { "type": "object", "properties": {
            "at": { "type": "string" },
            "message": { "type": "string" },
            "help": { "type": "string" },
        } },
        "Error": {
            "type": "object",
            "required": ["timestamp", "path", "status", "error", "requestId"],
            "properties": {
                "timestamp": { "type": "string", "format": "date-time" },
                "path": { "type": "string" },
                "status": { "type": "integer" },
                "error": { "type": "string" },
                "requestId": { "type": "string" },
                "message": { "type": "string" },
                "problems": { "type": "array", "items": reference("Problem") },
            },
        },
    })
}
