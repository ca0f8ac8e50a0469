//! The outcome of one attempt, as Retry and CircuitBreaker see it.

use std::net::IpAddr;

/// Outcome of an attempt to get a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With a response of this status.
    Status(u16),
    /// The upstream's name does not resolve.
    Unresolved,
    /// No connection: refused, or timed out.
    Unreached,
    /// The connection broke before a response head, or the response is not HTTP.
    Broken,
    /// No response head came in time.
    TimedOut,
    /// The breaker is open: nothing was sent.
    Open,
}

/// The failure for which a request is forwarded, for FallbackHeaders: the exception that Spring
/// Cloud Gateway would have thrown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Java class.
    pub class: &'static str,
    /// Its message.
    pub message: String,
    /// Java class of the root cause.
    pub root_class: &'static str,
    /// Its message.
    pub root_message: String,
}

impl Failure {
    /// The Java exception for `outcome` of a call to `host` and `port` through the breaker `name`,
    /// whose time limit is `limit_ms`.
    pub fn of(outcome: Outcome, name: &str, limit_ms: u64, host: &str, port: u16) -> Self {
        let one = |class, message: String| Self {
            class,
            root_class: class,
            root_message: message.clone(),
            message,
        };
        match outcome {
            Outcome::Open => one(
                "io.github.resilience4j.circuitbreaker.CallNotPermittedException",
                format!("CircuitBreaker '{name}' is OPEN and does not permit further calls"),
            ),
            Outcome::TimedOut => one(
                "java.util.concurrent.TimeoutException",
                format!(
                    "Did not observe any item or terminal signal within {limit_ms}ms in \
                     'circuitBreaker' (and no fallback has been configured)"
                ),
            ),
            Outcome::Unresolved => Self {
                class: "java.net.UnknownHostException",
                message: format!("Failed to resolve '{host}' [A(1), AAAA(28)] after 2 queries"),
                root_class: "io.netty.resolver.dns.DnsErrorCauseException",
                root_message: "Query failed with NXDOMAIN".to_owned(),
            },
            Outcome::Unreached => {
                let refused = "finishConnect(..) failed with error(-111): Connection refused";
                Self {
                    class: "io.netty.channel.AbstractChannel$AnnotatedConnectException",
                    message: format!("{refused}: {}:{port}", inet_address(host)),
                    root_class: "java.net.ConnectException",
                    root_message: refused.to_owned(),
                }
            }
            Outcome::Broken => one(
                "reactor.netty.http.client.PrematureCloseException",
                "Connection prematurely closed BEFORE response".to_owned(),
            ),
            Outcome::Status(status) => one(
                "org.springframework.cloud.gateway.filter.factory.\
                 SpringCloudCircuitBreakerFilterFactory$CircuitBreakerStatusCodeException",
                format!("{status} {}", crate::status::constant(status)),
            ),
        }
    }
}

/// An unresolved address as Java displays it; the addresses of a host name are not known here.
fn inet_address(host: &str) -> String {
    let is_address = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    if is_address { format!("/{host}") } else { host.to_owned() }
}
