//! The environment of a training: gateways, an upstream and their load, of which each request must
//! succeed. A profile of error handling would be worse than none.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use rustix::process::Signal;
use weir_peers::client::Counted;
use weir_peers::client::bench::parse;
use weir_peers::interrupt::Interrupt;
use weir_peers::process::Process;

/// The time limit for a program with counters to start, to end, and for one load.
const PATIENCE: Duration = Duration::from_secs(180);
/// The time limit for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// The prefix of commands that must not write their counters: clients are not trained, and would
/// have their code placed between that of the gateway.
const UNCOUNTED: [&str; 2] = ["env", "LLVM_PROFILE_FILE=/dev/null"];

/// The environment of a training.
#[derive(Debug)]
pub struct Ground<'a> {
    /// weir with counters.
    weir: String,
    /// The program that is the upstream.
    bare: String,
    work: tempfile::TempDir,
    interrupt: &'a Interrupt,
}

/// A gateway with counters; it writes them at an orderly end.
#[derive(Debug)]
pub struct Gateway {
    process: Process,
    /// The address of the proxy.
    pub address: SocketAddr,
    /// Its admin API.
    pub admin: SocketAddr,
}

/// Requests that are sent as they are.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a> {
    /// The number of expected answers to one write.
    pub answers: usize,
    /// The end of each answer; these bytes must not occur elsewhere in it.
    pub end: &'a [u8],
    /// Connections.
    pub connections: u64,
    /// Writings on each, one after the other.
    pub times: u64,
}

impl<'a> Ground<'a> {
    /// For `weir`, which has counters, and an upstream that has none.
    ///
    /// # Errors
    /// The disk does not allow a folder.
    pub fn new(weir: &Path, bare: &Path, interrupt: &'a Interrupt) -> anyhow::Result<Self> {
        let work = tempfile::Builder::new().prefix("weir-training-").tempdir()?;
        let [weir, bare] = [weir, bare].map(|path| path.display().to_string());
        Ok(Self { weir, bare, work, interrupt })
    }

    /// A file of the training.
    pub fn file(&self, name: &str) -> PathBuf {
        self.work.path().join(name)
    }

    /// Starts the upstream; it ends when the returned process is dropped.
    ///
    /// # Errors
    /// It does not start.
    pub fn upstream(&self) -> anyhow::Result<(Process, SocketAddr)> {
        let command = [&*self.bare, "answer", "--listen", "127.0.0.1:0"].map(str::to_owned);
        let mut process = Process::start(&command, &[], &self.file("upstream.log"))?;
        let address = process.listens("listening ", PATIENCE, self.interrupt)?;
        Ok((process, address))
    }

    /// Starts a gateway on free ports: `routes` are lines of YAML, `store` the name of its store.
    ///
    /// # Errors
    /// It does not start.
    pub fn gateway(&self, routes: &str, store: &str) -> anyhow::Result<Gateway> {
        let config = self.file("application.yml");
        // The counters are plain numbers, of which threads lose some to each other: one worker.
        let yaml = format!(
            "server: {{ address: 127.0.0.1, port: 0 }}\n\
             management: {{ server: {{ address: 127.0.0.1, port: 0 }} }}\n\
             management.endpoint.gateway.access: unrestricted\n\
             management.endpoints.web.exposure.include: \"*\"\n\
             weir.server.workers: 1\n\
             spring.cloud.gateway.server.webflux:\n  routes:\n{routes}"
        );
        std::fs::write(&config, yaml)?;
        let (config, store) = (config.display().to_string(), self.file(store));
        let data = store.display().to_string();
        let command = [&*self.weir, "run", "--log", "warn", "--data", &data, &config];
        let command = command.map(str::to_owned);
        let mut process = Process::start(&command, &[], &self.file("gateway.log"))?;
        let address = process.listens("listening http ", PATIENCE, self.interrupt)?;
        let admin = process.listens("admin     http ", PATIENCE, self.interrupt)?;
        Ok(Gateway { process, address, admin })
    }

    /// Ends a gateway, which then writes its counters.
    ///
    /// # Errors
    /// It does not end well.
    pub fn end(&self, mut gateway: Gateway) -> anyhow::Result<()> {
        gateway.process.signal(Signal::TERM);
        let (ended, output) = gateway.process.finish(PATIENCE, self.interrupt)?;
        ensure!(ended.success(), "weir ended badly ({ended}):\n{output}");
        Ok(())
    }

    /// Runs another command of weir to its end, without counters; returns its output.
    ///
    /// # Errors
    /// It fails.
    pub fn weir(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let command = [UNCOUNTED.as_slice(), &[&*self.weir], arguments].concat().into_iter();
        let command: Vec<String> = command.map(str::to_owned).collect();
        let mut process = Process::start(&command, &[], &self.file("command.log"))?;
        let (ended, output) = process.finish(PATIENCE, self.interrupt)?;
        ensure!(ended.success(), "{} failed ({ended}):\n{output}", process.shown);
        Ok(output)
    }

    /// `weir bench` with `arguments`; it must have no failure, and as many successes as `asked`.
    ///
    /// # Errors
    /// It does not.
    pub fn bench(&self, arguments: &[&str], asked: u64) -> anyhow::Result<()> {
        let result = self.file("result.json");
        let json = result.display().to_string();
        let _ = std::fs::remove_file(&result);
        let own = ["bench"].into_iter().chain(arguments.iter().copied());
        let all: Vec<&str> = own.chain(["--json", &json]).collect();
        self.weir(&all)?;
        let text = std::fs::read_to_string(&result)
            .with_context(|| format!("weir {} wrote no result", all.join(" ")))?;
        let latency = parse(&[text])?;
        succeeded(latency.ok, latency.failed, Some(asked))
            .with_context(|| format!("weir {}", all.join(" ")))
    }

    /// `weir bench` as another tool, whose report `read` reads: for these, any answer is a success.
    ///
    /// # Errors
    /// As for [`Ground::bench`]; without `asked`, any number is enough.
    pub fn dialect(
        &self,
        arguments: &[&str],
        read: fn(&str) -> anyhow::Result<Counted>,
        asked: Option<u64>,
    ) -> anyhow::Result<()> {
        let all = [&["bench"], arguments].concat();
        let counted = read(&self.weir(&all)?)?;
        succeeded(counted.requests.saturating_sub(counted.errors), counted.errors, asked)
            .with_context(|| format!("weir {}", all.join(" ")))
    }

    /// Writes the bytes of `made` again and again, as a client that sends chunks or pipelines
    /// requests.
    ///
    /// # Errors
    /// An answer is missing or is no success.
    pub fn raw(
        &self,
        address: SocketAddr,
        raw: Raw<'_>,
        made: impl Fn(&mut fastrand::Rng) -> Vec<u8> + Sync,
    ) -> anyhow::Result<()> {
        let connection =
            |seed| self.connection(address, raw, fastrand::Rng::with_seed(seed), &made);
        std::thread::scope(|scope| {
            let start = |seed| scope.spawn(move || connection(seed));
            let all: Vec<_> = (0..raw.connections).map(start).collect();
            for one in all {
                one.join().unwrap_or_else(|_| bail!("a client panicked"))?;
            }
            Ok(())
        })
    }

    fn connection(
        &self,
        address: SocketAddr,
        raw: Raw<'_>,
        mut dice: fastrand::Rng,
        made: impl Fn(&mut fastrand::Rng) -> Vec<u8>,
    ) -> anyhow::Result<()> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_MAX))?;
        let mut buffer = vec![0; 64 * 1024];
        for _ in 0..raw.times {
            self.interrupt.check()?;
            stream.write_all(&made(&mut dice))?;
            let mut received = Vec::new();
            while !received.ends_with(raw.end) || count(&received, raw.end) < raw.answers {
                let read = stream.read(&mut buffer).context("no whole answer")?;
                ensure!(read > 0, "the connection ended:\n{}", String::from_utf8_lossy(&received));
                received.extend_from_slice(buffer.get(..read).unwrap_or_default());
            }
            let successes = count(&received, b"HTTP/1.1 200 ");
            ensure!(
                successes == raw.answers,
                "{successes} successes instead of {}:\n{}",
                raw.answers,
                String::from_utf8_lossy(received.get(..400).unwrap_or(&received))
            );
        }
        Ok(())
    }
}

/// Checks that a load succeeded and is fit for training.
fn succeeded(ok: u64, failed: u64, asked: Option<u64>) -> anyhow::Result<()> {
    ensure!(failed == 0 && ok > 0, "{ok} requests succeeded, {failed} failed");
    ensure!(
        asked.is_none_or(|asked| ok == asked),
        "{ok} requests succeeded, not {}",
        asked.unwrap_or_default()
    );
    Ok(())
}

fn count(text: &[u8], part: &[u8]) -> usize {
    text.windows(part.len()).filter(|window| *window == part).count()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::{Ground, Raw, count, succeeded};
    use weir_peers::interrupt::Interrupt;

    #[test]
    fn a_load_with_a_failure_is_refused() {
        let check = |ok: u64, failed: u64, asked, expected: bool| {
            let got = succeeded(ok, failed, asked);
            assert_eq!(got.is_ok(), expected, "{ok} {failed}: {got:?}");
        };
        check(10, 0, Some(10), true);
        check(10, 0, None, true);
        check(9, 0, Some(10), false);
        check(10, 1, Some(10), false);
        check(0, 0, None, false);
    }

    #[test]
    fn occurrences_are_counted() {
        for (text, expected) in [("", 0), ("ok", 0), ("ok\n", 1), ("ok\nok\nok", 2)] {
            assert_eq!(count(text.as_bytes(), b"ok\n"), expected, "{text:?}");
        }
    }

    /// The result of a client of a server that answers everything with `answer`.
    fn check_raw(answer: &'static [u8], answers: usize) -> anyhow::Result<()> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let server = std::thread::spawn(move || -> std::io::Result<()> {
            let (mut stream, _) = listener.accept()?;
            while stream.read(&mut [0; 1])? > 0 {
                stream.write_all(answer)?;
            }
            Ok(())
        });
        let interrupt = Interrupt::default();
        let nowhere = std::path::Path::new("nowhere");
        let ground = Ground::new(nowhere, nowhere, &interrupt)?;
        let raw = Raw { answers, end: b"ok\n", connections: 1, times: 3 };
        let result = ground.raw(address, raw, |_| vec![b'G']);
        // A client that gives up early resets the connection.
        let _ = server.join();
        result
    }

    #[test]
    fn raw_answers_are_looked_at() {
        check_raw(b"HTTP/1.1 200 OK\r\n\r\nok\nHTTP/1.1 200 OK\r\n\r\nok\n", 2).unwrap();
        let told = check_raw(b"HTTP/1.1 503 No\r\n\r\nok\n", 1).unwrap_err().to_string();
        assert!(told.contains("0 successes") && told.contains("503"), "{told}");
    }
}
