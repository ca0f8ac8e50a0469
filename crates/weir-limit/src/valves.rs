//! Limits and breakers by name, so that each keeps its queue, schedule, buckets or recorded results
//! over reloads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::breaker::{Breaker, BreakerSettings};
use crate::buckets::Buckets;
use crate::settings::LimitSettings;
use crate::valve::Valve;

/// Valves by name; unused ones are dropped.
#[derive(Debug, Default)]
pub struct Valves {
    by_name: Mutex<HashMap<String, Weak<Valve>>>,
    buckets: Mutex<HashMap<String, Weak<Buckets>>>,
    breakers: Mutex<HashMap<String, Weak<Breaker>>>,
}

impl Valves {
    /// The valve of this name as it is, or a new one with these settings.
    pub fn get(&self, name: &str, settings: &LimitSettings) -> Arc<Valve> {
        let mut by_name = self.lock();
        if let Some(valve) = by_name.get(name).and_then(Weak::upgrade) {
            return valve;
        }
        by_name.retain(|_, valve| valve.strong_count() > 0);
        let valve = Arc::new(Valve::new(name, settings.clone()));
        by_name.insert(name.to_owned(), Arc::downgrade(&valve));
        valve
    }

    /// The token buckets of a route, as they are or new.
    pub fn buckets(&self, route: &str) -> Arc<Buckets> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = buckets.get(route).and_then(Weak::upgrade) {
            return known;
        }
        buckets.retain(|_, buckets| buckets.strong_count() > 0);
        let new = Arc::new(Buckets::default());
        buckets.insert(route.to_owned(), Arc::downgrade(&new));
        new
    }

    /// The breaker of this name as it is, or a new one with these settings.
    pub fn breaker(&self, name: &str, settings: &BreakerSettings) -> Arc<Breaker> {
        let mut breakers = self.breakers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = breakers.get(name).and_then(Weak::upgrade) {
            return known;
        }
        breakers.retain(|_, breaker| breaker.strong_count() > 0);
        let new = Arc::new(Breaker::new(name, settings.clone()));
        breakers.insert(name.to_owned(), Arc::downgrade(&new));
        new
    }

    /// All breakers, by name.
    pub fn breakers(&self) -> Vec<Arc<Breaker>> {
        let breakers = self.breakers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<Arc<Breaker>> = breakers.values().filter_map(Weak::upgrade).collect();
        all.sort_by(|a, b| a.name().cmp(b.name()));
        all
    }

    /// The valve of this name, if there is one.
    pub fn find(&self, name: &str) -> Option<Arc<Valve>> {
        self.lock().get(name).and_then(Weak::upgrade)
    }

    /// All valves, by name.
    pub fn all(&self) -> Vec<Arc<Valve>> {
        let mut all: Vec<Arc<Valve>> = self.lock().values().filter_map(Weak::upgrade).collect();
        all.sort_by(|a, b| a.name().cmp(b.name()));
        all
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Weak<Valve>>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valve_lives_as_long_as_somebody_holds_it() {
        let (valves, settings) = (Valves::default(), LimitSettings::default());
        let first = valves.get("a", &settings);
        assert!(Arc::ptr_eq(&first, &valves.get("a", &settings)));
        assert_eq!(valves.all().len(), 1);
        drop(first);
        assert!(valves.find("a").is_none());
    }
}
