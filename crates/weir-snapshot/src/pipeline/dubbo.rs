//! Limits of a pipeline of Dubbo calls, and the sharing of its connections to providers.

/// Settings of Dubbo calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DubboSettings {
    /// Maximum size of a body in bytes.
    pub body_max: usize,
    /// Limits of connections that consumers share; `None` gives each consumer its own.
    pub sharing: Option<Sharing>,
}

/// Limits of connections to providers that consumers share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// Maximum number of connections of one worker to one provider.
    pub connections_max: usize,
    /// Maximum number of pending calls on one connection.
    pub calls_max: usize,
    /// Maximum number of bytes that wait for a slow consumer; a single response may always wait.
    pub backlog_bytes_max: usize,
}
