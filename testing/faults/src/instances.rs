//! Instances of a service that join, leave and are killed, according to a registry.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use weir_testkit::{Answer, Origin, PATIENCE};

use crate::tally::{Size, Tally};
use crate::traffic::{Kind, Manners, Traffic};
use crate::weir::Weir;

/// Clients, each with one request at a time.
const TRAFFIC: [(Kind, usize); 2] = [(Kind::KeepAlive, 4), (Kind::Short, 2)];
const CLIENTS: u64 = 6;
const MANNERS: Manners = Manners { pace: Duration::from_millis(1), until_closed: false };
/// The load-balancing rules: round robin, and peak EWMA.
const RULES: [&str; 2] = ["", "weir.upstreams.svc.balance: peak-ewma"];
/// The interval at which the registry's request count is polled.
const LOOK: Duration = Duration::from_millis(20);

/// A registry with Eureka's answers.
struct Registry {
    origin: Origin,
    ports: Arc<Mutex<Vec<u16>>>,
    asked: Arc<AtomicU64>,
}

impl Registry {
    async fn start() -> Self {
        let ports: Arc<Mutex<Vec<u16>>> = Arc::default();
        let asked: Arc<AtomicU64> = Arc::default();
        let (own_ports, own_asked) = (Arc::clone(&ports), Arc::clone(&asked));
        let origin = Origin::answering(move |received| {
            match (received.method().as_str(), received.target().as_str()) {
                ("GET", "/eureka/apps") => {}
                // No changes since the last answer: each is the whole list.
                ("GET", _) => return Answer::status(404, &[], ""),
                _ => return Answer::status(200, &[], ""),
            }
            own_asked.fetch_add(1, Ordering::Relaxed);
            let ports = own_ports.lock().unwrap_or_else(PoisonError::into_inner);
            Answer::status(200, &["Content-Type: application/json"], apps(&ports))
        })
        .await;
        Self { origin, ports, asked }
    }

    fn list(&self, instances: &[Origin]) {
        let ports = instances.iter().map(|one| one.address().port()).collect();
        *self.ports.lock().unwrap_or_else(PoisonError::into_inner) = ports;
    }

    /// Waits until the gateway has the current list: with its second request from now on it has
    /// processed the answer to the first.
    async fn is_read(&self) {
        let before = self.asked.load(Ordering::Relaxed);
        let since = Instant::now();
        while self.asked.load(Ordering::Relaxed) < before + 2 {
            assert!(since.elapsed() < PATIENCE, "the registry is not asked");
            tokio::time::sleep(LOOK).await;
        }
    }
}

fn apps(ports: &[u16]) -> String {
    let instance = |port: &u16| {
        format!(
            r#"{{"instanceId":"svc-{port}","hostName":"127.0.0.1","app":"SVC","ipAddr":"127.0.0.1",
                "status":"UP","port":{{"$":{port},"@enabled":"true"}},
                "securePort":{{"$":443,"@enabled":"false"}},"vipAddress":"svc","metadata":{{}},
                "actionType":"ADDED"}}"#
        )
    };
    let instances: Vec<String> = ports.iter().map(instance).collect();
    format!(
        r#"{{"applications":{{"versions__delta":"1","apps__hashcode":"","application":
            [{{"name":"SVC","instance":[{}]}}]}}}}"#,
        instances.join(",")
    )
}

/// All instances are replaced together, half of them killed while they are listed: only requests in
/// flight to a killed instance may fail.
pub(crate) async fn come_and_go(weir: Weir, size: Size) -> Tally {
    let mut tally = Tally::default();
    for rules in RULES {
        tally.add(replaced(&weir, size, rules).await);
    }
    tally
}

async fn replaced(weir: &Weir, size: Size, rules: &str) -> Tally {
    let (count, rounds) = (size.of(20, 100), size.of(2, 30));
    let registry = Registry::start().await;
    let mut current = instances(count).await;
    registry.list(&current);
    let config = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}\nweir.admin.port: 0\n\
         eureka.client.service-url.defaultZone: {}/eureka/\n\
         eureka.client.registry-fetch-interval-seconds: 1\n\
         spring.cloud.gateway.server.webflux.routes:\n\
         - {{ id: all, uri: 'lb://svc', predicates: [ 'Path=/**' ] }}\n{rules}\n",
        registry.origin.uri()
    );
    let weir = weir.clone();
    // The gateway queries the registry, which this thread serves, before it listens.
    let started = tokio::task::spawn_blocking(move || weir.with(&config)).await;
    let gateway = started.expect("a gateway");
    let traffic = Traffic::start(gateway.address(), &TRAFFIC, MANNERS);
    for _ in 0..rounds {
        let fresh = instances(count).await;
        // Killed while they are listed; the others leave first and end when that is known.
        current.truncate(count / 2);
        registry.list(&fresh);
        registry.is_read().await;
        current = fresh;
    }
    let served = current.iter().filter(|one| !one.requests().is_empty()).count();
    // This thread serves the instances, so it must not block on their clients.
    let load = tokio::task::spawn_blocking(move || traffic.finish()).await.expect("clients").tally;
    let mut tally = Tally { requests: load.requests, ..Tally::default() };
    let in_flight = CLIENTS * rounds;
    tally.check(load.failures <= in_flight, || {
        format!("{} requests lost of {in_flight} in flight: {:?}", load.failures, load.told)
    });
    tally.check(served > 0, || "no instance of the last round served".to_owned());
    tally.measure("requests lost in flight", load.failures as f64);
    tally
}

async fn instances(count: usize) -> Vec<Origin> {
    let mut instances = Vec::new();
    for _ in 0..count {
        instances.push(Origin::answering(|_| Answer::status(200, &[], "ok\n")).await);
    }
    instances
}
