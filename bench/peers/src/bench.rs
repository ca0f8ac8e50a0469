//! Common parts of all measurements: tools, cores, a folder; and the two ways to measure a proxy.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::Serialize;

use super::client::{Counted, ab, bench, wrk};
use super::interrupt::Interrupt;
use super::machine::{Cores, Machine};
use super::process::Process;
use super::subject::Running;
use super::tools::{Tool, Tools, path};
use super::usage::{CoreTicks, Cpu};
use crate::program::Build;

/// The time that a client may take beyond the requested duration.
const GRACE: Duration = Duration::from_secs(60);

/// Length of one step of a warm-up.
const WARM_UP_S: u64 = 5;
/// The minimum number of steps: a compiler that has not begun yet looks like one that is done.
const WARM_UP_STEPS_MIN: u64 = 4;
/// The warm-up ends with a step that is not faster than the one before by this factor.
const WARM_UP_GAIN: f64 = 1.05;

/// The context of a run.
#[derive(Debug)]
pub struct Bench {
    /// Programs.
    pub tools: Tools,
    /// The assignment of programs to cores.
    pub cores: Cores,
    /// The machine of the run.
    pub machine: Machine,
    /// Ctrl-C.
    pub interrupt: Interrupt,
    /// Files that a process may open.
    pub files: u64,
    /// Order of the rounds.
    pub dice: std::cell::RefCell<fastrand::Rng>,
    work: tempfile::TempDir,
    scg_classes: std::cell::OnceCell<String>,
}

/// One measurement of one proxy.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sample {
    /// The client's counts.
    pub counted: Counted,
    /// CPU seconds of all the proxy's processes and threads.
    pub cpu_s: f64,
    /// CPU seconds in user space.
    pub user_s: f64,
    /// Seconds from the client's start to its end.
    pub wall_s: f64,
    /// Share of the time the proxy's core was busy, with anything.
    pub proxy_core_busy: f64,
    /// The same share for the client's core.
    pub client_core_busy: f64,
}

impl Sample {
    /// CPU of the proxy per answer, in microseconds; an answer may be an error.
    pub fn cpu_us(&self) -> f64 {
        self.cpu_s * 1e6 / self.counted.requests as f64
    }

    /// The user-space share of the CPU time.
    pub fn user_us(&self) -> f64 {
        self.user_s * 1e6 / self.counted.requests as f64
    }

    /// Share of the time the proxy ran.
    pub fn proxy_share(&self) -> f64 {
        self.cpu_s / self.wall_s
    }

    /// Share of the time something else ran on the proxy's core.
    pub fn foreign_share(&self) -> f64 {
        (self.proxy_core_busy - self.proxy_share()).max(0.0)
    }
}

impl Bench {
    /// Prepares a run.
    ///
    /// # Errors
    /// A tool is missing, or Ctrl-C cannot be listened for.
    pub fn prepare(
        needed: &[Tool],
        install: bool,
        weir: Build,
        cores: Option<Cores>,
    ) -> anyhow::Result<Self> {
        let interrupt = Interrupt::listen()?;
        let files = super::launch::raise_files();
        let tools = Tools::prepare(needed, install, weir)?;
        // Read after the build, which is a load itself.
        let machine = Machine::here();
        let cores = cores.unwrap_or_else(|| Cores::of(machine.cores));
        let work = tempfile::Builder::new().prefix("weir-peers-").tempdir()?;
        let dice = std::cell::RefCell::new(fastrand::Rng::new());
        Ok(Self {
            tools,
            cores,
            machine,
            interrupt,
            files,
            dice,
            work,
            scg_classes: <_>::default(),
        })
    }

    /// Class path of Spring Cloud Gateway, which is built the first time.
    ///
    /// # Errors
    /// It cannot be built.
    pub fn scg_classes(&self) -> anyhow::Result<String> {
        if let Some(classes) = self.scg_classes.get() {
            return Ok(classes.clone());
        }
        let classes = super::maven::class_path("scg")?;
        Ok(self.scg_classes.get_or_init(|| classes).clone())
    }

    /// A command line without the paths of this machine.
    pub fn shown(&self, command: &str) -> String {
        let mut text = command.replace(&self.work.path().display().to_string(), "$DIR");
        for ours in [&self.tools.weir, &self.tools.bare].iter().filter_map(|path| path.parent()) {
            text = text.replace(&format!("{}/", ours.display()), "");
        }
        text.replace("/usr/sbin/", "").replace("/usr/bin/", "")
    }

    /// A new, empty folder.
    ///
    /// # Errors
    /// The disk does not allow it.
    pub fn folder(&self, name: &str) -> anyhow::Result<PathBuf> {
        let name: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let folder = self.work.path().join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Starts the bare upstream on its core.
    ///
    /// # Errors
    /// It does not start.
    pub fn upstream(&self) -> anyhow::Result<(Process, std::net::SocketAddr)> {
        let bare = self.tools.bare.display().to_string();
        let command = [&*bare, "answer", "--listen", "127.0.0.1:0"].map(str::to_owned);
        self.listening(&command, "listening ", &[self.cores.upstream])
    }

    /// Starts a program that prints the address it listens on.
    ///
    /// # Errors
    /// It ends, or says nothing for a while.
    pub fn listening(
        &self,
        command: &[String],
        said: &str,
        cores: &[usize],
    ) -> anyhow::Result<(Process, std::net::SocketAddr)> {
        let folder = self.folder("upstream")?;
        let mut process = Process::start(command, cores, &folder.join("log"))?;
        let address = process.listens(said, GRACE, &self.interrupt)?;
        Ok((process, address))
    }

    /// Starts a client on its core; `n` distinguishes concurrent clients.
    fn client(&self, command: &[String], n: usize) -> anyhow::Result<Process> {
        let log = self.work.path().join(format!("client-{n}.log"));
        Process::start(command, &[self.cores.client], &log)
    }

    /// Runs a client; its output.
    fn output(&self, command: &[String], longest: Duration) -> anyhow::Result<String> {
        let mut client = self.client(command, 0)?;
        Ok(client.finish(longest + GRACE, &self.interrupt)?.1)
    }

    /// The CPU use of the proxy and of the cores while `load` runs.
    fn watched(
        &self,
        running: &mut Running,
        load: impl FnOnce() -> anyhow::Result<Counted>,
    ) -> anyhow::Result<Sample> {
        let family = running.family();
        let core = |core| CoreTicks::now(core).context("/proc/stat");
        let (proxy, client) = (core(self.cores.proxy)?, core(self.cores.client)?);
        let (began, before) = (Instant::now(), Cpu::of(&family));
        let counted = load().with_context(|| running.name.clone())?;
        let (wall_s, after) = (began.elapsed().as_secs_f64(), Cpu::of(&family));
        running.check()?;
        anyhow::ensure!(counted.requests > 0, "{} answered nothing", running.name);
        Ok(Sample {
            counted,
            cpu_s: after.all_s - before.all_s,
            user_s: after.user_s - before.user_s,
            wall_s,
            proxy_core_busy: core(self.cores.proxy)?.busy_since(&proxy),
            client_core_busy: core(self.cores.client)?.busy_since(&client),
        })
    }

    /// Throughput: wrk's closed loop for `seconds`.
    ///
    /// # Errors
    /// wrk fails, the proxy ends, or Ctrl-C.
    pub fn wrk(
        &self,
        running: &mut Running,
        connections: usize,
        script: &str,
        seconds: u64,
    ) -> anyhow::Result<Sample> {
        let file = self.work.path().join("requests.lua");
        std::fs::write(&file, script)?;
        let command = vec![
            path(Tool::Wrk)?,
            "-t1".to_owned(),
            format!("-c{connections}"),
            format!("-d{seconds}s"),
            "--timeout".to_owned(),
            "30s".to_owned(),
            "-s".to_owned(),
            file.display().to_string(),
            format!("http://{}/", running.address),
        ];
        let longest = Duration::from_secs(seconds);
        self.watched(running, || wrk::parse(&self.output(&command, longest)?))
    }

    /// Loads a proxy that compiles itself until it gets no faster, or for `longest`.
    ///
    /// # Errors
    /// As for [`Bench::wrk`].
    pub fn warm_up(
        &self,
        running: &mut Running,
        connections: usize,
        script: &str,
        longest: Duration,
    ) -> anyhow::Result<()> {
        let began = Instant::now();
        let mut before = 0.0;
        while began.elapsed() + Duration::from_secs(WARM_UP_S) <= longest {
            let rate = self.wrk(running, connections, script, WARM_UP_S)?.counted.rate;
            eprintln!("  warming up: {} {rate:.0} req/s", running.name);
            let long_enough = began.elapsed() >= Duration::from_secs(WARM_UP_S * WARM_UP_STEPS_MIN);
            if long_enough && rate < before * WARM_UP_GAIN {
                break;
            }
            before = rate;
        }
        Ok(())
    }

    /// Short connections: ApacheBench with HTTP/1.0.
    ///
    /// # Errors
    /// As for wrk.
    pub fn ab(&self, running: &mut Running, requests: u64, target: &str) -> anyhow::Result<Sample> {
        let command = vec![
            path(Tool::Ab)?,
            "-q".to_owned(),
            "-r".to_owned(),
            "-c".to_owned(),
            "100".to_owned(),
            "-n".to_owned(),
            requests.to_string(),
            format!("http://{}{target}", running.address),
        ];
        let longest = Duration::from_secs(requests / 1000);
        self.watched(running, || ab::parse(&self.output(&command, longest)?))
    }

    /// Latency at a fixed rate: the open loop of `weir bench`.
    ///
    /// # Errors
    /// As for wrk.
    pub fn paced(
        &self,
        running: &mut Running,
        gets: &bench::Gets,
    ) -> anyhow::Result<bench::Latency> {
        let latency = self.gets(gets);
        running.check()?;
        latency
    }

    /// Throughput: the closed loop of `weir bench`, which needs less of its core than wrk.
    ///
    /// # Errors
    /// As for wrk.
    pub fn closed(&self, running: &mut Running, gets: &bench::Gets) -> anyhow::Result<Sample> {
        self.watched(running, || Ok(self.gets(gets)?.counted()))
    }

    /// Runs `weir bench` as several clients at once, with these arguments.
    ///
    /// # Errors
    /// As for wrk.
    pub fn bench(
        &self,
        running: &mut Running,
        clients: &[Vec<String>],
        longest: Duration,
    ) -> anyhow::Result<bench::Latency> {
        let latency = self.generate(clients, longest);
        running.check()?;
        latency
    }

    fn gets(&self, gets: &bench::Gets) -> anyhow::Result<bench::Latency> {
        let plan = self.work.path().join("plan.yml");
        std::fs::write(&plan, gets.plan())?;
        let arguments = ["plan", &plan.display().to_string()].map(str::to_owned).to_vec();
        self.generate(&[arguments], Duration::from_secs(gets.seconds))
    }

    fn generate(
        &self,
        clients: &[Vec<String>],
        longest: Duration,
    ) -> anyhow::Result<bench::Latency> {
        let mut started = Vec::new();
        for (n, arguments) in clients.iter().enumerate() {
            let result = self.work.path().join(format!("result-{n}.json"));
            let _ = std::fs::remove_file(&result);
            let mut command = vec![self.tools.weir.display().to_string(), "bench".to_owned()];
            command.extend(arguments.iter().cloned());
            command.extend(["-q", "--json", &result.display().to_string()].map(str::to_owned));
            started.push((self.client(&command, n)?, result));
        }
        let mut documents = Vec::new();
        for (mut client, result) in started {
            let (_, output) = client.finish(longest + GRACE, &self.interrupt)?;
            let json = std::fs::read_to_string(&result)
                .with_context(|| format!("{} wrote no result:\n{output}", client.shown))?;
            documents.push(json);
        }
        bench::parse(&documents)
    }
}

/// Runs `measure` for each of `subjects` in each of `rounds`, the subjects in random order each
/// time, so that what changes on the machine meets all of them. The result is by subject, then by
/// round.
///
/// # Errors
/// The first one of `measure`.
pub fn interleaved<S, T>(
    bench: &Bench,
    rounds: usize,
    subjects: &mut [S],
    mut measure: impl FnMut(usize, &mut S) -> anyhow::Result<T>,
) -> anyhow::Result<Vec<Vec<T>>> {
    let mut results: Vec<Vec<T>> = subjects.iter().map(|_| Vec::new()).collect();
    let mut order: Vec<usize> = (0..subjects.len()).collect();
    for round in 1..=rounds {
        bench.dice.borrow_mut().shuffle(&mut order);
        for &at in &order {
            bench.interrupt.check()?;
            results[at].push(measure(round, &mut subjects[at])?);
        }
    }
    Ok(results)
}
