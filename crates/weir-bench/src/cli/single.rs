//! `weir bench URL`: one run.

use super::output::OutputArgs;
use crate::arrival::{Arrival, Profile, Schedule, Spacing, Think, Users};
use crate::conduct::conduct;
use crate::plan::{Expect, Plan, Stop, fitting};
use crate::target::{Shape, Target};
use crate::trace::Trace;
use crate::{report, units};
use anyhow::{Context, bail};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Arguments of one run.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct SingleArgs {
    /// http:// URL to load
    pub(super) url: Option<String>,
    #[command(flatten)]
    pub(super) load: LoadArgs,
    #[command(flatten)]
    pub(super) request: RequestArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// How much load, in which pattern.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct LoadArgs {
    /// Connections at a time
    #[arg(short, long, default_value_t = 64)]
    pub(super) connections: usize,
    /// Length of the run, such as 30s [default: 10s without -n]
    #[arg(short = 'd', long, value_parser = units::duration)]
    pub(super) duration: Option<Duration>,
    /// Number of requests
    #[arg(short = 'n', long, value_parser = units::count)]
    pub(super) requests: Option<u64>,
    /// Requests per second (open loop)
    #[arg(short = 'R', long, value_parser = units::rate)]
    pub(super) rate: Option<f64>,
    /// Spacing of an open loop
    #[arg(long, value_enum, default_value_t = ArrivalKind::Poisson)]
    pub(super) arrival: ArrivalKind,
    /// Seed of random choices
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Rate over time: 100:10s,100-500:30s,sine(300,200,10s):60s,stairs(100,500,5):50s
    #[arg(long, value_name = "STAGES", conflicts_with = "rate")]
    pub(super) stages: Option<String>,
    /// Send the requests of an access log of weir at its times; the URL gives the server
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "stages"])]
    pub(super) replay: Option<PathBuf>,
    /// How much faster than recorded
    #[arg(long, requires = "replay", default_value_t = 1.0)]
    pub(super) speed: f64,
    /// Virtual users, each with its own connection
    #[arg(long, conflicts_with_all = ["rate", "stages", "replay"])]
    pub(super) users: Option<usize>,
    /// Time over which users begin
    #[arg(long, value_parser = units::duration, requires = "users", default_value = "0s")]
    pub(super) ramp: Duration,
    /// Requests per user
    #[arg(long, requires = "users")]
    pub(super) loops: Option<u64>,
    /// Pause of a user between requests: 1s, 1s..2s, exp(1s)
    #[arg(long, value_parser = Think::parse, requires = "users")]
    pub(super) think: Option<Think>,
    /// Worker threads [default: one per core]
    #[arg(short = 't', long)]
    pub(super) threads: Option<usize>,
    /// Sent but not counted at the start
    #[arg(long, value_parser = units::duration, default_value = "0s")]
    pub(super) warmup: Duration,
    /// Longest time for one request
    #[arg(long, value_parser = units::duration, default_value = "10s")]
    pub(super) timeout: Duration,
    /// Longest wait for answers once the last request was sent
    #[arg(long, alias = "drain", value_parser = units::duration, default_value = "10s")]
    pub(super) grace: Duration,
}

/// How requests of an open loop are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ArrivalKind {
    /// At equal distances
    Constant,
    /// As independent clients would send them
    Poisson,
}

/// What is sent and what must come back.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct RequestArgs {
    /// Header line, such as 'X-A: 1'; may be repeated
    #[arg(short = 'H', long = "header", value_name = "LINE")]
    pub(super) headers: Vec<String>,
    /// Body; @FILE reads it from a file
    #[arg(long, value_name = "BODY")]
    pub(super) data: Option<String>,
    /// Method [default: GET, or POST with --data]
    #[arg(short = 'm', long)]
    pub(super) method: Option<String>,
    /// Speak HTTP/1.0
    #[arg(long = "http1.0")]
    pub(super) http10: bool,
    /// A connection per request
    #[arg(long)]
    pub(super) no_keepalive: bool,
    /// Address of this machine to connect from; several (A,B or repeated) take turns, and each has
    /// local ports of its own
    #[arg(long = "local-address", value_name = "ADDRESS", value_delimiter = ',')]
    pub(super) local_addresses: Vec<IpAddr>,
    /// Status that counts as success [default: below 400]; may be repeated
    #[arg(long, value_name = "CODE")]
    pub(super) expect_status: Vec<u16>,
}

impl LoadArgs {
    /// Puts the load's side of a plan into `plan`.
    pub(super) fn apply(&self, plan: &mut Plan) -> anyhow::Result<()> {
        let spacing = match self.arrival {
            ArrivalKind::Constant => Spacing::Even,
            ArrivalKind::Poisson => Spacing::Poisson { seed: self.seed },
        };
        let paced = |profile| Arrival::Open(Schedule::Paced(Arc::new(profile), spacing));
        plan.arrival = match (&self.stages, self.rate, self.users) {
            (Some(stages), _, _) => paced(Profile::parse(stages).map_err(anyhow::Error::msg)?),
            (_, Some(rate), _) if rate <= 0.0 => bail!("the rate must be above 0"),
            (_, Some(rate), _) => paced(Profile::constant(rate)),
            (_, _, Some(count)) => Arrival::Users(Users {
                count,
                ramp_s: self.ramp.as_secs_f64(),
                loops: self.loops,
                think: self.think.unwrap_or_default(),
                seed: self.seed,
            }),
            (None, None, None) => Arrival::Closed,
        };
        if self.connections == 0 || self.users == Some(0) {
            bail!("at least one connection is needed");
        }
        if self.requests == Some(0) || self.duration.is_some_and(|length| length.is_zero()) {
            bail!("-n and -d must be above 0");
        }
        let endless = self.requests.is_none()
            && self.stages.is_none()
            && self.loops.is_none()
            && self.replay.is_none();
        let default = endless.then_some(Duration::from_secs(10));
        plan.stop = Stop { requests: self.requests, after: self.duration.or(default) };
        plan.connections = self.connections;
        let most = self.users.unwrap_or(self.connections);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        plan.threads = self.threads.unwrap_or(cores).clamp(1, most);
        plan.warmup = self.warmup;
        plan.timeout = self.timeout;
        plan.drain = self.grace;
        plan.seed = self.seed;
        Ok(())
    }
}

impl RequestArgs {
    /// The plan of a closed loop on `target`, to which the load is applied.
    pub(super) fn plan(&self, target: &Target) -> anyhow::Result<Plan> {
        let body = match &self.data {
            Some(data) => match data.strip_prefix('@') {
                Some(path) => Some(std::fs::read(path).with_context(|| path.to_owned())?),
                None => Some(data.clone().into_bytes()),
            },
            None => None,
        };
        let shape = self.shape(body.as_deref());
        shape.check()?;
        let mut request = target.request(&shape);
        crate::plan_file::render_variables(&mut request)?;
        if !self.expect_status.is_empty() {
            request.expect = Expect::OneOf(self.expect_status.clone());
        }
        let addresses = target.resolve().map_err(anyhow::Error::msg)?;
        let mut plan = Plan::closed(addresses, request, 1);
        plan.keep_alive = !self.no_keepalive;
        plan.local_addresses.clone_from(&self.local_addresses);
        Ok(plan)
    }
}

impl RequestArgs {
    fn shape<'a>(&'a self, body: Option<&'a [u8]>) -> Shape<'a> {
        let default = if body.is_some() { "POST" } else { "GET" };
        Shape {
            method: self.method.as_deref().unwrap_or(default),
            headers: &self.headers,
            body,
            http10: self.http10,
            keep_alive: !self.no_keepalive,
            defaults: &[("User-Agent", "weir-bench"), ("Accept", "*/*")],
        }
    }

    /// Puts the requests and times of a log into `plan`.
    fn replay(&self, plan: &mut Plan, target: &Target, load: &LoadArgs) -> anyhow::Result<()> {
        let Some(path) = &load.replay else { return Ok(()) };
        if load.speed <= 0.0 {
            bail!("--speed must be above 0");
        }
        if self.method.is_some() || self.data.is_some() {
            bail!("a log has its own methods: leave --method and --data out");
        }
        let name = || path.display().to_string();
        let text = std::fs::read_to_string(path).with_context(name)?;
        let trace = Trace::read(&text).with_context(name)?;
        if trace.without_body > 0 {
            eprintln!("{} requests are sent without their body", trace.without_body);
        }
        trace.apply(plan, target, &self.shape(None), load.speed);
        Ok(())
    }
}

/// Keeps the addresses that accept a connection.
///
/// # Errors When none does, or none can be bound to its local address: a run would report that many
/// times.
pub(super) fn reach(plan: &mut Plan) -> anyhow::Result<()> {
    check_local_addresses(plan)?;
    let mut refused = None;
    let (locals, timeout) = (&plan.local_addresses, plan.timeout);
    plan.addresses.retain(|address| match crate::driver::reach(locals, *address, timeout) {
        Ok(()) => true,
        Err(error) => {
            refused = Some(anyhow::Error::new(error).context(format!(
                "nothing can be sent to {address}: is the server running, and is the URL right?"
            )));
            false
        }
    });
    refused.filter(|_| plan.addresses.is_empty()).map_or(Ok(()), Err)
}

/// Leaves the addresses that connections can be made to from where they are to come from.
fn check_local_addresses(plan: &mut Plan) -> anyhow::Result<()> {
    if plan.local_addresses.is_empty() {
        return Ok(());
    }
    for local in &plan.local_addresses {
        crate::driver::can_come_from(*local).with_context(|| {
            format!("nothing can be sent from {local}: is it an address of this machine?")
        })?;
    }
    let locals = &plan.local_addresses;
    plan.addresses.retain(|address| fitting(locals, *address).next().is_some());
    if plan.addresses.is_empty() {
        bail!("the server has no address of the kind (IPv4, IPv6) that --local-address gives");
    }
    Ok(())
}

/// Runs it.
pub(super) fn run(args: &SingleArgs) -> anyhow::Result<u8> {
    let Some(url) = &args.url else {
        bail!("give a URL, such as http://127.0.0.1:8080/ (or see --help)");
    };
    let target = Target::parse(url).map_err(anyhow::Error::msg)?;
    let mut plan = args.request.plan(&target)?;
    args.load.apply(&mut plan)?;
    args.request.replay(&mut plan, &target, &args.load)?;
    let output = &args.output;
    output.check()?;
    reach(&mut plan)?;
    let outcome = conduct(&plan, &target.url(), &output.threshold, output.show())?;
    if !output.on_stdout() {
        super::say(&report::text::render(&outcome));
    }
    output.write(&outcome)?;
    Ok(super::exit_code(&outcome))
}
