//! What an endpoint is described by.

use http::StatusCode;

use crate::access::Intent;

/// What an endpoint does. Closed: a new one does not compile until it is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Index,
    Health,
    Liveness,
    Readiness,
    Info,
    Loggers,
    Logger,
    SetLogger,
    Prometheus,
    RefreshConfiguration,
    GatewayIndex,
    ListRoutes,
    ImportRoutes,
    DeleteRoutes,
    GetRoute,
    PutRoute,
    DeleteRoute,
    CombinedFilters,
    RouteDefinitions,
    GlobalFilters,
    RouteFilters,
    RoutePredicates,
    Refresh,
    Stats,
    Audit,
    Explain,
    ListBreakers,
    ListCaches,
    GetCache,
    EmptyCaches,
    EmptyCache,
    ListLimits,
    GetLimit,
    SetLimit,
    ListPipelines,
    GetPipeline,
    ListServices,
    GetService,
    ListUpstreams,
    GetUpstream,
    SetUpstream,
    ListApis,
    ImportApis,
    DeleteApis,
    GetApi,
    PutApi,
    DeleteApi,
    TryApi,
    ResetApi,
    FireWebhook,
}

/// A parameter in path, query or header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    pub(crate) place: &'static str,
    pub(crate) name: &'static str,
    /// JSON Schema type.
    pub(crate) kind: &'static str,
    pub(crate) doc: &'static str,
}

/// A request body: media type and schema, by its name in the document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodySpec {
    pub(crate) media: &'static [&'static str],
    pub(crate) schema: &'static str,
}

/// A possible answer: status, schema of the body if it has one, and what it means.
pub(crate) type Answer = (StatusCode, Option<&'static str>, &'static str);

/// One method of one path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Endpoint {
    pub(crate) method: &'static str,
    /// Below the base path, unless it starts with `/weir/`; `{id}` is one segment.
    pub(crate) path: &'static str,
    /// Name in `management.endpoints.web.exposure`.
    pub(crate) name: &'static str,
    pub(crate) intent: Intent,
    pub(crate) operation: Operation,
    pub(crate) summary: &'static str,
    pub(crate) parameters: &'static [Parameter],
    pub(crate) body: Option<BodySpec>,
    pub(crate) answers: &'static [Answer],
}

impl Endpoint {
    /// Its whole path, `base` being that of the actuator.
    pub(crate) fn address(&self, base: &str) -> String {
        // What Spring does not have is not among what it has.
        let base = if self.path.starts_with("/weir/") { "" } else { base };
        format!("{base}{}", self.path)
    }
}

pub(super) const fn query(name: &'static str, kind: &'static str, doc: &'static str) -> Parameter {
    Parameter { place: "query", name, kind, doc }
}

pub(super) const fn read(
    path: &'static str,
    name: &'static str,
    operation: Operation,
    summary: &'static str,
    answers: &'static [Answer],
) -> Endpoint {
    Endpoint {
        method: "GET",
        path,
        name,
        intent: Intent::Read,
        operation,
        summary,
        parameters: &[],
        body: None,
        answers,
    }
}

pub(super) const fn write(
    method: &'static str,
    path: &'static str,
    name: &'static str,
    operation: Operation,
    summary: &'static str,
    answers: &'static [Answer],
) -> Endpoint {
    Endpoint { method, intent: Intent::Write, ..read(path, name, operation, summary, answers) }
}
