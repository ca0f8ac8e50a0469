//! A service: its instances of the moment, and whose turn it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use arc_swap::ArcSwap;
use weir_filter::Target;

use crate::instance::Instance;
use crate::order::next_in_turn;

/// How long an instance that could not be reached is skipped while others are available.
const REST_MS: i64 = 5_000;

/// A service that routes lead to as `lb://name`.
#[derive(Debug)]
pub struct Service {
    name: String,
    instances: ArcSwap<Instances>,
    turn: AtomicUsize,
}

/// All instances of one moment, and those of them that take requests.
#[derive(Debug, Default)]
pub(crate) struct Instances {
    pub(crate) all: Vec<Arc<Instance>>,
    usable: Vec<Usable>,
}

/// An instance that takes requests.
#[derive(Debug)]
struct Usable {
    target: Arc<Target>,
    /// Time up to which it is skipped, in milliseconds since 1970; 0 if it is not.
    rests_until_ms: AtomicI64,
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
        let new = Instances::of(instances);
        let old = self.instances.load();
        let until = |one: &Usable| one.rests_until_ms.load(Ordering::Relaxed);
        // An unreachable instance stays unreachable when another one is added.
        for resting in old.usable.iter().filter(|one| until(one) > 0) {
            for one in new.usable.iter().filter(|one| one.target == resting.target) {
                one.rests_until_ms.store(until(resting), Ordering::Relaxed);
            }
        }
        self.instances.store(Arc::new(new));
    }

    /// Every instance, usable or not, in the registry's order.
    pub fn instances(&self) -> Vec<Arc<Instance>> {
        self.instances.load().all.clone()
    }

    /// The list of the moment.
    pub(crate) fn listed(&self) -> Arc<Instances> {
        self.instances.load_full()
    }

    /// Number of instances that take requests.
    pub fn usable(&self) -> usize {
        self.instances.load().usable.len()
    }

    /// The next instance in turn (SCG class `RoundRobinLoadBalancer`); `None` if none takes
    /// requests. An instance that could not be reached a moment ago is skipped while there are
    /// others. `now_ms` is in milliseconds since 1970.
    pub fn pick(&self, now_ms: i64) -> Option<Arc<Target>> {
        self.pick_without(&[], now_ms)
    }

    /// The same, without the targets that this request could not reach.
    pub fn pick_without(&self, away: &[Arc<Target>], now_ms: i64) -> Option<Arc<Target>> {
        let instances = self.instances.load();
        let usable = &instances.usable;
        if usable.is_empty() {
            return None;
        }
        let next = |may: &dyn Fn(&Usable) -> bool| {
            let may = |place: usize| {
                usable.get(place).is_some_and(|one| !away.contains(&one.target) && may(one))
            };
            next_in_turn(&self.turn, usable.len(), may).and_then(|place| usable.get(place))
        };
        let found = next(&|one| !one.rests(now_ms)).or_else(|| next(&|_| true));
        found.map(|one| Arc::clone(&one.target))
    }

    /// Records that `target` could not be reached.
    pub fn unreached(&self, target: &Target, now_ms: i64) {
        let instances = self.instances.load();
        // An instance with a weight occurs several times.
        for one in instances.usable.iter().filter(|one| *one.target == *target) {
            one.rests_until_ms.store(now_ms.saturating_add(REST_MS), Ordering::Relaxed);
        }
    }

    /// Whether `instance` is skipped because it could not be reached.
    pub fn rests(&self, instance: &Instance, now_ms: i64) -> bool {
        let instances = self.instances.load();
        let found = instances.usable.iter().find(|one| one.target == instance.target);
        found.is_some_and(|one| one.rests(now_ms))
    }
}

impl Instances {
    fn of(all: Vec<Arc<Instance>>) -> Self {
        let usable = all.iter().filter(|instance| instance.unused.is_none());
        let usable = usable.map(|instance| Usable {
            target: Arc::clone(&instance.target),
            rests_until_ms: AtomicI64::new(0),
        });
        Self { usable: usable.collect(), all }
    }
}

impl Usable {
    fn rests(&self, now_ms: i64) -> bool {
        self.rests_until_ms.load(Ordering::Relaxed) > now_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_could_not_be_reached_rests_unless_all_do() {
        let list = |ports: &[u16]| -> Vec<Arc<Instance>> {
            ports.iter().map(|port| Arc::new(Instance::new("h", *port, false))).collect()
        };
        let service = Service::new("a", list(&[1, 2, 3]));
        let picks = |now_ms: i64| -> Vec<u16> {
            let mut ports: Vec<u16> =
                (0..12).filter_map(|_| service.pick(now_ms)).map(|target| target.port).collect();
            ports.sort_unstable();
            ports.dedup();
            ports
        };
        let target = |at: usize| Arc::clone(&service.instances()[at].target);
        service.unreached(&target(0), 1_000);
        assert_eq!(picks(1_001), [2, 3]);
        let second = (0..30).filter_map(|_| service.pick(1_001)).filter(|one| one.port == 2);
        assert_eq!(second.count(), 15, "neither gets what the first one would");
        service.set(list(&[1, 2, 4]));
        assert_eq!(picks(1_002), [2, 4]);
        assert!(service.rests(&service.instances()[0], 1_002));
        service.unreached(&target(1), 1_003);
        service.unreached(&target(2), 1_003);
        assert_eq!(picks(1_004), [1, 2, 4]);
        assert_eq!(picks(1_000 + REST_MS), [1]);
    }
}
