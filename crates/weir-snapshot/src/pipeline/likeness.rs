//! Whether a reload has changed a pipeline.

use std::sync::Arc;

use super::{PipelineLimit, PipelineRoute};
use crate::snapshot::{Pipeline, Protocol};

impl Pipeline {
    /// Whether `other` is configured in the same way. Not compared are the settings of limits,
    /// which are kept by name, and those of the gateway that HTTP pipelines share.
    pub fn is_like(&self, other: &Self) -> bool {
        // Names all fields, so that a new one is not forgotten.
        let Self {
            id,
            listen,
            protocol,
            upstream,
            routes,
            proxy_protocol,
            limit,
            limit_name,
            timeouts,
            check,
        } = self;
        *id == other.id
            && *listen == other.listen
            && protocol.is_like(&other.protocol)
            && upstream.is_like(&other.upstream)
            && routes.len() == other.routes.len()
            && routes.iter().zip(&other.routes).all(|(one, two)| one.is_like(two))
            && *proxy_protocol == other.proxy_protocol
            && match (limit, &other.limit) {
                (Some(one), Some(two)) => one.is_like(two),
                (one, two) => one.is_none() && two.is_none(),
            }
            && *limit_name == other.limit_name
            && *timeouts == other.timeouts
            && *check == other.check
    }
}

impl Protocol {
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            // Its one route is made of the upstreams and the limit of the pipeline.
            (Self::Tcp, Self::Tcp) | (Self::Http(_), Self::Http(_)) => true,
            (Self::Socks(one), Self::Socks(two)) => one == two,
            (Self::Frame(one), Self::Frame(two)) => one == two,
            (Self::Dubbo(one), Self::Dubbo(two)) => one == two,
            (Self::Tcp | Self::Http(_) | Self::Socks(_) | Self::Frame(_) | Self::Dubbo(_), _) => {
                false
            }
        }
    }
}

impl PipelineRoute {
    fn is_like(&self, other: &Self) -> bool {
        self.fits == other.fits && self.upstream.is_like(&other.upstream)
    }
}

impl PipelineLimit {
    fn is_like(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.valve, &other.valve)
            && self.by_ip == other.by_ip
            && self.cost == other.cost
    }
}
