//! A service: its instances of the moment, and whose turn it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arc_swap::ArcSwap;
use weir_filter::Target;

use crate::instance::Instance;

/// A service that routes lead to as `lb://name`.
#[derive(Debug)]
pub struct Service {
    name: String,
    instances: ArcSwap<Instances>,
    turn: AtomicUsize,
}

/// All instances of one moment, and those of them that take requests.
#[derive(Debug, Default)]
struct Instances {
    all: Vec<Arc<Instance>>,
    usable: Vec<Arc<Target>>,
}

impl Service {
    /// A service with these instances.
    pub fn new(name: &str, instances: Vec<Arc<Instance>>) -> Self {
        Self {
            name: name.to_owned(),
            instances: ArcSwap::from_pointee(Instances::of(instances)),
            turn: AtomicUsize::new(0),
        }
    }

    /// Name as in `lb://name`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Replaces the instances. Requests in flight keep theirs; later ones see the new list.
    pub fn set(&self, instances: Vec<Arc<Instance>>) {
        self.instances.store(Arc::new(Instances::of(instances)));
    }

    /// Every instance, usable or not, in the registry's order.
    pub fn instances(&self) -> Vec<Arc<Instance>> {
        self.instances.load().all.clone()
    }

    /// How many instances take requests.
    pub fn usable(&self) -> usize {
        self.instances.load().usable.len()
    }

    /// The instance whose turn it is (SCG class `RoundRobinLoadBalancer`); `None` without any that
    /// takes requests.
    pub fn pick(&self) -> Option<Arc<Target>> {
        self.pick_without(&[])
    }

    /// The same, passing over those that have just been found to be away.
    pub fn pick_without(&self, away: &[Arc<Target>]) -> Option<Arc<Target>> {
        let instances = self.instances.load();
        let usable = &instances.usable;
        let turn = self.turn.fetch_add(1, Ordering::Relaxed).checked_rem(usable.len())?;
        let (before, from) = usable.split_at_checked(turn)?;
        from.iter().chain(before).find(|target| !away.contains(target)).map(Arc::clone)
    }
}

impl Instances {
    fn of(all: Vec<Arc<Instance>>) -> Self {
        let usable = all.iter().filter(|instance| instance.unused.is_none());
        Self { usable: usable.map(|instance| Arc::clone(&instance.target)).collect(), all }
    }
}
