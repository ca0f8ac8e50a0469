//! The request and response as a filter sees them, and its verdict.

use std::net::SocketAddr;
use std::sync::Arc;

use weir_auth::Claims;
use weir_route::Vars;
use weir_wire::{Fields, RequestHead, ResponseHead};

use crate::attempt::Failure;
use crate::local_response::LocalResponse;
use crate::question::Question;
use crate::target::Target;
use crate::ticket::Ticket;

/// Result of a request filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Continue with the next filter, or the upstream.
    Continue,
    /// Send this response; nothing is sent upstream. Response filters run on it as in SCG.
    Respond(Box<LocalResponse>),
    /// Wait until a limit admits the request, then continue behind this filter.
    Admit(Ticket),
    /// Wait for the answer to this question, then call the filter again with it.
    Ask(Box<Question>),
}

/// A failure of a filter: 500 (as in SCG), nothing is sent upstream. The text is for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError(pub String);

/// Input and output of a request filter.
#[derive(Debug)]
pub struct RequestContext<'a> {
    /// The request head to be sent upstream.
    pub head: &'a mut RequestHead,
    /// URI variables of the matched route.
    pub vars: &'a Vars,
    /// Target that a filter chose; `None` means the route's.
    pub target: &'a mut Option<Target>,
    /// Set to keep the client's Host for the upstream.
    pub preserve_host: &'a mut bool,
    /// Set when PrefixPath has run; only the first of an exchange takes effect.
    pub prefixed: &'a mut bool,
    /// Fields to add to the response, whether the upstream or the gateway sends it.
    pub added: &'a mut Fields,
    /// Claims of the authenticated client, if it is known.
    pub claims: &'a mut Option<Arc<Claims>>,
    /// Copy of the head as CircuitBreaker saw it, for its fallback.
    pub kept: &'a mut Option<Box<RequestHead>>,
    /// Failure for which another route forwarded the request here.
    pub failure: Option<&'a Failure>,
    /// Address of the TCP peer.
    pub peer: SocketAddr,
    /// Wall clock in milliseconds since 1970.
    pub now_ms: i64,
    /// 64 random bits.
    pub dice: u64,
    /// A dry run: nothing is sent, and no state that later requests see may change.
    pub is_asked: bool,
}

/// Input and output of a response filter.
#[derive(Debug)]
pub struct ResponseContext<'a> {
    /// The response head to be sent to the client.
    pub head: &'a mut ResponseHead,
    /// The request head as sent upstream, after edits; `received_path` and `received_query` hold
    /// the originals.
    pub request: &'a RequestHead,
    /// The Host of the client's request.
    pub client_host: &'a [u8],
    /// URI variables of the matched route.
    pub vars: &'a Vars,
}
