//! The model of a definition, ready to answer requests.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;

use serde_json::Value;

use super::schema::Schema;
use crate::behaviour::Settings;
use crate::callback::Expression;
use crate::request::Condition;
use crate::template::Template;

/// The format of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// OpenAPI 3, or Swagger 2.0.
    OpenApi,
    /// An export of YApi: bodies are JSON Schema or templates of mock.js.
    YApi,
    /// A collection of Postman, version 2.0 or 2.1.
    Postman,
    /// An HTTP archive, each entry of which is a recording.
    Har,
    /// A project of Apifox in its own format.
    Apifox,
}

/// A part of a definition that weir does not use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// JSON pointer into the file.
    pub pointer: String,
    /// The unused part, and the effect of ignoring it.
    pub message: String,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{}: {}", self.pointer, self.message)
    }
}

/// One API.
#[derive(Debug)]
pub struct Api {
    /// The name of the definition in weir.
    pub name: String,
    /// The format.
    pub kind: Kind,
    /// `info.title`.
    pub title: String,
    /// `info.version`.
    pub version: String,
    /// Path prefixes of its operations, without a trailing slash; one is empty.
    pub bases: Vec<String>,
    /// Its operations, in the order of the document.
    pub operations: Vec<Operation>,
    /// What it sends on demand.
    pub webhooks: Vec<Outgoing>,
    /// What it has and weir does not use.
    pub warnings: Vec<Warning>,
    /// Settings of the definition below `x-weir-mock`.
    pub(crate) settings: Settings,
    /// Whether properties have placeholders of their own.
    pub(crate) has_field_rules: bool,
    /// The files of the definition, as paths relative to the first.
    pub(crate) files: Box<[String]>,
}

impl Api {
    /// The files of the definition, as paths relative to the first.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }
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
    /// Alternatives, each a set of credentials that are all required.
    pub(crate) security: Vec<Vec<Challenge>>,
    pub(crate) deprecated: bool,
    /// What it sends once it has been answered.
    pub(crate) callbacks: Vec<Outgoing>,
    /// Answers that were given before; where there are some, one of them is the answer.
    pub(crate) recordings: Vec<Recording>,
    /// For a request that matches no recording: whether the next recording is returned instead of
    /// the first good one.
    pub(crate) in_turn: bool,
    /// The number of answers given in turn.
    pub(crate) turns: AtomicUsize,
}

/// A request that an API sends: a callback of an operation, or a webhook.
#[derive(Debug)]
pub struct Outgoing {
    /// What it is called.
    pub name: String,
    /// Where a callback goes.
    pub(crate) url: Option<Expression>,
    /// The request, and what may be answered.
    pub(crate) operation: Operation,
}

impl Operation {
    /// Its schemas.
    pub(super) fn schemas_mut(&mut self) -> Box<dyn Iterator<Item = &mut Schema> + '_> {
        let parameters = self.parameters.iter_mut().filter_map(|one| one.schema.as_mut());
        let body = self.body.iter_mut().flat_map(|body| &mut body.media);
        let (mut media, mut headers) = (Vec::new(), Vec::new());
        for response in &mut self.responses {
            media.extend(&mut response.media);
            headers.extend(&mut response.headers);
        }
        let media = body.chain(media).filter_map(|one| one.schema.as_mut());
        let headers = headers.into_iter().filter_map(|one| one.schema.as_mut());
        let callbacks = self.callbacks.iter_mut().flat_map(|one| one.operation.schemas_mut());
        Box::new(parameters.chain(media).chain(headers).chain(callbacks))
    }

    /// Releases spare capacity that remains from parsing.
    pub(super) fn shrink(&mut self) {
        self.parameters.shrink_to_fit();
        self.responses.shrink_to_fit();
        self.recordings.shrink_to_fit();
        self.callbacks.shrink_to_fit();
        self.callbacks.iter_mut().for_each(|one| one.operation.shrink());
        let body = self.body.iter_mut().map(|body| &mut body.media);
        let media = self.responses.iter_mut().map(|response| {
            response.headers.shrink_to_fit();
            &mut response.media
        });
        for all in body.chain(media) {
            all.shrink_to_fit();
            all.iter_mut().for_each(|one| one.examples.shrink_to_fit());
        }
    }
}

/// An answer that was given to a request.
#[derive(Debug)]
pub(crate) struct Recording {
    /// The request.
    pub when: Condition,
    pub status: u16,
    /// Fields of the answer, without framing and content type.
    pub fields: Vec<(String, String)>,
    pub name: String,
    /// Content type and content, if there was any.
    pub content: Option<(String, Vec<u8>)>,
}

/// A credential that a request must carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// `Authorization: <scheme> …`.
    Http(String),
    /// A key in a header, query parameter or cookie.
    Key(ParameterPlace, String),
    /// A credential that cannot be seen in a request, such as a client certificate.
    Unseen,
}

/// The location of a parameter.
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

/// The serialization of a value (OpenAPI 3, "Style Values").
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
    /// By name; one called `` has none.
    pub examples: Vec<(String, Example)>,
    /// Content type of a part of a form, by property.
    pub encoding: BTreeMap<String, String>,
}

/// A value, and its JSON text once that was needed.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) value: Value,
    json: OnceLock<Box<[u8]>>,
}

impl Sample {
    pub(crate) fn json(&self) -> &[u8] {
        self.json.get_or_init(|| self.value.to_string().into_bytes().into())
    }
}

impl From<Value> for Sample {
    fn from(value: Value) -> Self {
        Self { value, json: OnceLock::new() }
    }
}

/// An example of content.
#[derive(Debug)]
pub(crate) enum Example {
    /// Written as the media type has it.
    Value(Sample),
    /// As it is.
    Text(String),
    /// Evaluated for each answer.
    Template(Template),
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
    pub required: bool,
    pub schema: Option<Schema>,
    pub example: Option<Value>,
}
