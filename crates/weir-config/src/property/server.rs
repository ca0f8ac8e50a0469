//! Properties of the server and of its management port, as Spring Boot names them.

use std::time::Duration;

use super::{Kind, PropertySpec, Usage};
use weir_snapshot::Access;

const LATER_TLS: &str =
    "weir does not serve TLS yet: let a proxy in front end it, and remove the property";

/// `server.*` and other properties of Spring Boot's server.
pub(super) static SERVER: &[PropertySpec] = &[
    PropertySpec::new(
        "server.port",
        Kind::Int(0, 65_535),
        Some("8080"),
        "Port for requests; 0 takes a free one.",
        Usage::Sets(|s, v| s.listen.set_port(v.short())),
    ),
    PropertySpec::new(
        "server.address",
        Kind::Address,
        Some("0.0.0.0"),
        "Address for requests.",
        Usage::Sets(|s, v| s.listen.set_ip(v.address())),
    ),
    PropertySpec::new(
        "server.max-http-request-header-size",
        Kind::DataSize,
        Some("32KB"),
        "Most bytes of a request head; above is 431. Spring's default is 8KB.",
        Usage::Sets(|s, v| s.head_limits.head_bytes_max = bytes(v.size())),
    ),
    PropertySpec::new(
        "server.max-http-header-size",
        Kind::DataSize,
        None,
        "Older name of `server.max-http-request-header-size`.",
        Usage::Sets(|s, v| s.head_limits.head_bytes_max = bytes(v.size())),
    ),
    PropertySpec::new(
        "server.netty.max-initial-line-length",
        Kind::DataSize,
        Some("8KB"),
        "Longest request target; above is 414. Spring's default is 4KB.",
        Usage::Sets(|s, v| s.head_limits.target_bytes_max = bytes(v.size())),
    ),
    PropertySpec::new(
        "server.netty.idle-timeout",
        Kind::Duration,
        Some("75s"),
        "How long an idle client connection is kept. Spring keeps it for ever.",
        Usage::Sets(|s, v| s.keep_alive_timeout = v.duration()),
    ),
    PropertySpec::new(
        "server.netty.max-keep-alive-requests",
        Kind::Int(-1, i64::MAX),
        None,
        "Most requests of one client connection; -1 is no bound.",
        Usage::Sets(|s, v| s.keep_alive_requests_max = u64::try_from(v.int()).ok()),
    ),
    PropertySpec::new(
        "server.netty.connection-timeout",
        Kind::Duration,
        None,
        "Time for Netty to accept a connection.",
        Usage::Ignored("weir accepts without waiting; see `weir.server.head-timeout`"),
    ),
    PropertySpec::new(
        "server.netty.h2c-max-content-length",
        Kind::DataSize,
        None,
        "Bound of Netty's HTTP/2 upgrade.",
        Usage::Ignored("there is no such upgrade"),
    ),
    PropertySpec::new(
        "server.netty.initial-buffer-size",
        Kind::DataSize,
        None,
        "A buffer of Netty.",
        Usage::Ignored(
            "weir has no buffer for each connection; see `weir.server.read-buffer-size`",
        ),
    ),
    PropertySpec::new(
        "server.netty.validate-headers",
        Kind::Bool,
        None,
        "Whether Netty checks header names.",
        Usage::Ignored("weir always checks them"),
    ),
    PropertySpec::new(
        "server.shutdown",
        Kind::OneOf(&["graceful", "immediate"]),
        Some("graceful"),
        "`immediate` ends without waiting for requests in flight.",
        Usage::Sets(|s, v| {
            if v.text() == "immediate" {
                s.shutdown_timeout = Duration::ZERO;
            }
        }),
    ),
    PropertySpec::new(
        "spring.lifecycle.timeout-per-shutdown-phase",
        Kind::Duration,
        Some("30s"),
        "How long requests in flight may take to finish at shutdown.",
        Usage::Sets(|s, v| {
            if s.shutdown_timeout > Duration::ZERO {
                s.shutdown_timeout = v.duration();
            }
        }),
    ),
    PropertySpec::new(
        "server.error.include-message",
        Kind::OneOf(&["never", "always", "on-param"]),
        Some("never"),
        "`always` puts the reason of an error into its JSON.",
        Usage::Sets(|s, v| s.error_include_message = v.text() == "always"),
    ),
    PropertySpec::new(
        "spring.web.error.include-message",
        Kind::OneOf(&["never", "always", "on-param"]),
        Some("never"),
        "Newer name of `server.error.include-message`.",
        Usage::Sets(|s, v| s.error_include_message |= v.text() == "always"),
    ),
    PropertySpec::new(
        "spring.webflux.base-path",
        Kind::Text,
        Some(""),
        "Prepended to every Path pattern; whatever lies outside of it is answered 404.",
        Usage::Sets(|s, v| v.text().trim_end_matches('/').clone_into(&mut s.base_path)),
    ),
    PropertySpec::new(
        "server.ssl",
        Kind::Tree,
        None,
        "TLS towards clients.",
        Usage::Refused(LATER_TLS),
    ),
    PropertySpec::new(
        "server.http2.enabled",
        Kind::Bool,
        Some("false"),
        "HTTP/2 towards clients.",
        Usage::Unsupported("weir speaks HTTP/1.1 to clients for now; they fall back to it"),
    ),
    PropertySpec::new(
        "reactor.netty.ioWorkerCount",
        Kind::Int(0, 1_024),
        None,
        "Threads that serve requests, by Reactor Netty's name; see `weir.server.workers`.",
        Usage::Sets(|s, v| s.workers = v.count()),
    ),
    PropertySpec::new(
        "reactor.netty.ioSelectCount",
        Kind::Int(-1, 1_024),
        None,
        "Threads that accept connections, by Reactor Netty's name; -1 shares them with workers.",
        Usage::Sets(|s, v| s.acceptors = v.count()),
    ),
];

/// `management.*`, for the endpoints that weir has.
pub(super) static MANAGEMENT: &[PropertySpec] = &[
    PropertySpec::new(
        "management.server.port",
        Kind::Int(-1, 65_535),
        None,
        "Port of the admin API and actuator; -1 switches them off. Unset is 127.0.0.1:9090.",
        Usage::Sets(|s, v| s.management.port = Some(v.int())),
    ),
    PropertySpec::new(
        "management.server.address",
        Kind::Address,
        None,
        "Address of the admin API and actuator; all addresses when only the port is set.",
        Usage::Sets(|s, v| s.management.address = Some(v.address())),
    ),
    PropertySpec::new(
        "management.server.ssl",
        Kind::Tree,
        None,
        "TLS towards clients of the admin API.",
        Usage::Refused(LATER_TLS),
    ),
    PropertySpec::new(
        "management.endpoints.web.base-path",
        Kind::Text,
        Some("/actuator"),
        "Path in front of every endpoint.",
        Usage::Sets(|s, v| v.text().trim_end_matches('/').clone_into(&mut s.management.base_path)),
    ),
    PropertySpec::new(
        "management.endpoints.web.exposure.include",
        Kind::List,
        Some("health"),
        "Endpoints that are reachable over HTTP; `*` is all.",
        Usage::Sets(|s, v| s.management.include = v.list().to_vec()),
    ),
    PropertySpec::new(
        "management.endpoints.web.exposure.exclude",
        Kind::List,
        None,
        "Endpoints that are not reachable, whatever is included.",
        Usage::Sets(|s, v| s.management.exclude = v.list().to_vec()),
    ),
    PropertySpec::new(
        "management.endpoint.gateway.enabled",
        Kind::Bool,
        None,
        "Whether `/actuator/gateway` is there at all, by its name up to Spring Boot 3.3.",
        Usage::Sets(|s, v| {
            s.management.gateway = if v.bool() { Access::Unrestricted } else { Access::None };
        }),
    ),
    PropertySpec::new(
        "management.endpoint.gateway.access",
        Kind::OneOf(&["none", "read-only", "unrestricted"]),
        Some("unrestricted"),
        "What `/actuator/gateway` allows.",
        Usage::Sets(|s, v| {
            s.management.gateway = match v.text() {
                "none" => Access::None,
                "read-only" => Access::ReadOnly,
                _ => Access::Unrestricted,
            };
        }),
    ),
    PropertySpec::new(
        "server.compression.enabled",
        Kind::Bool,
        Some("false"),
        "`true` gives every route the filter Compress.",
        Usage::Read,
    ),
    PropertySpec::new(
        "server.compression.mime-types",
        Kind::List,
        None,
        "Types of responses that it compresses.",
        Usage::Read,
    ),
    PropertySpec::new(
        "server.compression.min-response-size",
        Kind::DataSize,
        Some("2KB"),
        "Shorter responses go as they are, if their length is known.",
        Usage::Read,
    ),
    PropertySpec::new(
        "management.endpoint.health.show-details",
        Kind::OneOf(&["never", "when-authorized", "always"]),
        Some("never"),
        "Whether `/actuator/health` shows its parts.",
        Usage::Sets(|s, v| s.management.health_details = v.text() == "always"),
    ),
];

fn bytes(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}
