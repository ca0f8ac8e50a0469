//! What is kept of an exchange while its request waits for its turn at a limit.

use std::sync::Arc;

use weir_auth::Claims;
use weir_limit::Valve;
use weir_route::Vars;
use weir_wire::{Fields, RequestHead};

use super::exchange::{Chosen, Exchange, Record};
use super::pace::Pace;
use crate::worker::Worker;

/// An exchange without its buffers, and without what is set only once a request is sent.
#[derive(Debug)]
pub(super) struct Parked {
    request: RequestHead,
    client_host: Box<[u8]>,
    vars: Vars,
    added: Fields,
    paces: [Option<Box<Pace>>; 2],
    choice: Chosen,
    held: Vec<(Arc<Valve>, u64)>,
    claims: Option<Arc<Claims>>,
    kept: Option<Box<RequestHead>>,
    record: Record,
}

impl Parked {
    /// Parks an exchange whose request has not been sent yet.
    pub(super) fn new(worker: &Worker, mut exchange: Box<Exchange>) -> Box<Self> {
        let x = &mut *exchange;
        let parked = Box::new(Self {
            // A clone has no spare memory.
            request: x.request.clone(),
            client_host: x.client_host.as_slice().into(),
            vars: std::mem::take(&mut x.vars),
            added: std::mem::take(&mut x.added),
            paces: [x.upload.pace.take(), x.download.pace.take()],
            choice: x.choice.take(),
            held: std::mem::take(&mut x.held),
            claims: x.claims.take(),
            kept: x.kept.take(),
            record: std::mem::replace(&mut x.record, Record::new(None, 0)),
        });
        worker.give_exchange(exchange);
        parked
    }

    /// The exchange as it was, in another's buffers.
    pub(super) fn resume(self: Box<Self>, worker: &Worker) -> Box<Exchange> {
        let mut exchange = worker.take_exchange();
        let x = &mut *exchange;
        let parked = *self;
        x.request = parked.request;
        x.client_host.clear();
        x.client_host.extend_from_slice(&parked.client_host);
        x.vars = parked.vars;
        x.added = parked.added;
        [x.upload.pace, x.download.pace] = parked.paces;
        x.choice = parked.choice;
        x.held = parked.held;
        x.claims = parked.claims;
        x.kept = parked.kept;
        x.record = parked.record;
        exchange
    }
}
