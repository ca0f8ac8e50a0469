//! Predicates: one file each, registered in [`SPECS`].

use crate::args::{ArgError, Args};
use crate::request::{Request, Vars};
use crate::spec::Spec;

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
}

impl Default for PredicateOptions {
    fn default() -> Self {
        Self {
            base_path: String::new(),
            host_include_port: true,
            trailing_slash: false,
            split_header_values: true,
            api_version: None,
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

/// Makes a predicate from bound arguments.
pub type Build = fn(&Args, &PredicateOptions) -> Result<Predicate, ArgError>;

/// A condition on a request. Closed: a new one does not compile until its meaning is decided.
#[derive(Debug)]
pub enum Predicate {}

/// The weight groups of a table: which routes share traffic, in definition order.
#[derive(Clone, Debug, Default)]
pub struct WeightGroups {}

/// A predicate could not decide; its route is skipped and the error logged (scg.md 1.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PredicateError(pub &'static str);

/// Every predicate, sorted by name.
pub static SPECS: &[&Spec<Build>] = &[];

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
        let _ = (request, groups);
        match *self {}
    }

    /// Publishes the URI variables of a request that this predicate matched.
    pub fn publish(&self, request: &Request<'_>, vars: &mut Vars) {
        let _ = (request, vars);
        match *self {}
    }
}
