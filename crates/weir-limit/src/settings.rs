//! Settings of a limit: data only.

use crate::rate::Rate;

/// A limit as the configuration has it. A limit without a rate, a concurrency and a bandwidth lets
/// everything pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitSettings {
    /// How many may pass in which time.
    pub rate: Option<Rate>,
    /// How a rate is kept.
    pub mode: Mode,
    /// How many may pass at once after a rest; at least 1.
    pub burst: u64,
    /// How long it takes a limit that has rested to come to its rate, in nanoseconds; 0 is at once.
    pub warm_up_ns: u64,
    /// How many may be in service at a time.
    pub concurrency: Option<Concurrency>,
    /// Bounds of a concurrency that finds itself.
    pub concurrency_min: u64,
    /// See `concurrency_min`.
    pub concurrency_max: u64,
    /// Bytes a second of all bodies of a key, each way.
    pub bandwidth: Option<u64>,
    /// Bytes a second of each body, each way.
    pub stream_bandwidth: Option<u64>,
    /// Most waiting requests.
    pub queue_max: usize,
    /// Who would have to wait longer is refused at once, in nanoseconds.
    pub wait_max_ns: u64,
    /// Whose turn is next.
    pub order: Order,
    /// How much longer one must have waited, in nanoseconds, to pass before one of the next higher
    /// class.
    pub ageing_ns: u64,
    /// `false` counts what it would do, and lets everything pass.
    pub enforce: bool,
}

/// How many may be in service at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concurrency {
    /// So many.
    Fixed(u64),
    /// As many as the upstream serves well.
    Adaptive,
}

/// How a rate is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One by one, evenly; after a rest as many at once as the burst allows.
    Pace,
    /// All that a second allows at once, then none until the next second, as piped's `tap` does it;
    /// for comparison.
    Window,
}

/// Whose turn is next among those who wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Who came first.
    Fifo,
    /// Each key in turn, by its weight.
    Fair,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            rate: None,
            mode: Mode::Pace,
            burst: 1,
            warm_up_ns: 0,
            concurrency: None,
            concurrency_min: 1,
            concurrency_max: 1_000,
            bandwidth: None,
            stream_bandwidth: None,
            queue_max: 10_000,
            wait_max_ns: 30_000_000_000,
            order: Order::Fifo,
            ageing_ns: 1_000_000_000,
            enforce: true,
        }
    }
}
