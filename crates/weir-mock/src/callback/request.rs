//! Requests that a mock has sent.

use serde_json::{Value, json};

/// A callback that an answer sets off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback {
    /// API and callback: `shop: onEvent`.
    pub name: String,
    /// The request, or why there is none.
    pub request: Result<CallbackRequest, String>,
}

impl Callback {
    /// As JSON.
    pub(crate) fn document(&self) -> Value {
        let name = &self.name;
        match &self.request {
            Ok(CallbackRequest { method, url, body, why, .. }) => {
                let body = String::from_utf8_lossy(body);
                json!({ "name": name, "method": method, "url": url, "body": body, "why": why })
            }
            Err(why) => json!({ "name": name, "notSent": why }),
        }
    }
}

/// A request for somebody else's server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackRequest {
    /// API and callback or webhook: `shop: onEvent`.
    pub name: String,
    /// Method.
    pub method: String,
    /// The whole URL, which the configuration allows.
    pub url: String,
    /// Header fields, without Host and framing.
    pub fields: Vec<(String, Vec<u8>)>,
    /// Content.
    pub body: Vec<u8>,
    /// What its content was made of.
    pub why: String,
}

impl CallbackRequest {
    /// The field that marks a request as one of a mock. A request that has it sets off no callback,
    /// so that mocks that call each other come to an end.
    pub const FIELD: &'static str = "Weir-Mock-Callback";
}
