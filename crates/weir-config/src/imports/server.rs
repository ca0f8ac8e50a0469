//! Configuration servers: data only; `weir-control` queries them.

use std::fmt;

use super::consul::ConsulServer;
use super::nacos::NacosServer;
use super::retry::Retry;
use super::spring_config::ConfigServer;

/// A configuration server, and what to read from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Server {
    /// Spring Cloud Config.
    Spring(ConfigServer),
    /// Nacos.
    Nacos(NacosServer),
    /// Consul's keys and values.
    Consul(ConsulServer),
}

impl Server {
    /// Retries at start.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Spring(server) => server.retry,
            Self::Nacos(_) => Retry::NONE,
            Self::Consul(server) => server.retry,
        }
    }

    /// Whether its address contains a user or password.
    pub(crate) fn has_login(&self) -> bool {
        match self {
            Self::Spring(server) => server.uris.iter().any(|uri| uri.expose().contains('@')),
            Self::Nacos(server) => server.servers.iter().any(|address| address.contains('@')),
            Self::Consul(server) => server.host.contains('@'),
        }
    }

    /// Remedy if it does not answer.
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
    /// Prints the server and the query, without user, password or token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spring(server) => server.fmt(f),
            Self::Nacos(server) => server.fmt(f),
            Self::Consul(server) => server.fmt(f),
        }
    }
}
