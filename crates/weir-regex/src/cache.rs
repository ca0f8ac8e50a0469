//! Expressions shared by those who use them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::budget::Budget;
use crate::error::PatternError;
use crate::java_regex::{JavaRegex, Program};
use crate::parse::Flags;

/// Expressions in use, so that equal ones are compiled once and kept once.
#[derive(Clone, Debug, Default)]
pub struct RegexCache {
    pub(super) programs: Arc<Mutex<Programs>>,
}

#[derive(Debug, Default)]
pub(super) struct Programs {
    by_source: HashMap<(Box<str>, Flags), Weak<Program>>,
    /// Size at which entries that nobody uses any more are thrown out.
    sweep_at: usize,
    /// What the engines of all of them may take together.
    pub(super) budget: Budget,
}

impl RegexCache {
    /// The expression `source`, compiled now or shared with an earlier one.
    ///
    /// # Errors
    /// Where and why `source` is refused.
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
        // Without the lock: an expression that takes long to compile must not hold up the others.
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
