//! Remarks on routes that compile, but probably not as intended, or with a difference to Spring
//! Cloud Gateway.

use std::collections::HashSet;
use std::hash::BuildHasher as _;

use weir_route::predicate::Predicate;
use weir_route::{Compatibility, NamedArgs, Route, RouteDefinition, Spec};

use super::Compiler;
use super::problem::{Part, Problem};
use super::shared::Group;
use super::upstream;
use crate::cors;
use crate::diagnostic::{Code, mask_url};
use crate::uri::{self, Destination};
use weir_snapshot::RouteTarget;

/// Strategies of DedupeResponseHeader.
const STRATEGIES: &[&str] = &["RETAIN_FIRST", "RETAIN_LAST", "RETAIN_UNIQUE"];

/// Remarks already made, to avoid repetition.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Predicates and filters whose difference from SCG has been reported: once is enough.
    names: Vec<&'static str>,
    /// Hashes of uris without remarks: most routes share theirs with others.
    uris: HashSet<u64, foldhash::quality::RandomState>,
    /// Services of routes whose instances nothing can list, in the order found.
    pub lacking: Vec<String>,
}

impl Told {
    /// Whether `name` occurs for the first time.
    fn first(&mut self, name: &'static str) -> bool {
        let first = !self.names.contains(&name);
        if first {
            self.names.push(name);
        }
        first
    }

    fn service(&mut self, compiler: &Compiler, uri: &str) {
        let name = match uri::parse(uri).map(|uri| uri.destination) {
            Ok(Destination::Service { name, .. }) => name,
            Ok(Destination::Nowhere(scheme)) if scheme == "upstream" => {
                upstream::name_in(uri).to_owned()
            }
            _ => return,
        };
        if compiler.lacks_instances(&name) && !self.lacking.contains(&name) {
            self.lacking.push(name);
        }
    }
}

/// Remarks on `definition` and its compiled route.
pub(crate) fn remarks(
    compiler: &Compiler,
    definition: &RouteDefinition,
    route: Option<&Route<RouteTarget>>,
    told: &mut Told,
) -> Vec<Problem> {
    let mut found = Vec::new();
    let uri = told.uris.hasher().hash_one(&definition.uri);
    if !told.uris.contains(&uri) {
        told.service(compiler, &definition.uri);
        about_uri(compiler, &definition.uri, &mut found);
        if found.is_empty() {
            told.uris.insert(uri);
        }
    }
    for (at, named) in definition.predicates.iter().enumerate() {
        about_predicate(compiler, at, named, told, &mut found);
    }
    for (at, named) in definition.filters.iter().enumerate() {
        about_filter(compiler, named, Part::Filter(at, None), told, &mut found);
    }
    if let Some(text) = definition.metadata.get("response-timeout").map(super::metadata::text_of)
        && text.trim().parse::<i64>().is_err()
    {
        let part = Part::Metadata("response-timeout".to_owned());
        let message = format!("Spring Cloud Gateway ignores the response-timeout `{text}`");
        let help = "weir takes it as a duration; write milliseconds to have both agree";
        found.push(Problem::new(Code::SettingDiffers, part, message, help));
    }
    found.extend(cors::remark_of_route(definition));
    if let Some(route) = route {
        predicate_cautions(definition, &route.predicates, &mut found);
        let mut entries = route.target.chain.entries().iter();
        if entries.any(|entry| entry.filter.caution().is_some()) {
            filter_cautions(compiler, definition, &mut found);
        }
        variables(compiler, definition, route, &mut found);
        found.extend(unknown_principal(compiler, definition, route));
    }
    found
}

/// Remarks on the shared part of `group`.
pub(crate) fn group_remarks(compiler: &Compiler, group: &Group, told: &mut Told) -> Vec<Problem> {
    let definition = &group.definition;
    let mut found = remarks(compiler, definition, None, told);
    predicate_cautions(definition, &group.shared.predicates, &mut found);
    filter_cautions(compiler, definition, &mut found);
    found
}

fn about_uri(compiler: &Compiler, text: &str, found: &mut Vec<Problem>) {
    let Ok(uri) = uri::parse(text) else { return };
    let mut add = |code, message: String, help: &str| {
        found.push(Problem::new(code, Part::Uri, message, help));
    };
    if let Some(ignored) = uri.ignored {
        let message = format!("`{}` of the uri has no effect", mask_url(&ignored));
        add(
            Code::Suspicious,
            message,
            "requests keep their own path, as under Spring Cloud Gateway; change it with a \
             SetPath, PrefixPath or RewritePath filter",
        );
    }
    match uri.destination {
        Destination::Nowhere(scheme)
            if scheme == "mock" && !matches!(compiler.options.mocks.find(text), Ok(None)) => {}
        // A missing upstream is an error of the route.
        Destination::Nowhere(scheme) if scheme == "upstream" => {}
        Destination::Nowhere(scheme) if scheme != "no" => add(
            Code::Suspicious,
            format!("nothing serves `{scheme}:`: the route answers 200 with an empty body"),
            "write `http://…` or `lb://…`; a scheme served by a Java plugin does not work here",
        ),
        _ => {}
    }
}

fn about_predicate(
    compiler: &Compiler,
    at: usize,
    named: &NamedArgs,
    told: &mut Told,
    found: &mut Vec<Problem>,
) {
    let Some(spec) = compiler.registry.predicate(&named.name) else { return };
    let part = |arg| Part::Predicate(at, arg);
    unknown_args(spec, named, part, found);
    if let Compatibility::Differs(why) = spec.compatibility
        && told.first(spec.name)
    {
        found.push(differs(Code::PredicateDiffers, spec.name, why, part(None)));
    }
}

/// Remarks on one filter, of the defaults or of a route.
pub(crate) fn about_filter(
    compiler: &Compiler,
    named: &NamedArgs,
    part: Part,
    told: &mut Told,
    found: &mut Vec<Problem>,
) {
    let Some(spec) = compiler.registry.filter(&named.name) else { return };
    let first = named.args.get("_genkey_0").and_then(|value| value.as_str()).unwrap_or_default();
    if named.name == "DedupeResponseHeader"
        && named.args.len() == 1
        && let Some(strategy) = first.split(' ').find(|word| STRATEGIES.contains(word))
    {
        let message = format!("`{strategy}` is taken for a header: there is no comma before it");
        let help = format!("write `DedupeResponseHeader=<headers>, {strategy}`");
        found.push(Problem::new(Code::Suspicious, part.clone(), message, help));
    }
    if let Some((name, _)) = first.split_once('=')
        && spec.args.iter().any(|arg| arg.name == name)
    {
        let message = format!("a shortcut has no named arguments: `{first}` is taken as a value");
        let help = format!("write `- name: {}` with `args:` below it", named.name);
        found.push(Problem::new(Code::Suspicious, part.clone(), message, help));
    }
    unknown_args(spec, named, |arg| with_arg(&part, arg), found);
    if let Compatibility::Differs(why) = spec.compatibility
        && told.first(spec.name)
    {
        found.push(differs(Code::FilterDiffers, spec.name, why, part));
    }
}

fn with_arg(part: &Part, arg: Option<String>) -> Part {
    match part {
        Part::Filter(at, _) => Part::Filter(*at, arg),
        Part::DefaultFilter(at, _) => Part::DefaultFilter(*at, arg),
        other => other.clone(),
    }
}

/// Unknown arguments, which SCG ignores too.
fn unknown_args<B>(
    spec: &Spec<B>,
    named: &NamedArgs,
    part: impl Fn(Option<String>) -> Part,
    found: &mut Vec<Problem>,
) {
    let plain = named.args.keys().all(|name| name.starts_with("_genkey_"));
    if plain && named.args.len() <= spec.args.len() {
        return;
    }
    let Ok(args) = spec.bind(&named.args) else { return };
    for name in args.unknown() {
        let shown = match name.strip_prefix("_genkey_") {
            Some(_) => named.args.get(name).and_then(|value| value.as_str()).unwrap_or(name),
            None => name,
        };
        let names: Vec<&str> = spec.args.iter().map(|arg| arg.name).collect();
        let help = match crate::value::nearest(name, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if names.is_empty() => format!("`{}` takes no arguments", spec.name),
            None => format!("`{}` takes {}", spec.name, names.join(", ")),
        };
        let message = format!("{}: nothing reads the argument `{shown}`", spec.name);
        found.push(Problem::new(Code::Suspicious, part(Some(name.to_owned())), message, help));
    }
}

fn differs(code: Code, name: &str, why: &str, part: Part) -> Problem {
    let message = format!("`{name}` differs from Spring Cloud Gateway's");
    Problem::new(code, part, message, why)
}

const CAUTION: &str =
    "Spring Cloud Gateway starts with it, too, and it fails there as well; change it";

/// Cautions that predicates give about themselves.
fn predicate_cautions(
    definition: &RouteDefinition,
    predicates: &[Predicate],
    found: &mut Vec<Problem>,
) {
    for (at, predicate) in predicates.iter().enumerate() {
        if let Some(caution) = predicate.caution() {
            let name = definition.predicates.get(at).map_or("", |named| &named.name);
            let message = format!("{name}: {caution}");
            found.push(Problem::new(Code::Suspicious, Part::Predicate(at, None), message, CAUTION));
        }
    }
}

/// Cautions that filters give about themselves.
fn filter_cautions(compiler: &Compiler, definition: &RouteDefinition, found: &mut Vec<Problem>) {
    for (at, named) in definition.filters.iter().enumerate() {
        let filter = compiler.filter(named, |arg| Part::Filter(at, arg), &mut Vec::new());
        if let Some(caution) = filter.and_then(|filter| filter.caution()) {
            let message = format!("{}: {caution}", named.name);
            found.push(Problem::new(Code::Suspicious, Part::Filter(at, None), message, CAUTION));
        }
    }
}

/// Variables that a filter reads but no predicate sets.
fn variables(
    compiler: &Compiler,
    definition: &RouteDefinition,
    route: &Route<RouteTarget>,
    found: &mut Vec<Problem>,
) {
    let chain = &route.target.chain;
    if !chain.needs_vars() {
        return;
    }
    let whole = compiler.effective(definition);
    let set = |name: &str| {
        let texts = whole.predicates.iter().filter(|p| matches!(&*p.name, "Path" | "Host"));
        let mut values = texts.flat_map(|p| p.args.values()).filter_map(|value| value.as_str());
        values.any(|text| publishes(text, name))
    };
    for entry in chain.entries() {
        for name in entry.filter.variables().into_iter().filter(|name| !set(name)) {
            let kind = entry.filter.spec().name;
            let at = definition.filters.iter().position(|named| named.name == kind);
            let part = at.map_or(Part::Route, |at| Part::Filter(at, None));
            let message =
                format!("{kind} reads `{{{name}}}`, which no predicate of the route sets");
            let outcome = entry.filter.without_variable();
            let help = format!("{outcome}; write `{{{name}}}` in Path or Host");
            found.push(Problem::new(Code::Suspicious, part, message, help));
        }
    }
}

/// A limit by principal where nothing before it tells the principal: it has one key for all.
fn unknown_principal(
    compiler: &Compiler,
    definition: &RouteDefinition,
    route: &Route<RouteTarget>,
) -> Option<Problem> {
    let entries = route.target.chain.entries();
    let (at, limit) = entries.iter().enumerate().find(|(_, one)| one.filter.counts_by_who())?;
    let teller = entries.iter().position(|one| one.filter.tells_who());
    if compiler.options.security.is_some() || teller.is_some_and(|teller| teller < at) {
        return None;
    }
    let kind = limit.filter.spec().name;
    let written = definition.filters.iter().enumerate().find(|(at, named)| {
        let filter = compiler.filter(named, |arg| Part::Filter(*at, arg), &mut Vec::new());
        filter.is_some_and(|filter| filter.counts_by_who())
    });
    let part = written.map_or(Part::Route, |(at, _)| Part::Filter(at, None));
    let (why, help) = match teller.and_then(|teller| entries.get(teller)) {
        Some(teller) => {
            let name = teller.filter.spec().name;
            (
                format!("`{name}` comes after it"),
                format!("put {kind} after `{name}`, which tells the principal"),
            )
        }
        None => (
            "no filter of the route tells it".to_owned(),
            "put `ApiKey`, `BasicAuth`, or `ForwardAuth` with a `principalHeader` before it"
                .to_owned(),
        ),
    };
    let message = format!("{kind} counts all requests as one key, by `principal`: {why}");
    Some(Problem::new(Code::Suspicious, part, message, help))
}

/// Whether a pattern has the variable `name`: `{name}`, `{name:regex}` or `{*name}`.
fn publishes(pattern: &str, name: &str) -> bool {
    pattern.split('{').skip(1).any(|part| {
        let part = part.strip_prefix('*').unwrap_or(part);
        part.strip_prefix(name).is_some_and(|rest| rest.starts_with([':', '}']))
    })
}

#[cfg(test)]
mod tests {
    use super::publishes;

    #[test]
    fn variables_of_patterns() {
        assert!(publishes("/a/{x}", "x"));
        assert!(publishes("/{*x}", "x"));
        assert!(publishes("{y}.{x:[0-9]{2}}.org", "x"));
        assert!(!publishes("/{xy}", "x"));
        assert!(!publishes("/x", "x"));
    }
}
