//! The worker loop: one epoll set, edge-triggered, for every arrival model.
//!
//! A connection is registered once. A request costs one write, one read and a share of one wait;
//! the next request of a closed loop is written as soon as the previous answer is complete.

use super::connection::{Connection, Fed, Phase, Reading};
use super::socket::{connect_failure, open, thread_use};
use super::source::Source;
use super::{GRACE, Shared, ThreadUse};
use crate::arrival::{Arrival, Think};
use crate::clock::{Nanos, SECOND};
use crate::dice::Dice;
use crate::plan::{Message, Mix, Plan};
use crate::record::{Failure, Record};
use rustix::event::epoll;
use rustix::io::Errno;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use weir_wire::ResponseHead;

/// Bytes read at a time; one buffer per worker.
const SCRATCH_BYTES: usize = 64 * 1024;
/// Bodies with more than this left are dropped in the kernel instead of copied.
const DROP_BYTES_MIN: u64 = 32 * 1024;
/// A closed-loop connection that cannot connect tries again after this.
const RETRY: Nanos = 10_000_000;

pub(super) struct Worker<'a> {
    plan: &'a Plan,
    shared: &'a Shared,
    epoll: OwnedFd,
    connections: Vec<Connection>,
    source: Source,
    timers: BinaryHeap<Reverse<(Nanos, u32)>>,
    record: Record,
    dice: Dice,
    head: ResponseHead,
    scratch: Vec<u8>,
    active: usize,
    /// Slices that others have seen.
    published: usize,
    users_left: usize,
    address: usize,
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
            head: ResponseHead::default(),
            scratch: vec![0; SCRATCH_BYTES],
            active: 0,
            published: 0,
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
        // Reading what the kernel knows takes a descriptor, and they may all be in use.
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
                if self.active == 0 || now >= until {
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
                    || now >= deadline.saturating_add(GRACE)
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
            let late = self.shared.deadline().saturating_add(GRACE);
            if now >= late {
                return;
            }
            let Some((index, slot, due)) = open.take(now, self.shared) else { return };
            self.begin_session(index, slot, due, now);
        }
    }

    /// A closed-loop connection or a user goes on, if the run does.
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

    /// Sends `request` on a connection, which is opened if need be.
    fn begin(&mut self, index: u32, request: usize, intended: Nanos, now: Nanos) {
        let Some(connection) = self.connections.get_mut(index as usize) else { return };
        connection.reset(request, intended, now);
        if let Some(Message::Rendered(template)) =
            self.plan.requests.get(request).map(|request| &request.message)
        {
            template.render(&connection.slots, &mut self.dice, &mut connection.message);
        }
        self.active += 1;
        if connection.socket.is_some() {
            connection.at.sent = now;
            self.record.sent(&connection.at);
            return self.write(index);
        }
        connection.phase = Phase::Connecting;
        let address = self.plan.addresses[self.address % self.plan.addresses.len()];
        self.address += 1;
        match open(address, &self.epoll, u64::from(index), self.plan.keep_alive) {
            Ok(socket) => {
                connection.socket = Some(socket);
                // On a local network the handshake may be over already: try, and save a wait.
                self.write(index);
            }
            Err(error) => self.fail(index, connect_failure(&error)),
        }
    }

    /// Something happened on a connection.
    fn ready(&mut self, index: u32) {
        let Some(connection) = self.connections.get_mut(index as usize) else { return };
        match connection.phase {
            Phase::Connecting | Phase::Sending => self.write(index),
            Phase::Receiving => self.read(index),
            Phase::Idle => {
                // A kept connection was closed by the peer, or sent what nobody asked for.
                let mut byte = [0];
                let alive = connection.socket.as_ref().is_none_or(|mut socket| {
                    matches!(socket.read(&mut byte), Err(e) if e.kind() == ErrorKind::WouldBlock)
                });
                if !alive {
                    connection.socket = None;
                }
            }
        }
    }

    fn write(&mut self, index: u32) {
        let Some(connection) = self.connections.get_mut(index as usize) else { return };
        let Some(request) = self.plan.requests.get(connection.request) else { return };
        let message: &[u8] = match &request.message {
            Message::Fixed(bytes) => bytes,
            Message::Rendered(_) => &connection.message,
        };
        let Some(mut socket) = connection.socket.as_ref() else { return };
        loop {
            let now = match connection.phase {
                Phase::Connecting => self.shared.clock.now(),
                _ => 0,
            };
            match socket.write(message.get(connection.written..).unwrap_or_default()) {
                Ok(count) => {
                    if connection.phase == Phase::Connecting {
                        connection.at.sent = now;
                        self.record.connected(now.saturating_sub(connection.at.begun));
                        self.record.sent(&connection.at);
                    }
                    connection.written += count;
                    if connection.written >= message.len() {
                        connection.phase = Phase::Receiving;
                        return;
                    }
                    connection.phase = Phase::Sending;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) =>
                {
                    return;
                }
                Err(error) => {
                    let failure = match connection.phase {
                        Phase::Connecting => connect_failure(&error),
                        _ => Failure::Closed,
                    };
                    return self.fail(index, failure);
                }
            }
        }
    }

    fn read(&mut self, index: u32) {
        loop {
            let Some(connection) = self.connections.get_mut(index as usize) else { return };
            let Some(request) = self.plan.requests.get(connection.request) else { return };
            let Some(mut socket) = connection.socket.as_ref() else { return };
            let keep = !request.body_rules.is_empty();
            let droppable = if keep { 0 } else { connection.droppable() };
            let (got, full) = if droppable >= DROP_BYTES_MIN {
                let size = droppable.min(self.scratch.len() as u64) as usize;
                let flags = rustix::net::RecvFlags::TRUNC;
                let space = self.scratch.get_mut(..size).unwrap_or_default();
                let got = rustix::net::recv(socket, space, flags).map(|(_, count)| count);
                (got.map_err(std::io::Error::from), size)
            } else {
                (socket.read(&mut self.scratch), self.scratch.len())
            };
            let now = self.shared.clock.now();
            if connection.at.first == 0 {
                connection.at.first = now;
            }
            connection.at.done = now;
            let fed = match got {
                Ok(0) => connection.closed(),
                Ok(count) if droppable >= DROP_BYTES_MIN => Ok(connection.dropped(count as u64)),
                Ok(count) => {
                    let bytes = self.scratch.get(..count).unwrap_or_default();
                    let head = &mut self.head;
                    connection.feed(bytes, &mut Reading { method: &request.method, keep, head })
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if connection.head_bytes == 0 {
                        connection.at.first = 0;
                    }
                    return;
                }
                Err(_) => Err(Failure::Closed),
            };
            match (fed, got) {
                (Err(failure), _) => return self.fail(index, failure),
                (Ok(Fed::Complete { reusable }), _) => return self.complete(index, reusable),
                // A read that did not fill its space has emptied the socket: the next byte makes
                // a new edge.
                (Ok(Fed::More), Ok(count)) if count < full => return,
                (Ok(Fed::More), _) => {}
            }
        }
    }

    /// An answer is complete.
    fn complete(&mut self, index: u32, reusable: bool) {
        let Some(connection) = self.connections.get_mut(index as usize) else { return };
        let Some(request) = self.plan.requests.get(connection.request) else { return };
        let mut failure = (!request.expect.holds(connection.status)).then_some(Failure::Status);
        if !request.body_rules.is_empty() {
            let fields = connection.fields.as_deref();
            let header = |name: &str| fields.and_then(|fields| fields.get(name.as_bytes()));
            let (kept, slots) = (&connection.kept, &mut connection.slots);
            let passed = crate::journey::apply(&request.body_rules, kept, header, slots);
            if !passed {
                failure = failure.or(Some(Failure::Check));
            }
        }
        if self.record.server_field.is_none() {
            let field = self.head.fields.get(b"server").unwrap_or_default();
            self.record.server_field = Some(String::from_utf8_lossy(field).into_owned());
        }
        let bytes = (connection.head_bytes, connection.body_bytes);
        let (at, status) = (connection.at, connection.status);
        self.record.answered(request.group, &at, status, bytes, failure);
        if !(reusable && self.plan.keep_alive) {
            connection.socket = None;
        }
        let last = connection.request + 1 >= self.plan.requests.len();
        let (think, journey) = (request.think, matches!(self.plan.mix, Mix::Journey));
        let step = connection.request + 1;
        self.settle(index, at.done);
        // A failed step ends its journey: what follows would build on nothing.
        if journey && !last && failure.is_none() {
            self.pause(index, step, think, at.done);
        } else {
            self.end_session(index, at.done, false);
        }
    }

    /// A request came to nothing; its connection is given up.
    fn fail(&mut self, index: u32, failure: Failure) {
        let now = self.shared.clock.now();
        let Some(connection) = self.connections.get_mut(index as usize) else { return };
        connection.at.done = now;
        connection.socket = None;
        let group = self.plan.requests.get(connection.request).map_or(0, |request| request.group);
        self.record.failed(group, &connection.at, failure);
        self.settle(index, now);
        self.end_session(index, now, true);
    }

    fn settle(&mut self, index: u32, now: Nanos) {
        if let Some(connection) = self.connections.get_mut(index as usize) {
            connection.phase = Phase::Idle;
            connection.at.free = now;
        }
        self.active -= 1;
    }

    fn pause(&mut self, index: u32, step: usize, think: Think, now: Nanos) {
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
    fn end_session(&mut self, index: u32, now: Nanos, failed: bool) {
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
        self.record.slices.roll(now);
        // Under load, slices are closed by what is recorded, not here.
        let closed = self.record.slices.closed();
        for slice in closed.get(self.published..).unwrap_or_default() {
            self.shared.watch.publish(slice);
        }
        self.published = closed.len();
        if self.shared.watch.stopped() {
            let deadline = &self.shared.deadline;
            deadline.fetch_min(now, std::sync::atomic::Ordering::Relaxed);
        }
    }

    /// Counts what is still in flight, or claimed but unsent, when the drain is over.
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
