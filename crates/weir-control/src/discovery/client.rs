//! The client of a registry, whatever its kind.

use std::time::Duration;

use weir_balance::Report;

use super::shared::Shared;
use super::{consul, dns, eureka, kubernetes, nacos, zookeeper};
use crate::http::Looked;

/// The client of one registry.
pub(super) enum Client {
    Eureka(eureka::Client),
    Nacos(nacos::Client),
    Consul(Box<consul::Client>),
    Zookeeper(Box<zookeeper::Client>),
    Kubernetes(Box<kubernetes::Client>),
    Dns(dns::Client),
}

impl Client {
    /// The client of the registry called `name`.
    pub fn of(name: &str, shared: &Shared) -> Option<Self> {
        let settings = &shared.settings;
        Some(match name {
            "eureka" => Self::Eureka(eureka::Client::new(&settings.eureka)),
            "nacos" => Self::Nacos(nacos::Client::new(&settings.nacos)),
            "consul" => Self::Consul(Box::new(consul::Client::new(&settings.consul))),
            "zookeeper" => Self::Zookeeper(Box::new(zookeeper::Client::new(&settings.zookeeper))),
            "kubernetes" => Self::Kubernetes(Box::new(kubernetes::Client::new(
                &settings.kubernetes,
                settings.answer_bytes_max,
            ))),
            "dns" => Self::Dns(dns::Client::default()),
            _ => return None,
        })
    }

    /// The services of the registry; may take as long as a blocking query.
    pub async fn next(&mut self, shared: &Shared) -> Looked<Report> {
        match self {
            Self::Eureka(client) => client.next(shared).await,
            Self::Nacos(client) => client.next(shared).await,
            Self::Consul(client) => client.next(shared).await,
            Self::Zookeeper(client) => client.next(shared).await,
            Self::Kubernetes(client) => client.next().await,
            Self::Dns(client) => client.next(shared).await,
        }
    }

    /// The pause after a good answer.
    pub fn pause(&self, shared: &Shared) -> Duration {
        match self {
            Self::Eureka(_) => shared.settings.eureka.interval,
            Self::Nacos(_) => shared.settings.nacos.interval,
            Self::Consul(_) | Self::Zookeeper(_) | Self::Kubernetes(_) => Duration::ZERO,
            Self::Dns(client) => client.pause(),
        }
    }
}
