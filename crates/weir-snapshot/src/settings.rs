//! Settings of the gateway as a whole, routes aside.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use weir_filter::forwarding::via::Via;
use weir_wire::http1::HeadLimits;

use crate::ambiguous_paths::AmbiguousPaths;
use crate::discovery::Discovery;
use crate::secret::Secret;

/// Port of the admin API while neither `management.server.port` nor `weir.admin.port` is set.
pub const ADMIN_PORT: u16 = 9090;

/// Connections of a pool of type `fixed` while `max-connections` is not set.
pub const FIXED_POOL_SIZE: usize = 500;

/// Settings of the gateway. Each field names the property it comes from and its default; the
/// property registry declares and sets them.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Properties that take effect at a start only, with values other than their defaults.
    pub at_start: Vec<(&'static str, String)>,
    /// `server.address` (all addresses) and `server.port` (8080).
    pub listen: SocketAddr,
    /// Whether weir listens there: false if there are pipelines but neither routes nor
    /// `server.port`.
    pub serves_http: bool,
    /// Whether any upstream is checked (`weir.upstreams.*.check`, `configurations: health-check`).
    pub checks_upstreams: bool,
    /// `weir.server.workers` or `reactor.netty.ioWorkerCount`; 0 means one per core.
    pub workers: usize,
    /// `weir.server.acceptors` or `reactor.netty.ioSelectCount`; 0 means each worker accepts.
    pub acceptors: usize,
    /// `weir.server.pinning`: each worker stays on one core.
    pub pinning: bool,
    /// `weir.server.splice`: large bodies are passed between sockets inside the kernel.
    pub splice: bool,
    /// `weir.server.backlog`.
    pub backlog: u32,
    /// `weir.server.defer-accept` (1 s); zero accepts at once.
    pub defer_accept: Duration,
    /// `weir.server.read-buffer-size` (96 KiB): maximum size of one read.
    pub read_buffer_bytes: usize,
    /// `weir.server.receive-buffer-size` of client connections; `None` leaves it to the system.
    pub receive_buffer_bytes: Option<usize>,
    /// `weir.server.send-buffer-size` of client connections; `None` leaves it to the system.
    pub send_buffer_bytes: Option<usize>,
    /// `weir.server.unsent-low-water-mark` (256 KiB) of client connections.
    pub unsent_bytes_max: u32,
    /// `server.max-http-request-header-size` and friends.
    pub head_limits: HeadLimits,
    /// `httpclient.max-header-size`: bounds of an upstream's response head.
    pub response_head_limits: HeadLimits,
    /// `weir.server.body-bytes-max`; per route by the RequestSize filter.
    pub body_bytes_max: Option<u64>,
    /// `weir.server.head-timeout` (10 s): from the first byte of a request head to its last.
    pub head_timeout: Duration,
    /// `server.netty.idle-timeout` / `weir.server.keep-alive-timeout` (75 s).
    pub keep_alive_timeout: Duration,
    /// `weir.server.keep-alive-requests-max`; `None` means no limit.
    pub keep_alive_requests_max: Option<u64>,
    /// `weir.server.progress-bytes-per-second-min` (100): bodies slower than this over
    /// [`Settings::progress_window`] end the exchange.
    pub progress_bytes_per_second_min: u64,
    /// `weir.server.progress-window` (30 s).
    pub progress_window: Duration,
    /// `weir.server.ambiguous-paths` (`check`); per route by `metadata.ambiguous-paths`.
    pub ambiguous_paths: AmbiguousPaths,
    /// `weir.server.underscore-fields=keep`.
    pub underscore_fields: bool,
    /// `weir.forward.via` (false).
    pub via: Via,
    /// `weir.server.connections-max` per process.
    pub connections_max: usize,
    /// `httpclient.connect-timeout` (30 s).
    pub connect_timeout: Duration,
    /// `httpclient.response-timeout`; `None` means no limit.
    pub response_timeout: Option<Duration>,
    /// `httpclient.pool.*`.
    pub pool: PoolSettings,
    /// `spring.lifecycle.timeout-per-shutdown-phase` (30 s); zero with
    /// `server.shutdown=immediate`.
    pub shutdown_timeout: Duration,
    /// `weir.access-log.*`.
    pub access_log: Option<AccessLog>,
    /// `metrics.enabled`.
    pub metrics_enabled: bool,
    /// `metrics.prefix` (`spring.cloud.gateway`).
    pub metrics_prefix: String,
    /// `metrics.tags.*`: labels with fixed values.
    pub metrics_tags: Vec<(String, String)>,
    /// `weir.compat.refused-status` (502; SCG 500).
    pub refused_status: u16,
    /// `loadbalancer.use404`: 503, or 404.
    pub no_instance_status: u16,
    /// `server.error.include-message` / `spring.web.error.include-message` = always.
    pub error_include_message: bool,
    /// `spring.webflux.base-path`, without a slash at its end; prepended to Path patterns.
    pub base_path: String,
    /// `P.enabled` (true): `false` drops all routes.
    pub gateway_enabled: bool,
    /// `P.fail-on-route-definition-error` (true).
    pub fail_on_route_definition_error: bool,
    /// `P.actuator.verbose.enabled` (true).
    pub actuator_verbose: bool,
    /// `management.*`.
    pub management: Management,
    /// `weir.admin.*`.
    pub admin: Admin,
    /// `weir.store.path` (`weir-data`).
    pub store_path: PathBuf,
    /// `weir.request-uri.allow`: link-local addresses that a filter may send requests to.
    pub request_uri_allow: Vec<IpAddr>,
    /// `weir.retry.budget` (20): retries in percent of the requests to an upstream.
    pub retry_budget: u32,
    /// `spring.http.codecs.max-in-memory-size` (256 KiB): maximum size of a request body that is
    /// kept for a retry or a fallback.
    pub kept_body_bytes_max: usize,
    /// `weir.security.ignore-spring-security` (false).
    pub ignore_spring_security: bool,
    /// Responses of routes that need a token get the headers that Spring Security adds.
    pub security_headers: bool,
    /// `weir.compat.*`.
    pub compat: Compat,
    /// Service registries.
    pub discovery: Discovery,
}

/// `httpclient.pool.*`.
#[derive(Clone, Debug)]
pub struct PoolSettings {
    /// `type: DISABLED` closes every upstream connection after use.
    pub enabled: bool,
    /// `type: FIXED`; otherwise [`PoolSettings::connections_max`] is `None`.
    pub fixed: bool,
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

/// Address of the admin API and the actuator, and the endpoints they expose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Management {
    /// `management.server.port`: -1 is off; `None` while it is not set.
    pub port: Option<i64>,
    /// `management.server.address`.
    pub address: Option<IpAddr>,
    /// `weir.admin.port`: port on 127.0.0.1 if neither `port` nor `address` is set; -1 is off.
    pub own_port: i64,
    /// `management.endpoints.web.base-path` (`/actuator`), without a slash at its end.
    pub base_path: String,
    /// `management.endpoints.web.exposure.include` (`health`); `*` is all.
    pub include: Vec<String>,
    /// `management.endpoints.web.exposure.exclude`.
    pub exclude: Vec<String>,
    /// `management.endpoint.gateway.access`.
    pub gateway: Access,
    /// `management.endpoint.health.show-details=always`.
    pub health_details: bool,
}

/// Access to an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The endpoint does not exist.
    None,
    /// Reads only.
    ReadOnly,
    /// Reads and writes; authorization is checked elsewhere.
    Unrestricted,
}

/// `weir.admin.*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admin {
    /// `weir.admin.token`.
    pub token: Option<Secret>,
    /// `weir.admin.tenant-tokens`.
    pub tenant_tokens: Vec<TenantToken>,
    /// `weir.admin.hosts`.
    pub hosts: Vec<String>,
    /// `weir.admin.connections-max` (512); further connections wait.
    pub connections_max: usize,
    /// `weir.admin.body-bytes-max` (1 MiB).
    pub body_bytes_max: usize,
    /// `weir.admin.import-bytes-max` (256 MiB).
    pub import_bytes_max: usize,
}

/// A token of the admin API for the API definitions of some tenants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantToken {
    /// What its holders send.
    pub token: Secret,
    /// Names of tenants; at least one.
    pub tenants: Vec<String>,
}

/// Behaviour in which the release lines of Spring Cloud Gateway differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compat {
    /// `weir.compat.scg`.
    pub scg: ScgLine,
    /// `weir.compat.trailing-slash`.
    pub trailing_slash: bool,
    /// `weir.compat.split-header-values`.
    pub split_header_values: bool,
    /// `weir.compat.host-port`, `predicate.host.include-port`.
    pub host_port: bool,
    /// `weir.compat.forwarded`: `strip`, `pass` or `append`.
    pub forwarded: String,
}

/// A line of Spring Cloud Gateway releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScgLine {
    /// 3.1.
    V3_1,
    /// 4.1.
    V4_1,
    /// 4.2.
    V4_2,
    /// 4.3.
    V4_3,
    /// 5.0.
    V5_0,
}

/// `weir.access-log.format` and the destination of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessLog {
    /// `common`, `combined` or `json`.
    pub format: AccessLogFormat,
    /// `weir.access-log.path`; `None` is standard output.
    pub path: Option<PathBuf>,
    /// `weir.access-log.bodies`: lines are JSON and have the fields and bodies of messages, up to
    /// this many bytes each.
    pub bodies_max: Option<usize>,
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

impl Management {
    /// Whether an address or port is configured. If not, only the local machine reaches the admin
    /// API, and the main port serves health alone.
    pub fn is_configured(&self) -> bool {
        self.port.is_some() || self.address.is_some()
    }

    /// The address to listen on; `None` if the admin API is off.
    pub fn listen(&self) -> Option<SocketAddr> {
        let ip = match (self.address, self.port) {
            (Some(ip), _) => ip,
            (None, Some(_)) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            (None, None) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        };
        let port = u16::try_from(self.port.unwrap_or(self.own_port)).ok()?;
        Some(SocketAddr::new(ip, port))
    }

    /// Whether `management.endpoints.web.exposure.*` exposes `endpoint`.
    pub fn exposes(&self, endpoint: &str) -> bool {
        let names = |list: &[String]| {
            list.iter().any(|name| name == "*" || name.eq_ignore_ascii_case(endpoint))
        };
        names(&self.include) && !names(&self.exclude)
    }
}

impl ScgLine {
    /// The line with a name such as `4.3`; the newest for any other text.
    pub fn of(text: &str) -> Self {
        match text {
            "3.1" => Self::V3_1,
            "4.1" => Self::V4_1,
            "4.2" => Self::V4_2,
            "4.3" => Self::V4_3,
            _ => Self::V5_0,
        }
    }
}

impl Settings {
    /// Properties that differ in `later` but take effect only at the next start, because they
    /// configure threads, sockets and files that are made once.
    pub fn of_start_only(&self, later: &Self) -> Vec<&'static str> {
        let groups = [
            ("server.port or server.address", self.listen != later.listen),
            ("weir.access-log.*", self.access_log != later.access_log),
            ("weir.admin.port or management.*", self.management != later.management),
            ("weir.admin.*", self.admin != later.admin),
        ];
        let groups = groups.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name);
        let gone = self.at_start.iter().filter(|one| !later.at_start.contains(one));
        let new = later.at_start.iter().filter(|one| !self.at_start.contains(one));
        let mut names: Vec<_> = groups.chain(gone.chain(new).map(|(name, _)| *name)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl Compat {
    /// Sets the defaults of the release line `line`.
    pub fn set_line(&mut self, line: ScgLine) {
        let forwarded = match line {
            ScgLine::V3_1 => "append",
            ScgLine::V4_1 | ScgLine::V4_2 => "pass",
            ScgLine::V4_3 | ScgLine::V5_0 => "strip",
        };
        *self = Self {
            scg: line,
            trailing_slash: line < ScgLine::V5_0,
            split_header_values: line > ScgLine::V3_1,
            host_port: true,
            forwarded: forwarded.to_owned(),
        };
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            at_start: Vec::new(),
            listen: SocketAddr::from(([0, 0, 0, 0], 8080)),
            serves_http: true,
            checks_upstreams: false,
            workers: 0,
            acceptors: 0,
            pinning: false,
            splice: true,
            backlog: 4096,
            defer_accept: Duration::from_secs(1),
            read_buffer_bytes: 96 << 10,
            receive_buffer_bytes: None,
            send_buffer_bytes: None,
            unsent_bytes_max: 256 << 10,
            head_limits: HeadLimits::default(),
            response_head_limits: HeadLimits::default(),
            retry_budget: 20,
            kept_body_bytes_max: 256 * 1024,
            body_bytes_max: None,
            head_timeout: Duration::from_secs(10),
            keep_alive_timeout: Duration::from_secs(75),
            keep_alive_requests_max: None,
            progress_bytes_per_second_min: 100,
            progress_window: Duration::from_secs(30),
            ambiguous_paths: AmbiguousPaths::default(),
            underscore_fields: false,
            via: Via::Off,
            connections_max: 100_000,
            connect_timeout: Duration::from_secs(30),
            response_timeout: None,
            pool: PoolSettings::default(),
            shutdown_timeout: Duration::from_secs(30),
            access_log: None,
            metrics_enabled: true,
            metrics_prefix: "spring.cloud.gateway".to_owned(),
            metrics_tags: Vec::new(),
            refused_status: 502,
            no_instance_status: 503,
            error_include_message: false,
            base_path: String::new(),
            gateway_enabled: true,
            fail_on_route_definition_error: true,
            actuator_verbose: true,
            management: Management::default(),
            admin: Admin::default(),
            store_path: PathBuf::from("weir-data"),
            request_uri_allow: Vec::new(),
            ignore_spring_security: false,
            security_headers: true,
            compat: Compat::default(),
            discovery: Discovery::default(),
        }
    }
}

impl Default for PoolSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            fixed: false,
            connections_max: None,
            queue_max: 10_000,
            acquire_timeout: Duration::from_secs(45),
            idle_timeout: Duration::from_secs(60),
            life_timeout: None,
        }
    }
}

impl Default for Management {
    fn default() -> Self {
        Self {
            port: None,
            address: None,
            own_port: i64::from(ADMIN_PORT),
            base_path: "/actuator".to_owned(),
            include: vec!["health".to_owned()],
            exclude: Vec::new(),
            gateway: Access::Unrestricted,
            health_details: false,
        }
    }
}

impl Default for Admin {
    fn default() -> Self {
        Self {
            token: None,
            tenant_tokens: Vec::new(),
            hosts: Vec::new(),
            connections_max: 512,
            body_bytes_max: 1 << 20,
            import_bytes_max: 256 << 20,
        }
    }
}

impl Default for Compat {
    fn default() -> Self {
        Self {
            scg: ScgLine::V5_0,
            trailing_slash: false,
            split_header_values: true,
            host_port: true,
            forwarded: "strip".to_owned(),
        }
    }
}

impl Default for AccessLog {
    fn default() -> Self {
        Self { format: AccessLogFormat::Common, path: None, bodies_max: None }
    }
}
