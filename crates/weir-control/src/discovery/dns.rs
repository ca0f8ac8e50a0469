//! Services made of DNS names: each address of a host is an instance (`weir.discovery.dns.*`).

use std::sync::Arc;
use std::time::Duration;

use weir_balance::{Instance, Report};
use weir_config::Dns;

use super::Looked;
use crate::http::Failure;

/// A name must resolve within this time.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Resolves every name. One that fails is a failure of all: what served before serves on.
pub(super) async fn resolve(dns: &Dns) -> Looked<Report> {
    let mut report = Report::new();
    for (service, places) in &dns.services {
        let mut instances = Vec::new();
        for place in places {
            let unreachable = |why: String| Failure::Unreachable(format!("{place}: {why}"));
            let looked = tokio::time::timeout(TIMEOUT, tokio::net::lookup_host(place.as_str()));
            let found = looked.await.map_err(|_| Failure::TimedOut(TIMEOUT))?;
            let found = found.map_err(|error| unreachable(error.to_string()))?;
            let found = found.map(|address| {
                Arc::new(Instance::new(&address.ip().to_string(), address.port(), false))
            });
            instances.extend(found);
        }
        // Resolvers turn the order around; a list that is the same must look the same.
        instances.sort_by(|a, b| a.id.cmp(&b.id));
        instances.dedup();
        report.insert(service.clone(), instances);
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_address_is_an_instance() {
        let dns = |places: &[&str]| Dns {
            services: vec![("a".into(), places.iter().map(|place| (*place).to_owned()).collect())],
            interval: Duration::from_secs(1),
        };
        let report = resolve(&dns(&["127.0.0.2:81", "127.0.0.1:80", "127.0.0.1:80"])).await;
        let ids: Vec<String> =
            report.expect("a report")["a"].iter().map(|one| one.id.clone()).collect();
        assert_eq!(ids, ["127.0.0.1:80", "127.0.0.2:81"]);
        assert!(resolve(&dns(&["no-port"])).await.is_err());
    }
}
