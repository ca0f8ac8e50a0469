//! State of one exchange: a request, its response, and the notes taken between them.

use std::net::SocketAddr;
use std::sync::Arc;

use weir_auth::Claims;
use weir_balance::{Choice, Taken};
use weir_cache::Flight;
use weir_filter::{Copied, Failure};
use weir_limit::Valve;
use weir_route::index::Ahead;
use weir_route::{RequestParts, Vars};
use weir_wire::{Fields, RequestHead, ResponseHead};

use super::buffers::Carry;
use super::pool::Upstream;
use super::relay::Relay;
use super::tap::Tapped;
use crate::error::ErrorKind;
use crate::metrics::RouteNumber;

/// Fate of the client's connection after an exchange.
#[derive(Debug)]
pub(crate) enum Next {
    /// Another request may follow.
    KeepAlive,
    /// Close, letting the answer arrive.
    Close,
    /// Close at once: the client has announced the close, the response is cut short, or the client
    /// is gone.
    Abort,
    /// The protocol was switched: bytes flow both ways until either side ends.
    Tunnel(Box<Upstream>),
}

/// State of one exchange; reused for many.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) request: RequestHead,
    pub(crate) response: ResponseHead,
    /// The Host asked for, before filters and forwarding rules changed it.
    pub(crate) client_host: Vec<u8>,
    /// Path and host, split for the lookup. Kept per exchange, as other requests run between the
    /// prefetch and the lookup.
    pub(crate) parts: RequestParts,
    /// How far the lookup path is prefetched.
    pub(crate) foreseen: Ahead,
    pub(crate) vars: Vars,
    /// Fields to add to the response, whatever its source.
    pub(crate) added: Fields,
    /// The request on its way to the upstream, head and body.
    pub(crate) upload: Relay,
    /// The upstream's response on its way to the client, head and body.
    pub(crate) download: Relay,
    /// Buffer for other output to the client.
    pub(crate) down: Vec<u8>,
    /// Spare buffer for bytes that arrive behind the request head; empty.
    pub(crate) ahead: Carry,
    /// Spare buffer for bytes that arrive behind the response head; empty.
    pub(crate) spare: Carry,
    /// The chosen instance, if the service has balancing rules.
    pub(crate) choice: Chosen,
    /// Its place at the only upstream of a pipeline.
    pub(crate) taken: Option<Taken>,
    /// Concurrency limits it holds a place of, and since when in nanoseconds.
    pub(crate) held: Vec<(Arc<Valve>, u64)>,
    /// Claims of the verified token, if any.
    pub(crate) claims: Option<Arc<Claims>>,
    /// The failure that sent it to a fallback.
    pub(crate) failure: Option<Box<Failure>>,
    /// The head before a CircuitBreaker with a fallback.
    pub(crate) kept: Option<Box<RequestHead>>,
    /// Number of forwards to another route (`forward:`).
    pub(crate) dispatches: u32,
    /// The copy for `Mirror`, sent once the request has been answered.
    pub(crate) copied: Option<Box<Copied>>,
    /// The cache entry that waits for its response.
    pub(crate) storing: Option<Box<Storing>>,
    /// What is recorded of it.
    pub(crate) tapped: Option<Box<Tapped>>,
    /// A cache refresh: there is no client.
    pub(crate) is_refresh: bool,
    pub(crate) record: Record,
}

/// The choice of a cluster for a request, if it goes to one.
pub(crate) type Chosen = Option<Box<Choice>>;

/// State of a fetch for the cache, until its response arrives.
#[derive(Debug)]
pub(crate) struct Storing {
    pub(super) flight: Flight,
    pub(super) key: Vec<u8>,
    /// The request as it was looked for.
    pub(super) request: RequestHead,
    pub(super) ttl_ms: u64,
}

/// Data of an exchange for the access log and the counters.
#[derive(Debug)]
pub(crate) struct Record {
    /// Time at which the head was complete, in nanoseconds since the worker started.
    pub(crate) started_ns: u64,
    pub(crate) peer: Option<SocketAddr>,
    /// Status sent to the client; 0 if none was.
    pub(crate) status: u16,
    /// A response head went out.
    pub(crate) head_sent: bool,
    /// Bytes of the response, head included.
    pub(crate) sent_bytes: u64,
    pub(crate) error: Option<ErrorKind>,
    /// Filters that ran on the request side.
    pub(crate) filters_ran: usize,
    /// Number of the route's counters; stored when the route is found, as its memory is in no CPU
    /// cache at the end.
    pub(crate) counted: RouteNumber,
    pub(crate) body: BodyRead,
    /// A filter has put another body in the place of the client's.
    pub(crate) is_replaced: bool,
}

/// How much of the request body has been read from the connection: none, so that the carry is its
/// start; a part, so that the next bytes cannot be told from a request; or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyRead {
    Untouched,
    Partly,
    Whole,
}

impl Default for Exchange {
    fn default() -> Self {
        Self {
            request: RequestHead::default(),
            response: ResponseHead::default(),
            client_host: Vec::new(),
            parts: RequestParts::default(),
            foreseen: Ahead::default(),
            vars: Vars::default(),
            added: Fields::default(),
            upload: Relay::default(),
            download: Relay::default(),
            down: Vec::new(),
            ahead: Carry::default(),
            spare: Carry::default(),
            choice: None,
            taken: None,
            held: Vec::new(),
            claims: None,
            failure: None,
            kept: None,
            dispatches: 0,
            copied: None,
            storing: None,
            tapped: None,
            is_refresh: false,
            record: Record::new(None, 0),
        }
    }
}

impl Record {
    pub(super) fn new(peer: Option<SocketAddr>, started_ns: u64) -> Self {
        Self {
            started_ns,
            peer,
            status: 0,
            head_sent: false,
            sent_bytes: 0,
            error: None,
            filters_ran: 0,
            counted: RouteNumber::default(),
            body: BodyRead::Untouched,
            is_replaced: false,
        }
    }
}

impl Exchange {
    /// Clears the last exchange but keeps its memory. Heads and their parts are overwritten by the
    /// parsers.
    pub(crate) fn clear(&mut self) {
        self.client_host.clear();
        self.foreseen = Ahead::default();
        self.vars.clear();
        self.added.clear();
        self.claims = None;
        self.failure = None;
        self.kept = None;
        self.dispatches = 0;
        self.storing = None;
        self.is_refresh = false;
        self.copied = None;
        self.tapped = None;
        self.down.clear();
        for relay in [&mut self.upload, &mut self.download] {
            relay.drop_pipe();
            relay.pace = None;
            relay.tap = None;
        }
    }

    /// Bytes of memory held by the buffers.
    pub(crate) fn memory(&self) -> usize {
        let relays = self.upload.memory() + self.download.memory();
        relays + self.down.capacity() + self.ahead.memory() + self.spare.memory()
    }
}
