//! Validation of responses of real services against their definition.

use serde_json::{Value, json};
use weir_wire::Fields;

use crate::definition::{Api, Media, Operation, Response};
use crate::request::body::{check_content, fits, is_json, is_read};
use crate::request::{Shape, Violation, array, coerce, violations};
use crate::respond::negotiate::{declared, listed};

/// The maximum number of violations reported for one response.
const TOLD_MAX: usize = 20;

/// A response as it came from a service.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// Status.
    pub status: u16,
    /// Header fields.
    pub fields: &'a Fields,
    /// The content.
    pub content: Content<'a>,
}

/// The content of a response.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// No content, or none that can be inspected.
    Absent,
    /// The content has not been read yet.
    Unread,
    /// The whole content, decoded.
    Read(&'a [u8]),
}

/// The result of validating a response.
#[derive(Clone, Debug)]
pub enum ResponseValidity {
    /// The response is valid.
    Sound,
    /// No definition has the operation, or it declares no responses.
    Unknown,
    /// The content has to be read to decide.
    NeedsContent,
    /// The response is invalid.
    Wrong(Box<WrongResponse>),
}

/// A violation in a response.
#[derive(Clone, Debug)]
pub struct WrongResponse {
    /// The operation that it answers: `petstore: GET /pets`.
    pub operation: String,
    /// An error of the service, whose status the definition does not declare.
    pub is_undeclared_error: bool,
    /// Each violation with its place.
    pub violations: Value,
}

impl WrongResponse {
    /// The problem document for the client.
    pub fn document(&self) -> Value {
        json!({
            "type": "urn:weir:mock:WRONG_RESPONSE",
            "title": "The response of the service breaks its definition",
            "status": 502,
            "detail": format!("{}: see `validation` for each place", self.operation),
            "validation": self.violations,
        })
    }
}

/// Compares a response with what its operation declares.
pub(crate) fn compare(api: &Api, operation: &Operation, given: &Given<'_>) -> ResponseValidity {
    if operation.responses.is_empty() {
        return ResponseValidity::Unknown;
    }
    let mut found = Vec::new();
    let response = declared(&operation.responses, given.status);
    match response {
        None => found.push(undeclared(operation, given.status)),
        Some(response) => {
            check_headers(response, given.fields, &mut found);
            if check_body(response, given, &mut found) {
                return ResponseValidity::NeedsContent;
            }
        }
    }
    if found.is_empty() {
        return ResponseValidity::Sound;
    }
    ResponseValidity::Wrong(Box::new(WrongResponse {
        operation: format!("{}: {} {}", api.name, operation.method, operation.path),
        is_undeclared_error: response.is_none() && given.status >= 400,
        violations: found.iter().take(TOLD_MAX).map(document).collect(),
    }))
}

fn place(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

fn undeclared(operation: &Operation, status: u16) -> Violation {
    let known = listed(&operation.responses);
    let message = format!("the status {status} is not declared; there are: {known}");
    Violation::new(place(&["response", "status"]), "status", message)
}

fn check_headers(response: &Response, fields: &Fields, found: &mut Vec<Violation>) {
    for header in &response.headers {
        let location = place(&["response", "headers", &header.name]);
        let lines = fields.get_all(header.name.as_bytes());
        let lines: Vec<_> = lines.map(|line| String::from_utf8_lossy(line).into_owned()).collect();
        if lines.is_empty() {
            if header.required {
                let message = format!("the header `{}` is required", header.name);
                found.push(Violation::new(location, "required", message));
            }
            continue;
        }
        let Some(schema) = &header.schema else { continue };
        let (shape, text) = (Shape::of(schema), lines.join(","));
        let value = match shape.may_be("array") {
            true => array(text.split(',').map(str::trim), Some(&shape)),
            // Names and values in a row: not taken apart.
            false if shape.may_be("object") => continue,
            false => coerce(&text, Some(&shape)),
        };
        violations(schema, &value, &location, found);
    }
}

/// Whether the content has to be read to validate the response.
fn check_body(response: &Response, given: &Given<'_>, found: &mut Vec<Violation>) -> bool {
    let location = place(&["response", "body"]);
    if response.media.is_empty() || matches!(given.content, Content::Absent) {
        return false;
    }
    if let Content::Read([]) = given.content {
        // Nothing is no JSON, while a text may be empty.
        if response.media.iter().all(|media| media.schema.is_some() && is_json(&media.range)) {
            found.push(Violation::new(location, "required", "a body is required"));
        }
        return false;
    }
    let written = given.fields.get(b"content-type").unwrap_or_default();
    let content_type = String::from_utf8_lossy(written);
    let Some(media) = response.media.iter().find(|one| fits(&one.range, &content_type)) else {
        found.push(undeclared_type(&response.media, &content_type));
        return false;
    };
    let is_compared = media.schema.is_some() && is_read(&content_type);
    match given.content {
        Content::Read(content) if is_compared => {
            check_content(media, &content_type, content, &location, found);
            false
        }
        Content::Unread => is_compared,
        Content::Read(_) | Content::Absent => false,
    }
}

fn undeclared_type(declared: &[Media], content_type: &str) -> Violation {
    let known: Vec<&str> = declared.iter().map(|one| one.range.as_str()).collect();
    let known = known.join(", ");
    let message = match content_type {
        "" => format!("the content has no type; declared are: {known}"),
        own => format!("the media type `{own}` is not declared; there are: {known}"),
    };
    Violation::new(place(&["response", "headers", "content-type"]), "media-type", message)
}

/// A violation, with a JSON pointer where it is in the body.
fn document(violation: &Violation) -> Value {
    let mut document = violation.document();
    if let [_, area, below @ ..] = violation.location.as_slice()
        && area == "body"
        && let Some(members) = document.as_object_mut()
    {
        let escaped = |part: &String| format!("/{}", part.replace('~', "~0").replace('/', "~1"));
        let pointer: String = below.iter().map(escaped).collect();
        members.insert("pointer".to_owned(), Value::from(pointer));
    }
    document
}
