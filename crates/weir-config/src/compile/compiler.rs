//! Input of a compiler, and its state.

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

/// Input of a compiler.
#[derive(Debug)]
pub(crate) struct Options {
    pub predicates: PredicateOptions,
    pub filters: FilterOptions,
    /// Token verification, if any.
    pub security: Option<Arc<Security>>,
    pub default_filters: Vec<NamedArgs>,
    /// Kebab names of `predicate.<kebab>.enabled=false`.
    pub predicates_off: Vec<String>,
    /// Kebab names of `filter.<kebab>.enabled=false`.
    pub filters_off: Vec<String>,
    pub aliases: Aliases,
    pub services: ServiceList,
    /// Instances of services, from registries.
    pub directory: Arc<Directory>,
    /// Load-balancing rules of services.
    pub upstreams: Upstreams,
    /// API definitions of `mock:` uris.
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
    /// Services with load-balancing rules, by lower-case name, created on demand.
    pub(super) clusters: Mutex<HashMap<String, Arc<Cluster>>>,
    /// Problems of the default filters; if there are any, no route compiles.
    pub(super) default_problems: Vec<Problem>,
    pub(super) targets: Pool<Target>,
    pub(super) chains: Pool<[ChainEntry]>,
    pub(super) policies: Pool<RoutePolicy>,
    pub(super) groups: Groups,
    pub(super) pipelines: Arc<[Arc<Pipeline>]>,
}

/// The list that a filter is in.
#[derive(Clone, Copy)]
pub(super) enum List {
    Default,
    Own,
}
