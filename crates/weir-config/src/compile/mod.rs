//! Compilation of route definitions to routes that serve requests.
//!
//! A [`Compiler`] holds the options of a configuration. It compiles one definition at a time and
//! reports all its problems, for files at start and for the admin API later. Placeholders and
//! expressions are resolved before.

mod compiler;
mod fallback;
mod group;
mod interner;
mod later;
mod metadata;
mod names;
mod problem;
mod remarks;
mod shared;
mod snapshot;
mod upstream;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};
use weir_balance::Service;
use weir_filter::Chain;
use weir_filter::cors::{CorsPolicy, CorsRoute};
use weir_filter::filter::{Filter, FilterOptions, Setting};
use weir_filter::forwarding::Forwarding;
use weir_limit::Valves;
use weir_mock::MockTable;
use weir_route::pattern::RegexCache;
use weir_route::predicate::{BuildContext, Predicate, PredicateOptions};
use weir_route::{Beside, NamedArgs, Predicates, Route, RouteDefinition, RouteGroup};

pub use compiler::Compiler;
pub(crate) use compiler::Options;
use problem::argument;
pub use problem::{Part, Problem};
pub(crate) use remarks::{Told, about_filter, group_remarks, remarks};

use crate::cors::{self, GlobalCors};
use crate::diagnostic::Code;
use crate::mocks::CommonMocks;
use compiler::List;
use fallback::with_fallback;
use interner::{Key, Pool, Text};
use metadata::{text_of, timeouts};
use names::Registry;
use shared::{Group, Groups};
use weir_snapshot::AmbiguousPaths;
use weir_snapshot::Pipeline;
use weir_snapshot::Security;
use weir_snapshot::Settings;
use weir_snapshot::{RouteCors, RoutePolicy, RouteTarget, RouteTimeouts};

/// Metadata key of the policy for [`AmbiguousPaths`].
const AMBIGUOUS_PATHS: &str = "ambiguous-paths";

impl Compiler {
    pub(crate) fn new(mut options: Options) -> Self {
        let groups = std::mem::take(&mut options.groups);
        let services = options.services.iter().map(|(name, instances)| {
            (name.clone(), Arc::new(Service::new(name, instances.clone())))
        });
        let mut compiler = Self {
            registry: Registry::new(),
            services: services.collect(),
            clusters: Mutex::default(),
            options,
            default_problems: Vec::new(),
            targets: Pool::default(),
            chains: Pool::default(),
            policies: Pool::default(),
            groups: Groups::new(),
            pipelines: Arc::default(),
        };
        let mut problems = Vec::new();
        compiler.filters(&compiler.options.default_filters, List::Default, &mut problems);
        compiler.default_problems = problems;
        compiler.groups = compiler.groups(groups);
        compiler
    }

    /// Settings that apply to all routes.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.options.settings
    }

    /// The API definitions of the store, which change independently of the routes.
    pub fn mock_table(&self) -> &Arc<MockTable> {
        self.options.mocks.table()
    }

    /// Settings of all API definitions.
    pub fn common_mocks(&self) -> &CommonMocks {
        self.options.mocks.common()
    }

    /// The files that API definitions were read from.
    pub(crate) fn definition_files(&self) -> &[PathBuf] {
        self.options.mocks.files()
    }

    /// Rules for forwarded heads.
    pub fn forwarding(&self) -> &Arc<Forwarding> {
        &self.options.forwarding
    }

    pub(crate) fn global_cors(&self) -> &GlobalCors {
        &self.options.cors
    }

    /// Token verification, if any.
    pub fn security(&self) -> Option<&Arc<Security>> {
        self.options.security.as_ref()
    }

    pub(crate) fn filter_options(&self) -> &FilterOptions {
        &self.options.filters
    }

    /// Pipelines of the configuration.
    pub fn pipelines(&self) -> &Arc<[Arc<Pipeline>]> {
        &self.pipelines
    }

    /// Sets the pipelines that were compiled with this compiler.
    pub(crate) fn with_pipelines(mut self, pipelines: Vec<Arc<Pipeline>>) -> Self {
        self.pipelines = pipelines.into();
        self
    }

    pub(crate) fn seed(&self) -> u64 {
        self.options.seed
    }

    pub(crate) fn beside(&self) -> Beside {
        self.options.beside
    }

    pub(crate) fn predicate_options(&self) -> &PredicateOptions {
        &self.options.predicates
    }

    /// The cache of compiled expressions, to share with the next configuration.
    pub fn regexes(&self) -> RegexCache {
        self.options.predicates.regexes.clone()
    }

    /// Takes the new settings of limits and breakers since the last call. Apply them once the
    /// configuration, or a route that it compiled, is in force.
    pub fn take_limits(&self) -> Vec<Setting> {
        let all = &self.options.filters.settings;
        std::mem::take(&mut *all.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Every limit that an active route uses.
    pub fn limits(&self) -> &Arc<Valves> {
        &self.options.filters.valves
    }

    /// Problems of `default-filters`. While there are any, every route is rejected.
    pub fn default_problems(&self) -> &[Problem] {
        &self.default_problems
    }

    /// Compiles `definition` for `position`, its place in definition order over all sources.
    ///
    /// # Errors
    /// All its problems.
    pub fn compile(
        &self,
        definition: &RouteDefinition,
        position: u64,
    ) -> Result<Arc<Route<RouteTarget>>, Vec<Problem>> {
        let mut problems = self.default_problems.clone();
        let group = self.group(definition).unwrap_or_else(|found| {
            problems.extend(found);
            None
        });
        let predicates = self.predicates(definition, &mut problems);
        let whole = match group {
            Some(group) => Cow::Owned(group.expand(definition)),
            None => Cow::Borrowed(definition),
        };
        let mocks = self.options.filters.definitions.as_ref();
        let filters = with_fallback(&definition.filters, &whole, mocks, &mut problems);
        let chain = self.chain(&definition.id, group, &filters, &mut problems);
        let is_lost = group.is_none() && !definition.group.is_empty();
        let upstream = match is_lost && whole.uri.is_empty() {
            // The missing group may have had one.
            true => None,
            false => self.upstream(&whole.uri, self.calls_grpc(&whole.filters), &mut problems),
        };
        let timeouts = timeouts(&whole.metadata, &mut problems);
        let place = group.map(|group| &group.place);
        let cors = self.cors(&whole, place, &mut problems);
        let ambiguous_paths = self.ambiguous_paths(&whole.metadata, &mut problems);
        let (Some(upstream), Some(chain), true) = (upstream, chain, problems.is_empty()) else {
            return Err(problems);
        };
        Ok(Arc::new(Route {
            id: definition.id.as_str().into(),
            order: definition.order,
            position,
            predicates,
            group: group.map(|group| Arc::clone(&group.shared)),
            target: RouteTarget {
                chain,
                upstream,
                policy: self.policy(RoutePolicy { cors, timeouts, ambiguous_paths }),
                series: AtomicU32::default(),
            },
        }))
    }

    fn predicates(&self, definition: &RouteDefinition, problems: &mut Vec<Problem>) -> Predicates {
        let context = BuildContext { options: &self.options.predicates, route_id: &definition.id };
        let mut built = Predicates::with_capacity(definition.predicates.len());
        for (at, named) in definition.predicates.iter().enumerate() {
            for named in self.registry.meant(named, &self.options.aliases.predicates) {
                built.extend(self.predicate(at, named, &context, problems));
            }
        }
        built
    }

    fn predicate(
        &self,
        at: usize,
        named: &NamedArgs,
        context: &BuildContext<'_>,
        problems: &mut Vec<Problem>,
    ) -> Option<Predicate> {
        let part = Part::Predicate(at, None);
        let Some(spec) = self.registry.predicate(&named.name) else {
            problems.push(self.registry.no_predicate(named, part));
            return None;
        };
        if names::is_off(&self.options.predicates_off, spec.name) {
            problems.push(names::switched_off("predicate", spec.name, part));
            return None;
        }
        if let Some(problem) = names::expression(named, spec.args, |arg| Part::Predicate(at, arg)) {
            problems.push(problem);
            return None;
        }
        let built = spec.bind(&named.args).and_then(|args| (spec.build)(&args, context));
        built
            .map_err(|error| {
                let part = Part::Predicate(at, Some(error.arg.clone()));
                problems.push(argument(error, &named.name, part, spec.args));
            })
            .ok()
    }

    /// Whether a filter depends on its route, itself or after resolving an alias.
    fn is_own(&self, named: &NamedArgs) -> bool {
        let meant = self.registry.meant(named, &self.options.aliases.filters);
        meant.iter().any(names::is_own)
    }

    /// Whether a route with `filters` besides the default ones calls a gRPC method.
    fn calls_grpc(&self, filters: &[NamedArgs]) -> bool {
        let is_call = |named: &NamedArgs| {
            let meant = self.registry.meant(named, &self.options.aliases.filters);
            meant.iter().any(|named| named.name == weir_filter::filter::JSON_TO_GRPC)
        };
        filters.iter().chain(&self.options.default_filters).any(is_call)
    }

    /// The chain of a route's own filters merged with those of its group and the default ones.
    fn chain(
        &self,
        id: &str,
        group: Option<&Group>,
        own: &[NamedArgs],
        problems: &mut Vec<Problem>,
    ) -> Option<Chain> {
        let shared = group.map_or(&[][..], |group| &group.definition.filters);
        let all = || shared.iter().chain(own);
        // Filters that depend on the route are shared only with the same route of an earlier
        // configuration.
        let mut every = all().chain(&self.options.default_filters);
        let own_id = if every.any(|named| self.is_own(named)) { id } else { "" };
        let key = || Key::of(&(own_id, all().map(Text).collect::<Vec<_>>()));
        // A shorter chain is looked up only once its filters turn out to be worth sharing.
        let many = all().count() + self.options.default_filters.len() > Chain::FEW;
        if many && let Some(chain) = self.chains.get(key()) {
            return Some(chain.into());
        }
        let before = problems.len();
        // Problems of the group's filters were found when the group was compiled.
        let mut both = self.filters(shared, List::Own, &mut Vec::new());
        both.extend(self.filters(own, List::Own, problems));
        if problems.len() > before || !self.default_problems.is_empty() {
            return None;
        }
        let mut defaults = self.filters(&self.options.default_filters, List::Default, problems);
        // A route's own filters first: what default filters there are does not change their names.
        let mut names: Vec<&str> = Vec::new();
        for filter in both.iter_mut().chain(&mut defaults) {
            let name = filter.spec().name;
            let nth = names.iter().filter(|known| **known == name).count();
            names.push(name);
            filter.bind(id, nth, &self.options.filters);
        }
        let chain = Chain::merge(defaults, both);
        let Some(entries) = chain.shared() else { return Some(chain) };
        let kept = self.chains.put(key(), Arc::clone(entries));
        Some(if Arc::ptr_eq(&kept, entries) { chain } else { kept.into() })
    }

    fn filters(&self, list: &[NamedArgs], which: List, problems: &mut Vec<Problem>) -> Vec<Filter> {
        let mut built = Vec::with_capacity(list.len());
        for (at, named) in list.iter().enumerate() {
            let part = |arg| match which {
                List::Default => Part::DefaultFilter(at, arg),
                List::Own => Part::Filter(at, arg),
            };
            for named in self.registry.meant(named, &self.options.aliases.filters) {
                built.extend(self.filter(named, part, problems));
            }
        }
        built
    }

    fn filter(
        &self,
        named: &NamedArgs,
        part: impl Fn(Option<String>) -> Part,
        problems: &mut Vec<Problem>,
    ) -> Option<Filter> {
        let Some(spec) = self.registry.filter(&named.name) else {
            problems.push(self.registry.no_filter(named, part(None)));
            return None;
        };
        if names::is_off(&self.options.filters_off, spec.name) {
            problems.push(names::switched_off("filter", spec.name, part(None)));
            return None;
        }
        if let Some(problem) = names::expression(named, spec.args, &part) {
            problems.push(problem);
            return None;
        }
        let built =
            spec.bind(&named.args).and_then(|args| (spec.build)(&args, &self.options.filters));
        built
            .map_err(|error| {
                let part = part(Some(error.arg.clone()));
                problems.push(argument(error, &named.name, part, spec.args));
            })
            .ok()
    }

    /// The rules of `metadata.cors`, with the pattern to which they apply (SCG class
    /// `CorsGatewayFilterApplicationListener`).
    fn cors(
        &self,
        definition: &RouteDefinition,
        group: Option<&Arc<RouteGroup>>,
        problems: &mut Vec<Problem>,
    ) -> Option<RouteCors> {
        let rule = match cors::of_route(definition) {
            Ok(rule) => Arc::new(rule?),
            Err(wrong) => {
                problems.extend(wrong);
                return None;
            }
        };
        let path = definition.predicates.iter().find(|named| named.name == "Path");
        let bound = path.and_then(|path| self.registry.predicate("Path")?.bind(&path.args).ok());
        let pattern =
            bound.and_then(|args| args.list("patterns").first().map(|text| text.to_string()));
        let route = CorsRoute {
            order: 0,
            position: 0,
            group: None,
            pattern: pattern.as_deref(),
            rule: Arc::clone(&rule),
        };
        let tried = CorsPolicy::build(&[], [route], false, &self.options.predicates);
        // An invalid pattern is reported by its predicate.
        tried.ok().map(|_| RouteCors { pattern, group: group.cloned(), rule })
    }

    fn policy(&self, policy: RoutePolicy) -> Option<Arc<RoutePolicy>> {
        if policy.cors.is_some() {
            return Some(Arc::new(policy));
        }
        let says = (&policy.timeouts, policy.ambiguous_paths);
        if says == (&RouteTimeouts::default(), AmbiguousPaths::default()) {
            return None;
        }
        let key = Key::of(&says);
        Some(self.policies.get(key).unwrap_or_else(|| self.policies.put(key, policy)))
    }

    fn ambiguous_paths(
        &self,
        metadata: &Map<String, Value>,
        problems: &mut Vec<Problem>,
    ) -> AmbiguousPaths {
        let general = self.options.settings.ambiguous_paths;
        let Some(written) = metadata.get(AMBIGUOUS_PATHS) else { return general };
        let text = text_of(written);
        AmbiguousPaths::of(text.trim()).unwrap_or_else(|| {
            problems.push(Problem::new(
                Code::InvalidValue,
                Part::Metadata(AMBIGUOUS_PATHS.to_owned()),
                format!("`{text}` is not a value of `{AMBIGUOUS_PATHS}`"),
                format!("write one of {}", AmbiguousPaths::NAMES.join(", ")),
            ));
            general
        })
    }
}
