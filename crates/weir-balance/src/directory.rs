//! Services by name, and the instances that registries report for them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use weir_filter::Target;

use crate::cluster::Cluster;
use crate::instance::Instance;
use crate::member::Member;
use crate::members::Members;
use crate::rules::Rules;
use crate::service::Service;

/// Most services a registry may list; further ones are left out and counted.
const SERVICES_MAX: usize = 100_000;

/// A registry's place in the order in which registries are asked, and its name. The first one with
/// an instance of a service serves it (Spring class `CompositeReactiveDiscoveryClient`).
pub type Source = (usize, &'static str);

/// Instances by service, each name as the registry spells it.
pub type Report = BTreeMap<String, Vec<Arc<Instance>>>;

/// Services that registries list. Outlives snapshots: a route holds a [`Service`] of it, and
/// instances change without the route table. Names count in any case.
#[derive(Default)]
pub struct Directory {
    state: Mutex<State>,
    /// State of the upstreams of pipelines and clusters.
    members: Arc<Members>,
    /// Called when a route asks for a service that none has asked for before.
    asked: Mutex<Option<Asked>>,
}

type Asked = Arc<dyn Fn() + Send + Sync>;

impl std::fmt::Debug for Directory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Directory");
        shown.field("state", &self.state).field("members", &self.members).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct State {
    /// By name in lower case.
    services: HashMap<String, Arc<Service>>,
    reports: BTreeMap<Source, Report>,
    /// Services under rules, the newest one last.
    clusters: Vec<Weak<Cluster>>,
}

/// A service that a registry lists, as the discovery locator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Name as the registry spells it.
    pub id: String,
    /// One of its instances; the last one, as in Spring.
    pub instance: Arc<Instance>,
    /// Number of its instances.
    pub instances: usize,
    /// Number of its instances that take requests.
    pub usable: usize,
    /// Name of the registry.
    pub registry: &'static str,
}

impl Directory {
    /// The service of this name; without instances until a registry lists some.
    pub fn service(&self, name: &str) -> Arc<Service> {
        let mut state = self.lock();
        let key = name.to_ascii_lowercase();
        if let Some(service) = state.services.get(&key) {
            return Arc::clone(service);
        }
        let instances = state.instances(&key);
        let service = Arc::new(Service::new(name, instances));
        state.services.insert(key, Arc::clone(&service));
        drop(state);
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(asked) = asked {
            asked();
        }
        service
    }

    /// The member of a pipeline's upstream: the known one, or a new one. Dropped with its last
    /// user.
    pub fn member(&self, pipeline: &str, target: Target) -> Arc<Member> {
        self.members.member(pipeline, target)
    }

    /// Registers a cluster of the configuration, for as long as it is in use.
    pub fn enlist(&self, cluster: &Arc<Cluster>) {
        let mut state = self.lock();
        state.clusters.retain(|known| known.strong_count() > 0);
        state.clusters.push(Arc::downgrade(cluster));
    }

    /// The clusters there are, by name; of two with one name that of the newer configuration.
    pub fn clusters(&self) -> Vec<Arc<Cluster>> {
        let held = self.enlisted();
        let by_name = held.into_iter().map(|one| (one.name().to_ascii_lowercase(), one));
        by_name.collect::<BTreeMap<_, _>>().into_values().collect()
    }

    /// The cluster of this name, in any case.
    pub fn cluster(&self, name: &str) -> Option<Arc<Cluster>> {
        self.clusters().into_iter().find(|one| one.name().eq_ignore_ascii_case(name))
    }

    /// Calls `asked` whenever a route uses a service for the first time.
    pub fn when_asked(&self, asked: impl Fn() + Send + Sync + 'static) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(asked));
    }

    /// Replaces a registry's previous report. Returns whether the set of services or the metadata
    /// of one has changed.
    pub fn report(&self, source: Source, mut report: Report) -> bool {
        while report.len() > SERVICES_MAX {
            report.pop_last();
        }
        let mut state = self.lock();
        let before = state.reports.insert(source, report).unwrap_or_default();
        let now = state.reports.get(&source);
        let seen = |report: &Report| -> Vec<(String, Option<BTreeMap<String, String>>)> {
            let last = |list: &[Arc<Instance>]| list.last().map(|last| last.metadata.clone());
            report.iter().map(|(name, list)| (name.clone(), last(list))).collect()
        };
        let changed = now.map(&seen).unwrap_or_default() != seen(&before);
        state.settle();
        drop(state);
        self.form();
        changed
    }

    /// Drops the reports of registries that are no longer configured.
    pub fn forget(&self, keep: impl Fn(Source) -> bool) {
        let mut state = self.lock();
        state.reports.retain(|source, _| keep(*source));
        state.settle();
        drop(state);
        self.form();
    }

    /// Prepares the new lists for requests, so that no worker has to.
    fn form(&self) {
        self.enlisted().iter().for_each(|cluster| cluster.form());
    }

    fn enlisted(&self) -> Vec<Arc<Cluster>> {
        self.lock().clusters.iter().filter_map(Weak::upgrade).collect()
    }

    /// The last report of a registry.
    pub fn reported(&self, source: Source) -> Report {
        self.lock().reports.get(&source).cloned().unwrap_or_default()
    }

    /// Names that routes ask for, in lower case.
    pub fn wanted(&self) -> Vec<String> {
        let mut names: Vec<String> = self.lock().services.keys().cloned().collect();
        names.sort();
        names
    }

    /// Every service that a registry lists, by name.
    pub fn listed(&self) -> Vec<Listed> {
        let state = self.lock();
        let mut listed: BTreeMap<String, Listed> = BTreeMap::new();
        for ((_, registry), report) in &state.reports {
            for (id, instances) in report {
                let Some(last) = instances.last() else { continue };
                let usable = instances.iter().filter(|one| one.unused.is_none()).count();
                listed.entry(id.to_ascii_lowercase()).or_insert_with(|| Listed {
                    id: id.clone(),
                    instance: Arc::clone(last),
                    instances: instances.len(),
                    usable,
                    registry,
                });
            }
        }
        listed.into_values().collect()
    }

    /// The instances of a service as registries list them, and the registry that serves it.
    pub fn show(&self, name: &str) -> Option<(&'static str, Vec<Arc<Instance>>)> {
        let state = self.lock();
        state.find(&name.to_ascii_lowercase())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cluster {
    /// The instances of `service` under `rules`; their state is kept in `directory`.
    pub fn new(service: Arc<Service>, rules: Rules, directory: &Directory) -> Self {
        Self::of(service, rules, Arc::clone(&directory.members))
    }
}

impl State {
    fn find(&self, key: &str) -> Option<(&'static str, Vec<Arc<Instance>>)> {
        let of = |report: &Report| {
            let found = report.iter().find(|(name, _)| name.eq_ignore_ascii_case(key));
            found.map(|(_, instances)| instances.clone()).filter(|list| !list.is_empty())
        };
        self.reports.iter().find_map(|((_, name), report)| Some((*name, of(report)?)))
    }

    fn instances(&self, key: &str) -> Vec<Arc<Instance>> {
        self.find(key).map(|(_, instances)| instances).unwrap_or_default()
    }

    /// Brings every service up to date, and drops those that no route uses any more.
    fn settle(&mut self) {
        let mut by_key: HashMap<String, &Vec<Arc<Instance>>> = HashMap::new();
        for report in self.reports.values() {
            for (name, instances) in report.iter().filter(|(_, list)| !list.is_empty()) {
                by_key.entry(name.to_ascii_lowercase()).or_insert(instances);
            }
        }
        self.services.retain(|_, service| Arc::strong_count(service) > 1);
        for (key, service) in &self.services {
            let now = by_key.get(key).map(|list| (*list).clone()).unwrap_or_default();
            if service.instances() != now {
                service.set(now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::Unused;

    fn report(services: &[(&str, &[u16])]) -> Report {
        let instances = |ports: &[u16]| {
            ports.iter().map(|port| Arc::new(Instance::new("h", *port, false))).collect()
        };
        services.iter().map(|(name, ports)| ((*name).to_owned(), instances(ports))).collect()
    }

    fn ports(service: &Service, turns: usize) -> Vec<u16> {
        (0..turns).filter_map(|_| service.pick(0).map(|target| target.port)).collect()
    }

    #[test]
    fn instances_change_beneath_a_service_that_is_held() {
        let directory = Directory::default();
        let service = directory.service("User-Service");
        assert!(ports(&service, 1).is_empty());
        assert!(directory.report((0, "eureka"), report(&[("USER-SERVICE", &[1, 2])])));
        assert_eq!(ports(&service, 4), [1, 2, 1, 2]);
        assert!(!directory.report((0, "eureka"), report(&[("USER-SERVICE", &[3])])));
        assert_eq!(ports(&service, 2), [3, 3]);
        assert!(Arc::ptr_eq(&service, &directory.service("user-service")));
        directory.forget(|_| false);
        assert!(ports(&service, 1).is_empty());
    }

    #[test]
    fn the_first_registry_with_an_instance_serves() {
        let directory = Directory::default();
        let service = directory.service("a");
        directory.report((1, "consul"), report(&[("a", &[1])]));
        directory.report((0, "eureka"), report(&[("a", &[]), ("b", &[5])]));
        assert_eq!(ports(&service, 1), [1]);
        directory.report((0, "eureka"), report(&[("a", &[2])]));
        assert_eq!(ports(&service, 1), [2]);
        let names: Vec<_> = directory.listed().into_iter().map(|listed| listed.id).collect();
        assert_eq!(names, ["a"]);
    }

    #[test]
    fn what_takes_no_requests_is_not_picked_and_what_is_away_is_passed_over() {
        let down = Instance { unused: Some(Unused::NotUp), ..Instance::new("h", 9, false) };
        let mut list = report(&[("a", &[1, 2, 3])]).remove("a").unwrap();
        list.push(Arc::new(down));
        let service = Service::new("a", list);
        assert_eq!((service.usable(), service.instances().len()), (3, 4));
        let mut away = Vec::new();
        let mut asked = Vec::new();
        while let Some(target) = service.pick_without(&away, 0) {
            asked.push(target.port);
            away.push(target);
        }
        asked.sort_unstable();
        assert_eq!(asked, [1, 2, 3]);
    }

    #[test]
    fn a_new_name_is_told() {
        let directory = Directory::default();
        let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let own = Arc::clone(&count);
        directory.when_asked(move || {
            own.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        });
        let _held = (directory.service("a"), directory.service("A"), directory.service("b"));
        assert_eq!(count.load(std::sync::atomic::Ordering::Relaxed), 2);
    }

    #[test]
    fn names_nobody_holds_are_let_go() {
        let directory = Directory::default();
        drop(directory.service("gone"));
        let _kept = directory.service("kept");
        directory.report((0, "eureka"), report(&[]));
        assert_eq!(directory.wanted(), ["kept"]);
    }
}
