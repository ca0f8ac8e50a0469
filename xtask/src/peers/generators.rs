//! `cargo xtask peers bench`: CPU per request of `weir bench` beside wrk, wrk2, ab, hey and oha,
//! against one nginx, in interleaved rounds.
//!
//! CPU is user and system time of the generator's process from its start to its end over the
//! answers it counted. Ratios to wrk are taken round by round: what a round does to both cancels
//! out. A generator that is not on this machine is left out, and the reason is printed.

use std::fmt::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use super::interrupt::Interrupt;
use super::machine::Machine;
use super::process::Process;
use super::report::Table;
use super::stats::Spread;
use super::usage::Stat;
use crate::release;
use crate::tree::{root, shown};

/// How much longer than asked for a generator may take.
const GRACE: Duration = Duration::from_secs(30);

/// Arguments of `xtask peers bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Needs nginx and wrk. ab, hey, oha and wrk2 are measured if they are there: --install gets ab and hey from
Debian and oha from crates.io; wrk2 is in neither, so build it and put it on PATH.")]
pub struct GeneratorArgs {
    /// How often each generator is measured
    #[arg(long, value_name = "N", default_value_t = 7)]
    rounds: usize,
    /// Length of one measurement
    #[arg(long, value_name = "S", default_value_t = 2)]
    seconds: u64,
    /// Connections, comma-separated
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,64,1000")]
    connections: Vec<usize>,
    /// weir to measure, instead of the one built in release
    #[arg(long, value_name = "FILE")]
    weir: Option<PathBuf>,
    /// Folder for the result, instead of bench/runs/<date>-<machine>
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Installs what is missing
    #[arg(long)]
    install: bool,
}

/// A load generator with a closed loop (wrk2: at a rate it cannot reach).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Generator {
    Wrk,
    Weir,
    Wrk2,
    Ab,
    Hey,
    Oha,
}

const ALL: [Generator; 6] = [
    Generator::Wrk,
    Generator::Weir,
    Generator::Wrk2,
    Generator::Ab,
    Generator::Hey,
    Generator::Oha,
];

impl Generator {
    fn name(self) -> &'static str {
        match self {
            Self::Wrk => "wrk",
            Self::Weir => "weir bench",
            Self::Wrk2 => "wrk2",
            Self::Ab => "ab -k",
            Self::Hey => "hey",
            Self::Oha => "oha",
        }
    }

    /// Its program, and how it is got if it is not there.
    fn program(self) -> (&'static str, &'static str) {
        match self {
            Self::Wrk => ("wrk", "apt-get install wrk"),
            Self::Weir => ("weir", "cargo build --release -p weir"),
            Self::Wrk2 => ("wrk2", "in neither Debian nor crates.io; build it from source"),
            Self::Ab => ("ab", "apt-get install apache2-utils"),
            Self::Hey => ("hey", "apt-get install hey"),
            Self::Oha => ("oha", "cargo install oha --no-default-features"),
        }
    }

    /// The arguments for `seconds` on `connections`.
    fn arguments(self, connections: usize, seconds: u64, url: &str) -> String {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = cores.min(connections);
        match self {
            Self::Wrk => format!("-t{threads} -c{connections} -d{seconds}s --latency {url}"),
            Self::Weir => {
                format!("bench {url} -t {threads} -c {connections} -d {seconds}s -q --json -")
            }
            Self::Wrk2 => {
                format!("-t{threads} -c{connections} -d{seconds}s -R 1000000 --latency {url}")
            }
            // Its -t alone would end it after 50,000 requests.
            Self::Ab => format!("-q -k -t {seconds} -n 5000000 -c {connections} {url}"),
            Self::Hey => format!("-z {seconds}s -c {connections} {url}"),
            Self::Oha => format!("-z {seconds}s -c {connections} --no-tui {url}"),
        }
    }

    /// The answers it counted.
    fn answers(self, output: &str) -> Option<u64> {
        let line = |mark: &str| output.lines().find(|line| line.contains(mark));
        let word = |line: &str, at: usize| line.split_whitespace().nth(at)?.parse().ok();
        match self {
            Self::Wrk | Self::Wrk2 => word(line(" requests in ")?, 0),
            Self::Weir => serde_json::from_str::<serde_json::Value>(output).ok()?["ok"].as_u64(),
            Self::Ab => word(line("Complete requests:")?, 2),
            Self::Hey | Self::Oha => word(line("[200]")?, 1),
        }
    }
}

/// One measurement.
#[derive(Clone, Copy, Debug)]
struct Sample {
    cpu_us: f64,
    rate: f64,
}

/// Runs it.
///
/// # Errors
/// nginx or wrk is missing, a generator fails, or Ctrl-C.
pub fn run(args: &GeneratorArgs) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen()?;
    super::launch::raise_files();
    let weir = match &args.weir {
        Some(file) => file.clone(),
        None => release::weir()?,
    };
    let mut left_out = Vec::new();
    let programs = programs(&weir, args.install, &mut left_out)?;
    let machine = Machine::here();
    let work = tempfile::Builder::new().prefix("weir-generators-").tempdir()?;
    let (_nginx, url) = nginx(work.path())?;
    let mut table = Table::new(
        "CPU per request",
        &["connections", "generator", "µs", "ratio to wrk", "requests/s"],
    );
    for &connections in &args.connections {
        let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); programs.len()];
        for round in 0..args.rounds.max(1) {
            for step in 0..programs.len() {
                // Each begins a round in its turn.
                let at = (round + step) % programs.len();
                let (generator, program) = &programs[at];
                let arguments = generator.arguments(connections, args.seconds, &url);
                let sample = measure(*generator, program, &arguments, args.seconds, &interrupt)?;
                samples[at].push(sample);
            }
            eprintln!("{connections} connections, round {}", round + 1);
        }
        rows(&mut table, connections, &programs, &samples);
    }
    finish(args, &machine, &table, &left_out)
}

/// Generators that are here, wrk first.
fn programs(
    weir: &Path,
    install: bool,
    left_out: &mut Vec<String>,
) -> anyhow::Result<Vec<(Generator, PathBuf)>> {
    let mut found = Vec::new();
    for generator in ALL {
        let (name, how) = generator.program();
        if install && find(name).is_none() {
            get(generator)?;
        }
        match (generator, find(name)) {
            (Generator::Weir, _) => found.push((generator, weir.to_owned())),
            (_, Some(path)) => found.push((generator, path)),
            (Generator::Wrk, None) => bail!("wrk is not on this machine ({how})"),
            (_, None) => {
                eprintln!("{name} is left out: it is not on this machine ({how})");
                left_out.push(format!("{name} is left out: not on the machine ({how})"));
            }
        }
    }
    Ok(found)
}

fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    let own = root().join("target/generators/bin").display().to_string();
    let folders = path.split(':').map(str::to_owned).chain(["/usr/sbin".to_owned(), own]);
    folders.map(|folder| Path::new(&folder).join(name)).find(|file| file.is_file())
}

/// Installs a generator from a package registry; one that is in none is left to the caller.
fn get(generator: Generator) -> anyhow::Result<()> {
    let debian = |package: &str| {
        let arguments = ["install", "-y", "-q", "--no-install-recommends", package];
        Command::new("apt-get").args(arguments).status()
    };
    let status = match generator {
        Generator::Wrk => debian("wrk")?,
        Generator::Ab => debian("apache2-utils")?,
        Generator::Hey => debian("hey")?,
        Generator::Oha => Command::new(env!("CARGO"))
            .args(["install", "oha", "--locked", "--no-default-features", "--root"])
            .arg(root().join("target/generators"))
            .status()?,
        Generator::Weir | Generator::Wrk2 => return Ok(()),
    };
    if !status.success() {
        eprintln!("{} could not be installed", generator.program().0);
    }
    Ok(())
}

/// One nginx with one worker that answers three bytes; and its URL.
fn nginx(work: &Path) -> anyhow::Result<(Process, String)> {
    let program = find("nginx").context("nginx is not on this machine (apt-get install nginx)")?;
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let folder = work.display();
    let config = format!(
        "worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;\n\
         events {{ worker_connections 10000; }}\n\
         http {{ access_log off; keepalive_requests 1000000000; keepalive_timeout 600s;\n\
         server {{ listen {address} backlog=65535; location / {{ return 200 \"ok\\n\"; }} }} }}\n"
    );
    let file = work.join("nginx.conf");
    std::fs::write(&file, config)?;
    let command = [program.display().to_string(), "-c".to_owned(), file.display().to_string()];
    let mut process = Process::start(&command, &[], &work.join("nginx.log"))?;
    let began = Instant::now();
    while std::net::TcpStream::connect(address).is_err() {
        process.check()?;
        ensure!(began.elapsed() < GRACE, "nginx does not listen");
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok((process, format!("http://{address}/")))
}

/// Runs a generator to its end. Its CPU is read when it has ended and before it is reaped: then all
/// its threads are in it.
fn measure(
    generator: Generator,
    program: &Path,
    arguments: &str,
    seconds: u64,
    interrupt: &Interrupt,
) -> anyhow::Result<Sample> {
    let shown = || format!("{} {arguments}", generator.name());
    let output = tempfile::tempfile()?;
    let mut child = Command::new(program)
        .args(arguments.split_whitespace())
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(Stdio::null())
        .spawn()
        .with_context(shown)?;
    let began = Instant::now();
    let ticks = loop {
        let stat = Stat::of(child.id()).with_context(shown)?;
        if stat.ended {
            break stat.ticks;
        }
        if interrupt.check().is_err() || began.elapsed() > Duration::from_secs(seconds) + GRACE {
            child.kill()?;
            child.wait()?;
            bail!("{}: ended early", shown());
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    child.wait()?;
    let mut text = String::new();
    let mut output = output;
    std::io::Seek::rewind(&mut output)?;
    std::io::Read::read_to_string(&mut output, &mut text)?;
    let answers = generator.answers(&text).filter(|answers| *answers > 0);
    let answers = answers.with_context(|| format!("{}: no answers in\n{text}", shown()))? as f64;
    let cpu_s = ticks as f64 / rustix::param::clock_ticks_per_second() as f64;
    Ok(Sample { cpu_us: cpu_s * 1e6 / answers, rate: answers / seconds as f64 })
}

fn rows(
    table: &mut Table,
    connections: usize,
    programs: &[(Generator, PathBuf)],
    samples: &[Vec<Sample>],
) {
    let cpu = |samples: &[Sample]| samples.iter().map(|s| s.cpu_us).collect::<Vec<f64>>();
    let show = |spread: Option<Spread>, digits| spread.map_or("-".into(), |s| s.show(digits));
    let wrk = samples.first().map(|samples| cpu(samples)).unwrap_or_default();
    for ((generator, _), samples) in programs.iter().zip(samples) {
        let own = cpu(samples);
        table.row([
            connections.to_string(),
            generator.name().to_owned(),
            show(Spread::of(own.iter().copied()), 2),
            show(Spread::ratio(&own, &wrk), 2),
            show(Spread::of(samples.iter().map(|s| s.rate)).map(|s| Spread { n: 1, ..s }), 0),
        ]);
    }
}

fn finish(
    args: &GeneratorArgs,
    machine: &Machine,
    table: &Table,
    left_out: &[String],
) -> anyhow::Result<()> {
    let mut out = String::from("# What a request costs the generator\n\n");
    let _ = writeln!(
        out,
        "`cargo xtask peers bench --rounds {} --seconds {}`\n\n\
         User and system time of the generator over the answers it counted, against one nginx with\n\
         one worker; keep-alive, three bytes. Median of the rounds, and the least and greatest in\n\
         parentheses; ratios are taken round by round. weir keeps response, service and first-byte\n\
         histograms and one per second; wrk its latencies.\n",
        args.rounds, args.seconds
    );
    for line in machine.lines().iter().chain(left_out) {
        let _ = writeln!(out, "- {line}");
    }
    let _ = write!(out, "\n{}", table.markdown());
    let folder = root().join("bench/runs").join(machine.folder());
    let folder = args.out.clone().unwrap_or(folder);
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("bench.md"), &out)?;
    println!("{out}");
    if args.out.is_none() {
        let run = shown(&folder.join("bench.md"));
        let block = format!(
            "CPU a request costs `weir bench` and others, in one run ([run]({run}),\n\
             `cargo xtask peers bench`):\n\n{}",
            table.markdown()
        );
        super::report::publish("bench", &block)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Generator;

    #[test]
    fn answers_are_read_from_every_report() {
        let cases = [
            (Generator::Wrk, "  60358 requests in 1.00s, 6.85MB read", Some(60_358)),
            (Generator::Wrk2, "  200 requests in 996.29ms, 23.24KB read", Some(200)),
            (Generator::Weir, "{\"ok\": 12, \"failed\": 0}", Some(12)),
            (
                Generator::Ab,
                "Complete requests:      10000\nFailed requests:        0",
                Some(10_000),
            ),
            (Generator::Hey, "Status code distribution:\n  [200]\t100 responses", Some(100)),
            (Generator::Oha, "Status code distribution:\n  [200] 71 responses", Some(71)),
            (Generator::Wrk, "unable to connect", None),
        ];
        for (generator, output, expected) in cases {
            assert_eq!(generator.answers(output), expected, "{output}");
        }
    }
}
