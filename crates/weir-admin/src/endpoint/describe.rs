//! The declarations of endpoints.

use std::pin::Pin;

use axum::response::Response;
use http::StatusCode;

use super::call::Call;
use crate::access::Intent;
use crate::answer::Failure;
use crate::rights::Reach;

/// One operation of an endpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    /// Its name in the OpenAPI document.
    pub(crate) id: &'static str,
    pub(crate) run: Run,
}

/// The function that answers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Run {
    /// Without waiting.
    Now(fn(&Call) -> Result<Response, Failure>),
    Later(fn(Call) -> Answering),
}

/// An answer in the making.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Result<Response, Failure>> + Send>>;

/// The operation called `$id`, done by a function, which may be `async`.
macro_rules! operation {
    ($id:ident: async $run:path) => {
        $crate::endpoint::describe::Operation {
            id: stringify!($id),
            run: $crate::endpoint::describe::Run::Later(|call| Box::pin($run(call))),
        }
    };
    ($id:ident: $run:path) => {
        $crate::endpoint::describe::Operation {
            id: stringify!($id),
            run: $crate::endpoint::describe::Run::Now($run),
        }
    };
}
pub(super) use operation;

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

/// A possible answer: status, schema of the body if it has one, and meaning.
pub(crate) type Answer = (StatusCode, Option<&'static str>, &'static str);

/// One method of one path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Endpoint {
    pub(crate) method: &'static str,
    /// The path below the base path, unless it starts with `/weir/`; `{id}` is one segment.
    pub(crate) path: &'static str,
    /// Name in `management.endpoints.web.exposure`.
    pub(crate) name: &'static str,
    pub(crate) intent: Intent,
    pub(crate) reach: Reach,
    pub(crate) operation: Operation,
    /// Whether the store is checked for readability before the answer begins.
    pub(crate) reads_store: bool,
    /// Only where `gateway.actuator.verbose.enabled` is on.
    pub(crate) is_verbose: bool,
    pub(crate) summary: &'static str,
    pub(crate) parameters: &'static [Parameter],
    pub(crate) body: Option<BodySpec>,
    pub(crate) answers: &'static [Answer],
}

impl Endpoint {
    /// The whole path; `base` is that of the actuator.
    pub(crate) fn address(&self, base: &str) -> String {
        // The endpoints that Spring lacks do not lie below its base path.
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
        reach: Reach::Whole,
        operation,
        reads_store: false,
        is_verbose: false,
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
