//! `cargo xtask dubbo`: a real consumer and real providers of Apache Dubbo, with weir in between.
//!
//! The Java side is `bench/dubbo`. Everything listens on free ports of 127.0.0.1 and ends with this
//! process.

mod ground;
mod report;

use std::path::PathBuf;

use anyhow::{Context, ensure};
use ground::{Ground, PROVIDER_THREADS, Providers};
use report::{Case, Load, Report};
use weir_peers::interrupt::Interrupt;
use weir_peers::machine::Machine;
use weir_peers::program;
use weir_peers::usage::Cpu;
use weir_testkit::tree::{root, shown};

/// Arguments of `cargo xtask dubbo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Needs Debian's maven and openjdk-17-jdk-headless; Maven fetches Apache Dubbo the first time. First as many
calls as --calls says in either serialization, over one connection without --shared, then what else Dubbo can do, then as many
calls again while one of two providers shuts down.
Exit code: 0 all was as it must be, 1 something was not.")]
pub struct DubboArgs {
    /// How many calls a load makes
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    calls: u32,
    /// How many threads of the consumer make them
    #[arg(long, value_name = "N", default_value_t = 32)]
    threads: u32,
    /// Let connections to providers be shared, by a consumer with four connections
    #[arg(long)]
    shared: bool,
    /// A weir that is built, instead of building it
    #[arg(long, value_name = "FILE")]
    weir: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Write messages of the peers to tests/dubbo instead; weir is not needed for that
    #[arg(long)]
    record: bool,
}

/// Connections of the consumer when those to providers are shared.
const SHARERS: u32 = 4;

/// How a body is serialized, by Dubbo's names.
const SERIALIZATIONS: [&str; 2] = ["hessian2", "fastjson2"];

/// Runs it.
///
/// # Errors
/// Something does not build or start, or something was not as it must be.
pub fn run(args: &DubboArgs) -> anyhow::Result<()> {
    ensure!(args.calls > 0 && args.threads > 0, "--calls and --threads have to be above 0");
    let interrupt = Interrupt::listen()?;
    let ground = Ground::new(&interrupt, if args.shared { SHARERS } else { 1 })?;
    if args.record {
        return record(&ground);
    }
    let weir = program::weir(args.weir.as_deref())?;
    let providers = Providers::start(&ground)?;
    let gateway = ground.gateway(&weir, &providers, args.shared)?;
    let mut report = Report::new(Machine::here());
    for serialization in SERIALIZATIONS {
        let calls = Calls { args, serialization, stopped: None };
        report.loads.push(calls.play(&ground, gateway.port("both")?, gateway.process.pid())?);
    }
    report.cases = cases(&ground, &gateway, &providers)?;
    let stopped = Some(providers.one.pid());
    let calls = Calls { args, serialization: SERIALIZATIONS[0], stopped };
    report.loads.push(calls.play(&ground, gateway.port("both")?, gateway.process.pid())?);
    match args.json {
        true => println!("{:#}", serde_json::to_value(&report)?),
        false => println!("{}", report.text()),
    }
    let faults = report.faults();
    for fault in &faults {
        eprintln!("{fault}");
    }
    ensure!(faults.is_empty(), "{} faults", faults.len());
    Ok(())
}

/// A load to play.
struct Calls<'a> {
    args: &'a DubboArgs,
    serialization: &'a str,
    /// Process id of the provider that is stopped when half of the calls are made.
    stopped: Option<u32>,
}

impl Calls<'_> {
    fn play(&self, ground: &Ground<'_>, port: u16, weir: u32) -> anyhow::Result<Load> {
        let DubboArgs { calls, threads, .. } = self.args;
        let mut name = format!("{calls} calls, {}", self.serialization);
        let numbers = [port.to_string(), calls.to_string(), threads.to_string()];
        let mut arguments = vec!["load".to_owned()];
        arguments.extend(numbers);
        arguments.push(self.serialization.to_owned());
        if let Some(pid) = self.stopped {
            name += ", a provider stops";
            arguments.push(pid.to_string());
        }
        let mut before = Cpu::default();
        let mut load = None;
        let mut told = 0;
        ground.consume(&arguments, |word, said| {
            match word {
                "begun" => before = Cpu::of(&[weir]),
                "progress" => {
                    let done = said["calls"].as_u64().unwrap_or_default();
                    if done >= told + u64::from(*calls) / 10 {
                        told = done;
                        eprintln!("{name}: {done}");
                    }
                }
                "result" => {
                    let cpu_s = Cpu::of(&[weir]).all_s - before.all_s;
                    load = Some(serde_json::from_value::<Load>(said).context("result")?);
                    load.iter_mut().for_each(|load| load.cpu_us = cpu_s * 1e6 / f64::from(*calls));
                }
                _ => {}
            }
            Ok(())
        })?;
        let mut load = load.context("the consumer printed no result")?;
        load.asked = u64::from(*calls);
        load.stops = self.stopped.is_some();
        load.name = name;
        Ok(load)
    }
}

/// Everything but load, one after the other.
fn cases(
    ground: &Ground<'_>,
    gateway: &ground::Gateway,
    providers: &Providers,
) -> anyhow::Result<Vec<Case>> {
    let mut arguments = vec!["cases".to_owned()];
    for id in ["both", "limited", "routed", "dead"] {
        arguments.push(gateway.port(id)?.to_string());
    }
    arguments.extend([providers.ports.0, providers.ports.1].map(|port| port.to_string()));
    let mut cases = Vec::new();
    ground.consume(&arguments, |word, said| {
        if word == "case" {
            let case: Case = serde_json::from_value(said).context("case")?;
            eprintln!("{}: {}", case.name, if case.fine { "fine" } else { "wrong" });
            cases.push(case);
        }
        Ok(())
    })?;
    Ok(cases)
}

/// Has the peers write messages of theirs into files.
fn record(ground: &Ground<'_>) -> anyhow::Result<()> {
    let folder = root().join("tests/dubbo");
    std::fs::create_dir_all(&folder)?;
    let (provider, port) = ground.provider("one", PROVIDER_THREADS)?;
    let (_single, single_port) = ground.provider("single", 1)?;
    let numbers = [u32::from(port), provider.pid(), u32::from(single_port)];
    let mut arguments = vec!["record".to_owned(), folder.display().to_string()];
    arguments.extend(numbers.map(|number| number.to_string()));
    let mut written = 0;
    ground.consume(&arguments, |word, said| {
        written += usize::from(word == "written");
        eprintln!("{word} {said}");
        Ok(())
    })?;
    eprintln!("{written} messages in {}", shown(&folder));
    Ok(())
}
