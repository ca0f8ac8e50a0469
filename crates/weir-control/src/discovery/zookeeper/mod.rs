//! Zookeeper in the layout of Spring Cloud and Curator: a node for each service below a root, and
//! below it one for each instance. Everything read is watched, so that only what has changed is
//! read again.

mod member;
mod node;
mod session;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use weir_balance::{Instance, Report};
use weir_snapshot::Zookeeper as Settings;
use weir_wire::zookeeper::{NO_NODE, Request, children, data};

use super::shared::Shared;
use crate::http::{Failure, Looked};
pub(super) use member::Membership;
use session::{Answer, Session, chroot, joined, nonsense, refused};

/// Changes that come within this time are read together.
const BATCH: Duration = Duration::from_millis(50);
/// Services that are watched at most.
const SERVICES_MAX: usize = 20_000;
/// Instances of all services that are watched at most.
const INSTANCES_MAX: usize = 200_000;

/// One client's view of the registry.
#[derive(Debug)]
pub(super) struct Client {
    settings: Settings,
    root: String,
    session: Option<Session>,
    view: View,
}

/// What was read, and what of it has changed since.
#[derive(Debug, Default)]
struct View {
    /// Names of the root's children.
    listed: Vec<String>,
    is_root_stale: bool,
    /// By path of the service.
    services: BTreeMap<String, Service>,
}

#[derive(Debug)]
struct Service {
    /// What `lb://` calls it: its node, aliases, or both.
    names: Vec<String>,
    /// By name of the node; `None` until it is read, and if it describes no instance.
    nodes: BTreeMap<String, Option<Arc<Instance>>>,
    is_stale: bool,
    stale_nodes: BTreeSet<String>,
}

impl Client {
    pub fn new(settings: &Settings) -> Self {
        let root = joined(&[&chroot(&settings.servers), &settings.root]);
        Self { settings: settings.clone(), root, session: None, view: View::default() }
    }

    /// Waits for a change, or for routes to ask for other services. A session that fails is
    /// dropped with all that was read in it.
    pub async fn next(&mut self, shared: &Shared) -> Looked<Report> {
        let looked = self.look(shared).await;
        if looked.is_err() {
            self.session = None;
        }
        looked
    }

    async fn look(&mut self, shared: &Shared) -> Looked<Report> {
        let mut is_new = self.session.is_none();
        let mut session = match self.session.take() {
            Some(session) => session,
            None => {
                self.view = View { is_root_stale: true, ..View::default() };
                Session::open(&self.settings, shared.settings.answer_bytes_max).await?
            }
        };
        loop {
            let wanted = shared.wanted.notified();
            tokio::pin!(wanted);
            // From here on no new name is missed.
            wanted.as_mut().enable();
            let is_read = self.read(&mut session, shared).await?;
            if is_read || std::mem::take(&mut is_new) {
                self.session = Some(session);
                return Ok(self.report());
            }
            let changes = tokio::select! {
                changes = session.changes() => changes?,
                () = wanted => continue,
            };
            tokio::time::sleep(BATCH).await;
            self.view.note(changes, &self.root);
        }
    }

    /// Reads what is stale or new; whether there was anything.
    async fn read(&mut self, session: &mut Session, shared: &Shared) -> Looked<bool> {
        let mut has_read = false;
        loop {
            let is_root_stale = std::mem::take(&mut self.view.is_root_stale);
            if is_root_stale {
                let found = listed(session, std::slice::from_ref(&self.root)).await?;
                let found = found.into_iter().next().unwrap_or(Listed::Gone);
                self.view.is_root_stale = matches!(found, Listed::Again);
                self.view.listed = found.names();
            }
            let has_new = self.want(shared);
            let lists = self.read_lists(session).await?;
            let nodes = self.read_nodes(session).await?;
            if !(is_root_stale || has_new || lists || nodes) {
                return Ok(has_read);
            }
            has_read = true;
        }
    }

    /// Takes up services that are wanted, and lets go of the others; whether that changed anything.
    fn want(&mut self, shared: &Shared) -> bool {
        let wanted = shared.directory.wanted();
        let is_wanted = |name: &str| {
            shared.settings.locator || wanted.iter().any(|one| one.eq_ignore_ascii_case(name))
        };
        let alias = |(alias, path): &(String, String)| {
            (joined(&[&self.root, &self.settings.prefix, path]), alias.clone())
        };
        let aliases = self.settings.dependencies.iter().map(alias);
        let listed = self.view.listed.iter();
        let listed = listed.map(|name| (joined(&[&self.root, name]), name.clone()));
        let mut paths: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (path, name) in aliases.chain(listed).filter(|(_, name)| is_wanted(name)) {
            if paths.len() < SERVICES_MAX || paths.contains_key(&path) {
                paths.entry(path).or_default().push(name);
            }
        }
        let before = self.view.services.len();
        self.view.services.retain(|path, _| paths.contains_key(path));
        let mut has_changed = self.view.services.len() != before;
        for (path, names) in paths {
            let service = self.view.services.entry(path).or_insert_with(Service::unread);
            has_changed |= service.names != names;
            service.names = names;
        }
        has_changed
    }

    /// Reads the lists of stale services.
    async fn read_lists(&mut self, session: &mut Session) -> Looked<bool> {
        let stale = self.view.services.iter().filter(|(_, service)| service.is_stale);
        let stale: Vec<String> = stale.map(|(path, _)| path.clone()).collect();
        let found = listed(session, &stale).await?;
        let kept = self.view.services.values().filter(|service| !service.is_stale);
        let mut left = INSTANCES_MAX.saturating_sub(kept.map(|one| one.nodes.len()).sum());
        for (path, found) in stale.iter().zip(found) {
            let Some(service) = self.view.services.get_mut(path) else { continue };
            service.is_stale = matches!(found, Listed::Again);
            let mut names: BTreeSet<String> = found.names().into_iter().take(left).collect();
            left -= names.len();
            service.nodes.retain(|name, _| names.contains(name));
            service.stale_nodes.retain(|name| names.contains(name));
            names.retain(|name| !service.nodes.contains_key(name));
            service.nodes.extend(names.iter().map(|name| (name.clone(), None)));
            service.stale_nodes.extend(names);
        }
        Ok(!stale.is_empty())
    }

    /// Reads the data of stale nodes.
    async fn read_nodes(&mut self, session: &mut Session) -> Looked<bool> {
        let mut stale: Vec<(String, String, String)> = Vec::new();
        for (path, service) in &mut self.view.services {
            let names = std::mem::take(&mut service.stale_nodes).into_iter();
            stale.extend(names.map(|name| (path.clone(), joined(&[path, &name]), name)));
        }
        let requests: Vec<_> = stale.iter().map(|(_, node, _)| Request::Data(node)).collect();
        let answers = session.ask(&requests).await?;
        for ((path, node, name), (code, body)) in stale.iter().zip(answers) {
            let Some(service) = self.view.services.get_mut(path) else { continue };
            match code {
                0 => {
                    let found = node::instance(data(&body).map_err(nonsense)?);
                    service.nodes.insert(name.clone(), found.map(Arc::new));
                }
                // It has gone meanwhile: the list of the service is told, too.
                NO_NODE => drop(service.nodes.remove(name)),
                code => return Err(refused(node, code)),
            }
        }
        Ok(!stale.is_empty())
    }

    fn report(&self) -> Report {
        let services = self.view.services.values();
        let mut report = Report::new();
        for service in services {
            for name in &service.names {
                let instances = service.nodes.values().flatten().cloned();
                report.entry(name.clone()).or_default().extend(instances);
            }
        }
        report
    }
}

impl Service {
    /// One of which nothing is known.
    fn unread() -> Self {
        let (names, nodes, stale_nodes) = (Vec::new(), BTreeMap::new(), BTreeSet::new());
        Self { names, nodes, is_stale: true, stale_nodes }
    }
}

impl View {
    /// Notes what is to be read again.
    fn note(&mut self, changes: Vec<String>, root: &str) {
        for path in changes {
            // The top has an empty path here.
            if path == root || path == "/" && root.is_empty() {
                self.is_root_stale = true;
            } else if let Some(service) = self.services.get_mut(&path) {
                service.is_stale = true;
            } else if let Some((parent, name)) = path.rsplit_once('/')
                && let Some(service) = self.services.get_mut(parent)
                && service.nodes.contains_key(name)
            {
                service.stale_nodes.insert(name.to_owned());
            }
        }
    }
}

/// The children of one node.
enum Listed {
    Names(Vec<String>),
    /// There is no such node; its creation is watched.
    Gone,
    /// It was created just now: it is to be read again.
    Again,
}

impl Listed {
    fn names(self) -> Vec<String> {
        match self {
            Self::Names(names) => names,
            Self::Gone | Self::Again => Vec::new(),
        }
    }
}

/// The children of the nodes at `paths`, all of them watched.
async fn listed(session: &mut Session, paths: &[String]) -> Looked<Vec<Listed>> {
    let at = |path: &'_ String| if path.is_empty() { "/".to_owned() } else { path.clone() };
    let paths: Vec<String> = paths.iter().map(at).collect();
    let requests: Vec<_> = paths.iter().map(|path| Request::Children(path)).collect();
    let answers = session.ask(&requests).await?;
    // Those that are not there are watched by another request.
    let gone = paths.iter().zip(&answers).filter(|(_, (code, _))| *code == NO_NODE);
    let requests: Vec<_> = gone.map(|(path, _)| Request::Exists(path)).collect();
    let mut watched = session.ask(&requests).await?.into_iter();
    let mut result = Vec::with_capacity(paths.len());
    for (path, (code, body)) in paths.iter().zip(answers) {
        result.push(match code {
            0 => Listed::Names(children(&body).map_err(nonsense)?),
            NO_NODE => is_watched(path, watched.next())?,
            code => return Err(refused(path, code)),
        });
    }
    Ok(result)
}

fn is_watched(path: &str, answer: Option<Answer>) -> Looked<Listed> {
    match answer.map(|(code, _)| code) {
        Some(0) => Ok(Listed::Again),
        Some(NO_NODE) => Ok(Listed::Gone),
        Some(code) => Err(refused(path, code)),
        None => Err(Failure::Nonsense(format!("it does not answer for {path}"))),
    }
}
