//! `cargo xtask oracles`: what the mock service generates, judged by programs of others: schemas by
//! ajv, templates by mock.js, Chinese numbers by python-stdnum, and a served definition by
//! schemathesis.
//!
//! The scripts that call them are in `bench/oracles`; the programs are installed below `target`,
//! each version with its checksum.

mod conformance;
mod samples;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde::Deserialize;
use serde_json::Value;
use weir_testkit::tree::root;

/// The maximum number of findings shown for one schema or template.
const SHOWN_MAX: usize = 3;

/// Arguments of `cargo xtask oracles`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Needs node, npm and python3 with pip; npm and pip fetch the oracles the first time.
Exit code: 0 nothing was found, 1 something was.")]
pub struct OraclesArgs {
    /// Values that are made of each schema and template
    #[arg(long, value_name = "N", default_value_t = 40)]
    seeds: u64,
    /// The weir that schemathesis tests; without it, weir is built in release
    #[arg(long, value_name = "FILE")]
    weir: Option<PathBuf>,
}

/// A sample that an oracle rejects.
#[derive(Debug, Deserialize)]
struct Finding {
    name: String,
    seed: u64,
    why: String,
    value: Value,
}

/// Runs it.
///
/// # Errors
/// An oracle cannot be installed or run, or it found something.
pub fn run(args: &OraclesArgs) -> anyhow::Result<()> {
    let home = install()?;
    let made = samples::make(args.seeds)?;
    let mut node = Command::new("node");
    node.arg(home.join("judge.js"));
    let mut python = Command::new("python3");
    python.arg(home.join("judge.py")).env("PYTHONPATH", home.join("python"));
    let mut findings = judged(node, &made.for_node)?;
    findings.extend(judged(python, &made.numbers)?);
    let failed = made.failed.iter().map(|failed| (failed.name.clone(), failed.to_string()));
    let found = findings.iter().map(|one| {
        let Finding { name, seed, why, value } = one;
        (name.clone(), format!("seed {seed}: {why}: {value}"))
    });
    let mut found: Vec<(String, String)> = failed.chain(found).collect();
    found.sort();
    for group in found.chunk_by(|one, other| one.0 == other.0) {
        println!("{}: {} findings", group.first().map_or("", |one| &one.0), group.len());
        group.iter().take(SHOWN_MAX).for_each(|(_, text)| println!("  {text}"));
    }
    let count = made.for_node.len() + made.numbers.len();
    println!("{count} values judged, {} findings", found.len());
    let differing = conformance::run(&home, &weir_peers::program::weir(args.weir.as_deref())?)?;
    ensure!(found.is_empty(), "what is generated is not what the oracles accept");
    ensure!(differing == 0, "schemathesis does not find what bench/oracles/known.json names");
    Ok(())
}

/// Installs the oracles, unless they are there.
fn install() -> anyhow::Result<PathBuf> {
    let (from, home) = (root().join("bench/oracles"), root().join("target/oracles"));
    std::fs::create_dir_all(&home)?;
    let mut changed = !home.join("installed").exists();
    for name in ["package.json", "package-lock.json", "requirements.txt", "judge.js", "judge.py"] {
        let text = std::fs::read(from.join(name))?;
        let is_new = std::fs::read(home.join(name)).ok().as_ref() != Some(&text);
        changed |= is_new && !name.starts_with("judge");
        std::fs::write(home.join(name), text)?;
    }
    if changed {
        let npm = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
        succeed(Command::new("npm").args(npm), &home)?;
        let pip = ["-m", "pip", "install", "--quiet", "--require-hashes", "--upgrade"];
        let to = ["--only-binary=:all:", "--target", "python", "-r", "requirements.txt"];
        succeed(Command::new("python3").args(pip).args(to), &home)?;
        std::fs::write(home.join("installed"), "")?;
    }
    Ok(home)
}

fn succeed(command: &mut Command, home: &Path) -> anyhow::Result<()> {
    let status = command.current_dir(home).status();
    let status = status.with_context(|| format!("{} does not start", shown(command)))?;
    ensure!(status.success(), "{} failed: {status}", shown(command));
    Ok(())
}

fn shown(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

/// The findings of an oracle on `samples`, which it reads to their end before it answers.
fn judged(mut command: Command, samples: &[Value]) -> anyhow::Result<Vec<Finding>> {
    // A file, not a pipe: neither side can wait for the other.
    let mut input = tempfile::tempfile()?;
    for sample in samples {
        writeln!(input, "{sample}")?;
    }
    std::io::Seek::rewind(&mut input)?;
    let output = command.stdin(input).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("{} does not start", shown(&command)))?;
    ensure!(output.status.success(), "{} failed: {}", shown(&command), output.status);
    let text = String::from_utf8(output.stdout)?;
    text.lines().map(|line| serde_json::from_str(line).context("a finding")).collect()
}
