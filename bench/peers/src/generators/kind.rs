//! The load generators: how each is obtained, its arguments, and the numbers it reports.

use std::path::{Path, PathBuf};
use std::process::Command;

use weir_testkit::tree::root;

use crate::tools::version_of;

/// A load generator with a closed loop (wrk2: at a rate it cannot reach).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Generator {
    /// The reference for the others.
    Wrk,
    /// `weir bench`.
    Weir,
    /// wrk with a rate.
    Wrk2,
    /// ApacheBench with keep-alive.
    Ab,
    /// In Go.
    Hey,
    /// In Rust, on hyper.
    Oha,
}

/// All of them, wrk first.
pub const ALL: [Generator; 6] = [
    Generator::Wrk,
    Generator::Weir,
    Generator::Wrk2,
    Generator::Ab,
    Generator::Hey,
    Generator::Oha,
];

/// The load requested from a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// So many connections, each as fast as it can, for some seconds.
    Connections(usize, u64),
    /// So many users with a connection each: within a third of the seconds they have all come, and
    /// they think for a second. Those that know no users open as many connections.
    Users(usize, u64),
}

impl Load {
    /// The number of sockets.
    pub fn sockets(self) -> usize {
        match self {
            Self::Connections(count, _) | Self::Users(count, _) => count,
        }
    }

    /// The duration in seconds.
    pub fn seconds(self) -> u64 {
        match self {
            Self::Connections(_, seconds) | Self::Users(_, seconds) => seconds,
        }
    }
}

impl Generator {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wrk => "wrk",
            Self::Weir => "weir bench",
            Self::Wrk2 => "wrk2",
            Self::Ab => "ab -k",
            Self::Hey => "hey",
            Self::Oha => "oha",
        }
    }

    /// Its program, and the way to install it.
    pub fn program(self) -> (&'static str, &'static str) {
        match self {
            Self::Wrk => ("wrk", "apt-get install wrk"),
            Self::Weir => ("weir", "cargo build --release -p weir"),
            Self::Wrk2 => {
                ("wrk2", "in neither Debian nor crates.io: build it from source, put it on PATH")
            }
            Self::Ab => ("ab", "apt-get install apache2-utils"),
            Self::Hey => ("hey", "apt-get install hey"),
            Self::Oha => ("oha", "--install, or cargo install oha --locked"),
        }
    }

    /// The version that it reports; hey reports none.
    pub fn version(self, program: &Path) -> Option<String> {
        let flag = match self {
            Self::Wrk | Self::Wrk2 => "-v",
            Self::Ab => "-V",
            Self::Weir | Self::Oha => "--version",
            Self::Hey => return None,
        };
        version_of(program, flag)
    }

    /// Its command line.
    pub fn arguments(self, load: Load, url: &str) -> String {
        let (sockets, seconds) = (load.sockets(), load.seconds());
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = cores.min(sockets);
        match (self, load) {
            (Self::Wrk, _) => format!("-t{threads} -c{sockets} -d{seconds}s --latency {url}"),
            (Self::Weir, Load::Connections(..)) => {
                format!("bench {url} -t {threads} -c {sockets} -d {seconds}s -q --json -")
            }
            (Self::Weir, Load::Users(..)) => format!(
                "bench {url} -t {threads} --users {sockets} --ramp {}s --think 1s -d {seconds}s -q \
                 --json -",
                seconds.div_ceil(3)
            ),
            (Self::Wrk2, _) => {
                format!("-t{threads} -c{sockets} -d{seconds}s -R 1000000 --latency {url}")
            }
            // -t alone would end it after 50,000 requests, and one reset connection at once.
            (Self::Ab, Load::Connections(..)) => {
                format!("-q -r -k -t {seconds} -n 5000000 -c {sockets} {url}")
            }
            // It reserves memory for each of -n.
            (Self::Ab, Load::Users(..)) => {
                format!("-q -r -k -n {} -c {sockets} {url}", sockets * 5)
            }
            (Self::Hey, _) => format!("-z {seconds}s -c {sockets} {url}"),
            (Self::Oha, _) => format!("-z {seconds}s -c {sockets} --no-tui {url}"),
        }
    }

    /// The answers it counted.
    pub fn answers(self, output: &str) -> Option<u64> {
        let line = |mark: &str| output.lines().find(|line| line.contains(mark));
        let word = |line: &str, at: usize| line.split_whitespace().nth(at)?.parse().ok();
        match self {
            Self::Wrk | Self::Wrk2 => word(line(" requests in ")?, 0),
            Self::Weir => serde_json::from_str::<serde_json::Value>(output).ok()?["ok"].as_u64(),
            Self::Ab => word(line("Complete requests:")?, 2),
            // A row of hey's histogram may have "[200]" in it, too.
            Self::Hey | Self::Oha => {
                let counts = |line: &&str| line.contains("[200]") && line.ends_with("responses");
                word(output.lines().find(counts)?, 1)
            }
        }
    }

    /// Installs it from a package registry that has it; returns whether that worked.
    pub fn install(self) -> std::io::Result<bool> {
        let debian = |package: &str| {
            let arguments = ["install", "-y", "-q", "--no-install-recommends", package];
            Command::new("apt-get").args(arguments).status()
        };
        let status = match self {
            Self::Wrk => debian("wrk")?,
            Self::Ab => debian("apache2-utils")?,
            Self::Hey => debian("hey")?,
            Self::Oha => Command::new(env!("CARGO"))
                .args(["install", "oha", "--locked", "--root"])
                .arg(root().join("target/generators"))
                .status()?,
            Self::Weir | Self::Wrk2 => return Ok(false),
        };
        Ok(status.success())
    }
}

/// A program on PATH, or where [`Generator::install`] puts it.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    let own = root().join("target/generators/bin").display().to_string();
    let folders = path.split(':').map(str::to_owned).chain(["/usr/sbin".to_owned(), own]);
    folders.map(|folder| PathBuf::from(folder).join(name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::{Generator, Load};

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
            (
                Generator::Hey,
                "  0.025 [200]\t|■■■■\nStatus code distribution:\n  [200]\t100 responses",
                Some(100),
            ),
            (Generator::Oha, "Status code distribution:\n  [200] 71 responses", Some(71)),
            (Generator::Wrk, "unable to connect", None),
        ];
        for (generator, output, expected) in cases {
            assert_eq!(generator.answers(output), expected, "{output}");
        }
    }

    #[test]
    fn users_are_asked_for_where_they_are_known() {
        let load = Load::Users(300, 9);
        let weir = Generator::Weir.arguments(load, "http://h/");
        assert!(weir.contains("--users 300 --ramp 3s --think 1s -d 9s"), "{weir}");
        assert!(Generator::Hey.arguments(load, "http://h/").contains("-c 300"));
    }
}
