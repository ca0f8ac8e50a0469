//! CORS rules of the configuration: `globalcors` and `metadata.cors`.

use std::sync::Arc;

use serde_json::Value;
use weir_filter::cors::{CorsConfiguration, CorsPolicy, CorsRule};
use weir_route::RouteDefinition;
use weir_route::predicate::PredicateOptions;

use crate::compile::{Part, Problem};
use crate::diagnostic::{Code, Diagnostic};
use crate::routes::names;
use crate::spring::{self, Layers, Node, key};
use crate::value;

/// Names of a rule's fields, as Spring spells them.
const FIELDS: &[&str] = &[
    "allowedOrigins",
    "allowedOriginPatterns",
    "allowedMethods",
    "allowedHeaders",
    "exposedHeaders",
    "allowCredentials",
    "maxAge",
];

const GRANTS_NOTHING: &str = "`*` with credentials grants nothing: browsers refuse such answers, \
                              and a request with an Origin is answered 403";
const LIST_ORIGINS: &str = "list the origins, or write `allowedOriginPatterns: \"*\"`";

/// CORS rules that apply to every route.
#[derive(Clone, Debug, Default)]
pub(crate) struct GlobalCors {
    /// Path patterns with their rules, in the order written.
    pub rules: Vec<(String, Arc<CorsRule>)>,
    /// `add-to-simple-url-handler-mapping`: preflights for paths without a route are answered, too.
    pub without_route: bool,
}

/// A problem of a field, and its remedy.
struct Wrong {
    field: String,
    message: String,
    help: String,
}

/// Reads `globalcors`.
pub(crate) fn global(
    layers: &Layers<'_>,
    options: &PredicateOptions,
    problems: &mut Vec<Diagnostic>,
) -> GlobalCors {
    let flag = |name: &str| {
        let text = layers.first_of(&names(name)).and_then(Node::text)?;
        value::bool(&layers.resolve(&text).0)
    };
    if flag("globalcors.enabled") == Some(false) {
        return GlobalCors::default();
    }
    let without_route = flag("globalcors.add-to-simple-url-handler-mapping") == Some(true);
    let mut rules: Vec<(String, Arc<CorsRule>)> = Vec::new();
    for node in layers.all_of(&names("globalcors.cors-configurations")) {
        for pattern in node.children() {
            if rules.iter().any(|(known, _)| known == pattern.key()) {
                continue;
            }
            let Some(rule) = rule(layers, pattern, problems) else { continue };
            let rule = (pattern.key().to_owned(), Arc::new(rule));
            match CorsPolicy::build(std::slice::from_ref(&rule), [], false, options) {
                Ok(_) => rules.push(rule),
                Err(errors) => problems.extend(errors.into_iter().map(|error| {
                    let help = "write a path pattern such as `/api/**`";
                    Diagnostic::new(Code::InvalidCors, error.message)
                        .at(pattern.key_span())
                        .help(error.help.unwrap_or_else(|| help.to_owned()))
                })),
            }
        }
    }
    GlobalCors { rules, without_route }
}

fn rule(
    layers: &Layers<'_>,
    pattern: Node<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Option<CorsRule> {
    let mut configuration = CorsConfiguration::default();
    let mut wrong = Vec::new();
    for field in pattern.children() {
        let texts = spring::texts(layers, field);
        wrong.extend(set(&mut configuration, field.key(), texts).err());
    }
    if configuration.grants_nothing() {
        let at = spring::child(pattern, "allowedOrigins").unwrap_or(pattern).key_span();
        problems.push(
            Diagnostic::new(Code::CorsGrantsNothing, GRANTS_NOTHING).at(at).help(LIST_ORIGINS),
        );
    }
    let rule = match configuration.compile() {
        Ok(rule) => Some(rule),
        Err(error) => {
            let help = error.help.unwrap_or_else(|| format!("change `{}`", error.arg));
            wrong.push(Wrong { field: error.arg, message: error.message, help });
            None
        }
    };
    for Wrong { field, message, help } in wrong {
        let at = spring::child(pattern, &field).unwrap_or(pattern).key_span();
        let message = format!("{field}: {message}");
        problems.push(Diagnostic::new(Code::InvalidCors, message).at(at).help(help));
    }
    rule
}

/// The rule of a route, if it has one.
///
/// # Errors
/// All its problems.
pub(crate) fn of_route(definition: &RouteDefinition) -> Result<Option<CorsRule>, Vec<Problem>> {
    let Some(written) = definition.metadata.get("cors") else { return Ok(None) };
    let problem = |message: String, help: String| {
        Problem::new(Code::InvalidCors, Part::Metadata("cors".to_owned()), message, help)
    };
    let Some(fields) = written.as_object() else {
        let help = format!("write a map with {}", FIELDS.join(", "));
        return Err(vec![problem("`cors` is not a map".to_owned(), help)]);
    };
    let mut configuration = CorsConfiguration::default();
    let mut problems = Vec::new();
    for (name, value) in fields {
        if let Err(wrong) = set(&mut configuration, name, texts(value)) {
            problems.push(problem(format!("{}: {}", wrong.field, wrong.message), wrong.help));
        }
    }
    match configuration.compile() {
        Ok(rule) if problems.is_empty() => Ok(Some(rule)),
        Ok(_) => Err(problems),
        Err(error) => {
            let help = error.help.unwrap_or_else(|| format!("change `{}`", error.arg));
            problems.push(problem(format!("{}: {}", error.arg, error.message), help));
            Err(problems)
        }
    }
}

/// The remark on a valid CORS rule of a route, if there is one.
pub(crate) fn remark_of_route(definition: &RouteDefinition) -> Option<Problem> {
    let fields = definition.metadata.get("cors")?.as_object()?;
    let mut configuration = CorsConfiguration::default();
    for (name, value) in fields {
        set(&mut configuration, name, texts(value)).ok()?;
    }
    let part = Part::Metadata("cors".to_owned());
    let said = Problem::new(Code::CorsGrantsNothing, part, GRANTS_NOTHING, LIST_ORIGINS);
    configuration.grants_nothing().then_some(said)
}

/// The texts of a list, of a map with numbered keys (Spring's form of a list), or a single text.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(list) => list.iter().flat_map(texts).collect(),
        Value::Object(map) => map.values().flat_map(texts).collect(),
        Value::String(text) => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            parts.map(str::to_owned).collect()
        }
        Value::Null => Vec::new(),
        other => vec![other.to_string()],
    }
}

fn set(configuration: &mut CorsConfiguration, name: &str, texts: Vec<String>) -> Result<(), Wrong> {
    let known = FIELDS.iter().find(|field| key::same(field, name)).copied().unwrap_or_default();
    let wrong = |message: String, help: &str| Wrong {
        field: name.to_owned(),
        message,
        help: help.to_owned(),
    };
    match known {
        "allowedOrigins" => configuration.allowed_origins = texts,
        "allowedOriginPatterns" => configuration.allowed_origin_patterns = texts,
        "allowedMethods" => configuration.allowed_methods = texts,
        "allowedHeaders" => configuration.allowed_headers = texts,
        "exposedHeaders" => configuration.exposed_headers = texts,
        "allowCredentials" => {
            let text = texts.join(",");
            configuration.allow_credentials = match text.as_str() {
                "" => false,
                text => value::bool(text).ok_or_else(|| {
                    wrong(format!("`{text}` is neither true nor false"), "write `true` or `false`")
                })?,
            };
        }
        "maxAge" => {
            let text = texts.join(",");
            configuration.max_age_s = match text.parse::<u64>() {
                _ if text.is_empty() => None,
                Ok(seconds) => Some(seconds),
                Err(_) => Some(
                    value::duration(&text)
                        .ok_or_else(|| {
                            wrong(
                                format!("`{text}` is not a number of seconds"),
                                "write seconds: `3600`",
                            )
                        })?
                        .as_secs(),
                ),
            };
        }
        _ => {
            let help = match value::nearest(name, FIELDS.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("a rule has {}", FIELDS.join(", ")),
            };
            return Err(wrong("no such field".to_owned(), &help));
        }
    }
    Ok(())
}
