//! The instances of one list as a cluster chooses from them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::group::Group;
use crate::hash::{chance_of, hash_of};
use crate::instance::Instance;
use crate::member::Member;
use crate::members::Members;
use crate::rules::Rules;
use crate::service::{Instances, Service};

/// Number of instances up to which the usable ones are counted for each request; with more, from
/// time to time.
pub(crate) const COUNTED_AT_ONCE: usize = 32;
/// Time between two counts.
pub(crate) const COUNT_MS: u64 = 20;

/// A list of instances with the rules applied to it.
#[derive(Debug)]
pub(crate) struct Formed {
    pub(crate) of: Arc<Instances>,
    pub(crate) group: Group,
    /// In the order of the group.
    pub(crate) seats: Vec<Seat>,
    /// Time of the last count of usable instances, for long lists.
    counted_ms: AtomicU64,
    /// Result of that count: too few.
    panics: AtomicBool,
}

/// Data of an instance that a choice reads.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) instance: Arc<Instance>,
    pub(crate) member: Arc<Member>,
    pub(crate) is_near: bool,
}

impl Formed {
    /// Applies `rules` to `of`, the list of `service`.
    pub(crate) fn of(
        service: &Service,
        of: Arc<Instances>,
        rules: &Rules,
        members: &Members,
    ) -> Self {
        let mut usable: Vec<&Arc<Instance>> =
            of.all.iter().filter(|instance| instance.unused.is_none()).collect();
        if let Some(subset) = &rules.subset {
            // Each gateway takes those that score highest for it: of many gateways, all
            // instances have about as many.
            let seed = hash_of(subset.of.as_bytes());
            usable.sort_by_key(|one| std::cmp::Reverse(chance_of(seed, &one.target)));
            usable.truncate(subset.size.max(1));
        }
        let owner = owner(service.name());
        let is_near = |instance: &Instance| match (&rules.zone, instance.zone()) {
            (Some(own), Some(zone)) => own.eq_ignore_ascii_case(zone),
            _ => false,
        };
        let seat = |instance: &Arc<Instance>| Seat {
            member: members.member(&owner, (*instance.target).clone()),
            is_near: is_near(instance),
            instance: Arc::clone(instance),
        };
        let seats: Vec<Seat> = usable.into_iter().map(seat).collect();
        let members =
            seats.iter().map(|seat| (Arc::clone(&seat.member), weight(&seat.instance, rules)));
        let group = Group::new(members.collect(), rules.balance, rules.slow_start_ms);
        Self { of, group, seats, counted_ms: AtomicU64::new(0), panics: AtomicBool::new(false) }
    }

    /// Whether fewer than `percent` are usable, so that all are used. For long lists the result is
    /// cached for a moment.
    pub(crate) fn panics(&self, percent: u32, now_ms: u64) -> bool {
        if percent == 0 || self.seats.len() <= COUNTED_AT_ONCE {
            return self.is_short(percent, now_ms);
        }
        if self.counted_ms.load(Ordering::Relaxed).saturating_add(COUNT_MS) <= now_ms {
            self.counted_ms.store(now_ms, Ordering::Relaxed);
            self.panics.store(self.is_short(percent, now_ms), Ordering::Relaxed);
        }
        self.panics.load(Ordering::Relaxed)
    }

    /// The same, always computed anew.
    pub(crate) fn is_short(&self, percent: u32, now_ms: u64) -> bool {
        if percent == 0 {
            return false;
        }
        let usable = self.seats.iter().filter(|seat| seat.member.is_usable(now_ms)).count();
        // Drained ones are not counted: that they are away is wanted.
        let all = self.seats.iter().filter(|seat| !seat.member.is_drained()).count();
        (usable as u64) * 100 < (all as u64) * u64::from(percent)
    }
}

/// The owner of the state of a service's instances.
pub(crate) fn owner(service: &str) -> String {
    format!("lb:{}", service.to_ascii_lowercase())
}

/// The weight from metadata, as in Spring (class `WeightedServiceInstanceListSupplier`), or from
/// the registry; 1 if weights are off.
pub(crate) fn weight(instance: &Instance, rules: &Rules) -> u32 {
    if !rules.weighted {
        return 1;
    }
    let written = instance.metadata.get("weight").and_then(|text| text.trim().parse().ok());
    written.unwrap_or(instance.weight).max(1)
}
