//! Service registries and configuration servers of a running gateway: watched if the configuration
//! names any.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use weir_balance::{Directory, Instance};
use weir_config::{Loaded, Server};
use weir_control::{
    Configuration, Discovery, Here, Inquiry, Plane, RegistryStatus, answer_questions,
    check_upstreams, fetch_keys,
};
use weir_snapshot::Settings;

use super::upstreams;
use crate::configuration::Lasting;

/// Changes of the set of services within this time cause one reload.
const BATCH: Duration = Duration::from_secs(1);

/// The registries, their services, and other state that outlives configurations.
#[derive(Default)]
pub struct Registries {
    lasting: Lasting,
    fetches_keys: AtomicBool,
    checks: AtomicBool,
    /// The thread that all of this runs on, once there is something to run.
    plane: Mutex<Option<Arc<Plane>>>,
    discovery: Mutex<Option<Discovery>>,
    /// The address at which weir registers itself, once it listens.
    here: Mutex<Option<Here>>,
    changed: Changes,
    configuration: Mutex<Option<Arc<Configuration>>>,
    /// Changes reported by configuration servers.
    news: Changes,
    /// The properties of configuration servers in the configuration in effect, each with a hash of
    /// its value.
    said: Mutex<BTreeMap<String, u64>>,
    /// The number of changes that the current route table includes.
    known: AtomicU64,
}

/// Counts changes of the set of services.
struct Changes(watch::Sender<u64>);

impl Default for Changes {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl Registries {
    pub fn directory(&self) -> &Arc<Directory> {
        &self.lasting.directory
    }

    /// State that outlives configurations.
    pub fn lasting(&self) -> &Lasting {
        &self.lasting
    }

    fn plane(&self) -> std::io::Result<Arc<Plane>> {
        let mut place = self.plane.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plane) = &*place {
            return Ok(Arc::clone(plane));
        }
        Ok(Arc::clone(place.insert(Arc::new(Plane::start()?))))
    }

    /// The client of configuration servers.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn configuration(&self) -> anyhow::Result<Arc<Configuration>> {
        let mut place = self.configuration.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(configuration) = &*place {
            return Ok(Arc::clone(configuration));
        }
        let plane = self.plane().context("configuration servers cannot be asked")?;
        let new = Configuration::new(&plane, self.news.0.clone());
        Ok(Arc::clone(place.insert(Arc::new(new))))
    }

    /// Accepts a configuration: keeps the answers of its servers, and watches the servers. Returns
    /// the names of the properties that have changed.
    pub fn accept(&self, said: Said) -> Vec<String> {
        let configuration = self.configuration.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(configuration) = &*configuration {
            configuration.accept(&said.servers);
            configuration.watch(&said.servers);
        }
        drop(configuration);
        let mut known = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *known, said.properties);
        let gone = before.keys().filter(|name| !known.contains_key(*name));
        let other = known.iter().filter(|(name, value)| before.get(*name) != Some(*value));
        let mut names: Vec<String> = other.map(|(name, _)| name).chain(gone).cloned().collect();
        names.sort();
        names
    }

    /// Configuration servers that did not answer for the configuration read last, and why.
    pub fn failures(&self) -> Vec<String> {
        let configuration = self.configuration.lock().unwrap_or_else(PoisonError::into_inner);
        configuration.as_ref().map(|all| all.failures()).unwrap_or_default()
    }

    /// A watch on changes at configuration servers.
    pub fn watch_servers(&self) -> Watch {
        Watch { changes: self.news.0.subscribe(), handled: 0 }
    }

    /// Watches what `settings` name; may wait for registries that weir leaves.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn apply(&self, settings: &Settings) -> anyhow::Result<()> {
        if !self.lasting.keys.all().is_empty() && !self.fetches_keys.swap(true, Ordering::Relaxed) {
            let plane = self.plane().context("keys cannot be fetched")?;
            fetch_keys(&plane, &self.lasting.keys);
        }
        if settings.checks_upstreams && !self.checks.swap(true, Ordering::Relaxed) {
            let plane = self.plane().context("upstreams cannot be checked")?;
            check_upstreams(&plane, self.directory(), || weir_server::now_ns() / 1_000_000);
        }
        let mut discovery = self.lock();
        let wanted = &settings.discovery;
        match &*discovery {
            Some(running) => running.apply(wanted),
            None if !wanted.is_used() && !wanted.registers() => {}
            None => {
                let data: PathBuf = settings.store_path.clone();
                let sender = self.changed.0.clone();
                let plane = self.plane().context("registries cannot be watched")?;
                let started =
                    Discovery::start(&plane, wanted, &self.lasting.directory, &data, sender);
                if let Some(here) = *self.here.lock().unwrap_or_else(PoisonError::into_inner) {
                    started.register(here);
                }
                *discovery = Some(started);
            }
        }
        Ok(())
    }

    /// Answers the questions of filters, on a thread that starts with the first one. `admin` is
    /// where the admin API listens.
    pub fn answer(
        self: &Arc<Self>,
        mut questions: mpsc::Receiver<Inquiry>,
        admin: Option<SocketAddr>,
    ) {
        let registries = Arc::clone(self);
        tokio::spawn(async move {
            let Some(first) = questions.recv().await else { return };
            match registries.plane() {
                Ok(plane) => answer_questions(&plane, first, questions, admin),
                Err(error) => tracing::error!("questions of filters cannot be answered: {error}"),
            }
        });
    }

    /// Waits for the first answers, within the configured bound.
    pub fn wait_for_first(&self) {
        if let Some(discovery) = &*self.lock() {
            discovery.wait_for_first();
        }
    }

    /// Registers this gateway, which listens at `gateway`.
    pub fn register(&self, gateway: SocketAddr, settings: &Settings, admin: Option<SocketAddr>) {
        let own = settings.management.is_configured();
        let management = admin.filter(|_| own).map(|address| address.port());
        let here = Here { address: gateway, management };
        *self.here.lock().unwrap_or_else(PoisonError::into_inner) = Some(here);
        if let Some(discovery) = &*self.lock() {
            discovery.register(here);
        }
    }

    /// Takes this gateway out of every registry; waits for the answers, within a bound.
    pub fn leave(&self) {
        if let Some(discovery) = &*self.lock() {
            discovery.leave();
        }
    }

    /// Notes that a route table includes the services listed now.
    pub fn note(&self) {
        self.known.store(*self.changed.0.borrow(), Ordering::Relaxed);
    }

    /// A watch on changes of the set of services that no route table includes yet.
    pub fn watch(&self) -> Watch {
        let handled = self.known.load(Ordering::Relaxed);
        Watch { changes: self.changed.0.subscribe(), handled }
    }

    fn statuses(&self) -> Vec<RegistryStatus> {
        self.lock().as_ref().map(Discovery::statuses).unwrap_or_default()
    }

    /// Parts of `/actuator/health`; `None` if no registry is watched.
    pub fn health(&self) -> Option<Value> {
        let statuses = self.statuses();
        if statuses.is_empty() {
            return None;
        }
        // A registry that is away stops nothing: it must not get the gateway restarted.
        let up = statuses.iter().all(|status| status.state == "up");
        Some(json!({
            "status": if up { "UP" } else { "UNKNOWN" },
            "details": { "registries": statuses },
        }))
    }

    /// One service, or all of them with their registries.
    pub fn show(&self, name: Option<&str>) -> Option<Value> {
        match name {
            None => Some(json!({
                "registries": self.statuses(),
                "services": self.directory().listed().into_iter().map(|listed| json!({
                    "name": listed.id,
                    "registry": listed.registry,
                    "instances": listed.instances,
                    "usable": listed.usable,
                })).collect::<Vec<_>>(),
            })),
            Some(name) => {
                let (registry, instances) = self.directory().show(name)?;
                let reasons = upstreams::reasons(self.directory(), name);
                let instances = instances.iter().map(|one| shown(one, reasons.get(&one.id)));
                let instances: Vec<Value> = instances.collect();
                Some(json!({ "name": name, "registry": registry, "instances": instances }))
            }
        }
    }

    /// Metrics in the Prometheus text format.
    pub fn prometheus(&self) -> String {
        let statuses = self.statuses();
        if statuses.is_empty() { String::new() } else { Self::metrics_of(&statuses) }
    }

    /// Metrics of registries; without a status, only their names and meanings.
    pub fn metrics_of(statuses: &[RegistryStatus]) -> String {
        let mut out = String::new();
        type Read = fn(&RegistryStatus) -> u64;
        let rows: [(&str, &str, &str, Read); 5] = [
            ("up", "gauge", "1 if the last request to the registry succeeded.", |s| {
                u64::from(s.state == "up")
            }),
            ("services", "gauge", "Services with an instance, as listed last.", |s| {
                s.services as u64
            }),
            ("instances", "gauge", "Instances of all services, as listed last.", |s| {
                s.instances as u64
            }),
            ("answers_total", "counter", "Successful responses of the registry.", |s| s.answers),
            ("failures_total", "counter", "Failed requests to the registry.", |s| s.failures),
        ];
        for (name, kind, help, read) in rows {
            let name = format!("weir_registry_{name}");
            let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
            for status in statuses {
                let _ =
                    writeln!(out, "{name}{{registry=\"{}\"}} {}", status.registry, read(status));
            }
        }
        out
    }

    fn lock(&self) -> MutexGuard<'_, Option<Discovery>> {
        self.discovery.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn shown(instance: &Instance, why: Option<&String>) -> Value {
    let why = instance.unused.map(|why| why.to_string()).or_else(|| why.cloned());
    json!({
        "id": instance.id,
        "host": instance.target.host,
        "port": instance.target.port,
        "zone": instance.zone(),
        "weight": instance.weight,
        "metadata": instance.metadata,
        "used": why.is_none(),
        "why": why,
    })
}

/// The configuration servers of one configuration, and the properties they supplied.
pub struct Said {
    servers: Vec<Server>,
    properties: BTreeMap<String, u64>,
}

impl Said {
    pub fn of(loaded: &Loaded) -> Self {
        Self { servers: loaded.servers.clone(), properties: loaded.remote_properties() }
    }
}

/// Waits for changes of the set of services, or at configuration servers.
pub struct Watch {
    changes: watch::Receiver<u64>,
    handled: u64,
}

impl Watch {
    /// Returns some time after a change. Nothing is lost if it is dropped before.
    pub async fn changed(&mut self) {
        while *self.changes.borrow() == self.handled {
            if self.changes.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
        tokio::time::sleep(BATCH).await;
        self.handled = *self.changes.borrow_and_update();
    }
}
