//! A limit on the total size of the automata of all expressions of a gateway.
//!
//! One automaton of [`STATES_MAX`](crate::limits::STATES_MAX) states is harmless, but ten thousand
//! take gigabytes, and minutes to build. So all expressions of a cache share one budget. Programs
//! of the small engine are too small to count.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::PatternError;

/// Maximum number of states of all automata in use: about 400 MB, and seconds to build. That is 100
/// automata of maximum size, or 10,000 of 200 states.
const STATES_ALL_MAX: usize = 2_000_000;

/// A budget of states.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    used: Arc<AtomicUsize>,
    max: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self::of(STATES_ALL_MAX)
    }
}

impl Budget {
    pub(super) fn of(max: usize) -> Self {
        Self { used: Arc::default(), max }
    }
}

/// The part of the budget that one expression uses, returned on drop.
#[derive(Debug, Default)]
pub(super) struct Share {
    budget: Budget,
    taken: AtomicUsize,
}

impl Share {
    pub(super) fn of(budget: &Budget) -> Self {
        Self { budget: budget.clone(), taken: AtomicUsize::new(0) }
    }

    /// Takes `states` more from the budget.
    ///
    /// # Errors
    /// The budget is exhausted.
    pub(super) fn take(&self, states: usize) -> Result<(), PatternError> {
        let max = self.budget.max;
        let more = |used: usize| used.checked_add(states).filter(|sum| *sum <= max);
        let order = Ordering::Relaxed;
        self.budget.used.fetch_update(order, order, more).map_err(|used| {
            let left = max.saturating_sub(used);
            PatternError::new(
                0,
                format!(
                    "large expressions take too much memory together: this one has {states} states, \
                     {left} are left of {max} for all"
                ),
            )
            .help("lower the counts of repetitions, or write `[a-z]` instead of `\\p{L}`")
        })?;
        self.taken.fetch_add(states, order);
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(*self.taken.get_mut(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::Budget;
    use crate::{Flags, RegexCache};

    #[test]
    fn large_expressions_share_a_budget() {
        let cache = RegexCache::default();
        cache.programs.lock().expect("unpoisoned").budget = Budget::of(10_000);
        let large = |n: usize| cache.get(&format!("(?:{n}|[a-z]b?){{300}}"), Flags::default());
        let kept: Vec<_> = (0..100).map_while(|n| large(n).ok()).collect();
        assert!((2..20).contains(&kept.len()), "{}", kept.len());
        let refused = large(kept.len()).expect_err("the budget is spent");
        assert!(refused.message.contains("take too much memory together"), "{refused:?}");
        assert!(cache.get("(?:a|b){3}.*", Flags::default()).is_ok(), "small ones do not count");
        assert!(large(0).is_ok(), "one that is in use is shared");
        drop(kept);
        assert!(large(1).is_ok(), "what is not used any more is given back");
    }
}
