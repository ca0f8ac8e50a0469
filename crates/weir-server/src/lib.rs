//! The data plane: listeners, workers, the exchange, upstream pools.
//!
//! One OS thread per worker, each with its own tasks, listener, pools, counters and scratch memory:
//! on the request path the workers share only the snapshot pointer. The data plane does not know
//! that an admin API exists.

#![deny(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod accept;
mod access_log;
mod deadline;
mod descriptors;
mod drain;
mod error;
mod executor;
mod http;
mod inquiries;
mod listener;
mod metrics;
mod net;
mod pacer;
mod pipe;
mod pipeline;
mod places;
mod poller;
mod recorder;
mod reserved;
mod resolve;
mod server;
mod start_error;
mod sys;
mod timer;
mod watched;
mod worker;

pub use descriptors::FilesPlan;
pub use error::{ErrorKind, ProxyError, Side};
pub use http::dry_run::{DryRun, dry_run};
pub use http::entry::enter;
pub use http::loop_guard::spend_forward;
pub use http::mocked::warn_of_callback;
pub use inquiries::{INQUIRIES_MAX, Inquiries, Inquiry};
pub use listener::{BindError, SocketBuffer, SocketBuffers};
pub use metrics::{Metrics, WorkerCounters};
pub use pacer::{arm_if, now_ns, set_limits};
pub use pipeline::{DUBBO_CALL_MS_MAX, PipelineStatus};
pub use recorder::{
    Kept, NotRecorded, Recorder, Recording, RecordingBounds, RecordingEnd, RecordingScope,
};
pub use reserved::ReservedPaths;
pub use server::{Server, ServerOptions, files_plan};
pub use start_error::StartError;
pub use sys::{
    Limits, ProgramPages, files_max_raised, give_back_memory, raise_limits, return_memory_soon,
    yield_to_traffic,
};
