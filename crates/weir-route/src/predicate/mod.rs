//! Predicates: one file each, registered in [`SPECS`].

mod after;
mod before;
mod between;
mod cloud_foundry_route_service;
mod context;
mod cookie;
mod error;
mod header;
mod host;
mod key;
mod lists;
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

use crate::request::Request;
use crate::spec::Spec;
use crate::value::iso_time;
use crate::vars::Vars;

pub use after::After;
pub use before::Before;
pub use between::Between;
pub use cloud_foundry_route_service::CloudFoundryRouteService;
use context::Make;
pub use context::{ApiVersionSource, BuildContext, PredicateOptions};
pub use cookie::{Cookie, cookie_values};
pub(crate) use cookie::{cookie_octets, cookies};
pub use error::PredicateError;
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
pub(crate) use weight_groups::WeightChange;
pub use weight_groups::{Weight, WeightGroups};
pub use x_forwarded_remote_addr::{XForwardedRemoteAddr, forwarded_client};

/// Makes a predicate from bound arguments.
pub type Build = Make<Predicate>;

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

/// The entry of a file whose `build` makes what the variant `$name` holds.
macro_rules! entry {
    ($module:ident::$name:ident) => {
        &$module::SPEC
            .built_by(|args, context| ($module::SPEC.build)(args, context).map(Predicate::$name))
    };
}

/// Every predicate, sorted by name.
pub static SPECS: &[&Spec<Build>] = &[
    entry!(after::After),
    entry!(before::Before),
    entry!(between::Between),
    entry!(cloud_foundry_route_service::CloudFoundryRouteService),
    entry!(cookie::Cookie),
    entry!(header::Header),
    entry!(host::Host),
    entry!(method::Method),
    entry!(path::Path),
    entry!(query::Query),
    entry!(read_body::ReadBody),
    entry!(remote_addr::RemoteAddr),
    entry!(version::Version),
    entry!(weight::Weight),
    entry!(x_forwarded_remote_addr::XForwardedRemoteAddr),
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
