//! The connection of the admin API to the rest of the process.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// Log levels, by Spring Boot's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Nothing.
    Off,
    /// Errors.
    Error,
    /// And warnings.
    Warn,
    /// Also messages for operators.
    Info,
    /// Also messages for developers.
    Debug,
    /// Everything.
    Trace,
}

impl Level {
    /// All levels, quiet first.
    pub const ALL: [Self; 6] =
        [Self::Off, Self::Error, Self::Warn, Self::Info, Self::Debug, Self::Trace];

    /// Spring Boot's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "OFF",
            Self::Error => "ERROR",
            Self::Warn => "WARN",
            Self::Info => "INFO",
            Self::Debug => "DEBUG",
            Self::Trace => "TRACE",
        }
    }

    /// The level of this name, in any case.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(name))
    }
}

/// A logger as `/actuator/loggers` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logger {
    /// `ROOT`, or a target such as `weir_server`.
    pub name: String,
    /// Level set for it.
    pub configured: Option<Level>,
    /// Level in force.
    pub effective: Level,
}

/// Reads all loggers; `ROOT` comes first.
pub type ReadLoggers = dyn Fn() -> Vec<Logger> + Send + Sync;
/// One pipeline by id, or all of them.
pub type ReadPipelines = dyn Fn(Option<&str>) -> Option<Value> + Send + Sync;
/// One service by name, or all of them.
pub type ReadServices = dyn Fn(Option<&str>) -> Option<Value> + Send + Sync;
/// One upstream by name, or all of them.
pub type ReadUpstreams = dyn Fn(Option<&str>) -> Option<Value> + Send + Sync;
/// One cache by name, or all of them.
pub type ReadCaches = dyn Fn(Option<&str>) -> Option<Value> + Send + Sync;
/// Empties the cache of this name, or all of them; false if there is none.
pub type EmptyCaches = dyn Fn(Option<&str>) -> bool + Send + Sync;
/// Drains or resumes an instance of an upstream; `None` if there is none.
pub type Drain = dyn Fn(&str, &str, bool) -> Option<Value> + Send + Sync;
/// Sets (`None`: clears) the level of a logger, or returns the reason why not. An error says why
/// not.
pub type SetLogger = dyn Fn(&str, Option<Level>) -> Result<(), String> + Send + Sync;

/// The receiver of the result of a reload: the names of the properties of configuration servers
/// that have changed, or the reason why nothing did.
pub type Refresh = oneshot::Sender<Result<Vec<String>, String>>;

/// Callbacks into the process. All are cheap and do not wait; they are called on the admin thread.
#[derive(Clone)]
pub struct Hooks {
    /// Body of `/actuator/prometheus`, in the Prometheus text format.
    pub prometheus: Arc<dyn Fn() -> String + Send + Sync>,
    /// Whether the gateway is ready for traffic; false during a drain.
    pub ready: Arc<AtomicBool>,
    /// Body of `/actuator/info`.
    pub info: Arc<dyn Fn() -> Value + Send + Sync>,
    /// The counters of the data plane, for `/actuator/gateway/stats` under `dataPlane`.
    pub stats: Arc<dyn Fn() -> Value + Send + Sync>,
    /// For `/actuator/gateway/pipelines`: one pipeline, or all of them; `None` if there is none.
    pub pipelines: Arc<ReadPipelines>,
    /// For `/actuator/gateway/services`: one service, or all of them; `None` if it is not known.
    pub services: Arc<ReadServices>,
    /// For `/actuator/gateway/upstreams`: one upstream, or all of them; `None` if it is unknown.
    pub upstreams: Arc<ReadUpstreams>,
    /// Drains an instance of an upstream, or ends the drain.
    pub drain: Arc<Drain>,
    /// For `/actuator/caches`: one cache, or all of them; `None` if there is none.
    pub caches: Arc<ReadCaches>,
    /// Empties caches.
    pub empty_caches: Arc<EmptyCaches>,
    /// The part of `/actuator/health` on registries; `None` if none is watched.
    pub discovery: Arc<dyn Fn() -> Option<Value> + Send + Sync>,
    /// For `/actuator/loggers`.
    pub loggers: Arc<ReadLoggers>,
    /// For `/actuator/loggers/{name}`.
    pub set_logger: Arc<SetLogger>,
    /// Where the admin API listens, to which no webhook is sent.
    pub admin: Option<SocketAddr>,
    /// For `/actuator/refresh`; full while as many wait as may.
    pub refresh: mpsc::Sender<Refresh>,
}
