//! A request to be explained, and its explanation.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// A request to be explained.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Question {
    /// Method, such as `GET`.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Header fields in order.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// Address of the client; loopback if not given.
    #[serde(default)]
    pub peer: Option<IpAddr>,
    /// Its body, for ReadBody; unknown if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Chance that weight groups draw from.
    #[serde(default)]
    pub dice: u64,
}

/// The outcome of a request, step by step.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Explanation {
    /// The reason why the request is refused before routing, if it is.
    pub refused: Option<String>,
    /// The path that is matched and sent, if it differs from the received one.
    pub path: Option<String>,
    /// Whether it needs a token, where the configuration asks for some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Routes that the index considered, in order of trial, up to the winner.
    pub candidates: Vec<Candidate>,
    /// Routes in the table.
    pub routes: usize,
    /// The route that serves the request.
    pub winner: Option<String>,
    /// The group that this route is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// URI variables of the winner.
    pub variables: Vec<(String, String)>,
    /// Its filters in the order they run.
    pub filters: Vec<Step>,
    /// The answer of the gateway itself, if the request is not forwarded.
    pub answer: Option<String>,
    /// The target that the request is sent to.
    pub upstream: Option<String>,
    /// Instances of its service, each with why it is not used, if it is not; the first ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<String>,
    /// The head that the upstream gets.
    pub head: Option<String>,
}

/// One route that was considered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Candidate {
    /// Its id.
    pub id: String,
    /// Its order.
    pub order: i32,
    /// The group it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Whether it matched.
    pub matched: bool,
    /// One sentence for each predicate, up to the first that does not hold.
    pub reasons: Vec<String>,
}

/// One filter at work.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Step {
    /// SCG's name.
    pub name: String,
    /// The order in the chain.
    pub order: i32,
    /// The effect.
    pub does: String,
    /// Header lines that it removed (`- `) and added (`+ `).
    pub changes: Vec<String>,
}
