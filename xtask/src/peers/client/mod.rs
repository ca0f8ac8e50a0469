//! Clients: who sends the load, and what they say about it.
//!
//! Throughput comes from wrk: a closed loop written by others, so that nobody has to believe that
//! weir's own client does not favour weir. Latency at a fixed rate comes from `weir bench`: wrk has
//! no open loop, and counts latency from when it sent instead of from when it should have sent.
//! Both are pinned to the client's core; what they use is not in the proxy's CPU.

pub mod ab;
pub mod bench;
pub mod probe;
pub mod wrk;

/// What a client counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Counted {
    /// Complete answers.
    pub requests: u64,
    /// Answers with a status that is no success, timeouts, and connections that broke.
    pub errors: u64,
    /// Requests per second by the client's own clock.
    pub rate: f64,
}
