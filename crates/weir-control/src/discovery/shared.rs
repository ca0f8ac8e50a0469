//! State shared by the tasks of all registries, and shown to operators.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};
use weir_balance::{Directory, Report, Source};
use weir_snapshot::Discovery as Settings;

use super::cache;
use crate::http::Failure;

/// Changes within this time are written together.
const BATCH: Duration = Duration::from_secs(1);

/// State shared by the tasks of all registries.
#[derive(Debug)]
pub(crate) struct Shared {
    pub settings: Settings,
    pub directory: Arc<Directory>,
    /// Signals that routes may name other services than before.
    pub wanted: Notify,
    /// A list has changed: the file is to be written.
    pub dirty: Notify,
    pub file: PathBuf,
    changed: watch::Sender<u64>,
    statuses: Mutex<BTreeMap<Source, Status>>,
    /// Some registry has answered or failed.
    told: Notify,
}

/// The state of one registry.
#[derive(Debug, Default)]
struct Status {
    answered: Option<Instant>,
    failure: Option<String>,
    failures: u64,
    answers: u64,
    /// Since when it lists nothing, though it did before.
    empty_since: Option<Instant>,
    from_disk: bool,
    services: usize,
    instances: usize,
}

/// The status of a registry, for display.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RegistryStatus {
    /// `eureka`, `nacos`, `consul`, `zookeeper`, `kubernetes` or `dns`.
    pub registry: String,
    /// `up`; `away` after a failure; `doubted` while an empty list is not believed; `waiting`
    /// before the first answer.
    pub state: String,
    /// The last failure, while the registry is away.
    pub failure: Option<String>,
    /// Seconds since the last good answer.
    pub answered_seconds_ago: Option<u64>,
    /// Good answers so far.
    pub answers: u64,
    /// Failures so far.
    pub failures: u64,
    /// Whether the services come from the disk: the registry has not answered since the start.
    pub from_disk: bool,
    /// Services with an instance.
    pub services: usize,
    /// Instances of all services.
    pub instances: usize,
}

impl Shared {
    pub fn new(
        settings: &Settings,
        directory: &Arc<Directory>,
        changed: &watch::Sender<u64>,
        data: &Path,
        sources: &[Source],
    ) -> Self {
        let file = data.join("services.json");
        let mut statuses = BTreeMap::new();
        let mut kept = cache::read(&file).unwrap_or_default();
        for source in sources {
            let mut status = Status::default();
            let served = directory.reported(*source);
            if let Some(report) = kept.remove(source.1).filter(|_| served.is_empty()) {
                status.count(&report);
                status.from_disk = true;
                directory.report(*source, report);
            } else {
                status.count(&served);
            }
            statuses.insert(*source, status);
        }
        Self {
            settings: settings.clone(),
            directory: Arc::clone(directory),
            wanted: Notify::new(),
            dirty: Notify::new(),
            file,
            changed: changed.clone(),
            statuses: Mutex::new(statuses),
            told: Notify::new(),
        }
    }

    /// Publishes what a registry lists, unless it is not believed.
    pub fn take(&self, source: Source, report: Report) {
        let mut statuses = self.lock();
        let status = statuses.entry(source).or_default();
        status.answered = Some(Instant::now());
        status.answers += 1;
        if status.failure.take().is_some() {
            tracing::info!(registry = source.1, "answers again");
        }
        let is_empty = report.values().all(Vec::is_empty);
        if is_empty && status.instances > 0 {
            let since = *status.empty_since.get_or_insert_with(Instant::now);
            let grace = self.settings.empty_grace;
            if since.elapsed() < grace {
                tracing::warn!(
                    registry = source.1,
                    "lists no instance at all; the last list serves for {grace:?} at most"
                );
                drop(statuses);
                return self.told.notify_waiters();
            }
        }
        status.empty_since = None;
        status.from_disk = false;
        status.count(&report);
        drop(statuses);
        let before = self.directory.reported(source);
        if before != report {
            if self.directory.report(source, report) {
                self.changed.send_modify(|count| *count += 1);
            }
            self.dirty.notify_one();
        }
        self.told.notify_waiters();
    }

    /// Records a failed look-up: the services listed before stay in use.
    pub fn failed(&self, source: Source, failure: &Failure) {
        let mut statuses = self.lock();
        let status = statuses.entry(source).or_default();
        status.failures += 1;
        let text = failure.of_discovery();
        if status.failure.as_ref() != Some(&text) {
            tracing::warn!(registry = source.1, "{text}; the last list stays in use");
        }
        status.failure = Some(text);
        drop(statuses);
        self.told.notify_waiters();
    }

    /// Ends when each registry has answered or failed.
    pub async fn settled(&self) {
        loop {
            let told = self.told.notified();
            let mut told = std::pin::pin!(told);
            // From here on nothing is missed.
            told.as_mut().enable();
            if self.lock().values().all(|status| status.answers + status.failures > 0) {
                return;
            }
            told.await;
        }
    }

    pub fn statuses(&self) -> Vec<RegistryStatus> {
        let statuses = self.lock();
        let shown = |(source, status): (&Source, &Status)| RegistryStatus {
            registry: source.1.to_owned(),
            state: status.state().to_owned(),
            failure: status.failure.clone(),
            answered_seconds_ago: status.answered.map(|at| at.elapsed().as_secs()),
            answers: status.answers,
            failures: status.failures,
            from_disk: status.from_disk,
            services: status.services,
            instances: status.instances,
        };
        statuses.iter().map(shown).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Source, Status>> {
        self.statuses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the file whenever a list has changed.
    pub async fn keep(self: Arc<Self>) {
        loop {
            self.dirty.notified().await;
            tokio::time::sleep(BATCH).await;
            let own = Arc::clone(&self);
            let written = tokio::task::spawn_blocking(move || own.write()).await;
            if let Ok(Err(error)) = written {
                let path = self.file.display();
                tracing::warn!(%path, %error, "the list of services cannot be written");
            }
        }
    }

    pub(super) fn write(&self) -> std::io::Result<()> {
        let sources = self.settings.registries().into_iter().enumerate();
        let reports = sources.map(|(place, name)| (name, self.directory.reported((place, name))));
        cache::write(&self.file, reports)
    }
}

impl Status {
    fn count(&mut self, report: &Report) {
        self.services = report.values().filter(|list| !list.is_empty()).count();
        self.instances = report.values().map(Vec::len).sum();
    }

    fn state(&self) -> &'static str {
        match (&self.failure, self.empty_since, self.answers) {
            (Some(_), ..) => "away",
            (None, Some(_), _) => "doubted",
            (None, None, 0) => "waiting",
            (None, None, _) => "up",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_balance::Instance;

    fn shared(settings: &Settings, file: &Path) -> Shared {
        let directory = Arc::new(Directory::default());
        Shared::new(settings, &directory, &watch::Sender::new(0), file, &[(0, "eureka")])
    }

    fn report(ports: &[u16]) -> Report {
        let list = ports.iter().map(|port| Arc::new(Instance::new("h", *port, false))).collect();
        Report::from([("svc".to_owned(), list)])
    }

    #[test]
    fn an_empty_list_after_a_full_one_is_doubted_for_a_while() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = Settings { empty_grace: Duration::from_secs(600), ..Default::default() };
        let check = |settings: &Settings, expected: usize, state: &str| {
            let shared = shared(settings, folder.path());
            let service = shared.directory.service("svc");
            shared.take((0, "eureka"), report(&[1, 2]));
            assert_eq!(service.usable(), 2);
            shared.take((0, "eureka"), Report::new());
            assert_eq!(service.usable(), expected);
            let status = shared.statuses().pop().expect("a registry");
            assert_eq!((status.state.as_str(), status.instances), (state, expected));
            shared.take((0, "eureka"), report(&[3]));
            assert_eq!((service.usable(), shared.statuses()[0].state.as_str()), (1, "up"));
        };
        check(&settings, 2, "doubted");
        settings.empty_grace = Duration::ZERO;
        check(&settings, 0, "up");
    }

    #[test]
    fn a_failure_leaves_the_last_list_in_place() {
        let folder = tempfile::tempdir().expect("a folder");
        let shared = shared(&Settings::default(), folder.path());
        let service = shared.directory.service("SVC");
        shared.take((0, "eureka"), report(&[1]));
        shared.failed((0, "eureka"), &Failure::TooLong(7));
        assert_eq!(service.usable(), 1);
        let status = shared.statuses().pop().expect("a registry");
        assert_eq!((status.state.as_str(), status.failures), ("away", 1));
        assert!(status.failure.is_some_and(|text| text.contains("answer-bytes-max")));
    }
}
