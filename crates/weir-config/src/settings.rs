//! What the configuration means for the gateway as a whole, routes aside.

use std::time::Duration;

use weir_wire::http1::HeadLimits;

/// Settings of the gateway. Each field names the property it comes from and its default.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `server.address` (all addresses) and `server.port` (8080).
    pub listen: std::net::SocketAddr,
    /// `weir.server.workers` or `reactor.netty.ioWorkerCount`; 0 means one per core.
    pub workers: usize,
    /// `weir.server.acceptors` or `reactor.netty.ioSelectCount`; 0 means each worker accepts.
    pub acceptors: usize,
    /// `weir.server.backlog`.
    pub backlog: u32,
    /// `server.max-http-request-header-size` and friends.
    pub head_limits: HeadLimits,
    /// `weir.server.body-bytes-max`; per route by the RequestSize filter.
    pub body_bytes_max: Option<u64>,
    /// `weir.server.head-timeout` (10 s): a head must be complete so long after its first byte.
    pub head_timeout: Duration,
    /// `server.netty.idle-timeout` / `weir.server.keep-alive-timeout` (75 s).
    pub keep_alive_timeout: Duration,
    /// `weir.server.keep-alive-requests-max`; `None` is no bound.
    pub keep_alive_requests_max: Option<u64>,
    /// `weir.server.progress-bytes-per-second-min` (100): bodies slower than this over
    /// [`Settings::progress_window`] end the exchange.
    pub progress_bytes_per_second_min: u64,
    /// `weir.server.progress-window` (30 s).
    pub progress_window: Duration,
    /// `weir.server.connections-max` per process.
    pub connections_max: usize,
    /// `httpclient.connect-timeout` (30 s).
    pub connect_timeout: Duration,
    /// `httpclient.response-timeout`; `None` is no bound.
    pub response_timeout: Option<Duration>,
    /// `httpclient.pool.*`.
    pub pool: PoolSettings,
    /// `spring.lifecycle.timeout-per-shutdown-phase` (30 s).
    pub shutdown_timeout: Duration,
    /// `weir.access-log.*`.
    pub access_log: Option<AccessLog>,
    /// `metrics.enabled`.
    pub metrics_enabled: bool,
    /// `weir.compat.refused-status` (502; SCG 500).
    pub refused_status: u16,
    /// `server.error.include-message` / `spring.web.error.include-message` = always.
    pub error_include_message: bool,
}

/// `httpclient.pool.*`.
#[derive(Clone, Debug)]
pub struct PoolSettings {
    /// `type: DISABLED` closes every upstream connection after use.
    pub enabled: bool,
    /// `max-connections`, per upstream address over all workers; `None` is elastic.
    pub connections_max: Option<usize>,
    /// `weir.pool.queue-max`: requests waiting for a connection, per upstream.
    pub queue_max: usize,
    /// `acquire-timeout` (45 s).
    pub acquire_timeout: Duration,
    /// `max-idle-time`; default 60 s.
    pub idle_timeout: Duration,
    /// `max-life-time`.
    pub life_timeout: Option<Duration>,
}

/// `weir.access-log.format` and where it goes.
#[derive(Clone, Debug)]
pub struct AccessLog {
    /// `common`, `combined` or `json`.
    pub format: AccessLogFormat,
    /// `weir.access-log.path`; `None` is standard output.
    pub path: Option<std::path::PathBuf>,
}

/// Form of an access log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessLogFormat {
    /// NCSA common.
    Common,
    /// NCSA combined.
    Combined,
    /// One JSON object a line.
    Json,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: std::net::SocketAddr::from(([0, 0, 0, 0], 8080)),
            workers: 0,
            acceptors: 0,
            backlog: 4096,
            head_limits: HeadLimits::default(),
            body_bytes_max: None,
            head_timeout: Duration::from_secs(10),
            keep_alive_timeout: Duration::from_secs(75),
            keep_alive_requests_max: None,
            progress_bytes_per_second_min: 100,
            progress_window: Duration::from_secs(30),
            connections_max: 100_000,
            connect_timeout: Duration::from_secs(30),
            response_timeout: None,
            pool: PoolSettings::default(),
            shutdown_timeout: Duration::from_secs(30),
            access_log: None,
            metrics_enabled: true,
            refused_status: 502,
            error_include_message: false,
        }
    }
}

impl Default for PoolSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            connections_max: None,
            queue_max: 10_000,
            acquire_timeout: Duration::from_secs(45),
            idle_timeout: Duration::from_secs(60),
            life_timeout: None,
        }
    }
}
