//! Retry budget: retries are limited to a share of the requests, so that they do not overload a
//! failing upstream.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// Budgets; upstreams share them by hash.
const CELLS: usize = 1024;
/// Cost of a retry.
const RETRY: u64 = 100;
/// Most that can be saved up.
const SAVED_MAX: u64 = 100 * RETRY;
/// Retries that are free each second: an upstream that few ask may be asked again.
const FREE_PER_SECOND: u64 = 10;

/// Budgets of retries, one for each upstream but for chance.
#[derive(Debug)]
pub struct RetryBudgets {
    hasher: RandomState,
    /// Milliseconds of the last withdrawal in the upper half, the balance in the lower.
    cells: Box<[AtomicU64]>,
}

impl Default for RetryBudgets {
    fn default() -> Self {
        let full = || AtomicU64::new(SAVED_MAX);
        Self { hasher: RandomState::new(), cells: (0..CELLS).map(|_| full()).collect() }
    }
}

impl RetryBudgets {
    /// The budget of `upstream`.
    pub fn of(&self, upstream: impl Hash) -> Option<RetryBudget<'_>> {
        let at = usize::try_from(self.hasher.hash_one(upstream) % CELLS as u64).ok()?;
        self.cells.get(at).map(RetryBudget)
    }
}

/// The budget of one upstream.
#[derive(Clone, Copy, Debug)]
pub struct RetryBudget<'b>(&'b AtomicU64);

impl RetryBudget<'_> {
    /// Records a request, which pays for `percent` of a retry.
    pub fn deposit(self, percent: u32) {
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |packed| {
            let (then_ms, saved) = parts(packed);
            Some(pack(then_ms, (saved + u64::from(percent)).min(SAVED_MAX)))
        });
    }

    /// Takes the cost of a retry from the budget; `false` if it is too low.
    pub fn withdraw(self, now_ms: u64) -> bool {
        let now_ms = now_ms as u32;
        let changed = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |packed| {
            let (then_ms, saved) = parts(packed);
            // Clocks of workers differ by some milliseconds.
            let passed_ms = Some(now_ms.wrapping_sub(then_ms)).filter(|ms| *ms < u32::MAX / 2);
            let free = u64::from(passed_ms.unwrap_or(0)) * FREE_PER_SECOND * RETRY / 1000;
            let left = (saved + free).min(SAVED_MAX).checked_sub(RETRY)?;
            Some(pack(now_ms, left))
        });
        changed.is_ok()
    }
}

/// Milliseconds of the last withdrawal, and the balance.
fn parts(packed: u64) -> (u32, u64) {
    ((packed >> 32) as u32, packed & u64::from(u32::MAX))
}

fn pack(then_ms: u32, saved: u64) -> u64 {
    u64::from(then_ms) << 32 | saved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_requests_may_be_repeated() {
        let budgets = RetryBudgets::default();
        let budget = budgets.of("a").expect("a budget");
        let spend = |now_ms: u64| (0..200).take_while(move |_| budget.withdraw(now_ms));
        assert_eq!(spend(0).count(), 100);
        (0..50).for_each(|_| budget.deposit(20));
        assert_eq!(spend(0).count(), 10);
        assert_eq!(spend(500).count(), 5, "ten a second are free");
        (0..100_000).for_each(|_| budget.deposit(20));
        assert_eq!(spend(3_600_000).count(), 100, "and no more are saved up");
    }
}
