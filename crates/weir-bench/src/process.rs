//! The server under load, if it runs on this machine: found by its listening port, sampled from
//! `/proc`.

use serde::{Deserialize, Serialize};
use std::fs::{File, metadata, read_dir, read_link, read_to_string};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// State of a socket that listens, in `/proc/net/tcp`.
const LISTENING: &str = "0A";

/// One sample of the server's resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Seconds since the start.
    pub at_s: f64,
    /// CPU seconds used since its start.
    pub cpu_s: f64,
    /// Resident memory in bytes.
    pub rss_bytes: u64,
    /// Threads.
    pub threads: u64,
    /// Open file descriptors.
    pub descriptors: u64,
}

/// Resources that the server used during a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerUse {
    /// Processes that hold the listening socket.
    pub pids: Vec<u32>,
    /// Name of the first one.
    pub name: String,
    /// CPU seconds used during the run.
    pub cpu_s: f64,
    /// About once a second.
    pub samples: Vec<Sample>,
}

impl ServerUse {
    /// Cores in use on average over `wall_s` seconds.
    pub fn cores(&self, wall_s: f64) -> f64 {
        self.cpu_s / wall_s.max(1e-9)
    }

    /// Greatest resident memory seen.
    pub fn rss_max(&self) -> u64 {
        self.samples.iter().map(|sample| sample.rss_bytes).max().unwrap_or(0)
    }

    /// The maximum number of threads seen.
    pub fn threads_max(&self) -> u64 {
        self.samples.iter().map(|sample| sample.threads).max().unwrap_or(0)
    }

    /// The maximum number of descriptors seen.
    pub fn descriptors_max(&self) -> u64 {
        self.samples.iter().map(|sample| sample.descriptors).max().unwrap_or(0)
    }
}

/// The processes listening on `address`, if it is on this machine. The caller's own process is left
/// out: its CPU would be counted twice.
pub fn listeners(address: SocketAddr) -> Vec<u32> {
    if !address.ip().is_loopback() {
        return Vec::new();
    }
    let inodes: Vec<u64> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .into_iter()
        .flat_map(|table| inodes(table, address.port()))
        .collect();
    let links: Vec<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    let own = std::process::id();
    let mut pids: Vec<u32> = read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != own && holds(*pid, &links))
        .collect();
    pids.sort_unstable();
    pids
}

/// The sockets of a table that listen on `port`. Linux lists listening sockets first; the rest,
/// such as thousands of closed connections of an earlier run, is not read.
fn inodes(table: &str, port: u16) -> Vec<u64> {
    let Ok(file) = File::open(table) else { return Vec::new() };
    let lines = BufReader::new(file).lines().map_while(Result::ok).skip(1);
    let first = lines.take_while(|line| line.split_whitespace().nth(3) == Some(LISTENING));
    first.filter_map(|line| listening(&line, port)).collect()
}

/// The inode of a line of `/proc/net/tcp` that listens on `port`.
fn listening(line: &str, port: u16) -> Option<u64> {
    let mut words = line.split_whitespace();
    let (local, state) = (words.nth(1)?, words.nth(1)?);
    let found = u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?;
    if state != LISTENING || found != port {
        return None;
    }
    words.nth(5)?.parse().ok()
}

fn holds(pid: u32, links: &[String]) -> bool {
    let entries = read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| read_link(entry.path()).ok())
        .any(|link| links.iter().any(|wanted| link.as_os_str() == wanted.as_str()))
}

/// Open files of a process. Since Linux 6.2 that is the length of its directory of them, which is
/// much faster than reading thousands of entries.
fn descriptors(pid: u32) -> u64 {
    let directory = format!("/proc/{pid}/fd");
    match metadata(&directory).map_or(0, |directory| directory.len()) {
        0 => read_dir(directory).map_or(0, |entries| entries.count() as u64),
        count => count,
    }
}

fn sample(pids: &[u32], at_s: f64) -> Sample {
    let ticks = rustix::param::clock_ticks_per_second() as f64;
    let page = rustix::param::page_size() as u64;
    let mut sum = Sample { at_s, ..Sample::default() };
    for pid in pids {
        let stat = read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name in parentheses may hold blanks: fields are counted behind it.
        let fields: Vec<&str> =
            stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        let number = |at: usize| fields.get(at).and_then(|f| f.parse::<u64>().ok()).unwrap_or(0);
        sum.cpu_s += (number(11) + number(12)) as f64 / ticks;
        sum.threads += number(17);
        sum.rss_bytes += number(21) * page;
        sum.descriptors += descriptors(*pid);
    }
    sum
}

/// Samples processes in a thread of its own until the result is taken.
#[derive(Debug)]
pub struct Sampler {
    pids: Vec<u32>,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<Vec<Sample>>>,
}

impl Sampler {
    /// Begins to sample the server at `address`; `None` if it is not on this machine.
    pub fn start(address: SocketAddr) -> Option<Self> {
        let pids = listeners(address);
        if pids.is_empty() {
            return None;
        }
        let (began, stop) = (Instant::now(), Arc::new(AtomicBool::new(false)));
        let (theirs, flag) = (pids.clone(), stop.clone());
        let thread = std::thread::spawn(move || {
            let mut samples = vec![sample(&theirs, 0.0)];
            while !flag.load(Ordering::Relaxed) {
                std::thread::park_timeout(Duration::from_secs(1));
                samples.push(sample(&theirs, began.elapsed().as_secs_f64()));
            }
            samples
        });
        Some(Self { pids, stop, thread: Some(thread) })
    }

    /// Ends sampling.
    pub fn finish(mut self) -> ServerUse {
        self.stop.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return ServerUse::default() };
        thread.thread().unpark();
        let samples = thread.join().unwrap_or_default();
        let used = |samples: &[Sample]| Some(samples.last()?.cpu_s - samples.first()?.cpu_s);
        let first = self.pids.first().copied().unwrap_or(0);
        let name = read_to_string(format!("/proc/{first}/comm")).unwrap_or_default();
        ServerUse {
            cpu_s: used(&samples).unwrap_or(0.0),
            name: name.trim().to_owned(),
            pids: self.pids,
            samples,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{inodes, listening, sample};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_socket_that_listens_is_found_among_others() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let _client = TcpStream::connect(address).unwrap();
        assert_eq!(inodes("/proc/net/tcp", address.port()).len(), 1);
    }

    #[test]
    fn listening_lines_are_recognised() {
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 \
                    0        0 48213 1 0000 100 0 0 10 0";
        assert_eq!(listening(line, 8080), Some(48213));
        assert_eq!(listening(line, 8081), None);
        assert_eq!(listening(&line.replace(" 0A ", " 01 "), 8080), None);
    }

    #[test]
    fn this_process_can_be_sampled() {
        let here = sample(&[std::process::id()], 0.0);
        assert!(here.rss_bytes > 100_000 && here.threads > 0 && here.descriptors > 2);
    }
}
