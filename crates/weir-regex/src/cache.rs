//! A cache of compiled expressions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::budget::Budget;
use crate::error::PatternError;
use crate::java_regex::{JavaRegex, Program};
use crate::parse::Flags;

/// Expressions in use; equal ones are compiled and stored once.
#[derive(Clone, Debug, Default)]
pub struct RegexCache {
    pub(super) programs: Arc<Mutex<Programs>>,
}

#[derive(Debug, Default)]
pub(super) struct Programs {
    by_source: HashMap<(Box<str>, Flags), Weak<Program>>,
    /// Number of entries at which unused ones are removed.
    sweep_at: usize,
    /// Shared budget of their engines.
    pub(super) budget: Budget,
}

impl RegexCache {
    /// The compiled expression `source`, shared with earlier equal ones.
    ///
    /// # Errors
    /// Position and reason if `source` is rejected.
    pub fn get(&self, source: &str, flags: Flags) -> Result<JavaRegex, PatternError> {
        let key = (Box::from(source), flags);
        let known = |programs: &Programs| programs.by_source.get(&key).and_then(Weak::upgrade);
        let lock = || self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        let budget = {
            let programs = lock();
            if let Some(program) = known(&programs) {
                return Ok(JavaRegex { program });
            }
            programs.budget.clone()
        };
        // Compiled without the lock, so that a slow compilation does not block others.
        let regex = JavaRegex::within(source, flags, &budget)?;
        let mut programs = lock();
        if let Some(program) = known(&programs) {
            return Ok(JavaRegex { program });
        }
        if programs.by_source.len() >= programs.sweep_at {
            programs.by_source.retain(|_, program| program.strong_count() > 0);
            programs.sweep_at = (programs.by_source.len() * 2).max(64);
        }
        programs.by_source.insert(key, Arc::downgrade(&regex.program));
        Ok(regex)
    }
}

#[cfg(test)]
mod tests {
    use super::RegexCache;
    use crate::parse::Flags;

    #[test]
    fn equal_expressions_are_shared_while_in_use() {
        let cache = RegexCache::default();
        let get = |n| cache.get(&format!("b{n}.*"), Flags::default()).expect("an expression");
        let (one, two) = (get(0), get(0));
        assert!(std::sync::Arc::ptr_eq(&one.program, &two.program));
        for n in 1..1_000 {
            get(n);
        }
        let kept = cache.programs.lock().expect("unpoisoned").by_source.len();
        assert!(kept <= 64, "{kept} expressions are kept that nobody uses");
    }
}
