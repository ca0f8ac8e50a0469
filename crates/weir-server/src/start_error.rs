//! Errors in starting the data plane.

use std::io;

use crate::listener::BindError;

/// Error in starting the server.
#[derive(Debug)]
pub enum StartError {
    /// An address cannot be listened on.
    Bind(BindError),
    /// The access log cannot be opened.
    AccessLog(io::Error),
    /// A thread cannot be made.
    Thread(io::Error),
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bind(error) => error.fmt(f),
            Self::AccessLog(error) => {
                write!(f, "cannot open the access log: {error}; see weir.access-log.path")
            }
            Self::Thread(error) => write!(f, "cannot start a worker thread: {error}"),
        }
    }
}

impl std::error::Error for StartError {}
