//! Cross-origin resource sharing (Fetch standard; SCG: `globalcors` and `metadata.cors`).
//!
//! The gateway answers preflights itself and adds its headers to other responses. The rules depend
//! on the path alone, not on the route that serves it: the CORS configuration of a route applies to
//! its first path pattern, or to all paths if it has none, and precedes the global one (SCG class
//! `CorsGatewayFilterApplicationListener`). The table of patterns is a route index: a lookup costs
//! the same however many routes have rules, and nothing if none has.

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

/// CORS rules by path pattern.
#[derive(Debug, Default)]
pub struct CorsPolicy {
    index: Index<Arc<CorsRule>>,
    /// `globalcors.add-to-simple-url-handler-mapping`.
    without_route: bool,
}

/// The CORS rules of a route (`metadata.cors`).
#[derive(Clone, Debug)]
pub struct CorsRoute<'a> {
    /// Order of the route.
    pub order: i32,
    /// Position of the route, which identifies it in later changes.
    pub position: u64,
    /// Group of the route, if it has one; without predicates, which CORS rules ignore.
    pub group: Option<Arc<RouteGroup>>,
    /// The first pattern of its first Path predicate; `None` is `/**`.
    pub pattern: Option<&'a str>,
    /// Its rules.
    pub rule: Arc<CorsRule>,
}

/// A change of a policy.
#[derive(Clone, Debug)]
pub enum CorsChange<'a> {
    /// Adds the rules of a route, replacing those at its position.
    Put(CorsRoute<'a>),
    /// Removes the rules of the route at this position, if any.
    Remove(u64),
}

/// Decision about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CorsDecision {
    /// No CORS request, or no rules.
    NotCors,
    /// Respond with a preflight answer or a refusal. No filter runs.
    Respond(Box<LocalResponse>),
    /// Continue. These headers are added to any response, before the upstream's and before the
    /// response filters run (DedupeResponseHeader relies on it).
    Proceed(Vec<CorsField>),
}

impl CorsPolicy {
    /// Builds a policy from global rules by pattern, in the order written, and from the rules of
    /// routes.
    ///
    /// # Errors
    /// All invalid patterns.
    pub fn build<'a>(
        global: &'a [(String, Arc<CorsRule>)],
        routes: impl IntoIterator<Item = CorsRoute<'a>>,
        without_route: bool,
        options: &PredicateOptions,
    ) -> Result<Self, Vec<ArgError>> {
        let mut built = Vec::new();
        let mut problems = Vec::new();
        // Global rules come after every route, whatever its order: they take the last positions.
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

    /// The policy with `changes` applied in order; unchanged parts are shared.
    ///
    /// # Errors
    /// The first invalid pattern.
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

    /// Decides about a request as received, after routing: `matched` tells whether a route matched,
    /// `https` whether the client's connection is encrypted.
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

/// A preflight is never forwarded: if no rule applies to its path it gets an empty answer, which
/// makes the browser refuse (Spring Framework 7).
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

/// Compiles the pattern of `route` as a route of its own.
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
