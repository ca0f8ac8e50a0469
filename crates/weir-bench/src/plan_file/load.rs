//! The load of a plan file: connections, rate and duration.

use crate::arrival::{Arrival, Profile, Schedule, Spacing, Think, Users};
use crate::plan::{Plan, Stop};
use crate::units;
use anyhow::bail;
use serde::Deserialize;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// The load; times and rates as on the command line.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Load {
    connections: Option<usize>,
    threads: Option<usize>,
    duration: Option<String>,
    requests: Option<u64>,
    rate: Option<f64>,
    stages: Option<String>,
    /// An access log of weir to replay.
    pub(super) replay: Option<String>,
    /// The factor by which a log is replayed faster than recorded.
    pub(super) speed: Option<f64>,
    arrival: Option<String>,
    users: Option<usize>,
    ramp: Option<String>,
    loops: Option<u64>,
    think: Option<String>,
    warmup: Option<String>,
    timeout: Option<String>,
    seed: Option<u64>,
    local_addresses: Vec<IpAddr>,
    pub(super) keep_alive: Option<bool>,
    pub(super) http10: bool,
}

impl Load {
    pub(super) fn apply(&self, plan: &mut Plan) -> anyhow::Result<()> {
        let time = |text: &Option<String>| -> anyhow::Result<Option<Duration>> {
            text.as_deref().map(units::duration).transpose().map_err(anyhow::Error::msg)
        };
        let seed = self.seed.unwrap_or(1);
        let spacing = match self.arrival.as_deref() {
            None | Some("poisson") => Spacing::Poisson { seed },
            Some("constant") => Spacing::Even,
            Some(other) => bail!("arrival '{other}' is neither poisson nor constant"),
        };
        let paced = |profile| Arrival::Open(Schedule::Paced(Arc::new(profile), spacing));
        if self.replay.is_some() && (self.rate.is_some() || self.users.is_some()) {
            bail!("give one of rate, stages, users and replay");
        }
        if self.replay.is_none() && self.speed.is_some() {
            bail!("speed is for replay");
        }
        plan.arrival = match (self.rate, &self.stages, self.users) {
            (Some(rate), None, None) if rate > 0.0 => paced(Profile::constant(rate)),
            (None, Some(stages), None) => {
                paced(Profile::parse(stages).map_err(anyhow::Error::msg)?)
            }
            (None, None, Some(count)) => Arrival::Users(Users {
                count,
                ramp_s: time(&self.ramp)?.unwrap_or_default().as_secs_f64(),
                loops: self.loops,
                think: self
                    .think
                    .as_deref()
                    .map(Think::parse)
                    .transpose()
                    .map_err(anyhow::Error::msg)?
                    .unwrap_or_default(),
                seed,
            }),
            (None, None, None) => Arrival::Closed,
            _ => bail!("give one of rate (above 0), stages, users and replay"),
        };
        if self.users.is_none() {
            let given = [("ramp", self.ramp.is_some()), ("loops", self.loops.is_some())];
            let given = given.into_iter().chain([("think", self.think.is_some())]);
            if let Some((name, _)) = given.into_iter().find(|(_, given)| *given) {
                bail!("{name} is for users: say how many with 'users'");
            }
        }
        let duration = time(&self.duration)?;
        if self.requests == Some(0) || duration.is_some_and(|length| length.is_zero()) {
            bail!("requests and duration must be above 0");
        }
        let endless = self.requests.is_none()
            && self.stages.is_none()
            && self.loops.is_none()
            && self.replay.is_none();
        let default = endless.then_some(Duration::from_secs(10));
        plan.stop = Stop { requests: self.requests, after: duration.or(default) };
        plan.connections = self.connections.unwrap_or(64);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let most = self.users.unwrap_or(plan.connections);
        anyhow::ensure!(most > 0, "at least one connection is needed");
        plan.threads = self.threads.unwrap_or(cores).clamp(1, most);
        plan.keep_alive = self.keep_alive.unwrap_or(true);
        plan.warmup = time(&self.warmup)?.unwrap_or_default();
        plan.timeout = time(&self.timeout)?.unwrap_or(plan.timeout);
        plan.seed = seed;
        plan.local_addresses.clone_from(&self.local_addresses);
        Ok(())
    }
}
