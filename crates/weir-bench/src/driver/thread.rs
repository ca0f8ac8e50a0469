//! Statistics of the kernel about a thread of the driver.

/// CPU of one thread over a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ThreadUse {
    /// Time on a core, nanoseconds.
    pub cpu_ns: u64,
    /// Time runnable but waiting for a core, nanoseconds.
    pub run_delay_ns: u64,
    /// Wall time, nanoseconds.
    pub wall_ns: u64,
}

/// CPU time and run-queue delay of the calling thread so far.
pub(super) fn thread_use() -> ThreadUse {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let mut numbers = text.split_whitespace().map_while(|word| word.parse().ok());
    let (cpu_ns, run_delay_ns) = (numbers.next(), numbers.next());
    ThreadUse { cpu_ns: cpu_ns.unwrap_or(0), run_delay_ns: run_delay_ns.unwrap_or(0), wall_ns: 0 }
}
