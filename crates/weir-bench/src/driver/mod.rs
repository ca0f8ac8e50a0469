//! The I/O of a run: one thread per core, each with its own epoll set, connections and record.
//!
//! The only code here that depends on the arrival model is `source`; the worker loop is one for
//! all.

mod connection;
mod shared;
mod socket;
mod source;
mod thread;
mod transfer;
mod worker;

use shared::Shared;
pub use shared::Watch;
pub(crate) use socket::{can_come_from, reach};
pub use thread::ThreadUse;

use crate::arrival::Arrival;
use crate::clock::{Clock, Nanos, nanos};
use crate::plan::Plan;
use crate::record::{Failure, Instants, Record};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Everything recorded.
    pub record: Record,
    /// By worker.
    pub threads: Vec<ThreadUse>,
    /// Length of the measured part: from the end of the warm-up until sending stopped (or until
    /// the last answer, if the number of requests ended the run).
    pub measured: Duration,
    /// From the start to the end of the drain.
    pub wall: Duration,
    /// Requests due within the measured part (open loop).
    pub offered: Option<u64>,
    /// Whether the run was ended early.
    pub interrupted: bool,
}

/// Runs `plan` to its end.
///
/// # Errors
/// When a worker cannot be set up (no epoll, no thread).
pub fn run(plan: &Plan, watch: &Arc<Watch>) -> std::io::Result<Run> {
    let end = schedule_end(plan);
    let shared = Shared {
        clock: Clock::start_after(Duration::from_millis(1)),
        claimed: AtomicU64::new(0),
        requests_max: plan.stop.requests.unwrap_or(u64::MAX),
        deadline: AtomicU64::new(end),
        watch: watch.clone(),
    };
    let count = match &plan.arrival {
        Arrival::Users(users) => users.count,
        Arrival::Closed | Arrival::Open(_) => plan.connections,
    };
    let threads = plan.threads.clamp(1, count.max(1));
    // All workers are created before the first one runs: its connections may use up all
    // descriptors.
    let workers = (0..threads)
        .map(|number| worker::Worker::new(plan, &shared, number, threads, count))
        .collect::<std::io::Result<Vec<_>>>()?;
    let results: Vec<_> = std::thread::scope(|scope| {
        let handles: Vec<_> = workers
            .into_iter()
            .enumerate()
            .map(|(number, worker)| {
                let build = std::thread::Builder::new().name(format!("bench-{number}"));
                build.spawn_scoped(scope, move || worker.run())
            })
            .collect();
        handles.into_iter().map(|handle| handle.map(|h| h.join())).collect()
    });
    let wall = shared.clock.now();
    let mut record = Record::new(plan.groups().len(), nanos(plan.warmup.as_secs_f64()), true);
    let mut uses = Vec::new();
    for result in results {
        let joined = result?.map_err(|_| std::io::Error::other("a worker panicked"))?;
        let (theirs, used) = joined?;
        record.add(&theirs);
        uses.push(used);
    }
    Ok(conclude(plan, &shared, record, uses, wall))
}

fn schedule_end(plan: &Plan) -> Nanos {
    let after = plan.stop.after.map_or(Nanos::MAX, |after| after.as_nanos() as Nanos);
    let warm = plan.warmup.as_nanos() as Nanos;
    let scheduled = match plan.schedule() {
        Some(crate::arrival::Schedule::Paced(profile, _)) => nanos(profile.seconds()),
        Some(crate::arrival::Schedule::Replay(_)) | None => Nanos::MAX,
    };
    after.saturating_add(warm).min(scheduled)
}

/// Whether the run ended with its last request rather than by time: the number of requests, the log
/// to replay or the users' iterations were limited.
fn ended_by_itself(plan: &Plan, shared: &Shared, wall: Nanos) -> bool {
    let counted = shared.claimed.load(Ordering::Relaxed) >= shared.requests_max;
    let early = shared.deadline() > wall;
    match plan.arrival {
        Arrival::Users(_) => true,
        Arrival::Closed | Arrival::Open(_) => shared.deadline() == Nanos::MAX || (counted && early),
    }
}

fn conclude(
    plan: &Plan,
    shared: &Shared,
    mut record: Record,
    threads: Vec<ThreadUse>,
    wall: Nanos,
) -> Run {
    let interrupted = shared.watch.stopped();
    let warm = plan.warmup.as_nanos() as Nanos;
    let end = shared.deadline().min(wall);
    let mut offered = None;
    if let Some(schedule) = plan.schedule() {
        let total = schedule.due_before(end).min(shared.requests_max);
        let mut cursor = schedule.cursor();
        for slot in shared.claimed.load(Ordering::Relaxed)..total {
            let Some(intended) = cursor.due(slot) else { break };
            let at = Instants { intended, done: wall, ..Instants::default() };
            record.failed(plan.group_of(slot), &at, Failure::NeverSent);
        }
        offered = Some(total.saturating_sub(schedule.due_before(warm.min(end))));
    }
    let measured_until = match ended_by_itself(plan, shared, wall) {
        true if record.last_done > warm => record.last_done,
        true => end,
        // A schedule may have nothing left to send a little before its end.
        false => shared.deadline(),
    };
    Run {
        record,
        threads,
        measured: Duration::from_nanos(measured_until.saturating_sub(warm)),
        wall: Duration::from_nanos(wall),
        offered,
        interrupted,
    }
}
