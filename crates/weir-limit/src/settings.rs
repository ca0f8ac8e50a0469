//! Settings of a limit: data only.

use crate::rate::Rate;

/// A limit as the configuration has it. A limit without a rate, a concurrency and a bandwidth lets
/// everything pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitSettings {
    /// Requests that may pass per period.
    pub rate: Option<Rate>,
    /// Strategy by which a rate is kept.
    pub mode: Mode,
    /// Number of requests that may pass at once after a rest; at least 1.
    pub burst: u64,
    /// Time in which a rested limit reaches its rate, in nanoseconds; 0 is at once.
    pub warm_up_ns: u64,
    /// Maximum number of requests in service.
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
    /// Most bytes that waiting requests hold ([`crate::Arrival::bytes`]).
    pub queue_bytes_max: u64,
    /// Longest wait, in nanoseconds; a request that would wait longer is refused at once.
    pub wait_max_ns: u64,
    /// Order of the queue.
    pub order: Order,
    /// Whether each key has this limit for itself.
    pub per_key: bool,
    /// Extra wait, in nanoseconds, after which a request passes before one of the next higher
    /// class.
    pub ageing_ns: u64,
    /// `false` only counts the requests that would wait or be refused, and admits all.
    pub enforce: bool,
}

/// Maximum number of requests in service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concurrency {
    /// This number.
    Fixed(u64),
    /// Adapted to the upstream's latency and failures.
    Adaptive,
}

/// Strategy by which a rate is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Evenly, one by one; after a rest as many at once as the burst allows.
    Pace,
    /// All requests of a second at once, then none until the next second, as in piped's `tap`; for
    /// comparison.
    Window,
}

/// Order of waiting requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// First come, first served.
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
            queue_bytes_max: 64 * 1024 * 1024,
            wait_max_ns: 30_000_000_000,
            order: Order::Fifo,
            per_key: false,
            ageing_ns: 1_000_000_000,
            enforce: true,
        }
    }
}
