//! What a valve decides with its lock held.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::counts::Counts;
use crate::adaptive::Adaptive;
use crate::arrival::{Admission, Arrival, CLASSES, Reason, Refusal, Slot};
use crate::queue::{Comer, Key, Queue};
use crate::schedule::{Gait, Schedule};
use crate::settings::{Concurrency, LimitSettings, Order};

#[derive(Debug)]
pub(super) struct Core {
    pub(super) settings: LimitSettings,
    pub(super) schedule: Option<Schedule>,
    pub(super) adaptive: Option<Adaptive>,
    pub(super) in_service: u64,
    pub(super) paused: bool,
    pub(super) queue: Queue<Entry>,
    pub(super) expiries: Expiries,
    /// Bytes that the waiting requests hold.
    pub(super) held_bytes: u64,
    pub(super) counts: Counts,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) slot: Arc<Slot>,
    pub(super) arrived_ns: u64,
    pub(super) bytes: u64,
}

/// The waiting requests, by the time at which they stop waiting and their address.
type Expiries = BTreeMap<(u64, usize), Arc<Slot>>;

fn expiry(slot: &Slot) -> (u64, usize) {
    (slot.until_ns(), std::ptr::from_ref(slot).addr())
}

fn adaptive(settings: &LimitSettings) -> Option<Adaptive> {
    let (min, max) = (settings.concurrency_min, settings.concurrency_max);
    (settings.concurrency == Some(Concurrency::Adaptive)).then(|| Adaptive::new(min, max))
}

impl Core {
    pub(super) fn new(settings: LimitSettings) -> Self {
        Self {
            schedule: Schedule::new(&settings),
            adaptive: adaptive(&settings),
            settings,
            in_service: 0,
            paused: false,
            queue: Queue::default(),
            expiries: Expiries::new(),
            held_bytes: 0,
            counts: Counts::default(),
        }
    }

    /// Schedule for passing without the lock; `None` if the lock is needed.
    pub(super) fn gait(&self) -> Option<Gait> {
        let is_plain = self.queue.len() == 0 && !self.paused && self.settings.concurrency.is_none();
        match &self.schedule {
            Some(schedule) => schedule.gait().filter(|_| is_plain),
            None => is_plain.then(Gait::default),
        }
    }

    pub(super) fn change(&mut self, settings: LimitSettings, now_ns: u64) {
        match (&mut self.schedule, settings.rate) {
            (Some(schedule), Some(_)) => schedule.change(&settings, now_ns),
            _ => {
                self.schedule = Schedule::new(&settings);
                // Requests that already wait have earned no burst from a rate that did not exist.
                if let Some(schedule) = &mut self.schedule {
                    schedule.skip_to(now_ns);
                }
            }
        }
        match (&mut self.adaptive, settings.concurrency) {
            (Some(adaptive), Some(Concurrency::Adaptive)) => {
                adaptive.bound(settings.concurrency_min, settings.concurrency_max);
            }
            _ => self.adaptive = adaptive(&settings),
        }
        self.settings = settings;
    }

    /// The decision about a request, and whether it was refused, if it is held back or would be.
    pub(super) fn arrive_counted(
        &mut self,
        arrival: Arrival,
        now_ns: u64,
    ) -> (Admission, Option<bool>) {
        let shadowed = self.counts.shadowed;
        let admission = self.arrive(arrival, now_ns);
        let held = match admission {
            Admission::Pass => (self.counts.shadowed > shadowed).then_some(false),
            Admission::Wait(..) => Some(false),
            Admission::Refused(_) => Some(true),
        };
        (admission, held)
    }

    pub(super) fn arrive(&mut self, arrival: Arrival, now_ns: u64) -> Admission {
        let is_empty = self.queue.len() == 0;
        if is_empty && let Some(schedule) = &mut self.schedule {
            schedule.rest(now_ns);
        }
        let cost = arrival.cost.max(1);
        if is_empty && self.may_pass(now_ns) {
            self.pass(cost);
            return Admission::Pass;
        }
        // A request of a lower class passes first once it has waited longer by the difference of
        // both.
        let class = u64::from(arrival.class.min(CLASSES - 1));
        let rank = now_ns.saturating_add(self.settings.ageing_ns.saturating_mul(class));
        let key = match self.settings.order {
            Order::Fifo => Key::default(),
            Order::Fair => arrival.key,
        };
        let comer = Comer { key, cost, rank };
        let ahead = self.queue.ahead(comer);
        let wait_ns = self.schedule.as_ref().map(|s| s.at(ahead).saturating_sub(now_ns));
        let reason = self.refusal(wait_ns, &arrival);
        if !self.settings.enforce {
            self.counts.shadowed += 1;
            // A request that would be refused takes no turn from those behind it.
            match reason {
                Some(_) => self.enter(),
                None => self.pass(cost),
            }
            return Admission::Pass;
        }
        if let Some(reason) = reason {
            match reason {
                Reason::Full => self.counts.refused_full += 1,
                Reason::Deadline => self.counts.refused_deadline += 1,
                Reason::TooLong | Reason::Flushed => self.counts.refused_wait += 1,
            }
            let retry_ns = self.retry_ns(reason, wait_ns, arrival.patience_ns, now_ns);
            return Admission::Refused(Refusal { reason, retry_ns, wait_ns });
        }
        let patience_ns = arrival.patience_ns.filter(|own| *own < self.settings.wait_max_ns);
        let longest_ns = patience_ns.unwrap_or(self.settings.wait_max_ns);
        let slot = Slot::new(now_ns.saturating_add(longest_ns), patience_ns.is_some());
        let entry = Entry { slot: Arc::clone(&slot), arrived_ns: now_ns, bytes: arrival.bytes };
        self.held_bytes = self.held_bytes.saturating_add(arrival.bytes);
        slot.put(self.queue.push(comer, entry));
        self.expiries.insert(expiry(&slot), Arc::clone(&slot));
        Admission::Wait(slot, self.due())
    }

    /// The reason to refuse a request that would wait for `wait_ns`, if any.
    pub(super) fn refusal(&self, wait_ns: Option<u64>, arrival: &Arrival) -> Option<Reason> {
        // It does not pass now.
        let wait = wait_ns.unwrap_or_default().max(1);
        let bytes = self.held_bytes.saturating_add(arrival.bytes);
        if self.queue.len() >= self.settings.queue_max || bytes > self.settings.queue_bytes_max {
            return Some(Reason::Full);
        }
        if arrival.patience_ns.is_some_and(|patience| wait > patience) {
            return Some(Reason::Deadline);
        }
        (wait > self.settings.wait_max_ns).then_some(Reason::TooLong)
    }

    /// Time after which a refused request would find a place with a wait within the maximum.
    pub(super) fn retry_ns(
        &self,
        reason: Reason,
        wait_ns: Option<u64>,
        patience_ns: Option<u64>,
        now_ns: u64,
    ) -> u64 {
        let first = self.schedule.as_ref().map_or(0, |s| s.at(0).saturating_sub(now_ns));
        let longest = patience_ns.unwrap_or(u64::MAX).min(self.settings.wait_max_ns);
        match (reason, wait_ns) {
            (Reason::TooLong | Reason::Deadline, Some(wait)) => wait.saturating_sub(longest),
            _ => first,
        }
    }

    /// The same for a request that has waited, whose place is taken out already.
    pub(super) fn retry_waited_ns(&self, now_ns: u64) -> u64 {
        if self.queue.len() == 0 {
            return self.schedule.as_ref().map_or(0, |schedule| schedule.wait_ns(now_ns));
        }
        let ahead = self.queue.ahead(Comer { key: Key::default(), cost: 1, rank: u64::MAX });
        let wait_ns = self.schedule.as_ref().map(|s| s.at(ahead).saturating_sub(now_ns));
        self.retry_ns(Reason::TooLong, wait_ns, None, now_ns)
    }

    /// Removes a waiting request; returns whether it was waiting.
    pub(super) fn take_out(&mut self, slot: &Slot) -> bool {
        self.expiries.remove(&expiry(slot));
        let taken = slot.take_place().and_then(|place| self.queue.remove(place));
        self.held_bytes -= taken.as_ref().map_or(0, |entry| entry.bytes);
        taken.is_some()
    }

    pub(super) fn may_pass(&self, now_ns: u64) -> bool {
        let room = self.most().is_none_or(|max| self.in_service < max);
        let due = self.schedule.as_ref().is_none_or(|schedule| schedule.at(0) <= now_ns);
        room && due && (!self.paused || !self.settings.enforce)
    }

    /// Current maximum of requests in service.
    pub(super) fn most(&self) -> Option<u64> {
        match self.settings.concurrency? {
            Concurrency::Fixed(most) => Some(most),
            Concurrency::Adaptive => self.adaptive.as_ref().map(Adaptive::most),
        }
    }

    pub(super) fn pass(&mut self, cost: u64) {
        if let Some(schedule) = &mut self.schedule {
            schedule.take(cost);
        }
        self.enter();
    }

    pub(super) fn enter(&mut self) {
        if self.settings.concurrency.is_some() {
            self.in_service += 1;
        }
        self.counts.admitted += 1;
    }

    /// Admits the requests whose turn has come, and refuses those that have waited too long; all
    /// of them are to be woken.
    pub(super) fn release(&mut self, now_ns: u64, told: &mut Vec<Arc<Slot>>) {
        while self.queue.len() > 0 && self.may_pass(now_ns) {
            let Some((entry, cost)) = self.queue.pop() else { break };
            self.expiries.remove(&expiry(&entry.slot));
            self.held_bytes -= entry.bytes;
            match entry.slot.until_ns() < self.turn_ns(now_ns) {
                true => self.expire(&entry.slot),
                false => self.admit(&entry, cost, now_ns),
            }
            told.push(entry.slot);
        }
        while let Some(late) = self.expiries.first_entry()
            && late.key().0 <= now_ns
        {
            let slot = late.remove();
            if self.take_out(&slot) {
                self.expire(&slot);
                told.push(slot);
            }
        }
    }

    /// Time of the turn that is taken now: a late release does not make a request late.
    pub(super) fn turn_ns(&self, now_ns: u64) -> u64 {
        match &self.schedule {
            Some(schedule) if self.settings.concurrency.is_none() => schedule.at(0),
            _ => now_ns,
        }
    }

    pub(super) fn expire(&mut self, slot: &Slot) {
        match slot.reason() {
            Reason::Deadline => self.counts.refused_deadline += 1,
            _ => self.counts.refused_wait += 1,
        }
        slot.expire();
    }

    pub(super) fn admit(&mut self, entry: &Entry, cost: u64, now_ns: u64) {
        let late = self.schedule.as_ref().map_or(0, |s| now_ns.saturating_sub(s.at(0)));
        self.pass(cost);
        entry.slot.admit();
        let counts = &mut self.counts;
        counts.late_max_ns = counts.late_max_ns.max(late);
        counts.add_wait(now_ns.saturating_sub(entry.arrived_ns));
    }

    /// Time at which the first waiting request may pass, or has waited too long.
    pub(super) fn due(&self) -> Option<u64> {
        let late_ns = self.expiries.first_key_value().map(|((until_ns, _), _)| *until_ns);
        let late_ns = late_ns.filter(|until_ns| *until_ns < u64::MAX);
        let full = self.most().is_some_and(|max| self.in_service >= max);
        if self.queue.len() == 0 || self.paused || full {
            return late_ns;
        }
        let turn_ns = self.schedule.as_ref().map_or(0, |schedule| schedule.at(0));
        Some(late_ns.map_or(turn_ns, |late_ns| late_ns.min(turn_ns)))
    }
}
