//! Conducts one run: sampling, the live view, the interrupt key; ends with an outcome and a
//! verdict.

use crate::arrival::Arrival;
use crate::driver::{Watch, run};
use crate::environment::Environment;
pub use crate::live::Show;
use crate::live::View;
use crate::network::Network;
use crate::outcome::{Asked, Outcome};
use crate::plan::Plan;
use crate::process::Sampler;
use crate::verdict::{Threshold, Verdict};
use std::sync::Arc;

/// Runs `plan` and judges it.
///
/// # Errors
/// When the workers cannot be set up.
pub fn conduct(
    plan: &Plan,
    target: &str,
    thresholds: &[Threshold],
    show: Show,
) -> anyhow::Result<Outcome> {
    let watch = Arc::new(Watch::default());
    conduct_watched(plan, target, thresholds, show, &watch)
}

/// As [`conduct`], with a watch the caller may stop the run by.
///
/// # Errors
/// When the workers cannot be set up.
pub fn conduct_watched(
    plan: &Plan,
    target: &str,
    thresholds: &[Threshold],
    show: Show,
    watch: &Arc<Watch>,
) -> anyhow::Result<Outcome> {
    crate::interrupt::stop_on_ctrl_c(watch);
    let asked = asked(plan, target);
    let descriptors = crate::descriptors::raise();
    if let Some(warning) = crate::descriptors::warning(asked.connections, descriptors) {
        eprintln!("{warning}");
    }
    let environment = Environment { descriptors, ..Environment::read() };
    let network = Network::read();
    let started = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let sampler = plan.addresses.first().and_then(|address| Sampler::start(*address));
    let view = View::start(plan, target, show, watch);
    let result = run(plan, watch);
    view.finish();
    let server = sampler.map(Sampler::finish);
    let result = result?;
    let network = Network::read().since(network);
    let mut outcome = Outcome::of(&result, plan.groups(), asked);
    outcome.started = started;
    outcome.command = std::env::args().collect();
    outcome.environment = environment;
    outcome.server = server;
    outcome.network = network;
    outcome.verdict = Verdict::of(&outcome, !matches!(plan.arrival, Arrival::Closed));
    outcome.thresholds = thresholds.iter().map(|t| t.judge(&outcome)).collect();
    Ok(outcome)
}

fn asked(plan: &Plan, target: &str) -> Asked {
    let connections = match &plan.arrival {
        Arrival::Users(users) => users.count,
        Arrival::Closed | Arrival::Open(_) => plan.connections,
    };
    Asked {
        target: target.to_owned(),
        arrival: describe(&plan.arrival),
        connections,
        threads: plan.threads,
        keep_alive: plan.keep_alive,
        timeout_s: plan.timeout.as_secs_f64(),
        warmup_s: plan.warmup.as_secs_f64(),
    }
}

fn describe(arrival: &Arrival) -> String {
    use crate::arrival::{Schedule, Spacing};
    match arrival {
        Arrival::Closed => "closed loop".to_owned(),
        Arrival::Users(users) => {
            let loops = users.loops.map_or("until the end".to_owned(), |n| format!("{n} loops"));
            format!("{} users over {} s, {loops}", users.count, users.ramp_s)
        }
        Arrival::Open(Schedule::Replay(times)) => format!("replay of {} requests", times.len()),
        Arrival::Open(Schedule::Paced(profile, spacing)) => {
            let spacing = match spacing {
                Spacing::Even => "even".to_owned(),
                Spacing::Poisson { seed } => format!("Poisson (seed {seed})"),
            };
            let peak = profile.stages.iter().map(|stage| stage.rate(0.0)).fold(0.0, f64::max);
            match profile.stages.len() {
                1 => format!("open loop, {spacing}, {peak}/s"),
                stages => format!("open loop, {spacing}, {stages} stages"),
            }
        }
    }
}
