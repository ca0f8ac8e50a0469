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

/// What comes next after a request filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The next filter, or the upstream.
    Continue,
    /// This answer; nothing is sent upstream. Response filters run on it as SCG does.
    Respond(Box<LocalResponse>),
    /// Wait until the request may pass a limit, then go on behind this filter.
    Admit(Ticket),
    /// Wait for an answer to this, then ask the filter again with it.
    Ask(Box<Question>),
}

/// A filter failed: 500 (SCG's behaviour), nothing is sent upstream. Text is for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError(pub String);

/// What a request filter works on.
#[derive(Debug)]
pub struct RequestContext<'a> {
    /// Head on its way to the upstream.
    pub head: &'a mut RequestHead,
    /// URI variables of the matched route.
    pub vars: &'a Vars,
    /// Where the request goes; `None` until a filter overrides the route's.
    pub target: &'a mut Option<Target>,
    /// The upstream Host stays the client's.
    pub preserve_host: &'a mut bool,
    /// A PrefixPath has acted (only the first one of an exchange does).
    pub prefixed: &'a mut bool,
    /// Fields for the response, whoever gives it.
    pub added: &'a mut Fields,
    /// Who it is from, if that is known.
    pub claims: &'a mut Option<Arc<Claims>>,
    /// The head as CircuitBreaker met it, which its fallback gets.
    pub kept: &'a mut Option<Box<RequestHead>>,
    /// Why it comes here, if it failed at another route.
    pub failure: Option<&'a Failure>,
    /// Address of the TCP peer.
    pub peer: SocketAddr,
    /// Wall clock in milliseconds since 1970.
    pub now_ms: i64,
    /// Chance: 64 random bits.
    pub dice: u64,
    /// Nothing is sent: somebody asks what would happen, and no later request may notice it.
    pub is_asked: bool,
}

/// What a response filter works on.
#[derive(Debug)]
pub struct ResponseContext<'a> {
    /// Head on its way to the client.
    pub head: &'a mut ResponseHead,
    /// The request head as sent upstream (edited; `received_path` and `received_query` hold what
    /// came in).
    pub request: &'a RequestHead,
    /// The Host the client asked for.
    pub client_host: &'a [u8],
    /// URI variables of the matched route.
    pub vars: &'a Vars,
}
