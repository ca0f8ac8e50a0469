//! A cache on disk of the services of the registries, for a start while a registry is away:
//! `services.json`.

use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weir_balance::{Instance, Report, Unused};

/// A file longer than this was not written by weir.
const BYTES_MAX: u64 = 256 << 20;

/// The file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    /// By registry and service.
    registries: BTreeMap<String, BTreeMap<String, Vec<KeptInstance>>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct KeptInstance {
    id: String,
    host: String,
    port: u16,
    #[serde(default)]
    secure: bool,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    #[serde(default = "one")]
    weight: u32,
    /// It accepts no requests.
    #[serde(default)]
    unused: bool,
}

fn one() -> u32 {
    1
}

/// The services in the file at `path`, by registry; `None` if it is absent or unreadable.
pub(super) fn read(path: &Path) -> Option<HashMap<&'static str, Report>> {
    if std::fs::metadata(path).ok()?.len() > BYTES_MAX {
        return None;
    }
    let text = std::fs::read(path).ok()?;
    let kept: Kept = match serde_json::from_slice(&text) {
        Ok(kept) => kept,
        Err(error) => {
            let path = path.display();
            tracing::warn!(%path, %error, "the list of services on disk cannot be read");
            return None;
        }
    };
    let mut reports = HashMap::new();
    for name in ["eureka", "nacos", "consul", "zookeeper", "kubernetes", "dns"] {
        let Some(services) = kept.registries.get(name) else { continue };
        let report = services.iter().map(|(service, list)| {
            let list = list.iter().filter(|one| Instance::is_host(&one.host));
            (service.clone(), list.map(|one| Arc::new(one.instance())).collect())
        });
        reports.insert(name, report.collect());
    }
    Some(reports)
}

/// Writes what each registry lists.
pub(super) fn write(
    path: &Path,
    reports: impl Iterator<Item = (&'static str, Report)>,
) -> std::io::Result<()> {
    let mut kept = Kept::default();
    for (name, report) in reports {
        let services = report.into_iter().map(|(service, list)| {
            (service, list.iter().map(|one| KeptInstance::of(one)).collect())
        });
        kept.registries.insert(name.to_owned(), services.collect());
    }
    // Whole or not at all: a start must not find half of it.
    let part = path.with_extension("json.part");
    let mut file = std::fs::File::create(&part)?;
    file.write_all(&serde_json::to_vec(&kept).map_err(std::io::Error::other)?)?;
    file.sync_all()?;
    std::fs::rename(&part, path)
}

impl KeptInstance {
    fn of(instance: &Instance) -> Self {
        let target = &instance.target;
        Self {
            id: instance.id.clone(),
            host: target.host.clone(),
            port: target.port,
            secure: instance.unused == Some(Unused::NeedsTls),
            metadata: instance.metadata.clone(),
            weight: instance.weight,
            unused: instance.unused.is_some(),
        }
    }

    fn instance(&self) -> Instance {
        let new = Instance::new(&self.host, self.port, self.secure);
        Instance {
            id: self.id.clone(),
            metadata: self.metadata.clone(),
            weight: self.weight,
            unused: new.unused.or(self.unused.then_some(Unused::NotUp)),
            ..new
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::watch;
    use weir_balance::Directory;
    use weir_snapshot::Discovery as Settings;

    use super::*;
    use crate::discovery::shared::Shared;

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = Settings::default();
        settings.eureka.configured = true;
        let directory = Arc::new(Directory::default());
        let sources = [(0, "eureka")];
        let new =
            || Shared::new(&settings, &directory, &watch::Sender::new(0), folder.path(), &sources);
        let shared = new();
        let mut first = Instance::new("::1", 80, false);
        first.metadata.insert("zone".into(), "a".into());
        let down = Instance { unused: Some(Unused::NotUp), ..Instance::new("h", 81, false) };
        let list = vec![Arc::new(first), Arc::new(down)];
        let report = Report::from([("svc".to_owned(), list)]);
        shared.take((0, "eureka"), report.clone());
        shared.write().expect("a file");
        directory.forget(|_| false);
        let again = new();
        assert_eq!(directory.reported((0, "eureka")), report);
        let status = again.statuses().pop().expect("a registry");
        assert_eq!((status.from_disk, status.state.as_str()), (true, "waiting"));
        std::fs::write(folder.path().join("services.json"), "{").expect("a file");
        assert!(read(&folder.path().join("services.json")).is_none());
    }
}
