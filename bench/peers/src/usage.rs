//! CPU and memory use of processes and cores, from `/proc`.

use std::fs::read_to_string;

/// Fields of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Parent.
    pub parent: u32,
    /// User and system time of all threads, in clock ticks; that of ended threads is in it.
    pub ticks: u64,
    /// The user time of these.
    pub user_ticks: u64,
    /// The process has ended and waits to be reaped.
    pub ended: bool,
}

impl Stat {
    /// Parses a line of `/proc/PID/stat`. The name in parentheses may hold anything, so fields are
    /// counted after the last parenthesis.
    pub fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        let ended = matches!(*fields.first()?, "Z" | "X");
        let (user_ticks, system_ticks) = (number(11)?, number(12)?);
        let ticks = user_ticks + system_ticks;
        Some(Self { parent: number(1)? as u32, ticks, user_ticks, ended })
    }

    /// The statistics of a process, if it exists.
    pub fn of(pid: u32) -> Option<Self> {
        Self::parse(&read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }
}

/// `root` and everything that descends from it.
pub fn family(root: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let all: Vec<(u32, u32)> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, Stat::of(pid)?.parent)))
        .collect();
    let mut found = vec![root];
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        found.extend(all.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    found
}

/// CPU seconds used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    /// In user space and in the kernel.
    pub all_s: f64,
    /// In user space.
    pub user_s: f64,
}

impl Cpu {
    /// The CPU time of `pids`, all their threads included.
    pub fn of(pids: &[u32]) -> Self {
        let second = rustix::param::clock_ticks_per_second() as f64;
        let mut cpu = Self::default();
        for stat in pids.iter().filter_map(|&pid| Stat::of(pid)) {
            cpu.all_s += stat.ticks as f64 / second;
            cpu.user_s += stat.user_ticks as f64 / second;
        }
        cpu
    }
}

/// The most memory `pid` ever had resident, in bytes; `None` once it has ended.
pub fn peak(pid: u32) -> Option<u64> {
    let status = read_to_string(format!("/proc/{pid}/status")).ok()?;
    kilobytes(&status, "VmHWM:").map(|size| size * 1024)
}

/// Resident memory of `pids` in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Memory {
    /// The proportional set size: pages of each process, shared ones divided by the number of their
    /// sharers (`Pss`). The sum is the memory that the processes take together.
    pub shared_out: u64,
    /// `VmRSS` of the largest process.
    pub largest: u64,
}

impl Memory {
    /// The current memory of `pids`.
    pub fn of(pids: &[u32]) -> Self {
        let mut memory = Self::default();
        for pid in pids {
            let rollup = read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
            let status = read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            memory.shared_out += kilobytes(&rollup, "Pss:").unwrap_or(0) * 1024;
            let resident = kilobytes(&status, "VmRSS:").unwrap_or(0) * 1024;
            memory.largest = memory.largest.max(resident);
        }
        memory
    }
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Busy and all ticks of one core since the machine started, from `/proc/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreTicks {
    busy: u64,
    all: u64,
}

impl CoreTicks {
    /// The current counters of `core`.
    pub fn now(core: usize) -> Option<Self> {
        Self::parse(&read_to_string("/proc/stat").ok()?, core)
    }

    fn parse(text: &str, core: usize) -> Option<Self> {
        let name = format!("cpu{core} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&*name))?;
        let numbers: Vec<u64> = line.split_whitespace().map_while(|w| w.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guest time is in user time already.
        let all: u64 = numbers.iter().take(8).sum();
        let idle = numbers.get(3)? + numbers.get(4)?;
        Some(Self { busy: all - idle, all })
    }

    /// Share of the time since `before` in which the core was busy, with anything.
    pub fn busy_since(&self, before: &Self) -> f64 {
        let all = self.all.saturating_sub(before.all).max(1);
        self.busy.saturating_sub(before.busy) as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::{CoreTicks, Cpu, Memory, Stat, family, kilobytes};

    #[test]
    fn stat_lines_are_read() {
        let rest = "7 7 7 0 -1 4194560 100 0 0 0 250 125 3 4 20 0 2 0 1 1 1";
        let line = format!("42 (a ) (b) S {rest}");
        let expected = Stat { parent: 7, ticks: 375, user_ticks: 250, ended: false };
        assert_eq!(Stat::parse(&line), Some(expected));
        let line = format!("42 (a) Z {rest}");
        assert!(Stat::parse(&line).unwrap().ended);
        assert_eq!(Stat::parse("42 (a) S 7"), None);
        assert_eq!(Stat::parse(""), None);
    }

    #[test]
    fn this_process_uses_something() {
        let me = std::process::id();
        let memory = Memory::of(&[me]);
        assert!(memory.shared_out > 0 && memory.largest >= memory.shared_out);
        assert!(super::peak(me).unwrap() >= memory.largest);
        let cpu = Cpu::of(&[me]);
        assert!(cpu.user_s >= 0.0 && cpu.all_s >= cpu.user_s);
        assert!(family(std::os::unix::process::parent_id()).contains(&me));
        assert_eq!(Cpu::of(&[]), Cpu::default());
    }

    #[test]
    fn sizes_are_read() {
        let text = "Rss:    12 kB\nPss:     7 kB\nPss_Anon: 3 kB\n";
        assert_eq!(kilobytes(text, "Pss:"), Some(7));
        assert_eq!(kilobytes(text, "Swap:"), None);
    }

    #[test]
    fn cores_are_read() {
        let at = |user: u64, idle: u64| {
            let text = format!("cpu  9 9 9 9 9 9 9 9 0 0\ncpu1 {user} 0 10 {idle} 5 1 2 3 7 0\n");
            CoreTicks::parse(&text, 1).unwrap()
        };
        assert_eq!(at(160, 140).busy_since(&at(100, 100)), 0.6);
        assert_eq!(CoreTicks::parse("cpu0 1 2 3 4 5 6 7 8", 1), None);
    }
}
