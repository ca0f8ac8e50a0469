//! Error answers (RFC 9457).

use std::sync::Arc;

use serde_json::{Value, json};

use crate::request::Violation;

/// The fault of a request or of its definition, with Prism's names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// No definition has the path.
    #[default]
    NoPath,
    /// No definition has the path, and the request names no tenant, which it would do like this.
    NoTenant(Arc<str>),
    /// The tenant, which is named like this, has no definition with the path, or does not exist.
    NoTenantPath(Arc<str>),
    /// The path is there, with these methods.
    NoMethod(Vec<String>),
    /// A security requirement is not met: a challenge for `WWW-Authenticate`.
    Unauthorized(String),
    /// The body's media type is not declared.
    MediaType(String),
    /// The request breaks its definition.
    Invalid(Vec<Violation>),
    /// No declared response has a media type that is accepted.
    NotAcceptable,
    /// The requested response or example is not declared.
    NotFound(String),
    /// The operation declares no response.
    NoResponse,
    /// No body could be made that its schema allows.
    NoBody(String),
    /// A stateful definition keeps as much as it may.
    Full,
    /// A status that was injected on purpose.
    Injected(u16),
}

impl Fault {
    /// Its status.
    pub fn status(&self) -> u16 {
        match self {
            Self::NoPath | Self::NoTenant(_) | Self::NoTenantPath(_) | Self::NotFound(_) => 404,
            Self::NoMethod(_) => 405,
            Self::Unauthorized(_) => 401,
            Self::MediaType(_) => 415,
            Self::Invalid(_) => 422,
            Self::NotAcceptable => 406,
            Self::NoResponse | Self::NoBody(_) => 500,
            Self::Full => 507,
            Self::Injected(status) => *status,
        }
    }

    /// Prism's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NoPath => "NO_PATH_MATCHED_ERROR",
            Self::NoTenant(_) => "NO_TENANT_NAMED_ERROR",
            Self::NoTenantPath(_) => "NO_TENANT_PATH_MATCHED_ERROR",
            Self::NoMethod(_) => "NO_METHOD_MATCHED_ERROR",
            Self::Unauthorized(_) => "UNAUTHORIZED",
            Self::MediaType(_) => "INVALID_CONTENT_TYPE",
            Self::Invalid(_) => "UNPROCESSABLE_ENTITY",
            Self::NotAcceptable => "NOT_ACCEPTABLE",
            Self::NotFound(_) => "NOT_FOUND",
            Self::NoResponse => "NO_RESPONSE_DEFINED",
            Self::NoBody(_) => "NO_COMPLEX_OBJECT_TEXT",
            Self::Full => "STATE_FULL",
            Self::Injected(_) => "INJECTED_FAULT",
        }
    }

    fn title(&self) -> &'static str {
        match self {
            Self::NoPath => "No definition has this path",
            Self::NoTenant(_) => "No definition has this path, and the request names no tenant",
            Self::NoTenantPath(_) => "No definition of this tenant has this path",
            Self::NoMethod(_) => "The path has other methods",
            Self::Unauthorized(_) => "A credential is missing",
            Self::MediaType(_) => "The media type of the body is not declared",
            Self::Invalid(_) => "The request breaks its definition",
            Self::NotAcceptable => "No response has an accepted media type",
            Self::NotFound(_) => "What was asked for is not there",
            Self::NoResponse => "The operation declares no response",
            Self::NoBody(_) => "No body could be made",
            Self::Full => "The mock keeps no more",
            Self::Injected(_) => "The mock fails on purpose",
        }
    }

    fn detail(&self) -> String {
        match self {
            Self::NoPath => "compare the path with the list that `weir mock` prints".to_owned(),
            Self::NoTenant(form) => format!("compare the path, or name a tenant by {form}"),
            Self::NoTenantPath(form) => {
                format!("compare the path, and the tenant, which is named by {form}")
            }
            Self::NoMethod(methods) => format!("it has {}", methods.join(", ")),
            Self::Unauthorized(challenge) => format!("send a credential for: {challenge}"),
            Self::MediaType(known) => format!("send one of: {known}"),
            Self::Invalid(_) => "see `validation` for each place".to_owned(),
            Self::NotAcceptable => "change or leave out `Accept`".to_owned(),
            Self::NotFound(what) | Self::NoBody(what) => what.clone(),
            Self::Injected(_) => "an override or `Prefer: fault` asks for it".to_owned(),
            Self::Full => "remove items, or all of them with `POST /__weir/reset`".to_owned(),
            Self::NoResponse => "add a response to the operation".to_owned(),
        }
    }

    /// The problem document.
    pub fn document(&self) -> Value {
        let mut document = json!({
            "type": format!("urn:weir:mock:{}", self.name()),
            "title": self.title(),
            "status": self.status(),
            "detail": self.detail(),
        });
        if let (Self::Invalid(violations), Some(all)) = (self, document.as_object_mut()) {
            let each = violations.iter().map(Violation::document).collect();
            all.insert("validation".to_owned(), Value::Array(each));
        }
        document
    }
}
