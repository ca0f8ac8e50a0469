//! A worker's view of the arrival model: the due requests, and the next action of an idle
//! connection.

use super::shared::Shared;
use crate::arrival::{Arrival, Cursor, Users};
use crate::clock::Nanos;
use crate::plan::Plan;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// State of the arrival model in one worker.
pub(super) enum Source {
    /// Connections begin again at once.
    Closed,
    /// Slots of the global schedule.
    Open(Open),
    /// Users with their own timers.
    Users(Users),
}

/// An open loop: free connections and the slot claimed ahead for one of them.
pub(super) struct Open {
    cursor: Cursor,
    /// Number and due time of the claimed slot.
    claimed: Option<(u64, Nanos)>,
    free: VecDeque<u32>,
    /// No slot is left.
    pub(super) exhausted: bool,
}

impl Source {
    pub(super) fn of(plan: &Plan, connections: usize) -> Self {
        match &plan.arrival {
            Arrival::Closed => Self::Closed,
            Arrival::Users(users) => Self::Users(*users),
            Arrival::Open(schedule) => Self::Open(Open {
                cursor: schedule.cursor(),
                claimed: None,
                free: (0..connections as u32).collect(),
                exhausted: false,
            }),
        }
    }
}

impl Open {
    /// A connection became free.
    pub(super) fn release(&mut self, connection: u32) {
        self.free.push_back(connection);
    }

    /// The next slot that is due by `now`, with a free connection for it.
    ///
    /// A slot is claimed only while a connection is free, so a claimed slot never waits for one;
    /// while all connections of all workers are busy, slots pile up unclaimed.
    pub(super) fn take(&mut self, now: Nanos, shared: &Shared) -> Option<(u32, u64, Nanos)> {
        let (slot, due) = self.claim(shared)?;
        if due > now {
            return None;
        }
        self.claimed = None;
        self.free.pop_front().map(|connection| (connection, slot, due))
    }

    /// The slot claimed but not sent yet.
    pub(super) fn claimed(&self) -> Option<(u64, Nanos)> {
        self.claimed
    }

    /// The due time of the claimed slot.
    pub(super) fn wakes_at(&self) -> Option<Nanos> {
        self.claimed.map(|(_, due)| due)
    }

    fn claim(&mut self, shared: &Shared) -> Option<(u64, Nanos)> {
        if self.claimed.is_some() {
            return self.claimed;
        }
        if self.exhausted || self.free.is_empty() {
            return None;
        }
        let slot = shared.claimed.fetch_add(1, Ordering::Relaxed);
        self.claimed = match self.cursor.due(slot) {
            Some(due) if slot < shared.requests_max && due < shared.deadline() => Some((slot, due)),
            _ => {
                shared.claimed.fetch_sub(1, Ordering::Relaxed);
                self.exhausted = true;
                None
            }
        };
        self.claimed
    }
}
