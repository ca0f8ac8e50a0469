//! Services made of DNS names (`weir.discovery.dns.*`): each address of a host is an instance, or
//! each SRV record of a name.
//!
//! Hosts are looked up as the system does it, which knows `/etc/hosts` and search domains but tells
//! no TTL, so they are asked for at a fixed interval. SRV records are asked for directly.

mod query;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_balance::{Instance, Report, Source, Unused};
use weir_snapshot::Dns;
use weir_wire::{DnsAnswer, SrvRecord};

use super::shared::Shared;
use crate::http::{Failure, Looked};

/// A name must resolve within this time.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Least time between two looks, whatever the settings say.
const PAUSE_MIN: Duration = Duration::from_millis(100);

/// The instances found for each service, and the time of its next query.
#[derive(Debug, Default)]
pub(super) struct Client {
    known: BTreeMap<String, Known>,
}

#[derive(Debug)]
struct Known {
    instances: Vec<Arc<Instance>>,
    due: Instant,
}

/// The instances of one name, and how long that may be kept.
type Found = (Vec<Arc<Instance>>, Duration);

impl Client {
    /// Queries all services that are due. A service that cannot be resolved keeps its last list;
    /// the others are published.
    pub async fn next(&mut self, shared: &Shared) -> Looked<Report> {
        let dns = &shared.settings.dns;
        let failure = self.ask(dns).await;
        let report: Report =
            self.known.iter().map(|(name, one)| (name.clone(), one.instances.clone())).collect();
        let Some(failure) = failure else { return Ok(report) };
        if !report.is_empty() {
            let names = shared.settings.registries();
            let place = names.iter().position(|name| *name == "dns").unwrap_or_default();
            let source: Source = (place, "dns");
            shared.take(source, report);
        }
        Err(failure)
    }

    /// The time until the next query is due.
    pub fn pause(&self) -> Duration {
        let next = self.known.values().map(|one| one.due).min();
        let pause = next.map_or(TIMEOUT, |due| due.saturating_duration_since(Instant::now()));
        pause.max(PAUSE_MIN)
    }

    /// Updates the services that are due; returns the last failure.
    async fn ask(&mut self, dns: &Dns) -> Option<Failure> {
        let mut last = None;
        for (service, places) in &dns.services {
            let is_due = |one: &Known| one.due <= Instant::now();
            if !self.known.get(service).is_none_or(is_due) {
                continue;
            }
            match instances(places, dns).await {
                Ok((instances, keep)) => {
                    let known = Known { instances, due: Instant::now() + keep };
                    self.known.insert(service.clone(), known);
                }
                Err(failure) => last = Some(failure),
            }
        }
        last
    }
}

/// The instances of a service.
async fn instances(places: &[String], dns: &Dns) -> Looked<Found> {
    let mut instances = Vec::new();
    let mut keep = dns.ttl_max;
    for place in places {
        // The name of a service begins with an underscore (RFC 2782), that of no host does.
        let (found, own) = match place.starts_with('_') {
            true => records(query::srv(place, &dns.servers).await?, dns),
            false => (addresses(place).await?, dns.interval),
        };
        instances.extend(found);
        keep = keep.min(own);
    }
    // Resolvers turn the order around; a list that is the same must look the same.
    instances.sort_by(|a, b| a.id.cmp(&b.id));
    instances.dedup();
    Ok((instances, keep))
}

/// The addresses of `host:port`.
async fn addresses(place: &str) -> Looked<Vec<Arc<Instance>>> {
    let unreachable = |why: String| Failure::Unreachable(format!("{place}: {why}"));
    let looked = tokio::time::timeout(TIMEOUT, tokio::net::lookup_host(place));
    let found = looked.await.map_err(|_| Failure::TimedOut(TIMEOUT))?;
    let found = found.map_err(|error| unreachable(error.to_string()))?;
    let instance = |address: std::net::SocketAddr| {
        Instance::new(&address.ip().to_string(), address.port(), false)
    };
    Ok(found.map(|address| Arc::new(instance(address))).collect())
}

/// The instances of SRV records: only the records with the lowest priority value are used.
fn records(answer: DnsAnswer, dns: &Dns) -> Found {
    let ttl_s = answer.records.iter().map(|record| record.ttl_s).min();
    // The name may be gone for good, or not there yet.
    let ttl_s =
        ttl_s.or(answer.negative_ttl_s).filter(|_| matches!(answer.code, 0 | query::NXDOMAIN));
    let keep = Duration::from_secs(u64::from(ttl_s.unwrap_or_default()));
    let least = answer.records.iter().map(|record| record.priority).min().unwrap_or_default();
    let instance = |record: &SrvRecord| {
        // An empty target means that the service does not exist (RFC 2782).
        if record.port == 0 || !Instance::is_host(&record.target) {
            return None;
        }
        let new = Instance::new(&record.target, record.port, false);
        let metadata = [("priority", record.priority), ("weight", record.weight)];
        let metadata = metadata.map(|(name, number)| (name.to_owned(), number.to_string()));
        Some(Arc::new(Instance {
            metadata: metadata.into_iter().collect(),
            weight: u32::from(record.weight).max(1),
            unused: (record.priority > least).then_some(Unused::Standby),
            ..new
        }))
    };
    let instances = answer.records.iter().filter_map(instance).collect();
    (instances, keep.clamp(dns.ttl_min, dns.ttl_max.max(dns.ttl_min)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dns(places: &[&str]) -> Dns {
        Dns {
            services: vec![("a".into(), places.iter().map(|place| (*place).to_owned()).collect())],
            ..Dns::default()
        }
    }

    #[tokio::test]
    async fn each_address_is_an_instance() {
        let mut client = Client::default();
        let places = dns(&["127.0.0.2:81", "127.0.0.1:80", "127.0.0.1:80"]);
        assert_eq!(client.ask(&places).await, None);
        let ids = |client: &Client| -> Vec<String> {
            client.known["a"].instances.iter().map(|one| one.id.clone()).collect()
        };
        assert_eq!(ids(&client), ["127.0.0.1:80", "127.0.0.2:81"]);
        // A later failure keeps the instances found before.
        client.known.get_mut("a").expect("a service").due = Instant::now();
        assert!(client.ask(&dns(&["no-port"])).await.is_some());
        assert_eq!(ids(&client).len(), 2);
    }

    #[test]
    fn records_are_instances_by_priority_and_for_their_time() {
        let dns = Dns::default();
        let record = |priority: u16, weight: u16, target: &str, ttl_s: u32| SrvRecord {
            priority,
            weight,
            port: 80,
            target: target.to_owned(),
            ttl_s,
        };
        let answer = |records: &[SrvRecord], negative_ttl_s| DnsAnswer {
            is_truncated: false,
            code: 0,
            records: records.to_vec(),
            negative_ttl_s,
        };
        let all = [record(2, 0, "a", 60), record(1, 7, "b", 30), record(1, 0, "", 30)];
        let (found, keep) = records(answer(&all, None), &dns);
        let shown: Vec<_> =
            found.iter().map(|one| (one.id.as_str(), one.weight, one.unused)).collect();
        assert_eq!(shown, [("a:80", 1, Some(Unused::Standby)), ("b:80", 7, None)]);
        assert_eq!(keep, Duration::from_secs(30));
        let keep =
            |records: &[SrvRecord], negative| super::records(answer(records, negative), &dns).1;
        assert_eq!(keep(&[record(1, 1, "a", 0)], None), dns.ttl_min);
        assert_eq!(keep(&[record(1, 1, "a", 1 << 30)], None), dns.ttl_max);
        assert_eq!(keep(&[], Some(20)), Duration::from_secs(20));
    }
}
