//! Cross-origin resource sharing (Fetch standard; SCG: `globalcors` and `metadata.cors`).
//!
//! The gateway answers preflights itself and puts its headers on other answers. Which rules apply
//! is a question of the path alone, not of the route that serves it: the configuration of a route
//! holds for its first path pattern, or for all paths if it has none, and comes before the global
//! ones (SCG class `CorsGatewayFilterApplicationListener`). The table of patterns is a route index:
//! it costs the same however many routes have rules, and nothing if none has.

mod origin;
mod rule;

use std::sync::Arc;

use serde_json::Value;
use weir_route::index::{Change, Index, POSITION_MAX, Scratch};
use weir_route::predicate::{self, BuildContext, PredicateOptions};
use weir_route::{ArgError, Arguments, Predicates, Request, Route, RouteGroup};

use crate::local_response::LocalResponse;
use origin::is_same_origin;
pub use rule::{CorsConfiguration, CorsField, CorsRule};

/// Which origins may do what, by path pattern.
#[derive(Debug, Default)]
pub struct CorsPolicy {
    index: Index<Arc<CorsRule>>,
    /// `globalcors.add-to-simple-url-handler-mapping`.
    without_route: bool,
}

/// The rules that a route brings (`metadata.cors`).
#[derive(Clone, Debug)]
pub struct CorsRoute<'a> {
    /// Order of the route.
    pub order: i32,
    /// Position of the route: known by it later.
    pub position: u64,
    /// Where its group stands, if it has one: without predicates, as these rules ask for none.
    pub group: Option<Arc<RouteGroup>>,
    /// The first pattern of its first Path predicate; `None` is `/**`.
    pub pattern: Option<&'a str>,
    /// Its rules.
    pub rule: Arc<CorsRule>,
}

/// One change of a policy.
#[derive(Clone, Debug)]
pub enum CorsChange<'a> {
    /// Adds the rules of a route, or replaces those of the route at its position.
    Put(CorsRoute<'a>),
    /// Forgets the rules of the route at this position, if it had any.
    Remove(u64),
}

/// What the policy says of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CorsDecision {
    /// Nothing.
    NotCors,
    /// The gateway answers: a preflight, or a refusal. No filter runs.
    Respond(Box<LocalResponse>),
    /// The request goes on. These headers belong on whatever is answered, in front of the
    /// upstream's and before the response filters run (DedupeResponseHeader relies on it).
    Proceed(Vec<CorsField>),
}

impl CorsPolicy {
    /// A policy of global rules by pattern, in the order written, and of the rules of routes.
    ///
    /// # Errors
    /// Every pattern that is none.
    pub fn build<'a>(
        global: &'a [(String, Arc<CorsRule>)],
        routes: impl IntoIterator<Item = CorsRoute<'a>>,
        without_route: bool,
        options: &PredicateOptions,
    ) -> Result<Self, Vec<ArgError>> {
        let mut built = Vec::new();
        let mut problems = Vec::new();
        // Behind every route, whatever its order: the last positions there are.
        let positions = (0..=POSITION_MAX).rev();
        let global = positions.zip(global.iter().rev()).map(|(position, (pattern, rule))| {
            let (pattern, rule) = (Some(pattern.as_str()), Arc::clone(rule));
            CorsRoute { order: i32::MAX, position, group: None, pattern, rule }
        });
        for route in routes.into_iter().chain(global) {
            match compile(&route, options) {
                Ok(route) => built.push(route),
                Err(problem) => problems.push(problem),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self { index: Index::build(built), without_route })
    }

    /// The policy with `changes` applied in order; what did not change is shared.
    ///
    /// # Errors
    /// The first pattern that is none.
    pub fn apply(
        &self,
        changes: &[CorsChange<'_>],
        options: &PredicateOptions,
    ) -> Result<Self, ArgError> {
        let change = |change: &CorsChange<'_>| {
            Ok(match change {
                CorsChange::Put(route) => Change::Put(compile(route, options)?),
                CorsChange::Remove(position) => Change::Remove(*position),
            })
        };
        let changes = changes.iter().map(change).collect::<Result<Vec<_>, ArgError>>()?;
        Ok(Self { index: self.index.apply(changes), without_route: self.without_route })
    }

    /// Whether there are no rules at all.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Decides about a request as received, once it is known whether a route was `matched`. `https`
    /// tells whether the client's connection is encrypted.
    pub fn decide(
        &self,
        request: &Request<'_>,
        https: bool,
        matched: bool,
        scratch: &mut Scratch,
    ) -> CorsDecision {
        let head = request.head;
        let preflight = is_preflight(request);
        if self.index.is_empty() || !(matched || self.without_route) {
            return unruled(preflight);
        }
        let Some(route) = self.index.lookup(request, scratch) else { return unruled(preflight) };
        let origin = head.fields.get(b"origin");
        let Some(origin) = origin.filter(|origin| !is_same_origin(origin, https, head.host()))
        else {
            return CorsDecision::Proceed(vary());
        };
        let decided = if preflight {
            route.target.preflight(head, origin)
        } else {
            route.target.simple(head, origin)
        };
        let mut fields = vary();
        match decided {
            None => CorsDecision::Respond(answer(403, fields)),
            Some(allowed) => {
                fields.extend(allowed);
                match preflight {
                    true => CorsDecision::Respond(answer(200, fields)),
                    false => CorsDecision::Proceed(fields),
                }
            }
        }
    }
}

/// A preflight is never proxied: without rules for its path it gets an empty answer, by which the
/// browser refuses (Spring Framework 7).
fn unruled(preflight: bool) -> CorsDecision {
    if preflight { CorsDecision::Respond(answer(200, Vec::new())) } else { CorsDecision::NotCors }
}

fn is_preflight(request: &Request<'_>) -> bool {
    let head = request.head;
    head.method() == b"OPTIONS"
        && head.fields.contains(b"origin")
        && head.fields.contains(b"access-control-request-method")
}

fn vary() -> Vec<CorsField> {
    let names = ["Origin", "Access-Control-Request-Method", "Access-Control-Request-Headers"];
    names.map(|name| ("Vary".into(), name.as_bytes().to_vec())).to_vec()
}

fn answer(status: u16, fields: Vec<CorsField>) -> Box<LocalResponse> {
    let fields = fields.into_iter().map(|(name, value)| (name.into_owned(), value)).collect();
    Box::new(LocalResponse { status, fields, body: Vec::new() })
}

/// The pattern of `route` as a route of its own.
fn compile(
    route: &CorsRoute<'_>,
    options: &PredicateOptions,
) -> Result<Arc<Route<Arc<CorsRule>>>, ArgError> {
    let pattern = route.pattern.unwrap_or("/**");
    let missing = || ArgError::new("patterns", "there are no path patterns");
    let spec = predicate::find("Path").ok_or_else(missing)?;
    let written = Arguments::from_iter([("patterns", Value::from(pattern))]);
    let context = BuildContext { options, route_id: "cors" };
    let path = (spec.build)(&spec.bind(&written)?, &context)?;
    Ok(Arc::new(Route {
        id: pattern.into(),
        order: route.order,
        position: route.position,
        predicates: Predicates::from_iter([path]),
        group: route.group.clone(),
        target: Arc::clone(&route.rule),
    }))
}

#[cfg(test)]
mod tests;
