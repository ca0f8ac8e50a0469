//! Service registries: read in the background, so that no request waits for one.

mod cache;
mod client;
mod consul;
mod dns;
mod eureka;
mod here;
mod kubernetes;
mod member;
mod nacos;
mod shared;
mod zookeeper;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;
use weir_balance::{Directory, Source};
use weir_snapshot::Discovery as Settings;

use crate::backoff::{BACKOFF_MAX, BACKOFF_MIN};
use crate::plane::Plane;
use client::Client;
pub(crate) use consul::token_header;
pub use here::Here;
use member::Member;
pub(crate) use member::path_segment;
pub(crate) use nacos::{Api, Form, Session, encoded};
pub use shared::RegistryStatus;
use shared::Shared;

/// The time limit for leaving all registries.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(3);

/// The watchers of the configured registries.
#[derive(Debug)]
pub struct Discovery {
    directory: Arc<Directory>,
    changed: watch::Sender<u64>,
    data: std::path::PathBuf,
    running: Mutex<Running>,
    // Last, so that tasks end before what they use.
    plane: Arc<Plane>,
}

#[derive(Debug, Default)]
struct Running {
    settings: Settings,
    shared: Option<Arc<Shared>>,
    tasks: Vec<AbortHandle>,
    here: Option<Here>,
    members: Vec<Member>,
}

impl Discovery {
    /// Starts to watch the registries of `settings`; `data` is the folder of the cached lists for a
    /// start while a registry is away. `changed` counts changes of the set of services, or of the
    /// metadata of one.
    pub fn start(
        plane: &Arc<Plane>,
        settings: &Settings,
        directory: &Arc<Directory>,
        data: &Path,
        changed: watch::Sender<u64>,
    ) -> Self {
        let discovery = Self {
            directory: Arc::clone(directory),
            changed,
            data: data.to_owned(),
            running: Mutex::default(),
            plane: Arc::clone(plane),
        };
        discovery.apply(settings);
        discovery
    }

    /// Switches to other settings; does nothing if they are equal.
    pub fn apply(&self, settings: &Settings) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.shared.is_some() && running.settings == *settings {
            if let Some(shared) = &running.shared {
                shared.wanted.notify_waiters();
            }
            return;
        }
        for task in running.tasks.drain(..) {
            task.abort();
        }
        let names = settings.registries();
        let sources: Vec<Source> = names.iter().copied().enumerate().collect();
        self.directory.forget(|source| sources.contains(&source));
        let shared = Shared::new(settings, &self.directory, &self.changed, &self.data, &sources);
        let shared = Arc::new(shared);
        let asked = Arc::downgrade(&shared);
        self.directory.when_asked(move || {
            if let Some(shared) = asked.upgrade() {
                shared.wanted.notify_waiters();
            }
        });
        for source in sources {
            let shared = Arc::clone(&shared);
            let watch = move || watch_registry(source, Arc::clone(&shared));
            running.tasks.push(self.plane.supervise(source.1, watch));
        }
        let keeper = Arc::clone(&shared);
        running
            .tasks
            .push(self.plane.supervise("services-cache", move || Arc::clone(&keeper).keep()));
        let before = std::mem::take(&mut running.members);
        running.settings = settings.clone();
        running.shared = Some(shared);
        let here = running.here;
        drop(running);
        self.leave_all(before);
        if let Some(here) = here {
            self.register(here);
        }
    }

    /// Waits until each registry has answered or failed, at most for the time the settings give.
    pub fn wait_for_first(&self) {
        let shared = self.running.lock().unwrap_or_else(PoisonError::into_inner).shared.clone();
        let Some(shared) = shared else { return };
        let time = shared.settings.start_timeout;
        self.plane.handle().block_on(async {
            // On a timeout the cached services are used, and the rest is added later.
            let _ = tokio::time::timeout(time, shared.settled()).await;
        });
    }

    /// Registers this gateway where the settings say so, and keeps it registered.
    pub fn register(&self, here: Here) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.here = Some(here);
        let settings = running.settings.clone();
        if !settings.enabled {
            return;
        }
        for member in Member::all(&settings, here) {
            let (name, own) = (member.registry(), member.clone());
            let keep = move || {
                let member = own.clone();
                async move { member.keep().await }
            };
            running.tasks.push(self.plane.supervise(name, keep));
            running.members.push(member);
        }
    }

    /// Takes this gateway out of every registry, so that clients stop sending it new requests.
    /// Waits for the answers, within a bound.
    pub fn leave(&self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        for task in running.tasks.drain(..) {
            task.abort();
        }
        let members = std::mem::take(&mut running.members);
        drop(running);
        self.leave_all(members);
    }

    fn leave_all(&self, members: Vec<Member>) {
        if members.is_empty() {
            return;
        }
        self.plane.handle().block_on(async {
            let all = async {
                for member in members {
                    if let Err(error) = member.leave().await {
                        let registry = member.registry();
                        tracing::warn!(registry, %error, "weir stays registered until it expires");
                    }
                }
            };
            if tokio::time::timeout(LEAVE_TIMEOUT, all).await.is_err() {
                tracing::warn!("a registry did not answer in time; weir stays registered there");
            }
        });
    }

    /// The status of each registry.
    pub fn statuses(&self) -> Vec<RegistryStatus> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.shared.as_ref().map(|shared| shared.statuses()).unwrap_or_default()
    }
}

/// Watches one registry for ever.
async fn watch_registry(source: Source, shared: Arc<Shared>) {
    let Some(mut client) = Client::of(source.1, &shared) else { return };
    let mut pause = BACKOFF_MIN;
    loop {
        match client.next(&shared).await {
            Ok(report) => {
                pause = BACKOFF_MIN;
                shared.take(source, report);
                tokio::select! {
                    () = tokio::time::sleep(client.pause(&shared)) => {}
                    // Routes may name services that have not been looked up.
                    () = shared.wanted.notified() => {}
                }
            }
            Err(failure) => {
                shared.failed(source, &failure);
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(BACKOFF_MAX);
            }
        }
    }
}
