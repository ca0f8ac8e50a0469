//! State of upstreams, by owner and address.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use weir_filter::Target;

use crate::member::Member;

/// Minimum size at which unused members are searched for.
const MEMBERS_FULL_MIN: usize = 64;

/// State of upstreams. Outlives lists and rules, but not the last user of a member.
#[derive(Debug, Default)]
pub(crate) struct Members(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// By pipeline or cluster, and address.
    known: HashMap<(String, String, u16), Weak<Member>>,
    /// Size at which unused members are removed.
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
            // Twice the members in use: the cost of a scan is spread over as many new members.
            state.full = MEMBERS_FULL_MIN.max(2 * state.known.len());
        }
        let member = Arc::new(Member::new(Arc::new(target)));
        state.known.insert(key, Arc::downgrade(&member));
        member
    }
}
