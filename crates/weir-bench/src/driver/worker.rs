//! The worker loop: one edge-triggered epoll set for every arrival model. `transfer` handles a
//! request on its connection.

use super::connection::{Connection, Heads, Phase};
use super::shared::{LATE, Shared};
use super::source::Source;
use super::thread::{ThreadUse, thread_use};
use crate::arrival::{Arrival, Think};
use crate::clock::{Nanos, SECOND};
use crate::dice::Dice;
use crate::plan::Plan;
use crate::record::{Failure, Record};
use rustix::event::epoll;
use rustix::io::Errno;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::OwnedFd;

/// Bytes read at a time; one buffer per worker.
const SCRATCH_BYTES: usize = 64 * 1024;
/// Waits are to end on the nanosecond, which only newer kernels can do.
const TOO_OLD: &str = "the system has no epoll_pwait2: run it on Linux 5.11 or newer, and not under \
                       a sandbox that forbids the call";
/// A closed-loop connection that cannot connect tries again after this.
const RETRY: Nanos = 10_000_000;

pub(super) struct Worker<'a> {
    pub(super) plan: &'a Plan,
    pub(super) shared: &'a Shared,
    pub(super) epoll: OwnedFd,
    pub(super) connections: Vec<Connection>,
    source: Source,
    timers: BinaryHeap<Reverse<(Nanos, u32)>>,
    pub(super) record: Record,
    pub(super) dice: Dice,
    pub(super) heads: Heads,
    pub(super) scratch: Vec<u8>,
    /// Requests that have begun and not ended.
    pub(super) active: usize,
    /// Slices that others have seen.
    published: usize,
    /// The number of awaited answers that it has reported.
    told_awaited: usize,
    users_left: usize,
    /// Connections opened so far: addresses are used in turn.
    pub(super) address: usize,
    first_user: usize,
    stride: usize,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        shared: &'a Shared,
        number: usize,
        threads: usize,
        count: usize,
    ) -> std::io::Result<Self> {
        let mine = count / threads + usize::from(number < count % threads);
        let warm = plan.warmup.as_nanos() as Nanos;
        let paced = !matches!(plan.arrival, Arrival::Closed);
        Ok(Self {
            plan,
            shared,
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            connections: (0..mine).map(|_| Connection::new(plan.slots)).collect(),
            source: Source::of(plan, mine),
            timers: BinaryHeap::new(),
            record: Record::new(plan.groups().len(), warm, paced),
            dice: Dice::stream(plan.seed, number as u64 + 1),
            heads: Heads::default(),
            scratch: vec![0; SCRATCH_BYTES],
            active: 0,
            published: 0,
            told_awaited: 0,
            users_left: mine,
            address: number,
            first_user: number,
            stride: threads,
        })
    }

    pub(super) fn run(mut self) -> std::io::Result<(Record, ThreadUse)> {
        // Without this, waits end up to 50 µs late.
        rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1)).ok();
        std::thread::sleep(self.shared.clock.until_start());
        let before = thread_use();
        let began = self.shared.clock.now();
        self.start(began);
        self.turn()?;
        self.abandon();
        self.record.slices.close();
        self.publish();
        // Reading the kernel's statistics needs a descriptor, and all may be in use.
        self.connections.clear();
        let after = thread_use();
        let used = ThreadUse {
            cpu_ns: after.cpu_ns.saturating_sub(before.cpu_ns),
            run_delay_ns: after.run_delay_ns.saturating_sub(before.run_delay_ns),
            wall_ns: self.shared.clock.now() - began,
        };
        Ok((self.record, used))
    }

    fn start(&mut self, now: Nanos) {
        match &self.source {
            Source::Open(_) => {}
            Source::Closed => {
                for index in 0..self.connections.len() as u32 {
                    self.next_session(index, now);
                }
            }
            Source::Users(users) => {
                for (index, connection) in self.connections.iter_mut().enumerate() {
                    connection.loops_left = users.loops.unwrap_or(u64::MAX);
                    let begins = users.begins(self.first_user + index * self.stride);
                    self.timers.push(Reverse((begins, index as u32)));
                }
            }
        }
    }

    /// Waits and works until nothing is left to do or the drain is over.
    fn turn(&mut self) -> std::io::Result<()> {
        let scan_every =
            (self.plan.timeout.as_nanos() as Nanos / 10).clamp(SECOND / 100, SECOND / 4);
        let mut scan_at = scan_every;
        let mut drain_until = None;
        let mut events: Vec<epoll::Event> = Vec::with_capacity(512);
        loop {
            let mut now = self.shared.clock.now();
            self.dispatch(now);
            if now >= scan_at {
                self.housekeep(now);
                scan_at = now + scan_every;
            }
            if self.finished_sending(now) {
                let drain = self.plan.drain.as_nanos() as Nanos;
                let until = *drain_until.get_or_insert(now.saturating_add(drain));
                self.tell_awaited(self.active);
                if self.active == 0 || now >= until || self.shared.watch.hurried() {
                    self.tell_awaited(0);
                    return Ok(());
                }
            }
            let wake = self.wakes_at(scan_at);
            now = self.shared.clock.now();
            let wait = wake.saturating_sub(now);
            let timeout = rustix::event::Timespec {
                tv_sec: (wait / SECOND) as _,
                tv_nsec: (wait % SECOND) as _,
            };
            events.clear();
            let space = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, space, Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::NOSYS) => return Err(std::io::Error::other(TOO_OLD)),
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                self.ready(event.data.u64() as u32);
            }
        }
    }

    fn wakes_at(&self, scan_at: Nanos) -> Nanos {
        let mut wake = scan_at;
        if let Some(Reverse((due, _))) = self.timers.peek() {
            wake = wake.min(*due);
        }
        if let Source::Open(open) = &self.source {
            wake = wake.min(open.wakes_at().unwrap_or(Nanos::MAX));
        }
        let deadline = self.shared.deadline();
        if self.active == 0 && wake > deadline { deadline } else { wake }
    }

    fn finished_sending(&self, now: Nanos) -> bool {
        let deadline = self.shared.deadline();
        match &self.source {
            Source::Closed => now >= deadline || (self.active == 0 && self.timers.is_empty()),
            Source::Users(_) => now >= deadline || self.users_left == 0,
            Source::Open(open) => {
                (open.exhausted && open.wakes_at().is_none())
                    || now >= deadline.saturating_add(LATE)
            }
        }
    }

    /// Begins everything that is due.
    fn dispatch(&mut self, now: Nanos) {
        while let Some(&Reverse((due, index))) = self.timers.peek() {
            if due > now {
                break;
            }
            self.timers.pop();
            let Some(connection) = self.connections.get_mut(index as usize) else { continue };
            match connection.resume.take() {
                // Within a journey: it may end even after the deadline.
                Some(step) => self.begin(index, step, due, now),
                None => self.next_session(index, due),
            }
        }
        loop {
            let Source::Open(open) = &mut self.source else { return };
            let late = self.shared.deadline().saturating_add(LATE);
            if now >= late {
                return;
            }
            let Some((index, slot, due)) = open.take(now, self.shared) else { return };
            self.begin_session(index, slot, due, now);
        }
    }

    /// Continues a closed-loop connection or a user, if the run goes on.
    fn next_session(&mut self, index: u32, intended: Nanos) {
        let now = match self.source {
            Source::Users(_) => self.shared.clock.now(),
            Source::Closed | Source::Open(_) => intended,
        };
        if self.shared.admits(now) {
            self.begin_session(index, 0, intended, now);
        } else if matches!(self.source, Source::Users(_)) {
            self.users_left -= 1;
        }
    }

    fn begin_session(&mut self, index: u32, slot: u64, intended: Nanos, now: Nanos) {
        let first = self.plan.mix.first(slot, &mut self.dice);
        if let Some(connection) = self.connections.get_mut(index as usize) {
            for feeder in self.plan.feeders.iter() {
                feeder.feed(&mut connection.slots, &mut self.dice);
            }
        }
        self.begin(index, first, intended, now);
    }

    /// A connection has ended its request.
    pub(super) fn settle(&mut self, index: u32, now: Nanos) {
        if let Some(connection) = self.connections.get_mut(index as usize) {
            connection.phase = Phase::Idle;
            connection.at.free = now;
        }
        self.active -= 1;
    }

    /// Waits for the think time, then continues with `step` of the journey.
    pub(super) fn pause(&mut self, index: u32, step: usize, think: Think, now: Nanos) {
        let pause = think.draw(&mut self.dice);
        if pause == 0 {
            return self.begin(index, step, now, now);
        }
        if let Some(connection) = self.connections.get_mut(index as usize) {
            connection.resume = Some(step);
        }
        self.timers.push(Reverse((now + pause, index)));
    }

    /// A connection has nothing left to send for its session.
    pub(super) fn end_session(&mut self, index: u32, now: Nanos, failed: bool) {
        match &mut self.source {
            Source::Open(open) => open.release(index),
            Source::Closed if failed => self.timers.push(Reverse((now + RETRY, index))),
            Source::Closed => self.next_session(index, now),
            Source::Users(users) => {
                let Some(connection) = self.connections.get_mut(index as usize) else { return };
                connection.loops_left -= 1;
                if connection.loops_left == 0 {
                    connection.socket = None;
                    self.users_left -= 1;
                } else {
                    let think = users.think.draw(&mut self.dice);
                    self.timers.push(Reverse((now + think, index)));
                }
            }
        }
    }

    /// Publishes the slices closed since the last time.
    fn publish(&mut self) {
        let closed = self.record.slices.closed();
        for slice in closed.get(self.published..).unwrap_or_default() {
            self.shared.watch.publish(slice);
        }
        self.published = closed.len();
    }

    /// Shows how many answers this worker still waits for.
    fn tell_awaited(&mut self, count: usize) {
        let awaited = &self.shared.watch.awaited;
        let order = std::sync::atomic::Ordering::Relaxed;
        awaited.fetch_add(count, order);
        awaited.fetch_sub(self.told_awaited, order);
        self.told_awaited = count;
    }

    /// A few times a second: timeouts, slices, the stop signal.
    fn housekeep(&mut self, now: Nanos) {
        let timeout = self.plan.timeout.as_nanos() as Nanos;
        for index in 0..self.connections.len() {
            let Some(connection) = self.connections.get(index) else { continue };
            let busy = connection.phase != Phase::Idle;
            if busy && now.saturating_sub(connection.at.begun) > timeout {
                self.fail(index as u32, Failure::Timeout);
            }
        }
        // Under load, recording an answer closes slices, not this timer.
        self.record.slices.roll(now);
        self.publish();
        if self.shared.watch.stopped() {
            let deadline = &self.shared.deadline;
            deadline.fetch_min(now, std::sync::atomic::Ordering::Relaxed);
        }
    }

    /// Counts requests that are still in flight, or claimed but unsent, at the end of the drain.
    fn abandon(&mut self) {
        let now = self.shared.clock.now();
        for connection in &mut self.connections {
            if connection.phase != Phase::Idle {
                connection.at.done = now;
                let request = self.plan.requests.get(connection.request);
                let group = request.map_or(0, |request| request.group);
                self.record.failed(group, &connection.at, Failure::Unfinished);
            }
        }
        let Source::Open(open) = &self.source else { return };
        let claimed = open.claimed().filter(|(_, due)| *due < self.shared.deadline());
        if let Some((slot, intended)) = claimed {
            let at = crate::record::Instants { intended, done: now, ..Default::default() };
            self.record.failed(self.plan.group_of(slot), &at, Failure::NeverSent);
        }
    }
}
