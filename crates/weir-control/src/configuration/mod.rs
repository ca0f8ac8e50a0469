//! Configuration servers: read at start and at each reload, and watched in between.
//!
//! What a server answered last, and was not refused, is kept in memory and on disk: it serves while
//! the server is away. Nothing here applies anything; a change is only told.

mod client;
mod consul;
mod kept;
mod nacos;
mod spring;
mod state;
mod watch;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::AbortHandle;
use weir_config::{Fetched, Outcome, Server};

use crate::http::{Failure, Looked};
use crate::plane::Plane;
use client::Client;
use state::State;

/// Longest wait of a running gateway for a server whose last answer it has.
const PATIENCE: Duration = Duration::from_secs(10);

/// The client and watcher of the servers of a configuration.
#[derive(Debug)]
pub struct Configuration {
    state: Arc<State>,
    changed: tokio::sync::watch::Sender<u64>,
    running: Mutex<Running>,
    // Last, so that tasks end before what they use.
    plane: Arc<Plane>,
}

#[derive(Debug, Default)]
struct Running {
    servers: Vec<Server>,
    tasks: Vec<AbortHandle>,
    /// Tasks that wait for servers that were away.
    waiting: Vec<AbortHandle>,
}

impl Configuration {
    /// Creates the client without sending a request. `changed` counts changes reported by servers.
    pub fn new(plane: &Arc<Plane>, changed: tokio::sync::watch::Sender<u64>) -> Self {
        Self { state: Arc::default(), changed, running: Mutex::default(), plane: Arc::clone(plane) }
    }

    /// Begins the reading of a configuration; `data` is the folder for the cache that a start needs
    /// while a server is away, if there is one.
    pub fn begin(&self, data: Option<&Path>) {
        let mut kept = self.state.lock();
        kept.pending.clear();
        kept.failures.clear();
        kept.file = data.map(|data| data.join("configuration.json"));
    }

    /// The answer of `server`. Blocks; at start it retries as `retry` says. While the server is
    /// away, its last good answer is used.
    pub fn fetch(&self, server: &Server) -> Outcome {
        let name = server.to_string();
        let (known, file) = {
            let kept = self.state.lock();
            (kept.good.get(&name).cloned(), kept.file.clone())
        };
        let answer = self.plane.handle().block_on(async {
            // A running gateway has an answer already, so it tries once only.
            let asking = ask(server, if known.is_some() { 1 } else { server.retry().attempts_max });
            if known.is_none() {
                return asking.await;
            }
            let answer = tokio::time::timeout(PATIENCE, asking).await;
            answer.unwrap_or(Err(Failure::TimedOut(PATIENCE)))
        });
        match answer {
            Ok(parts) => {
                let mut kept = self.state.lock();
                kept.seen.insert(name.clone(), watch::digest(server, &parts));
                kept.pending.insert(name, parts.clone());
                Outcome::Parts(parts)
            }
            Err(failure) => {
                let why = failure.of_discovery();
                self.state.lock().failures.insert(name.clone(), why.clone());
                let on_disk = || file.and_then(|file| kept::read(&file)?.remove(&name));
                match known.or_else(on_disk) {
                    Some(parts) => {
                        tracing::warn!(server = name, "{why}; its last answer stays in use");
                        self.state.lock().pending.insert(name, parts.clone());
                        Outcome::Remembered(parts, why)
                    }
                    None => Outcome::Failed(why),
                }
            }
        }
    }

    /// Servers that failed since the last [`Configuration::begin`], and why.
    pub fn failures(&self) -> Vec<String> {
        let kept = self.state.lock();
        kept.failures.iter().map(|(name, why)| format!("{name}: {why}")).collect()
    }

    /// The configuration that was read of `servers` serves: their answers are the good ones from
    /// now on. Writes them to disk.
    pub fn accept(&self, servers: &[Server]) {
        let names: Vec<String> = servers.iter().map(ToString::to_string).collect();
        let (file, answers) = {
            let mut kept = self.state.lock();
            let mut pending = std::mem::take(&mut kept.pending);
            pending.retain(|name, _| names.contains(name));
            if pending == kept.good {
                return;
            }
            kept.good.clone_from(&pending);
            (kept.file.clone(), pending)
        };
        let Some(file) = file else { return };
        if let Err(error) = kept::write(&file, &answers) {
            let path = file.display();
            tracing::warn!(%path, %error, "the answers of configuration servers cannot be saved");
        }
    }

    /// Watches `servers`, and no others. Servers that are not watched and were away are retried
    /// until they answer.
    pub fn watch(&self, servers: &[Server]) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        for task in running.waiting.drain(..) {
            task.abort();
        }
        let away: Vec<String> = self.state.lock().failures.keys().cloned().collect();
        let is_waited_for =
            |server: &&Server| !watch::is_watched(server) && away.contains(&server.to_string());
        for server in servers.iter().filter(is_waited_for) {
            let (server, changed) = (server.clone(), self.changed.clone());
            running.waiting.push(self.plane.supervise("configuration", move || {
                watch::wait_for(server.clone(), changed.clone())
            }));
        }
        if running.servers == servers {
            return;
        }
        for task in running.tasks.drain(..) {
            task.abort();
        }
        running.servers = servers.to_vec();
        for server in servers.iter().filter(|server| watch::is_watched(server)) {
            let (server, state) = (server.clone(), Arc::clone(&self.state));
            let changed = self.changed.clone();
            let task = self.plane.supervise("configuration", move || {
                watch::watch(server.clone(), Arc::clone(&state), changed.clone())
            });
            running.tasks.push(task);
        }
    }
}

impl Drop for Configuration {
    fn drop(&mut self) {
        self.watch(&[]);
    }
}

/// Retries until there is an answer, `tries` times at most.
async fn ask(server: &Server, tries: u32) -> Looked<Vec<Fetched>> {
    let retry = server.retry();
    let mut client = Client::of(server);
    let mut pause = retry.interval;
    let mut failed: u32 = 0;
    loop {
        let failure = match client.look().await {
            Ok(parts) => return Ok(parts),
            Err(failure) => failure,
        };
        failed += 1;
        if failed >= tries {
            return Err(failure);
        }
        tracing::info!(server = %server, failed, "{failure}; it is asked again in {pause:?}");
        tokio::time::sleep(pause).await;
        pause = (pause * retry.multiplier_percent / 100).min(retry.interval_max);
    }
}
