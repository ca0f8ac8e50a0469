//! Predicates: one file each, registered in [`SPECS`].

mod after;
mod before;
mod between;
mod cloud_foundry_route_service;
mod cookie;
mod header;
mod host;
mod key;
mod method;
mod named_value;
mod path;
mod query;
mod read_body;
mod remote_addr;
#[cfg(test)]
mod spec_tests;
mod version;
mod weight;
mod weight_groups;
mod x_forwarded_remote_addr;

use std::fmt;

use crate::args::{ArgError, Args};
use crate::pattern::{RegexCache, RegexError};
use crate::request::{Request, Vars};
use crate::spec::Spec;
use crate::value::iso_time;

pub use after::After;
pub use before::Before;
pub use between::Between;
pub use cloud_foundry_route_service::CloudFoundryRouteService;
pub use cookie::{Cookie, cookie_values};
pub(crate) use cookie::{cookie_octets, cookies};
pub use header::{Header, header_values};
pub(crate) use header::{header_line_texts, header_texts};
pub use host::Host;
pub use key::Key;
pub use method::Method;
pub use named_value::ValuePattern;
pub use path::Path;
pub use query::{Query, query_values};
pub(crate) use query::{query_octets, query_parameters};
pub use read_body::ReadBody;
pub use remote_addr::RemoteAddr;
pub use version::{Version, parse_version};
pub use weight::Weight;
pub(crate) use weight_groups::WeightChange;
pub use weight_groups::WeightGroups;
pub use x_forwarded_remote_addr::{XForwardedRemoteAddr, forwarded_client};

/// What predicates need to know of the configuration when they are built.
#[derive(Clone, Debug)]
pub struct PredicateOptions {
    /// `spring.webflux.base-path`, prepended to Path patterns; empty or `/x`.
    pub base_path: String,
    /// `predicate.host.include-port`: match the Host header with its port.
    pub host_include_port: bool,
    /// Trailing slashes are tolerated when `matchTrailingSlash` is set (SCG up to 4.3).
    pub trailing_slash: bool,
    /// Header values are split on commas before matching (SCG 4.1.6+, 4.2+).
    pub split_header_values: bool,
    /// Where a request states its API version (`spring.webflux.apiversion.use.*`).
    pub api_version: Option<ApiVersionSource>,
    /// Expressions compiled so far. Keep it over reloads: equal ones are shared.
    pub regexes: RegexCache,
}

impl Default for PredicateOptions {
    fn default() -> Self {
        Self {
            base_path: String::new(),
            host_include_port: true,
            trailing_slash: false,
            split_header_values: true,
            api_version: None,
            regexes: RegexCache::default(),
        }
    }
}

/// Where a request states its API version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiVersionSource {
    /// A header of this name.
    Header(String),
    /// A query parameter of this name.
    QueryParameter(String),
    /// The path segment with this index, from 0.
    PathSegment(usize),
    /// A parameter of the media type in Accept or Content-Type: (media type, parameter).
    MediaTypeParameter(String, String),
}

/// What a predicate is built in.
#[derive(Clone, Copy, Debug)]
pub struct BuildContext<'a> {
    /// The configuration's switches.
    pub options: &'a PredicateOptions,
    /// Id of the route that the predicate belongs to.
    pub route_id: &'a str,
}

impl<'a> BuildContext<'a> {
    fn regexes(&self) -> &'a RegexCache {
        &self.options.regexes
    }
}

/// Makes a predicate from bound arguments.
pub type Build = fn(&Args, &BuildContext<'_>) -> Result<Predicate, ArgError>;

/// A condition on a request. Closed: a new one does not compile until its meaning is decided.
/// The large ones are boxed: a route of a large table has a Path and little else.
#[derive(Debug)]
pub enum Predicate {
    /// See [`After`].
    After(After),
    /// See [`Before`].
    Before(Before),
    /// See [`Between`].
    Between(Box<Between>),
    /// See [`CloudFoundryRouteService`].
    CloudFoundryRouteService(CloudFoundryRouteService),
    /// See [`Cookie`].
    Cookie(Cookie),
    /// See [`Header`].
    Header(Header),
    /// See [`Host`].
    Host(Host),
    /// See [`Method`].
    Method(Method),
    /// See [`Path`].
    Path(Path),
    /// See [`Query`].
    Query(Query),
    /// See [`ReadBody`].
    ReadBody(Box<ReadBody>),
    /// See [`RemoteAddr`].
    RemoteAddr(Box<RemoteAddr>),
    /// See [`Version`].
    Version(Box<Version>),
    /// See [`Weight`].
    Weight(Box<Weight>),
    /// See [`XForwardedRemoteAddr`].
    XForwardedRemoteAddr(Box<XForwardedRemoteAddr>),
}

/// A predicate could not decide; its route is skipped and the error logged (scg.md 1.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PredicateError(pub &'static str);

impl From<RegexError> for PredicateError {
    fn from(error: RegexError) -> Self {
        Self(match error {
            RegexError::Steps => "a regular expression took too many steps",
            RegexError::Groups => "a variable's expression has capturing groups",
        })
    }
}

/// Every predicate, sorted by name.
pub static SPECS: &[&Spec<Build>] = &[
    &after::SPEC,
    &before::SPEC,
    &between::SPEC,
    &cloud_foundry_route_service::SPEC,
    &cookie::SPEC,
    &header::SPEC,
    &host::SPEC,
    &method::SPEC,
    &path::SPEC,
    &query::SPEC,
    &read_body::SPEC,
    &remote_addr::SPEC,
    &version::SPEC,
    &weight::SPEC,
    &x_forwarded_remote_addr::SPEC,
];

/// The predicate called `name`, exactly.
pub fn find(name: &str) -> Option<&'static Spec<Build>> {
    SPECS.iter().find(|spec| spec.name == name).copied()
}

impl Predicate {
    /// Whether `request` satisfies this predicate.
    ///
    /// # Errors
    /// See [`PredicateError`].
    pub fn matches(
        &self,
        request: &Request<'_>,
        groups: &WeightGroups,
    ) -> Result<bool, PredicateError> {
        match self {
            Self::After(after) => Ok(after.matches(request)),
            Self::Before(before) => Ok(before.matches(request)),
            Self::Between(between) => Ok(between.matches(request)),
            Self::CloudFoundryRouteService(service) => Ok(service.matches(request)),
            Self::Cookie(cookie) => cookie.matches(request),
            Self::Header(header) => header.matches(request),
            Self::Host(host) => host.matches(request),
            Self::Method(method) => Ok(method.matches(request)),
            Self::Path(path) => path.matches(request),
            Self::Query(query) => query.matches(request),
            Self::ReadBody(body) => body.matches(request),
            Self::RemoteAddr(remote) => Ok(remote.matches(request)),
            Self::Version(version) => version.matches(request),
            Self::Weight(weight) => Ok(weight.matches(request, groups)),
            Self::XForwardedRemoteAddr(remote) => Ok(remote.matches(request)),
        }
    }

    /// Publishes the URI variables of a request that this predicate matched.
    pub fn publish(&self, request: &Request<'_>, vars: &mut Vars) {
        match self {
            Self::Host(host) => host.publish(request, vars),
            Self::Path(path) => path.publish(request, vars),
            Self::After(_)
            | Self::Before(_)
            | Self::Between(_)
            | Self::CloudFoundryRouteService(_)
            | Self::Cookie(_)
            | Self::Header(_)
            | Self::Method(_)
            | Self::Query(_)
            | Self::ReadBody(_)
            | Self::RemoteAddr(_)
            | Self::Version(_)
            | Self::Weight(_)
            | Self::XForwardedRemoteAddr(_) => {}
        }
    }

    /// One sentence: whether this predicate holds for `request`, and what the request showed.
    pub fn explain(&self, request: &Request<'_>, groups: &WeightGroups) -> String {
        let subject = match self {
            Self::After(_) | Self::Before(_) | Self::Between(_) => {
                format!("it is {}", iso_time(request.now_ms))
            }
            Self::CloudFoundryRouteService(service) => service.subject(request),
            Self::Cookie(cookie) => cookie.subject(request),
            Self::Header(header) => header.subject(request),
            Self::Host(host) => host.subject(request),
            Self::Method(method) => method.subject(request),
            Self::Path(path) => path.subject(request),
            Self::Query(query) => query.subject(request),
            Self::ReadBody(body) => body.subject(request),
            Self::RemoteAddr(remote) => remote.subject(request),
            Self::Version(version) => version.subject(request),
            Self::Weight(weight) => weight.subject(request, groups),
            Self::XForwardedRemoteAddr(remote) => remote.subject(request),
        };
        match self.matches(request, groups) {
            Ok(true) => format!("`{self}` holds: {subject}"),
            Ok(false) => format!("`{self}` does not hold: {subject}"),
            Err(error) => format!("`{self}` cannot decide: {}; {subject}", error.0),
        }
    }

    /// Something accepted, as SCG accepts it, that cannot be meant; for `weir check`.
    pub fn caution(&self) -> Option<String> {
        match self {
            Self::Host(host) if host.patterns().is_empty() => {
                Some("never matches: there is no pattern".to_owned())
            }
            Self::Method(method) => method.caution(),
            Self::Path(path) => path.caution(),
            Self::Version(version) => version.caution(),
            Self::Host(_)
            | Self::After(_)
            | Self::Before(_)
            | Self::Between(_)
            | Self::CloudFoundryRouteService(_)
            | Self::Cookie(_)
            | Self::Header(_)
            | Self::Query(_)
            | Self::ReadBody(_)
            | Self::RemoteAddr(_)
            | Self::Weight(_)
            | Self::XForwardedRemoteAddr(_) => None,
        }
    }

    /// About how much memory lies behind this predicate, in bytes: what it keeps of texts is taken
    /// to be as long as SCG's actuator shows it.
    pub fn heap_bytes(&self) -> usize {
        let own = match self {
            Self::Path(path) => return path.heap_bytes(),
            Self::After(_) | Self::Before(_) | Self::CloudFoundryRouteService(_) => return 0,
            Self::Cookie(_) | Self::Header(_) | Self::Host(_) => 0,
            Self::Method(_) | Self::Query(_) => 0,
            Self::Between(between) => size_of_val(&**between),
            Self::ReadBody(body) => size_of_val(&**body),
            Self::RemoteAddr(remote) => size_of_val(&**remote),
            Self::Version(version) => size_of_val(&**version),
            Self::Weight(weight) => size_of_val(&**weight),
            Self::XForwardedRemoteAddr(remote) => size_of_val(&**remote),
        };
        own + self.to_string().len()
    }

    /// Whether what it says depends on the body of a request.
    pub fn reads_body(&self) -> bool {
        matches!(self, Self::ReadBody(_))
    }

    /// This predicate if it is a weight.
    pub fn weight(&self) -> Option<&Weight> {
        if let Self::Weight(weight) = self { Some(weight) } else { None }
    }
}

impl fmt::Display for Predicate {
    /// As SCG's actuator shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::After(after) => after.fmt(f),
            Self::Before(before) => before.fmt(f),
            Self::Between(between) => between.fmt(f),
            Self::CloudFoundryRouteService(service) => service.fmt(f),
            Self::Cookie(cookie) => cookie.fmt(f),
            Self::Header(header) => header.fmt(f),
            Self::Host(host) => host.fmt(f),
            Self::Method(method) => method.fmt(f),
            Self::Path(path) => path.fmt(f),
            Self::Query(query) => query.fmt(f),
            Self::ReadBody(body) => body.fmt(f),
            Self::RemoteAddr(remote) => remote.fmt(f),
            Self::Version(version) => version.fmt(f),
            Self::Weight(weight) => weight.fmt(f),
            Self::XForwardedRemoteAddr(remote) => remote.fmt(f),
        }
    }
}

/// All predicates of a route as SCG's actuator shows them: `((A && B) && C)`.
pub fn joined<'p>(predicates: impl IntoIterator<Item = &'p Predicate>) -> String {
    let mut texts = predicates.into_iter().map(Predicate::to_string);
    let first = texts.next().unwrap_or_default();
    texts.fold(first, |left, right| format!("({left} && {right})"))
}

/// `[a, b]`.
fn bracketed(list: &[impl fmt::Display]) -> String {
    let texts: Vec<_> = list.iter().map(ToString::to_string).collect();
    format!("[{}]", texts.join(", "))
}

/// `` `a`, `b` ``, or `absent`; safe to print.
fn quoted_list<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let texts: Vec<_> = values.map(|value| format!("`{}`", value.escape_debug())).collect();
    if texts.is_empty() { "absent".to_owned() } else { texts.join(", ") }
}
