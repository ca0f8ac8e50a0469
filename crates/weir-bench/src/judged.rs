//! The judgement of a run: its limit, and whether it met its thresholds.

use serde::{Deserialize, Serialize};

/// The limit of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Nothing: the requested rate was achieved.
    RateMet,
    /// The server.
    #[default]
    ServerLimited,
    /// The generator itself.
    GeneratorLimited,
    /// The number of connections, each of which was busy all the time while the server was not; or
    /// the listen queue, where new ones found no place.
    ConnectionLimited,
    /// Other work on the generator's host.
    HostContended,
    /// Local ports or file descriptors ran out.
    PortsExhausted,
    /// No request was answered.
    NoAnswer,
    /// Requests were answered, none as it should be.
    NoSuccess,
}

impl Limit {
    /// The title in reports.
    pub fn title(self) -> &'static str {
        match self {
            Self::RateMet => "RATE MET",
            Self::ServerLimited => "SERVER LIMITED",
            Self::GeneratorLimited => "GENERATOR LIMITED",
            Self::ConnectionLimited => "CONNECTION LIMITED",
            Self::HostContended => "HOST CONTENDED",
            Self::PortsExhausted => "PORTS EXHAUSTED",
            Self::NoAnswer => "NO ANSWER",
            Self::NoSuccess => "NO SUCCESS",
        }
    }

    /// Whether latencies of a run with this limit characterize the server.
    pub fn conclusive(self) -> bool {
        match self {
            Self::RateMet
            | Self::ServerLimited
            | Self::ConnectionLimited
            | Self::NoAnswer
            | Self::NoSuccess => true,
            Self::GeneratorLimited | Self::HostContended | Self::PortsExhausted => false,
        }
    }
}

/// The verdict on a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The limit.
    pub limit: Limit,
    /// The observations that say so.
    pub evidence: Vec<String>,
}

/// A threshold and what came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// As written.
    pub text: String,
    /// The value found, for people.
    pub value: String,
    /// Met; `None` when the run cannot decide it.
    pub met: Option<bool>,
}
