//! The reasons for refusing a change of the route table.

use std::fmt;

use weir_store::StoreError;

/// An error in a route definition.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// The place in the definition, such as `filters[0].args.status`; among several routes, with
    /// `route 'id': ` before it.
    pub at: String,
    /// The error.
    pub message: String,
    /// The remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl Problem {
    /// A problem at `at`.
    pub fn new(at: impl Into<String>, message: impl Into<String>) -> Self {
        Self { at: at.into(), message: message.into(), help: None }
    }

    /// Adds a remedy.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds the id of the route.
    pub fn of_route(mut self, id: &str) -> Self {
        self.at = format!("route '{id}': {}", self.at);
        self
    }
}

impl From<weir_config::Problem> for Problem {
    fn from(problem: weir_config::Problem) -> Self {
        Self::new(problem.part.to_string(), problem.message).help(problem.help)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.at.is_empty() {
            write!(f, "{}: ", self.at)?;
        }
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

/// A change that was refused or failed. The table is as it was, but for [`Refusal::Store`], after
/// which it is what the store turns out to hold.
#[derive(Clone, Debug)]
pub enum Refusal {
    /// The definitions do not compile; every problem of every one of them (at most
    /// [`Refusal::PROBLEMS_MAX`]).
    Invalid(Vec<Problem>),
    /// No such route in the store.
    NotFound,
    /// The caller's condition does not hold; the route's revision now, if it exists.
    Changed(Option<u64>),
    /// Too many changes are waiting.
    Busy,
    /// The gateway is going down.
    Stopping,
    /// A fault of weir's own; the panic is in the log.
    Fault,
    /// The store failed.
    Store(StoreError),
}

impl Refusal {
    /// The maximum number of problems reported for one change.
    pub const PROBLEMS_MAX: usize = 100;
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(problems) => {
                let texts: Vec<String> = problems.iter().map(Problem::to_string).collect();
                f.write_str(&texts.join("; "))
            }
            Self::NotFound => f.write_str("no such route"),
            Self::Changed(Some(revision)) => write!(f, "the route is at revision {revision} now"),
            Self::Changed(None) => f.write_str("the route does not exist"),
            Self::Busy => f.write_str("too many route changes are waiting"),
            Self::Stopping => f.write_str("the gateway is going down"),
            Self::Fault => f.write_str("an internal fault; the log has it"),
            Self::Store(error) => write!(f, "{error}; {}", error.remedy()),
        }
    }
}

impl std::error::Error for Refusal {}
