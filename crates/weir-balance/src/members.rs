//! What is known of upstreams, by whose they are and their addresses.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use weir_filter::Target;

use crate::member::Member;

/// So few members are never looked through for those that nobody holds.
const MEMBERS_FULL_MIN: usize = 64;

/// What is known of upstreams. Outlives lists and rules, but not whoever holds a member.
#[derive(Debug, Default)]
pub(crate) struct Members(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// By pipeline or cluster, and address.
    known: HashMap<(String, String, u16), Weak<Member>>,
    /// With so many of them, those that nobody holds are looked for.
    full: usize,
}

impl Members {
    /// An upstream of `owner`, a pipeline or cluster, as it is known, or a new one.
    pub(crate) fn member(&self, owner: &str, target: Target) -> Arc<Member> {
        let key = (owner.to_owned(), target.host.clone(), target.port);
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(member) = state.known.get(&key).and_then(Weak::upgrade) {
            return member;
        }
        if state.known.len() >= state.full {
            state.known.retain(|_, member| member.strong_count() > 0);
            // Twice what is held: a look at all is paid for by as many new ones.
            state.full = MEMBERS_FULL_MIN.max(2 * state.known.len());
        }
        let member = Arc::new(Member::new(Arc::new(target)));
        state.known.insert(key, Arc::downgrade(&member));
        member
    }
}
