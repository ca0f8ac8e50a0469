//! Cross-origin resource sharing (Fetch standard; SCG: globalcors and metadata.cors).

use weir_wire::RequestHead;

use crate::context::LocalResponse;

/// Which origins may do what, by path pattern: `globalcors.cors-configurations` and every
/// `metadata.cors`.
#[derive(Clone, Debug, Default)]
pub struct CorsPolicy {}

/// What the policy says of a request.
#[derive(Clone, Debug)]
pub enum CorsDecision {
    /// Not a cross-origin request.
    NotCors,
    /// The gateway answers: a preflight, or a refusal.
    Respond(LocalResponse),
    /// Goes on; these fields are added to the response.
    Proceed(Vec<(&'static str, Vec<u8>)>),
}

impl CorsPolicy {
    /// Decides by the request's Origin, method and path.
    pub fn decide(&self, _head: &RequestHead) -> CorsDecision {
        CorsDecision::NotCors
    }
}
