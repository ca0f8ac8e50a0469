//! What is worth a word about a route that compiles: it loads, but hardly as meant, or not exactly
//! as Spring Cloud Gateway has it.

use weir_route::{Compatibility, NamedArgs, RouteDefinition};

use super::Compiler;
use super::problem::{Part, Problem};
use crate::diagnostic::{Code, mask_url};
use crate::uri::{self, Destination};

/// Strategies of DedupeResponseHeader.
const STRATEGIES: &[&str] = &["RETAIN_FIRST", "RETAIN_LAST", "RETAIN_UNIQUE"];

/// Remarks on `definition`.
pub(crate) fn remarks(compiler: &Compiler, definition: &RouteDefinition) -> Vec<Problem> {
    let mut found = Vec::new();
    about_uri(compiler, &definition.uri, &mut found);
    for (at, named) in definition.predicates.iter().enumerate() {
        about_predicate(compiler, at, named, &mut found);
    }
    for (at, named) in definition.filters.iter().enumerate() {
        about_filter(compiler, named, Part::Filter(at, None), &mut found);
    }
    if let Some(text) = definition.metadata.get("response-timeout").map(super::text_of)
        && text.trim().parse::<i64>().is_err()
    {
        let part = Part::Metadata("response-timeout".to_owned());
        let message = format!("Spring Cloud Gateway ignores the response-timeout `{text}`");
        let help = "weir takes it as a duration; write milliseconds to have both agree";
        found.push(Problem::new(Code::SettingDiffers, part, message, help));
    }
    found
}

fn about_uri(compiler: &Compiler, text: &str, found: &mut Vec<Problem>) {
    let Ok(uri) = uri::parse(text) else { return };
    let mut add = |code, message: String, help: &str| {
        found.push(Problem::new(code, Part::Uri, message, help));
    };
    if let Some(ignored) = uri.ignored {
        let message = format!("`{}` of the uri counts for nothing", mask_url(&ignored));
        add(
            Code::Suspicious,
            message,
            "requests keep their own path, as under Spring Cloud Gateway; change it with a \
             SetPath, PrefixPath or RewritePath filter",
        );
    }
    match uri.destination {
        Destination::Nowhere(scheme) if scheme != "no" => add(
            Code::Suspicious,
            format!("nothing serves `{scheme}:`: the route answers 200 with an empty body"),
            "write `http://…` or `lb://…`; a scheme served by a Java plugin does not work here",
        ),
        Destination::Service { name, .. } if compiler.lacks_instances(&name) => add(
            Code::NoInstances,
            format!("the service `{name}` has no instance: the route answers 503"),
            "name its instances below `spring.cloud.discovery.client.simple.instances`",
        ),
        _ => {}
    }
}

fn about_predicate(compiler: &Compiler, at: usize, named: &NamedArgs, found: &mut Vec<Problem>) {
    let part = Part::Predicate(at, None);
    if matches!(named.name.as_str(), "Path" | "Host" | "Method") && named.args.is_empty() {
        let message = format!("`{}=` has no pattern: the route never matches", named.name);
        let help = "write what it should match, or remove the route";
        found.push(Problem::new(Code::Suspicious, part.clone(), message, help));
    }
    if named.name == "Method" {
        let lower = named.args.values().filter_map(|value| value.as_str());
        for method in lower.filter(|text| text.bytes().any(|b| b.is_ascii_lowercase())) {
            let message = format!("methods are in capitals: `{method}` never matches");
            let help = format!("write `Method={}`", method.to_ascii_uppercase());
            found.push(Problem::new(Code::Suspicious, part.clone(), message, help));
        }
    }
    if let Some(spec) = compiler.registry.predicate(&named.name)
        && let Compatibility::Differs(why) = spec.compatibility
    {
        found.push(differs(Code::PredicateDiffers, spec.name, why, part));
    }
}

/// Remarks on one filter, a default one or a route's own.
pub(crate) fn about_filter(
    compiler: &Compiler,
    named: &NamedArgs,
    part: Part,
    found: &mut Vec<Problem>,
) {
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
        && compiler
            .registry
            .filter(&named.name)
            .is_some_and(|spec| spec.args.iter().any(|arg| arg.name == name))
    {
        let message = format!("a shortcut has no named arguments: `{first}` is taken as a value");
        let help = format!("write `- name: {}` with `args:` below it", named.name);
        found.push(Problem::new(Code::Suspicious, part.clone(), message, help));
    }
    if let Some(spec) = compiler.registry.filter(&named.name)
        && let Compatibility::Differs(why) = spec.compatibility
    {
        found.push(differs(Code::FilterDiffers, spec.name, why, part));
    }
}

fn differs(code: Code, name: &str, why: &str, part: Part) -> Problem {
    let message = format!("`{name}` differs from Spring Cloud Gateway's");
    Problem::new(code, part, message, why)
}
