//! Findings about the routes of a configuration: of each route, and of all together.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher as _;
use std::sync::Arc;

use weir_route::index::Index;
use weir_route::{NamedArgs, Route, RouteDefinition};

use crate::compile::{self, Compiler, Part, Problem, Told};
use crate::diagnostic::{Code, Diagnostic, Severity, fills_in_secret, is_secret, mask_url};
use crate::forwards;
use crate::loaded::Loaded;
use crate::routes::{self, Written, head};
use crate::source::{Sources, Span};
use crate::spring::{Kind, Node, child, texts_below};
use weir_snapshot::RouteTarget;
use weir_snapshot::Settings;

/// Maximum number of findings of one kind about routes; nobody would read more.
const FINDINGS_MAX: usize = 200;

/// Checks of the routes of a configuration, one after the other.
pub(crate) struct Checks {
    compiler: Arc<Compiler>,
    settings: Arc<Settings>,
    /// Places of the routes so far, by position.
    heads: Vec<Span>,
    /// Hashes of the ids so far.
    ids: HashSet<u64, foldhash::quality::RandomState>,
    /// Predicates and filters whose difference from SCG has been reported.
    told: Told,
    counts: HashMap<Code, usize>,
    /// Places of groups that have no route so far, by id.
    empty_groups: HashMap<String, Span>,
}

impl Checks {
    pub fn new(loaded: &Loaded, problems: &mut Vec<Diagnostic>) -> Self {
        let mut checks = Self {
            compiler: Arc::clone(&loaded.compiler),
            settings: Arc::clone(&loaded.settings),
            heads: Vec::new(),
            ids: HashSet::default(),
            told: Told::default(),
            counts: HashMap::new(),
            empty_groups: HashMap::new(),
        };
        checks.defaults(loaded, problems);
        checks.groups(loaded, problems);
        checks
    }

    fn defaults(&mut self, loaded: &Loaded, problems: &mut Vec<Diagnostic>) {
        let mut found = loaded.compiler.default_problems().to_vec();
        for (at, named) in loaded.default_filters.iter().enumerate() {
            let part = Part::DefaultFilter(at, None);
            compile::about_filter(&loaded.compiler, named, part, &mut self.told, &mut found);
        }
        let layers = loaded.layers();
        let elements = routes::default_elements(&layers);
        for problem in found {
            let Part::DefaultFilter(at, arg) = &problem.part else { continue };
            let Some(named) = loaded.default_filters.get(*at) else { continue };
            // Those that other properties imply have no element.
            let element = elements.get(*at).copied();
            let place = loaded.default_places.get(*at).copied().unwrap_or_default();
            let span = element.map_or(place, |element| within(element, arg.as_deref()));
            self.push_of(problem, span, Some(named), element, problems);
        }
    }

    fn groups(&mut self, loaded: &Loaded, problems: &mut Vec<Diagnostic>) {
        // Problems of their shape were reported when the compiler read them.
        for written in routes::groups(&loaded.layers(), &mut Vec::new()) {
            let id = written.definition.id.as_str();
            let Some(group) = loaded.compiler.group_called(id) else { continue };
            if written.routes.is_empty() {
                self.empty_groups.insert(id.to_owned(), head(written.node));
            }
            let mut found = group.problems.clone();
            found.extend(compile::group_remarks(&loaded.compiler, group, &mut self.told));
            self.report(&written.definition, written.node, found, problems);
        }
    }

    /// Compiles one route; `None` if it is disabled or has an error.
    pub fn route(
        &mut self,
        written: &Written<'_>,
        problems: &mut Vec<Diagnostic>,
    ) -> Option<Arc<Route<RouteTarget>>> {
        let position = self.heads.len() as u64;
        self.identify(written, problems);
        let definition = &written.definition;
        self.empty_groups.remove(&definition.group);
        if !definition.enabled || !self.settings.gateway_enabled {
            return None;
        }
        let mut found = Vec::new();
        let group = self.compiler.group_called(&definition.group);
        let shared = group.is_some_and(|group| !group.definition.predicates.is_empty());
        if definition.predicates.is_empty() && !shared && !written.raw {
            found.push(Problem::new(
                Code::NoPredicates,
                Part::Predicates,
                "the route has no predicates",
                "write what it should match, such as `- Path=/x/**`; `- Path=/**` is everything",
            ));
        }
        let route = match self.compiler.compile(definition, position) {
            Ok(route) => Some(route),
            Err(more) => {
                // Problems of default filters or the group are reported once, at their own place.
                let own = |problem: &Problem| {
                    !matches!(problem.part, Part::DefaultFilter(..) | Part::OfGroup(..))
                };
                found.extend(more.into_iter().filter(own));
                None
            }
        };
        let refused = !found.is_empty();
        found.extend(compile::remarks(
            &self.compiler,
            definition,
            route.as_deref(),
            &mut self.told,
        ));
        if written.found && refused {
            self.leave_out(definition, &found, written.head, problems);
            return None;
        }
        self.report(definition, written.node, found, problems);
        if refused {
            return None;
        }
        route
    }

    /// Reports a service for which the locator makes no route.
    fn leave_out(
        &mut self,
        definition: &RouteDefinition,
        found: &[Problem],
        at: Span,
        problems: &mut Vec<Diagnostic>,
    ) {
        let Some(problem) = found.first() else { return };
        if self.enough(problem.code) {
            return;
        }
        let message = format!(
            "the locator makes no route `{}`: {}",
            definition.id,
            mask_url(&problem.message)
        );
        let finding = Diagnostic::new(problem.code, message).severity(Severity::Warning).at(at);
        problems.push(finding.help("rename the service in its registry, or write a route for it"));
    }

    fn report(
        &mut self,
        definition: &RouteDefinition,
        node: Node<'_>,
        found: Vec<Problem>,
        problems: &mut Vec<Diagnostic>,
    ) {
        for problem in found {
            let named = match &problem.part {
                Part::Filter(at, _) => definition.filters.get(*at),
                Part::Predicate(at, _) => definition.predicates.get(*at),
                _ => None,
            };
            let place = place_of(node, &problem.part);
            let span = locate(node, &problem.part);
            self.push_of(problem, span, named, place, problems);
        }
    }

    /// Reports a problem of the predicate or filter `named`, which is written at `element`.
    fn push_of(
        &mut self,
        problem: Problem,
        span: Span,
        named: Option<&NamedArgs>,
        element: Option<Node<'_>>,
        problems: &mut Vec<Diagnostic>,
    ) {
        let secret = named.filter(|named| names_secret(named) || element.is_some_and(holds_secret));
        let open = named.filter(|named| named.name == OPEN).and(element);
        let before = problems.len();
        self.push(problem, span, secret, problems);
        // The name itself is never secret.
        let name = element.and_then(|element| child(element, "name")).map(Node::span);
        if let Some(finding) = problems.get_mut(before) {
            finding.secret &= name != Some(span);
            finding.open = open.map(texts_below).unwrap_or_default();
        }
    }

    /// `secret` is the predicate or filter with the problem, if its values are secret.
    fn push(
        &mut self,
        problem: Problem,
        at: Span,
        secret: Option<&NamedArgs>,
        problems: &mut Vec<Diagnostic>,
    ) {
        if self.enough(problem.code) {
            return;
        }
        let message = secret.map_or_else(
            || mask_url(&problem.message),
            |named| without_values(&problem.message, named),
        );
        let mut finding = Diagnostic::new(problem.code, message)
            .at(at)
            .help(problem.help)
            .paste(problem.paste.into_iter().collect())
            .secret(secret.is_some());
        if finding.severity == Severity::Error && !self.settings.fail_on_route_definition_error {
            finding.severity = Severity::Warning;
            finding
                .help
                .push_str("; the route is left out, as `fail-on-route-definition-error` is false");
        }
        problems.push(finding);
    }

    /// Counts a finding and returns whether it must be dropped because there were too many. Errors
    /// are counted on: the last one shown gives the number of the rest, so that none is dropped
    /// silently.
    fn enough(&mut self, code: Code) -> bool {
        let count = self.counts.entry(code).or_default();
        *count += 1;
        *count > FINDINGS_MAX
    }

    /// Reports ids that occur twice.
    fn identify(&mut self, written: &Written<'_>, problems: &mut Vec<Diagnostic>) {
        let id = &written.definition.id;
        let at = written.head;
        self.heads.push(at);
        if self.ids.insert(self.ids.hasher().hash_one(id)) || self.enough(Code::DuplicateRoute) {
            return;
        }
        let message = format!("duplicate id `{id}`");
        let help = "give each route an id of its own; the admin API and metrics go by it";
        problems.push(Diagnostic::new(Code::DuplicateRoute, message).at(at).help(help));
    }

    /// Reports routes that can never match, because an earlier one matches all their requests.
    pub fn shadows(
        &mut self,
        index: &Index<RouteTarget>,
        sources: &Sources,
        problems: &mut Vec<Diagnostic>,
    ) {
        let place = |position| self.place(position);
        let mut found = Vec::new();
        for shadowed in index.shadowed() {
            let by = sources.place(place(shadowed.by.position));
            let why = match shadowed.duplicate {
                true => "has the same predicates",
                false => "takes all its requests",
            };
            let message = format!("this route never matches: `{}` ({by}) {why}", shadowed.by.id);
            let help = "put the narrower route first, or give it a lower `order`; remove what is \
                        there twice";
            let at = place(shadowed.route.position);
            found.push(Diagnostic::new(Code::ShadowedRoute, message).at(at).help(help));
        }
        for finding in found {
            if !self.enough(Code::ShadowedRoute) {
                problems.push(finding);
            }
        }
    }

    /// Reports fallbacks and `forward:` uris whose path no route matches.
    pub fn forwards(&self, index: &Index<RouteTarget>, problems: &mut Vec<Diagnostic>) {
        forwards::astray(index, |position| self.place(position), problems);
    }

    /// Reports routes that have no distinguishing key and are tried one by one. Returns their
    /// number.
    pub fn scanned(&mut self, index: &Index<RouteTarget>, problems: &mut Vec<Diagnostic>) -> usize {
        let stats = index.stats();
        for crowded in &stats.crowded {
            let named: Vec<String> = crowded.ids.iter().map(|id| format!("`{id}`")).collect();
            let message = format!(
                "{} routes are tried one after the other: {}, …",
                crowded.routes,
                named.join(", ")
            );
            // Kinds only: an expression may contain a secret.
            let kind = |(text, _): &(String, usize)| {
                format!("`{}`", text.split(':').next().unwrap_or_default())
            };
            let only: Vec<String> = crowded.only_by.iter().map(kind).collect();
            let why = match only.is_empty() {
                true => "they demand the same of a request".to_owned(),
                false => format!("nothing but trying their {} tells them apart", only.join(", ")),
            };
            let help = format!(
                "{why}; a path, host, method or exact value of their own, or plain text in the \
                 expressions, makes it one step"
            );
            let at = self.place(crowded.first);
            problems.push(Diagnostic::new(Code::ScannedRoutes, message).at(at).help(help));
        }
        stats.scanned
    }

    /// Place of the route with this position.
    fn place(&self, position: u64) -> Span {
        let position = usize::try_from(position).ok();
        position.and_then(|position| self.heads.get(position)).copied().unwrap_or_default()
    }

    /// Services that no registry can list, in one finding with a block of YAML to paste.
    fn lacking(&self) -> Option<Diagnostic> {
        const SHOWN_MAX: usize = 20;
        let names = &self.told.lacking;
        let first = names.first()?;
        let mut listed = names
            .iter()
            .take(SHOWN_MAX)
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", ");
        if names.len() > SHOWN_MAX {
            listed += &format!(" and {} more", names.len() - SHOWN_MAX);
        }
        let (are, them) = if names.len() == 1 { ("has", "it") } else { ("have", "them") };
        let message = format!(
            "no registry is configured, and {listed} {are} no instance: routes to {them} answer 503"
        );
        let help = format!(
            "name a registry, such as `eureka.client.service-url.defaultZone: \
             http://localhost:8761/eureka/`, `spring.cloud.nacos.discovery.server-addr`, \
             `spring.cloud.consul.host` or \
             `spring.cloud.zookeeper.connect-string`; or list instances: \
             `spring.cloud.discovery.client.simple.instances.{first}[0].uri: http://host:port`"
        );
        let at = self.heads.first().copied().unwrap_or_default();
        let line = |name: &String| {
            format!(
                "spring.cloud.discovery.client.simple.instances.{name}[0].uri: http://host:8080"
            )
        };
        let lines = names.iter().take(SHOWN_MAX).map(line).collect();
        Some(Diagnostic::new(Code::NoInstances, message).at(at).help(help).paste(lines))
    }

    /// Reports findings that need all routes.
    pub fn finish(mut self, problems: &mut Vec<Diagnostic>) {
        let mut empty: Vec<_> = std::mem::take(&mut self.empty_groups).into_iter().collect();
        empty.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (id, at) in empty {
            if self.enough(Code::EmptyGroup) {
                continue;
            }
            let message = format!("no route of the files is in the group `{id}`");
            let help = "write routes below its `routes`; routes made at run time may name it";
            problems.push(Diagnostic::new(Code::EmptyGroup, message).at(at).help(help));
        }
        problems.extend(self.lacking());
        let mut more: Vec<(Code, usize)> = self.counts.into_iter().collect();
        more.sort_unstable();
        for (code, count) in more.into_iter().filter(|(_, count)| *count > FINDINGS_MAX) {
            let Some(last) = problems.iter().rev().find(|p| p.code == code).cloned() else {
                continue;
            };
            let rest = count - FINDINGS_MAX;
            let message = format!("{rest} more findings of the kind `{}`", code.as_str());
            problems.push(Diagnostic { message, paste: Vec::new(), ..last });
        }
    }
}

/// A filter without secrets: its `key` is what requests are counted by.
const OPEN: &str = "Throttle";

/// Whether an argument is the name of a header with a secret.
fn names_secret(named: &NamedArgs) -> bool {
    named.name != OPEN
        && named.args.iter().any(|(name, value)| {
            is_secret(name)
                || value.as_str().is_some_and(|text| !text.contains(' ') && is_secret(text))
        })
}

/// A copy of a message without values of arguments.
fn without_values(message: &str, named: &NamedArgs) -> String {
    let values = named.args.values().filter_map(|value| value.as_str());
    let hidden = values.filter(|text| !text.trim().is_empty() && !is_secret(text));
    hidden.fold(message.to_owned(), |message, text| message.replace(text.trim(), "******"))
}

fn field<'t>(node: Node<'t>, name: &str) -> Option<Node<'t>> {
    child(node, name)
}

/// Place of a part of a route.
fn locate(node: Node<'_>, part: &Part) -> Span {
    let found = match part {
        Part::Route => None,
        Part::Uri => field(node, "uri").map(Node::span),
        Part::Predicates => field(node, "predicates").map(Node::key_span),
        Part::Predicate(_, arg) | Part::Filter(_, arg) => {
            place_of(node, part).map(|element| within(element, arg.as_deref()))
        }
        Part::Metadata(name) => field(node, "metadata")
            .map(|metadata| child(metadata, name).map_or_else(|| metadata.key_span(), Node::span)),
        Part::Group => field(node, "group").map(Node::span),
        Part::DefaultFilter(..) | Part::OfGroup(..) => None,
    };
    found.unwrap_or_else(|| head(node))
}

/// The predicate or filter that a part of a route refers to.
fn place_of<'t>(node: Node<'t>, part: &Part) -> Option<Node<'t>> {
    let (list, at) = match part {
        Part::Predicate(at, _) => ("predicates", *at),
        Part::Filter(at, _) => ("filters", *at),
        _ => return None,
    };
    let list = field(node, list)?;
    match list.kind() {
        Kind::List => list.children().nth(at),
        Kind::Null | Kind::Scalar | Kind::Map => Some(list),
    }
}

/// Whether a placeholder below the node refers to a secret.
fn holds_secret(node: Node<'_>) -> bool {
    node.written().is_some_and(fills_in_secret) || node.children().any(holds_secret)
}

/// Place of an element, or of the given argument of it.
fn within(element: Node<'_>, arg: Option<&str>) -> Span {
    if element.kind() != Kind::Map {
        return element.span();
    }
    let args = child(element, "args");
    let arg = arg.and_then(|arg| child(args?, arg.split('.').next().unwrap_or(arg)));
    let whole = || child(element, "name").map_or_else(|| element.span(), Node::span);
    arg.map_or_else(whole, |arg| match arg.kind() {
        Kind::Scalar => arg.span(),
        Kind::Null | Kind::List | Kind::Map => arg.key_span(),
    })
}
