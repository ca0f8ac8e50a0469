//! An HTTP pipeline as its engine sees it: counts what happens to its requests and upstreams.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use weir_balance::{Member, Taken};
use weir_filter::Target;
use weir_snapshot::Pipeline;

use super::counters::PipelineCounters;
use crate::error::ErrorKind;
use crate::pacer::now_ns;

/// The pipeline that a worker's HTTP engine serves.
pub(crate) struct HttpPipeline {
    pub(super) current: Arc<ArcSwap<Pipeline>>,
    pub(super) counters: Arc<PipelineCounters>,
}

impl HttpPipeline {
    /// A request has ended, with `error` if it failed.
    pub(crate) fn ended(&self, error: Option<ErrorKind>, sent: u64, received: u64) {
        self.counters.traffic.exchanged(sent, received);
        if let Some(counter) = error.and_then(|kind| self.counter_of(kind)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Bytes have passed over a connection that no longer carries HTTP.
    pub(crate) fn moved(&self, sent: u64, received: u64) {
        self.counters.traffic.moved(sent, received);
    }

    /// The limit has refused a request.
    pub(crate) fn limited(&self) {
        self.counters.limited.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request at its upstream until the result is dropped.
    pub(crate) fn take(&self, target: &Target) -> Option<Taken> {
        self.member(target).map(Taken::of)
    }

    /// Records how an attempt to connect to `target` ended, begun at `started_ns`.
    pub(crate) fn connected(&self, target: &Target, error: Option<ErrorKind>, started_ns: u64) {
        let Some(member) = self.member(target) else { return };
        let now_ns = now_ns();
        match error {
            None => member.reached(now_ns.saturating_sub(started_ns), now_ns),
            Some(kind) if kind.is_unreached() => member.unreached(now_ns / 1_000_000),
            Some(_) => {}
        }
    }

    fn member(&self, target: &Target) -> Option<Arc<Member>> {
        let pipeline = self.current.load();
        pipeline.upstream.members().find(|member| *member.target == *target).cloned()
    }

    /// The counter that a failed request belongs to, if there is one for it.
    fn counter_of(&self, kind: ErrorKind) -> Option<&AtomicU64> {
        use ErrorKind as K;
        Some(match kind {
            K::Resolve | K::Connect | K::ConnectTimeout => &self.counters.unreached,
            K::HeadTimeout | K::ResponseTimeout => &self.counters.expired,
            K::BadRequest(_) | K::BadBody | K::BodyTooLarge(_) | K::MethodNotAllowed => {
                &self.counters.broken
            }
            K::BadResponse | K::ResponseTruncated => &self.counters.broken,
            K::ClientTooSlow => &self.counters.slow,
            _ => return None,
        })
    }
}
