//! A server that has configuration: data only; `weir-control` asks it.

use std::fmt;
use std::time::Duration;

use super::consul::ConsulServer;
use super::nacos::NacosServer;
use super::spring_config::ConfigServer;

/// A server, and what is asked of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Server {
    /// Spring Cloud Config.
    Spring(ConfigServer),
    /// Nacos.
    Nacos(NacosServer),
    /// Consul's keys and values.
    Consul(ConsulServer),
}

/// How often a start asks a server that is away (`RetryProperties`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Tries in all.
    pub attempts_max: u32,
    /// Wait after the first one.
    pub interval: Duration,
    /// Each wait is so many times the one before, in hundredths.
    pub multiplier_percent: u32,
    /// Longest wait.
    pub interval_max: Duration,
}

impl Retry {
    /// One try.
    pub const NONE: Self = Self {
        attempts_max: 1,
        interval: Duration::from_secs(1),
        multiplier_percent: 110,
        interval_max: Duration::from_secs(2),
    };
}

impl Server {
    /// How often a start asks.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Spring(server) => server.retry,
            Self::Nacos(_) => Retry::NONE,
            Self::Consul(server) => server.retry,
        }
    }

    /// Whether a user or password is part of its address.
    pub(crate) fn has_login(&self) -> bool {
        match self {
            Self::Spring(server) => server.uris.iter().any(|uri| uri.expose().contains('@')),
            Self::Nacos(server) => server.servers.iter().any(|address| address.contains('@')),
            Self::Consul(server) => server.host.contains('@'),
        }
    }

    /// What to do if it does not answer.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            Self::Spring(_) => {
                "start the server or mend `spring.cloud.config.uri`; \
                 `optional:configserver:` (without a bootstrap file) starts without it"
            }
            Self::Nacos(_) => {
                "start the server or mend `spring.cloud.nacos.config.server-addr`; \
                 `optional:nacos:…` starts without it"
            }
            Self::Consul(_) => {
                "start the agent or mend `spring.cloud.consul.host` and `.port`; \
                 `optional:consul:` (with a bootstrap file: `spring.cloud.consul.config.fail-fast: \
                 false`) starts without it"
            }
        }
    }
}

impl fmt::Display for Server {
    /// The server and what is asked of it, without user, password or token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spring(server) => server.fmt(f),
            Self::Nacos(server) => server.fmt(f),
            Self::Consul(server) => server.fmt(f),
        }
    }
}

/// A URL without user and password, and without a `/` at its end. Whatever is before an `@` may be
/// a password with a `/` or `?` that should have been encoded.
pub(super) fn shown(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let rest = rest.split('?').next().unwrap_or_default().trim_end_matches('/');
    let mark = if scheme.is_empty() { "" } else { "://" };
    format!("{scheme}{mark}{rest}")
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn urls_without_users() {
        assert_eq!(shown("http://u:p@h:1/c/"), "http://h:1/c");
        assert_eq!(shown("http://h"), "http://h");
        assert_eq!(shown("u:p@h:1"), "h:1");
        assert_eq!(shown("http://u:p/w?x@h/c?a=1"), "http://h/c");
    }
}
