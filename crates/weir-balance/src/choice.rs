//! The instance chosen for one request, and the outcome there.

use std::sync::Arc;

use weir_filter::Target;

use crate::asked::Asked;
use crate::cluster::Cluster;
use crate::instance::Instance;
use crate::member::{Member, Taken};

/// The instance chosen for one request. It counts as a request in progress until this is dropped.
#[derive(Debug)]
pub struct Choice {
    cluster: Arc<Cluster>,
    asked: Asked,
    taken: Taken,
    instance: Arc<Instance>,
    since_ns: u64,
    /// Members that this request has tried.
    tried: Vec<Arc<Member>>,
    /// The outcome has been recorded.
    is_told: bool,
}

impl Cluster {
    /// Chooses an instance; `None` if none takes requests. `now_ms` is of a monotonic clock.
    pub fn choose(self: &Arc<Self>, asked: Asked, now_ms: u64) -> Option<Choice> {
        let (taken, instance) = self.take(&asked, &[], now_ms)?;
        Some(Choice::new(Arc::clone(self), asked, taken, instance, now_ms))
    }
}

impl Choice {
    fn new(
        cluster: Arc<Cluster>,
        asked: Asked,
        taken: Taken,
        instance: Arc<Instance>,
        now_ms: u64,
    ) -> Self {
        let since_ns = now_ms.saturating_mul(1_000_000);
        Self { cluster, asked, taken, instance, since_ns, tried: Vec::new(), is_told: false }
    }

    /// Address of the instance.
    pub fn target(&self) -> &Arc<Target> {
        &self.instance.target
    }

    /// The cookie with the instance's own id: name and value.
    pub fn cookie(&self) -> Option<(&str, &str)> {
        let sticky = self.cluster.rules().sticky.as_ref().filter(|sticky| sticky.is_passed_on)?;
        Some((&sticky.cookie, &self.instance.id))
    }

    /// Records that the instance could not be reached.
    pub fn unreached(&mut self, now_ms: u64) {
        self.is_told = true;
        self.taken.member().unreached(now_ms);
    }

    /// Records the status of its response, once per attempt.
    pub fn answered(&mut self, status: u16, now_ns: u64) {
        if self.is_told {
            return;
        }
        let took_ns = now_ns.saturating_sub(self.since_ns);
        self.taken.member().reached(took_ns, now_ns);
        self.tell(status >= 500, now_ns / 1_000_000);
    }

    /// Records that the request was cut off or timed out. Ignored if it was answered before.
    pub fn failed(&mut self, now_ms: u64) {
        if !self.is_told {
            self.tell(true, now_ms);
        }
    }

    fn tell(&mut self, failed: bool, now_ms: u64) {
        self.is_told = true;
        let in_row = self.taken.member().answered(failed);
        let max = self.cluster.rules().outlier.map(|outlier| outlier.errors);
        if max.is_some_and(|max| in_row >= max) {
            self.cluster.eject(self.taken.member(), now_ms);
        }
    }

    /// Chooses an instance that the request has not tried; if there is none and `or_again` is set,
    /// any. Returns whether there is one.
    pub fn move_on(&mut self, or_again: bool, now_ms: u64) -> bool {
        self.tried.push(Arc::clone(self.taken.member()));
        let mut found = self.cluster.take(&self.asked, &self.tried, now_ms);
        if found.is_none() && or_again {
            self.tried.clear();
            found = self.cluster.take(&self.asked, &[], now_ms);
        }
        let Some((taken, instance)) = found else { return false };
        (self.taken, self.instance, self.is_told) = (taken, instance, false);
        self.since_ns = now_ms.saturating_mul(1_000_000);
        true
    }
}
