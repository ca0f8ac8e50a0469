//! Kubernetes: services and their EndpointSlices (`discovery.k8s.io/v1`), listed and watched, so
//! that a change is known at once.

mod access;
mod objects;
mod watch;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use weir_balance::Report;
use weir_snapshot::Kubernetes as Settings;

use crate::http::{Failure, Looked};
use access::Api;
use objects::{Kind, World};
use watch::{News, Watcher};

/// Changes that come within this time are published together.
const BATCH: Duration = Duration::from_millis(50);
/// The interval of publication without a change: a doubtful empty list is accepted after a while.
const REPEAT: Duration = Duration::from_secs(30);
/// News that wait to be taken; a watcher with more waits, too.
const NEWS_MAX: usize = 256;

/// One client's view of the cluster.
pub(super) struct Client {
    settings: Settings,
    api: Arc<Api>,
    watched: Vec<(Kind, String)>,
    running: JoinSet<(usize, Failure)>,
    /// Places of the watchers that run.
    places: BTreeSet<usize>,
    /// Places of those that have listed at least once.
    listed: BTreeSet<usize>,
    sender: mpsc::Sender<(usize, News)>,
    news: mpsc::Receiver<(usize, News)>,
    world: World,
}

impl Client {
    pub fn new(settings: &Settings, bytes_max: usize) -> Self {
        let (sender, news) = mpsc::channel(NEWS_MAX);
        Self {
            settings: settings.clone(),
            api: Arc::new(Api::new(settings, bytes_max)),
            watched: Vec::new(),
            running: JoinSet::new(),
            places: BTreeSet::new(),
            listed: BTreeSet::new(),
            sender,
            news,
            world: World::default(),
        }
    }

    /// Waits for a change; returns all instances once everything has been listed.
    pub async fn next(&mut self) -> Looked<Report> {
        self.start()?;
        loop {
            if let Ok(waited) = tokio::time::timeout(REPEAT, self.wait()).await {
                waited?;
            }
            let batch = tokio::time::sleep(BATCH);
            tokio::pin!(batch);
            loop {
                tokio::select! {
                    () = &mut batch => break,
                    waited = self.wait() => waited?,
                }
            }
            if self.listed.len() == self.watched.len() {
                return Ok(self.world.report(&self.settings));
            }
        }
    }

    /// Applies one change.
    async fn wait(&mut self) -> Looked<()> {
        tokio::select! {
            Some((place, news)) = self.news.recv() => self.take(place, news),
            Some(ended) = self.running.join_next() => {
                // A panic is reported by the panic hook; all watchers then start again.
                let Ok((place, failure)) = ended else {
                    self.places.clear();
                    self.running.abort_all();
                    return Err(Failure::Unreachable("a watch ended".to_owned()));
                };
                self.places.remove(&place);
                return Err(failure);
            }
        }
        Ok(())
    }

    /// Starts the watchers that should run and do not.
    fn start(&mut self) -> Looked<()> {
        if self.watched.is_empty() {
            let namespaces = self.api.namespaces()?;
            let each = |name: String| [(Kind::Service, name.clone()), (Kind::Slice, name)];
            self.watched = namespaces.into_iter().flat_map(each).collect();
        }
        for (place, (kind, namespace)) in self.watched.iter().enumerate() {
            if !self.places.insert(place) {
                continue;
            }
            let labels = self.settings.labels.iter().map(|(name, value)| format!("{name}={value}"));
            let labels: Vec<String> = labels.collect();
            let selects = *kind == Kind::Service && !labels.is_empty();
            let watcher = Watcher {
                api: Arc::clone(&self.api),
                kind: *kind,
                namespace: namespace.clone(),
                selector: selects.then(|| labels.join(",")),
                place,
                news: self.sender.clone(),
            };
            self.running.spawn(async move { (place, watcher.run().await) });
        }
        Ok(())
    }

    fn take(&mut self, place: usize, news: News) {
        let Some((kind, namespace)) = self.watched.get(place) else { return };
        match news {
            News::Listed(objects) => {
                self.world.clear(*kind, namespace);
                for (key, object) in objects {
                    self.world.put(key, object);
                }
                self.listed.insert(place);
            }
            News::Put(key, object) => self.world.put(key, object),
            News::Removed(key) => self.world.remove(*kind, &key),
        }
    }
}
