//! Predicates and filters by name, and messages about unknown names.

use foldhash::HashMap;
use weir_filter::filter::{self, LATER};
use weir_route::{ArgKind, ArgSpec, NamedArgs, Spec, predicate};

use super::later;
use super::problem::{Part, Problem};
use crate::diagnostic::Code;
use crate::spring::key;
use crate::value::nearest;

/// Filters of Spring Cloud Gateway Server MVC only, and their replacements.
const MVC_FILTERS: &[(&str, &str)] = &[
    ("LoadBalancer", "write `lb://NAME` as the uri of the route, and remove the filter"),
    (
        "RateLimit",
        "write `RequestRateLimiter` with `bucket4j-rate-limiter.capacity`, \
         `bucket4j-rate-limiter.refillPeriod` and a `key-resolver`",
    ),
];

/// All predicates and filters by name.
#[derive(Debug)]
pub(super) struct Registry {
    predicates: HashMap<&'static str, &'static Spec<predicate::Build>>,
    filters: HashMap<&'static str, &'static Spec<filter::Build>>,
}

impl Registry {
    pub fn new() -> Self {
        Self {
            predicates: predicate::SPECS.iter().map(|spec| (spec.name, *spec)).collect(),
            filters: filter::SPECS.iter().map(|spec| (spec.name, *spec)).collect(),
        }
    }

    pub fn predicate(&self, name: &str) -> Option<&'static Spec<predicate::Build>> {
        self.predicates.get(name).copied()
    }

    pub fn filter(&self, name: &str) -> Option<&'static Spec<filter::Build>> {
        self.filters.get(name).copied()
    }

    /// The definition that `named` stands for: itself, or the alias of that name in `aliases`.
    pub fn meant<'a>(
        &self,
        named: &'a NamedArgs,
        aliases: &'a std::collections::HashMap<String, Vec<NamedArgs>>,
    ) -> &'a [NamedArgs] {
        let name = named.name.as_str();
        let is_known = self.filters.contains_key(name) || self.predicates.contains_key(name);
        match aliases.get(name) {
            Some(list) if !is_known => list,
            _ => std::slice::from_ref(named),
        }
    }

    /// The problem that no predicate has the name of `named`.
    pub fn no_predicate(&self, named: &NamedArgs, part: Part) -> Problem {
        let name = &named.name;
        let near = nearest(bare(name), self.predicates.keys().copied());
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "weir runs no Java predicates; say what it tests with `weir.predicates.{name}: \
                 [Header=X-Tenant]`, by {}",
                listed(self.predicates.keys().copied())
            ),
        };
        let message = format!("there is no predicate `{name}`");
        let problem = Problem::new(Code::UnknownPredicate, part, message, help);
        match near {
            None => problem.paste(format!("weir.predicates.{name}: [Header=X-Tenant]")),
            Some(_) => problem,
        }
    }

    /// The problem that no filter has the name of `named`.
    pub fn no_filter(&self, named: &NamedArgs, part: Part) -> Problem {
        let name = named.name.as_str();
        if let Some((_, reason)) = LATER.iter().find(|(later, _)| *later == name) {
            let message = format!("weir does not have the filter `{name}`: {reason}");
            return Problem::new(Code::FilterLater, part, message, later::remedy(name));
        }
        if let Some((_, help)) = MVC_FILTERS.iter().find(|(own, _)| *own == name) {
            let message = format!("`{name}` is a filter of the MVC server");
            return Problem::new(Code::UnknownFilter, part, message, *help);
        }
        let known = self.filters.keys().copied();
        let later = LATER.iter().map(|(name, _)| *name);
        let message = format!("there is no filter `{name}`");
        if let Some(near) = nearest(bare(name), known.chain(later)) {
            let help = format!("did you mean `{near}`?");
            return Problem::new(Code::UnknownFilter, part, message, help);
        }
        // The suggestion must not admit everybody: the Java filter probably protects the route.
        let meaning = match guards(name) {
            true => "Authorize=authenticated",
            false => "AddRequestHeader=X-By, weir",
        };
        let line = format!("weir.filters.{name}: ['{meaning}']");
        let help = format!(
            "a filter of your own in Java does not run in weir; say what it does with weir's \
             filters: `{line}` (`weir reference` lists them), or do its work in a service behind \
             or beside the gateway"
        );
        Problem::new(Code::UnknownFilter, part, message, help).paste(line)
    }
}

/// Whether a filter of this name most likely authorizes requests.
fn guards(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = ["auth", "jwt", "token", "login", "secur", "permission", "access", "valid"];
    words.iter().any(|word| name.contains(word))
}

/// A name without surrounding blanks and the suffix `GatewayFilterFactory`.
fn bare(name: &str) -> &str {
    let name = name.trim();
    let ends = ["GatewayFilterFactory", "RoutePredicateFactory"];
    ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.join(", ")
}

/// Whether a filter depends on its route, so that no other route can share it: it takes its name or
/// its counters from the route ([`weir_filter::filter::Filter::bind`]).
pub(super) fn is_own(named: &NamedArgs) -> bool {
    match named.name.as_str() {
        "Throttle" | "RequestRateLimiter" => true,
        // Without a name it uses the route's id.
        "CircuitBreaker" => named.args.is_empty() || !named.args.iter().any(has_name),
        _ => false,
    }
}

fn has_name((key, value): (&str, &serde_json::Value)) -> bool {
    let is_first = matches!(key, "name" | "_genkey_0");
    is_first && value.as_str().is_some_and(|text| !text.trim().is_empty())
}

/// Whether a list of kebab-case names contains `name`.
pub(super) fn is_off(list: &[String], name: &str) -> bool {
    list.iter().any(|off| key::same(off, name))
}

pub(super) fn switched_off(kind: &str, name: &str, part: Part) -> Problem {
    let message = format!("the {kind} `{name}` is switched off");
    let help = format!("remove `{kind}.<name>.enabled: false`, or the use of `{name}`");
    Problem::new(Code::SwitchedOff, part, message, help)
}

/// The first argument that is a Spring expression.
pub(super) fn expression(
    named: &NamedArgs,
    declared: &[ArgSpec],
    part: impl Fn(Option<String>) -> Part,
) -> Option<Problem> {
    let is_expression = |text: &str| {
        // Most texts contain none, and need no trimming.
        if !text.as_bytes().contains(&b'#') {
            return false;
        }
        let text = text.trim();
        text.starts_with("#{") && text.ends_with('}')
    };
    // `#{@name}` is a bean name that weir knows, allowed in an argument of that kind.
    let is_bean = |name: &str| {
        declared.iter().any(|arg| arg.kind == ArgKind::Bean && key::same(arg.name, name))
    };
    let found = named
        .args
        .iter()
        .find(|(name, value)| value.as_str().is_some_and(is_expression) && !is_bean(name))?;
    let message = format!("{}: `{}` is a Spring expression", named.name, found.1.as_str()?.trim());
    let help = "weir never evaluates expressions; write the value itself";
    Some(Problem::new(Code::SpringExpression, part(Some(found.0.to_owned())), message, help))
}
