//! Active health checks of the upstreams of pipelines, with or without traffic.

use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use weir_balance::{Member, Verdict};
use weir_snapshot::{HealthCheck, Pipeline, ProxyVersion};
use weir_wire::{write_v1, write_v2};

use super::balance::dial;
use crate::drain::{DrainState, Phase};
use crate::executor::spawn;
use crate::net::{Socket, poll_read, poll_write};
use crate::pacer::now_ns;
use crate::worker::Worker;

/// Interval at which the list of upstreams to check is read again.
const ASK: Duration = Duration::from_secs(1);
/// Maximum size of a response to a check.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// A pipeline whose upstreams are checked for as long as it is there.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    pub(crate) current: Arc<ArcSwap<Pipeline>>,
    pub(crate) drain: Arc<DrainState>,
}

impl Checked {
    /// The health check of `member` that now applies, if any.
    fn check_of(&self, member: &Arc<Member>) -> Option<HealthCheck> {
        let pipeline = self.current.load();
        let check = pipeline.check.clone()?;
        let serves = self.drain.phase() == Phase::Serving;
        let mut all = pipeline.groups().flat_map(|group| group.members());
        (serves && all.any(|one| Arc::ptr_eq(one, member))).then_some(check)
    }
}

/// Checks each upstream in its own task: a hanging one does not delay the others.
pub(super) async fn watch(worker: Rc<Worker>, checked: Checked) {
    let mut tended: Vec<(Arc<Member>, Weak<()>)> = Vec::new();
    while checked.drain.phase() == Phase::Serving {
        tended.retain(|(_, life)| life.strong_count() > 0);
        let pipeline = checked.current.load_full();
        for member in pipeline.groups().flat_map(|group| group.members()) {
            let is_known = tended.iter().any(|(known, _)| Arc::ptr_eq(known, member));
            if pipeline.check.is_none() || is_known {
                continue;
            }
            let life = Rc::new(());
            tended.push((Arc::clone(member), Rc::downgrade(&life)));
            let tending = tend(Rc::clone(&worker), checked.clone(), Arc::clone(member), life);
            if let Err(error) = spawn(tending) {
                tracing::error!(%error, "an upstream of a pipeline is not checked");
            }
        }
        worker.deadlines.sleep(ASK).await;
    }
}

async fn tend(worker: Rc<Worker>, checked: Checked, member: Arc<Member>, _life: Rc<()>) {
    let mut verdict = Verdict::default();
    let host = &member.target.host;
    while let Some(check) = checked.check_of(&member) {
        let pipeline = checked.current.load_full();
        let mut sent = introduction(&pipeline);
        sent.extend_from_slice(&check.send);
        let found = look(&worker, &member, &check, &sent).await;
        let upstream = format_args!("{host}:{}", member.target.port);
        let is_up = verdict.add(found.is_ok(), check.rise, check.fall);
        let is_news = is_up.is_some_and(|is_up| member.checked(is_up, now_ms()));
        match found {
            Ok(()) if is_news => tracing::info!(pipeline = pipeline.id, %upstream, "up again"),
            Err(why) if is_news => {
                tracing::warn!(pipeline = pipeline.id, %upstream, "taken out: {why}");
            }
            _ => {}
        }
        worker.deadlines.sleep(check.interval).await;
    }
    member.checked(true, now_ms());
}

fn now_ms() -> u64 {
    now_ns() / 1_000_000
}

/// Checks one upstream once.
async fn look(
    worker: &Rc<Worker>,
    member: &Member,
    check: &HealthCheck,
    sent: &[u8],
) -> Result<(), String> {
    tokio::select! {
        result = ask(worker, member, check, sent) => result,
        () = worker.deadlines.sleep(check.timeout) => Err("the check timed out".to_owned()),
    }
}

/// The PROXY header of a connection that is nobody's, if the upstreams expect one.
fn introduction(pipeline: &Pipeline) -> Vec<u8> {
    let mut out = Vec::new();
    match pipeline.proxy_protocol.send {
        None => {}
        Some(ProxyVersion::V1) => write_v1(&mut out, None),
        Some(ProxyVersion::V2) => write_v2(&mut out, None, &[]),
    }
    out
}

async fn ask(
    worker: &Rc<Worker>,
    member: &Member,
    check: &HealthCheck,
    sent: &[u8],
) -> Result<(), String> {
    let stream = dial(worker, &member.target, false).await.map_err(|error| error.to_string())?;
    let mut socket = Socket::watched(stream);
    let mut rest = sent;
    while !rest.is_empty() {
        let written = poll_fn(|_| poll_write(&mut socket, rest)).await;
        let count = written.map_err(|error| error.to_string())?;
        rest = rest.get(count..).unwrap_or_default();
    }
    let expect = check.expect.as_slice();
    let mut answer = Vec::new();
    while !expect.is_empty() && !answer.windows(expect.len()).any(|part| part == expect) {
        let read = poll_fn(|_| {
            let mut scratch = worker.scratch.borrow_mut();
            let polled = poll_read(&mut socket, scratch.buffer());
            polled.map_ok(|count| {
                answer.extend_from_slice(scratch.read(count));
                count
            })
        });
        let count = read.await.map_err(|error| error.to_string())?;
        if count == 0 || answer.len() > ANSWER_BYTES_MAX {
            let start = String::from_utf8_lossy(answer.get(..40).unwrap_or(&answer)).into_owned();
            return Err(format!("the answer is not what is expected: {start:?}"));
        }
    }
    Ok(())
}
