//! What the HTTP engine tells a pipeline that it serves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use weir_balance::Taken;
use weir_snapshot::Pipeline;

use super::counters::PipelineCounters;
use crate::error::ErrorKind;
use crate::pacer::now_ns;

/// A pipeline, as an HTTP worker sees it.
pub(crate) struct HttpPipeline {
    counters: Arc<PipelineCounters>,
    current: Arc<ArcSwap<Pipeline>>,
}

impl HttpPipeline {
    pub(super) fn new(counters: &Arc<PipelineCounters>, current: &Arc<ArcSwap<Pipeline>>) -> Self {
        Self { counters: Arc::clone(counters), current: Arc::clone(current) }
    }

    /// Counts a request that goes to the upstream, where there is only one: of several, the cluster
    /// counts.
    pub(crate) fn take(&self) -> Option<Taken> {
        let pipeline = self.current.load();
        let mut members = pipeline.upstream.members();
        let only = members.next().filter(|_| members.next().is_none())?;
        Some(Taken::of(Arc::clone(only)))
    }

    /// A limit has refused a request.
    pub(crate) fn limited(&self) {
        self.counters.limited.fetch_add(1, Ordering::Relaxed);
    }

    /// A connection was idle for too long.
    pub(crate) fn expired(&self) {
        self.counters.expired.fetch_add(1, Ordering::Relaxed);
    }

    /// An exchange of so many bytes has ended, with this error if any.
    pub(crate) fn exchanged(
        &self,
        taken: Option<Taken>,
        sent: u64,
        received: u64,
        error: Option<ErrorKind>,
    ) {
        self.counters.messages.fetch_add(1, Ordering::Relaxed);
        self.moved(sent, received);
        if let Some(counter) = error.and_then(|error| self.counter(error)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        let Some(taken) = taken else { return };
        let now_ms = now_ns() / 1_000_000;
        match error {
            Some(error) if is_unreached(error) => taken.member().unreached(now_ms),
            Some(_) => {}
            None => taken.member().recovered(now_ms),
        }
    }

    /// Bytes have passed.
    pub(crate) fn moved(&self, sent: u64, received: u64) {
        self.counters.sent.fetch_add(sent, Ordering::Relaxed);
        self.counters.received.fetch_add(received, Ordering::Relaxed);
    }

    /// The counter of an error.
    fn counter(&self, error: ErrorKind) -> Option<&AtomicU64> {
        use ErrorKind as K;
        let counters = &*self.counters;
        match error {
            _ if is_unreached(error) => Some(&counters.unreached),
            K::BadRequest(_) | K::BadBody | K::BadResponse | K::ResponseTruncated => {
                Some(&counters.broken)
            }
            K::BodyTooLarge(_) | K::MethodNotAllowed | K::AmbiguousPath | K::Loop => {
                Some(&counters.denied)
            }
            K::HeadTimeout | K::ResponseTimeout => Some(&counters.expired),
            K::ClientTooSlow => Some(&counters.slow),
            _ => None,
        }
    }
}

fn is_unreached(error: ErrorKind) -> bool {
    use ErrorKind as K;
    matches!(error, K::NoInstance | K::Resolve | K::Connect | K::ConnectTimeout)
}
