//! `cargo xtask peers scg`: Spring Cloud Gateway beside the others, or alone as a target for other
//! tools.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use anyhow::Context;

use super::frame::new_report;
use super::keepalive;
use super::plan::Plan;
use crate::bench::Bench;
use crate::common::Common;
use crate::compare::Per;
use crate::subject::{self, Peer, Setup, Weir};
use crate::tools::Tool;

/// Arguments of `xtask peers scg`.
#[derive(Debug, clap::Args)]
pub struct ScgArgs {
    #[command(flatten)]
    common: Common,
    /// Routes that weir and Spring Cloud Gateway have; one is the latter's best case
    #[arg(long, value_name = "N", default_value_t = 1)]
    max: u64,
    /// Only starts it on this port of 127.0.0.1, until Ctrl-C
    #[arg(long, value_name = "PORT")]
    serve: Option<u16>,
    /// With --serve: where its routes lead; without it, to a bare upstream
    #[arg(long, value_name = "ADDRESS", requires = "serve")]
    upstream: Option<SocketAddr>,
}

/// Runs it.
///
/// # Errors
/// A tool is missing, a proxy fails, or Ctrl-C.
pub fn run(args: &ScgArgs) -> anyhow::Result<()> {
    if let Some(port) = args.serve {
        let bench = args.common.prepare(&[Tool::Maven, Tool::Java])?;
        return serve(&bench, args, port);
    }
    let needed = [Tool::Nginx, Tool::Haproxy, Tool::Wrk, Tool::Maven, Tool::Java];
    let bench = args.common.prepare(&needed)?;
    let plan = Plan::of(&bench, &args.common, args.max);
    let title = "Spring Cloud Gateway beside weir and its peers";
    let mut report = new_report("scg", title, &plan);
    use Peer::{Copier, Direct, Forwarder, Haproxy, Nginx, Scg, Weir};
    let peers = [Weir, Nginx, Haproxy, Scg, Copier, Forwarder, Direct];
    let compared = keepalive::run(&plan, &peers, &mut report)?;
    let table = compared.table("CPU to weir's, by weir bench", Per::Request, &[Weir]);
    report.readme = format!(
        "Spring Cloud Gateway 5.0.3 with {} ([run]({{folder}}/scg.md), `cargo xtask peers scg`):\n\n{}",
        if args.max == 1 { "one route".to_owned() } else { format!("{} routes", args.max) },
        table.markdown()
    );
    report.tables.insert(2, table);
    args.common.finish(&bench, &report, true)
}

fn serve(bench: &Bench, args: &ScgArgs, port: u16) -> anyhow::Result<()> {
    let bare = match args.upstream {
        Some(_) => None,
        None => Some(bench.upstream()?),
    };
    let upstream = args.upstream.or(bare.as_ref().map(|(_, address)| *address));
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    // Another server there would answer in its place.
    drop(TcpListener::bind(address).with_context(|| format!("{address} cannot be had"))?);
    let setup = Setup {
        upstream: upstream.context("no upstream")?,
        address: Some(address),
        routes: args.max,
        peers_have_all: true,
        cores: Vec::new(),
        weir: Weir::default(),
        asked: None,
        patience: Duration::from_secs(900),
    };
    let started = subject::start(bench, Peer::Scg, Peer::Scg.name(), &setup)?;
    let mut running = started.context("Spring Cloud Gateway does not answer")?;
    println!("listening http {}", running.address);
    println!("routes /0 to /{} lead to {}", args.max.saturating_sub(1), setup.upstream);
    println!("Ctrl-C ends it");
    while bench.interrupt.sleep(Duration::from_millis(200)).is_ok() {
        running.check()?;
    }
    Ok(())
}
