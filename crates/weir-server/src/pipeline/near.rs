//! A client's side of a connection, whatever it speaks.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use weir_snapshot::{Pipeline, ProxyVersion};
use weir_wire::{proxy_header, write_v1, write_v2};

use crate::deadline::Deadline;
use crate::drain::{DrainState, Phase};
use crate::http::buffers::Carry;
use crate::net::{Socket, poll_read, poll_write};
use crate::worker::Worker;

/// How long input is read from a client whose connection is being closed.
const PARTING_MS: u64 = 2_000;
/// Bytes that a client may send before an upstream is connected.
const EARLY_BYTES_MAX: usize = 64 * 1024;

/// A client's side of a connection.
pub(super) struct Near {
    pub(super) worker: Rc<Worker>,
    pub(super) stream: Socket,
    /// Address of the client, or the one that a trusted proxy announces.
    pub(super) peer: SocketAddr,
    /// Destination address and further attributes, if a trusted proxy announces them.
    pub(super) target: Option<SocketAddr>,
    pub(super) tlvs: Vec<(u8, Vec<u8>)>,
    /// Bytes received but not yet taken.
    pub(super) carry: Carry,
    pub(super) deadline: Deadline,
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) drain: Arc<DrainState>,
}

/// Reasons for cutting a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// The limit turns it away.
    Limited,
    /// No upstream could be reached.
    Unreached,
    /// A timeout.
    Expired,
    /// A violation of the protocol.
    Broken,
    /// It does not read what comes for it.
    Slow,
    /// The rules do not let it.
    Denied,
    /// The client has left, or the gateway stops.
    Gone,
}

impl Near {
    pub(super) fn new(
        worker: Rc<Worker>,
        stream: Socket,
        peer: SocketAddr,
        pipeline: Arc<Pipeline>,
        drain: Arc<DrainState>,
    ) -> Self {
        let deadline = worker.deadline();
        Self {
            worker,
            stream,
            peer,
            target: None,
            tlvs: Vec::new(),
            carry: Carry::default(),
            deadline,
            pipeline,
            drain,
        }
    }

    /// Deadline for the client's hello, by the worker's clock.
    pub(super) fn hello_until_ms(&self) -> u64 {
        let hello = u64::try_from(self.pipeline.timeouts.hello.as_millis()).unwrap_or(u64::MAX);
        self.worker.deadlines.refresh().saturating_add(hello)
    }

    /// Bytes to send to an upstream first: a PROXY header with the client's address, if configured.
    pub(super) fn introduction(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let Some(version) = self.pipeline.proxy_protocol.send else { return out };
        let target = self.target.or_else(|| self.stream.local_addr());
        let addresses = target.map(|target| (self.peer, target));
        match version {
            ProxyVersion::V1 => write_v1(&mut out, addresses),
            ProxyVersion::V2 => write_v2(&mut out, addresses, &self.tlvs),
        }
        out
    }

    /// Reads the PROXY header that a trusted proxy must send first.
    pub(super) async fn introduce(&mut self) -> Result<(), Cut> {
        if !self.pipeline.proxy_protocol.expects(self.peer.ip()) {
            return Ok(());
        }
        let until_ms = self.hello_until_ms();
        loop {
            match proxy_header(self.carry.as_slice()) {
                Ok(Some((header, len))) => {
                    self.carry.consume(len);
                    if let Some((source, target)) = header.addresses {
                        (self.peer, self.target) = (source, Some(target));
                    }
                    self.tlvs = header.tlvs;
                    return Ok(());
                }
                Ok(None) => self.more(until_ms).await?,
                Err(_) => return Err(Cut::Broken),
            }
        }
    }

    /// Whether all connections are to be cut now.
    pub(super) fn is_over(&self) -> bool {
        self.drain.phase() == Phase::Stopped || self.worker.drain.phase() == Phase::Stopped
    }

    /// Runs `work` for `time` at most.
    pub(super) async fn within<T>(
        &self,
        time: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, Cut> {
        let mut work = pin!(work);
        self.worker.deadlines.refresh();
        self.deadline.set(time);
        let result = poll_fn(|cx| {
            if let Poll::Ready(done) = work.as_mut().poll(cx) {
                return Poll::Ready(Ok(done));
            }
            if self.is_over() {
                return Poll::Ready(Err(Cut::Gone));
            }
            if self.deadline.poll(cx) { Poll::Ready(Err(Cut::Expired)) } else { Poll::Pending }
        })
        .await;
        self.deadline.clear();
        result
    }

    /// Runs `work` for `time` at most, and only while the client is connected. Bytes it sends
    /// meanwhile are kept.
    pub(super) async fn while_present<T>(
        &mut self,
        time: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, Cut> {
        let mut work = pin!(work);
        let Self { worker, stream, carry, deadline, drain, .. } = self;
        worker.deadlines.refresh();
        deadline.set(time);
        let result = poll_fn(|cx| {
            if let Poll::Ready(done) = work.as_mut().poll(cx) {
                return Poll::Ready(Ok(done));
            }
            while carry.len() < EARLY_BYTES_MAX {
                let mut scratch = worker.scratch.borrow_mut();
                match poll_read(stream, scratch.buffer()) {
                    Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Err(Cut::Gone)),
                    Poll::Ready(Ok(count)) => carry.push(scratch.read(count)),
                    Poll::Pending => break,
                }
            }
            over(cx, worker, deadline, drain)
        })
        .await;
        deadline.clear();
        result
    }

    /// Reads more of the client's bytes, until `until_ms` by the worker's clock.
    pub(super) async fn more(&mut self, until_ms: u64) -> Result<(), Cut> {
        let Self { worker, stream, carry, deadline, drain, .. } = self;
        arm(worker, deadline, until_ms);
        let read = poll_fn(|cx| {
            let mut scratch = worker.scratch.borrow_mut();
            if let Poll::Ready(read) = poll_read(stream, scratch.buffer()) {
                return Poll::Ready(match read {
                    Ok(0) | Err(_) => Err(Cut::Gone),
                    Ok(count) => {
                        carry.push(scratch.read(count));
                        Ok(())
                    }
                });
            }
            over(cx, worker, deadline, drain)
        });
        let result = read.await;
        deadline.clear();
        result
    }

    /// Sends `bytes` to the client, until `until_ms` by the worker's clock.
    pub(super) async fn send(&mut self, mut bytes: &[u8], until_ms: u64) -> Result<(), Cut> {
        let Self { worker, stream, deadline, drain, .. } = self;
        arm(worker, deadline, until_ms);
        let write = poll_fn(|cx| {
            while !bytes.is_empty() {
                match poll_write(stream, bytes) {
                    Poll::Ready(Ok(count)) => bytes = bytes.get(count..).unwrap_or_default(),
                    Poll::Ready(Err(_)) => return Poll::Ready(Err(Cut::Gone)),
                    Poll::Pending => return over(cx, worker, deadline, drain),
                }
            }
            Poll::Ready(Ok(()))
        });
        let result = write.await;
        deadline.clear();
        result
    }

    /// Closes a connection so that sent bytes arrive: input is still read for a moment, as
    /// otherwise the kernel resets the connection and discards bytes in flight.
    pub(super) async fn part(&mut self) {
        if !self.stream.end() {
            return;
        }
        let until_ms = self.worker.deadlines.refresh() + PARTING_MS;
        while self.more(until_ms).await.is_ok() {
            self.carry.consume(self.carry.len());
        }
    }
}

fn arm(worker: &Worker, deadline: &Deadline, until_ms: u64) {
    let now_ms = worker.deadlines.refresh();
    deadline.set(Duration::from_millis(until_ms.saturating_sub(now_ms).max(1)));
}

/// Whether a wait is over because it timed out or all connections are cut.
fn over<T>(
    cx: &mut Context<'_>,
    worker: &Worker,
    deadline: &Deadline,
    drain: &DrainState,
) -> Poll<Result<T, Cut>> {
    if drain.phase() == Phase::Stopped || worker.drain.phase() == Phase::Stopped {
        return Poll::Ready(Err(Cut::Gone));
    }
    if deadline.poll(cx) { Poll::Ready(Err(Cut::Expired)) } else { Poll::Pending }
}
