//! The processes of a run: providers, weir, consumers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;
use weir_peers::interrupt::Interrupt;
use weir_peers::maven::class_path;
use weir_peers::process::Process;
use weir_peers::tools::{Tool, path};

/// Threads of a provider: its default, more than a consumer here has.
pub const PROVIDER_THREADS: u32 = 200;
/// The time limit for a start; a JVM beside a busy compiler takes seconds.
const START: Duration = Duration::from_secs(60);
/// The interval at which the output of a process is read.
const LOOK: Duration = Duration::from_millis(20);

/// The inputs to start processes.
pub struct Ground<'a> {
    interrupt: &'a Interrupt,
    folder: TempDir,
    java: Vec<String>,
}

/// Two providers of the same services.
pub struct Providers {
    /// The provider with the name `one`.
    pub one: Process,
    two: Process,
    /// The ports they listen on.
    pub ports: (u16, u16),
}

/// A weir with its pipelines.
pub struct Gateway {
    /// The process.
    pub process: Process,
    ports: BTreeMap<String, u16>,
}

impl<'a> Ground<'a> {
    /// Builds the Java side, whose consumers have so many connections.
    ///
    /// # Errors
    /// It does not build.
    pub fn new(interrupt: &'a Interrupt, connections: u32) -> anyhow::Result<Self> {
        let classes = class_path("dubbo")?;
        let connections = format!("-Dconnections={connections}");
        let flags = ["-Xmx256m", "-XX:+UseSerialGC", &connections, "-cp", &classes];
        let mut java = vec![path(Tool::Java)?];
        java.extend(flags.map(str::to_owned));
        Ok(Self { interrupt, folder: tempfile::tempdir()?, java })
    }

    /// Starts a provider; it, and its port.
    ///
    /// # Errors
    /// It does not start.
    pub fn provider(&self, name: &str, threads: u32) -> anyhow::Result<(Process, u16)> {
        let port = weir_testkit::closed_port().port();
        let (number, threads) = (port.to_string(), threads.to_string());
        let arguments = ["weir.bench.dubbo.Provider", name, &number, &threads];
        let command = self.java.iter().map(String::as_str).chain(arguments).map(str::to_owned);
        let log = self.file(&format!("provider-{name}.log"));
        let mut process = Process::start(&command.collect::<Vec<_>>(), &[], &log)?;
        process.listens("provides ", START, self.interrupt)?;
        Ok((process, port))
    }

    /// Starts weir before the providers, to which connections may be shared.
    ///
    /// # Errors
    /// It does not start.
    pub fn gateway(
        &self,
        weir: &Path,
        providers: &Providers,
        is_shared: bool,
    ) -> anyhow::Result<Gateway> {
        let config = self.file("weir.yml");
        let dead = weir_testkit::closed_port().port();
        std::fs::write(&config, configuration(providers.ports, dead, is_shared))?;
        let (weir, config) = (weir.display().to_string(), config.display().to_string());
        let data = self.file("data").display().to_string();
        let command = [&*weir, "run", "--log", "warn", "--data", &data, &config];
        let log = self.file("weir.log");
        let mut process = Process::start(&command.map(str::to_owned), &[], &log)?;
        let until = Instant::now() + START;
        loop {
            let ports = ports(&process.output());
            if ports.len() == PIPELINES {
                return Ok(Gateway { process, ports });
            }
            process.check()?;
            ensure!(Instant::now() < until, "weir does not listen:\n{}", process.output());
            self.interrupt.sleep(LOOK)?;
        }
    }

    /// Runs a consumer to its end. `saw` gets every line that is a word and JSON.
    ///
    /// # Errors
    /// It fails, or `saw` does.
    pub fn consume(
        &self,
        arguments: &[String],
        mut saw: impl FnMut(&str, Value) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let program = ["weir.bench.dubbo.Consumer".to_owned()];
        let command = [&self.java, &program[..], arguments].concat();
        let mut process = Process::start(&command, &[], &self.file("consumer.log"))?;
        let mut seen = 0;
        loop {
            let ended = process.ended();
            let output = process.output();
            let whole = output.rfind('\n').map_or(0, |end| end + 1);
            for line in output.get(seen..whole).unwrap_or_default().lines() {
                let Some((word, json)) = line.split_once(' ') else { continue };
                if let Ok(said) = serde_json::from_str(json) {
                    saw(word, said)?;
                }
            }
            seen = whole;
            if ended {
                let (status, output) = process.finish(START, self.interrupt)?;
                let end: Vec<&str> = output.lines().rev().take(8).collect();
                ensure!(status.success(), "the consumer failed ({status}):\n{}", end.join("\n"));
                return Ok(());
            }
            self.interrupt.sleep(LOOK)?;
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Providers {
    /// Starts both.
    ///
    /// # Errors
    /// One does not start.
    pub fn start(ground: &Ground<'_>) -> anyhow::Result<Self> {
        eprintln!("starting two providers");
        let (one, first) = ground.provider("one", PROVIDER_THREADS)?;
        let (two, second) = ground.provider("two", PROVIDER_THREADS)?;
        Ok(Self { one, two, ports: (first, second) })
    }
}

impl Drop for Providers {
    /// Dubbo takes seconds to end: both are stopped at the same time.
    fn drop(&mut self) {
        for provider in [&self.one, &self.two] {
            provider.signal(Signal::TERM);
        }
    }
}

impl Gateway {
    /// The port of the pipeline with this id.
    ///
    /// # Errors
    /// There is none.
    pub fn port(&self, id: &str) -> anyhow::Result<u16> {
        self.ports.get(id).copied().with_context(|| format!("weir has no pipeline {id}"))
    }
}

/// The number of pipelines in [`configuration`].
const PIPELINES: usize = 4;

fn configuration((one, two): (u16, u16), dead: u16, is_shared: bool) -> String {
    let dubbo = if is_shared { "dubbo: { shared: true }" } else { "dubbo: {}" };
    format!(
        "weir.admin.port: 0
weir.limits:
  few: {{ rate: 5/s, queue: 2 }}
weir.pipelines:
- {{ id: both, protocol: dubbo, {dubbo}, listen: 127.0.0.1:0,
    upstream: [ '127.0.0.1:{one}', '127.0.0.1:{two}' ] }}
- {{ id: limited, protocol: dubbo, {dubbo}, listen: 127.0.0.1:0, limit: few,
    upstream: '127.0.0.1:{one}' }}
- id: routed
  protocol: dubbo
  {dubbo}
  listen: 127.0.0.1:0
  routes:
  - {{ service: 'weir.bench.*', method: 'say*', upstream: '127.0.0.1:{two}' }}
- {{ id: dead, protocol: dubbo, {dubbo}, listen: 127.0.0.1:0, upstream: '127.0.0.1:{dead}' }}
"
    )
}

/// Pipelines by id and their ports, from what weir prints: `listening dubbo ADDRESS (ID)`.
fn ports(output: &str) -> BTreeMap<String, u16> {
    let line = |line: &str| {
        let (address, id) = line.strip_prefix("listening dubbo ")?.split_once(' ')?;
        let port = address.rsplit_once(':')?.1.parse().ok()?;
        Some((id.trim_matches(['(', ')']).to_owned(), port))
    };
    output.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::{PIPELINES, configuration, ports};

    #[test]
    fn pipelines_are_found_by_id() {
        let output = "routes    0\nlistening dubbo 127.0.0.1:40 (both)\nlistening dubbo 127.0";
        let found: Vec<_> = ports(output).into_iter().collect();
        assert_eq!(found, [("both".to_owned(), 40)]);
    }

    #[test]
    fn all_pipelines_are_waited_for() {
        let text = configuration((1, 2), 3, true);
        assert_eq!(text.matches("protocol: dubbo").count(), PIPELINES);
    }
}
