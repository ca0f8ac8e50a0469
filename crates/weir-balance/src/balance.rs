//! How one of several members is chosen.

/// Who is next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balance {
    /// Each in turn, by weight; turns of one are spread over the round.
    #[default]
    RoundRobin,
    /// The fewest connections or calls under way, by weight.
    LeastConnections,
    /// Of two by chance, the one with the shorter time lately, times what is under way (power of
    /// two choices, Mitzenmacher 2001).
    PeakEwma,
    /// The same for the same client address, as long as it is up.
    HashIp,
    /// The same for the same hash, unless it has a quarter more to do than its share.
    Hash,
    /// Any, by weight.
    Random,
}

impl Balance {
    /// Name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::RoundRobin => "round-robin",
            Self::LeastConnections => "least-requests",
            Self::PeakEwma => "peak-ewma",
            Self::HashIp => "hash:ip",
            Self::Hash => "hash",
            Self::Random => "random",
        }
    }
}
