//! Bounds of a pipeline of Dubbo calls, and whether its connections to providers are shared.

/// What is known of the calls of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DubboSettings {
    /// The most bytes of a body.
    pub body_max: usize,
    /// How consumers share connections to providers; without it each has its own.
    pub sharing: Option<Sharing>,
}

/// Bounds of connections to providers that consumers share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// Connections of one worker to one provider.
    pub connections_max: usize,
    /// Calls without a response on one connection.
    pub calls_max: usize,
    /// Bytes that may wait for a consumer that does not read them; one response may always wait.
    pub backlog_bytes_max: usize,
}
