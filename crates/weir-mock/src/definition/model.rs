//! A definition, ready to be asked.

use std::collections::BTreeMap;

use serde_json::Value;

use super::documents::Documents;
use super::schema::{Schema, Schemas};

/// One API.
#[derive(Debug)]
pub struct Api {
    /// What it is called here.
    pub name: String,
    /// `info.title`.
    pub title: String,
    /// `info.version`.
    pub version: String,
    /// Paths in front of those of its operations, without a slash at the end; one is empty.
    pub bases: Vec<String>,
    /// Its operations, in the order of the document.
    pub operations: Vec<Operation>,
    pub(crate) documents: Documents,
    pub(crate) schemas: Schemas,
}

/// One method of one path.
#[derive(Debug)]
pub struct Operation {
    /// `operationId`.
    pub id: Option<String>,
    /// Method, in capitals.
    pub method: String,
    /// Path as written.
    pub path: String,
    /// `summary`.
    pub summary: String,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Option<RequestBody>,
    pub(crate) responses: Vec<Response>,
    /// Any of these is enough; all of one are needed.
    pub(crate) security: Vec<Vec<Challenge>>,
    pub(crate) deprecated: bool,
}

/// A credential that a request must carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// `Authorization: <scheme> …`.
    Http(String),
    /// A key in a header, query parameter or cookie.
    Key(ParameterPlace, String),
    /// What cannot be seen from a request, such as a client certificate.
    Unseen,
}

/// Where a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ParameterPlace {
    Path,
    Query,
    Header,
    Cookie,
}

impl ParameterPlace {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
            Self::Cookie => "cookie",
        }
    }
}

/// How a value is written (OpenAPI 3, "Style Values").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Simple,
    Label,
    Matrix,
    Form,
    SpaceDelimited,
    PipeDelimited,
    TabDelimited,
    DeepObject,
    /// `content`: JSON, whatever the place.
    Json,
}

#[derive(Debug)]
pub(crate) struct Parameter {
    pub name: String,
    pub place: ParameterPlace,
    pub style: Style,
    pub explode: bool,
    pub required: bool,
    pub allow_empty: bool,
    pub schema: Option<Schema>,
}

#[derive(Debug)]
pub(crate) struct RequestBody {
    pub required: bool,
    pub media: Vec<Media>,
}

/// Content of one media type.
#[derive(Debug)]
pub(crate) struct Media {
    /// In lower case, parameters as written: `application/json`, `text/*`.
    pub range: String,
    pub schema: Option<Schema>,
    /// Name and value; one called `` has no name.
    pub examples: Vec<(String, Value)>,
    /// Content type of a part of a form, by property.
    pub encoding: BTreeMap<String, String>,
}

/// For which statuses a response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Code {
    Exact(u16),
    /// `2XX`.
    Range(u16),
    Default,
}

#[derive(Debug)]
pub(crate) struct Response {
    pub code: Code,
    pub media: Vec<Media>,
    pub headers: Vec<Header>,
}

#[derive(Debug)]
pub(crate) struct Header {
    pub name: String,
    pub schema: Option<Schema>,
    pub example: Option<Value>,
}
