//! What a compiler is made from, and what it keeps.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use weir_balance::{Cluster, Directory, Service};
use weir_filter::filter::FilterOptions;
use weir_filter::forwarding::Forwarding;
use weir_filter::{ChainEntry, Target};
use weir_route::predicate::PredicateOptions;
use weir_route::{Beside, NamedArgs, RouteDefinition};
use weir_snapshot::{Pipeline, RoutePolicy, Security, Settings};

use super::interner::Pool;
use super::names::Registry;
use super::problem::Problem;
use super::shared::Groups;
use crate::cors::GlobalCors;
use crate::mocks::MocksByName;
use crate::routes::{Aliases, ServiceList};
use crate::upstreams::Upstreams;

/// What a compiler is made from.
#[derive(Debug)]
pub(crate) struct Options {
    pub predicates: PredicateOptions,
    pub filters: FilterOptions,
    /// Whose tokens are taken.
    pub security: Option<Arc<Security>>,
    pub default_filters: Vec<NamedArgs>,
    /// Kebab names of `predicate.<kebab>.enabled=false`.
    pub predicates_off: Vec<String>,
    /// Kebab names of `filter.<kebab>.enabled=false`.
    pub filters_off: Vec<String>,
    pub aliases: Aliases,
    pub services: ServiceList,
    /// Services that registries list.
    pub directory: Arc<Directory>,
    /// By what rules instances are chosen.
    pub upstreams: Upstreams,
    /// What `mock:` uris are answered from.
    pub mocks: MocksByName,
    pub settings: Arc<Settings>,
    pub forwarding: Arc<Forwarding>,
    pub cors: GlobalCors,
    /// `weir.groups` in the order written, each id once.
    pub groups: Vec<RouteDefinition>,
    /// Key of the route table's hash.
    pub seed: u64,
    /// A second thread for large tables.
    pub beside: Beside,
}

/// Compiles routes under one configuration, from several threads; equal parts are shared.
#[derive(Debug)]
pub struct Compiler {
    pub(super) registry: Registry,
    pub(super) options: Options,
    pub(super) services: HashMap<String, Arc<Service>>,
    /// Services under rules, by name in lower case, as routes ask for them.
    pub(super) clusters: Mutex<HashMap<String, Arc<Cluster>>>,
    /// What is wrong with the default filters; no route compiles then.
    pub(super) default_problems: Vec<Problem>,
    pub(super) targets: Pool<Target>,
    pub(super) chains: Pool<[ChainEntry]>,
    pub(super) policies: Pool<RoutePolicy>,
    pub(super) groups: Groups,
    pub(super) pipelines: Arc<[Arc<Pipeline>]>,
}

/// Which list a filter is in.
#[derive(Clone, Copy)]
pub(super) enum List {
    Default,
    Own,
}
