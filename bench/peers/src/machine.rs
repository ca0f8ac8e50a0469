//! The machine of a run, and the assignment of programs to cores.

use std::fs::read_to_string;
use std::process::Command;

use serde::Serialize;
use weir_testkit::tree::root;

/// The properties of a machine that may affect the numbers of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Model of the processor.
    pub cpu: String,
    /// Number of cores.
    pub cores: usize,
    /// Pairs of cores that share one physical core, if any.
    pub siblings: String,
    /// Whether it is a virtual machine.
    pub virtual_machine: bool,
    /// Kernel and its version.
    pub kernel: String,
    /// Memory in bytes.
    pub memory: u64,
    /// Processor architecture.
    pub architecture: &'static str,
    /// Load average over 1, 5 and 15 minutes before the run.
    pub load_before: String,
    /// The start time of the run (RFC 3339, UTC).
    pub began: String,
    /// Commit of the sources, with `+` if they are changed.
    pub commit: String,
}

impl Machine {
    /// The current state of this machine.
    pub fn here() -> Self {
        let cpuinfo = read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let memory = read_to_string("/proc/meminfo").unwrap_or_default();
        let memory = field(&memory, "MemTotal").unwrap_or_default();
        let memory: u64 = memory.trim_end_matches(" kB").parse().unwrap_or(0);
        let flags = field(&cpuinfo, "flags").unwrap_or_default();
        let kernel = read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let load = read_to_string("/proc/loadavg").unwrap_or_default();
        Self {
            cpu: field(&cpuinfo, "model name").unwrap_or_else(|| "unknown".to_owned()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            siblings: siblings(),
            virtual_machine: flags.split(' ').any(|flag| flag == "hypervisor"),
            kernel: format!("Linux {}", kernel.trim()),
            memory: memory * 1024,
            architecture: std::env::consts::ARCH,
            load_before: load.split(' ').take(3).collect::<Vec<_>>().join(" "),
            began: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            commit: commit(),
        }
    }

    /// Name of the folder for its runs of today, such as `2026-11-21-2core-x86_64`.
    pub fn folder(&self) -> String {
        let date = self.began.get(..10).unwrap_or("undated");
        format!("{date}-{}core-{}", self.cores, self.architecture)
    }

    /// Lines for people.
    pub fn lines(&self) -> Vec<String> {
        let virtual_machine = if self.virtual_machine { ", virtual machine" } else { "" };
        let siblings = match &*self.siblings {
            "" => String::new(),
            pairs => format!(" (sharing a physical core: {pairs})"),
        };
        vec![
            format!(
                "{}, {} cores{siblings}{virtual_machine}, {:.0} GB, {}, {}",
                self.cpu,
                self.cores,
                self.memory as f64 / 1e9,
                self.architecture,
                self.kernel
            ),
            format!("{}, commit {}, load average before: {}", self.began, self.commit, {
                &self.load_before
            }),
        ]
    }
}

fn siblings() -> String {
    let mut found = Vec::new();
    for core in 0..std::thread::available_parallelism().map_or(1, usize::from) {
        let file = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
        let list = read_to_string(file).unwrap_or_default().trim().to_owned();
        if list.contains([',', '-']) && !found.contains(&list) {
            found.push(list);
        }
    }
    found.join(" ")
}

fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").current_dir(root()).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=10", "HEAD"]) else { return "unknown".into() };
    // The binary's own sources: notes and results may change while a run is on.
    let changed = git(&[
        "status",
        "--porcelain",
        "--",
        "crates",
        "bench/baseline",
        "Cargo.toml",
        "Cargo.lock",
    ]);
    let mark = if changed.is_none_or(|lines| lines.is_empty()) { "" } else { "+" };
    format!("{commit}{mark}")
}

/// The assignment of programs to cores. The proxy has a core to itself, so that no other program
/// takes its caches or time slices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cores {
    /// The proxy under test, one worker.
    pub proxy: usize,
    /// The upstream.
    pub upstream: usize,
    /// The client.
    pub client: usize,
}

impl Cores {
    /// For a machine with `count` cores: apart as far as there are cores.
    pub fn of(count: usize) -> Self {
        match count {
            0 | 1 => Self { proxy: 0, upstream: 0, client: 0 },
            2 => Self { proxy: 0, upstream: 1, client: 1 },
            3 => Self { proxy: 0, upstream: 1, client: 2 },
            // Core 1 is left to a second worker.
            _ => Self { proxy: 0, upstream: 2, client: 3 },
        }
    }

    /// The core of the proxy's second worker, on a machine with `count` cores: one of its own if
    /// possible.
    pub fn second(&self, count: usize) -> usize {
        let taken = [self.proxy, self.upstream, self.client];
        (0..count).find(|core| !taken.contains(core)).unwrap_or(self.upstream)
    }

    /// As given on the command line: proxy, upstream, client.
    ///
    /// # Errors
    /// Not three numbers.
    pub fn parse(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<usize>, _> = text.split(',').map(|n| n.trim().parse()).collect();
        match numbers.as_deref() {
            Ok(&[proxy, upstream, client]) => Ok(Self { proxy, upstream, client }),
            _ => Err("three cores expected: proxy,upstream,client".to_owned()),
        }
    }

    /// For people.
    pub fn line(&self) -> String {
        format!(
            "pinned: proxy on core {}, upstream on core {}, client on core {}",
            self.proxy, self.upstream, self.client
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Cores, Machine};

    #[test]
    fn cores_are_shared_out() {
        for (count, expected) in [(1, [0, 0, 0]), (2, [0, 1, 1]), (3, [0, 1, 2]), (64, [0, 2, 3])] {
            let cores = Cores::of(count);
            assert_eq!([cores.proxy, cores.upstream, cores.client], expected, "{count}");
        }
        assert_eq!([2, 3, 4].map(|count| Cores::of(count).second(count)), [1, 1, 1]);
        assert_eq!(Cores::parse("3, 4,5").map(|c| c.client), Ok(5));
        assert!(Cores::parse("1,2").is_err());
    }

    #[test]
    fn a_run_of_today_has_a_folder() {
        let folder = Machine::here().folder();
        assert!(folder.starts_with("20") && folder.contains("core-"), "{folder}");
    }
}
