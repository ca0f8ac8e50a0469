//! Parts of the configuration that predicates need.

use crate::args::{ArgError, Args};
use crate::pattern::RegexCache;

/// Parts of the configuration that predicates need when they are built.
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
    /// Part of a request with its API version (`spring.webflux.apiversion.use.*`).
    pub api_version: Option<ApiVersionSource>,
    /// Cache of compiled expressions. Keep it over reloads, so that equal ones are shared.
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

/// Part of a request with its API version.
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

/// Input of building a predicate.
#[derive(Clone, Copy, Debug)]
pub struct BuildContext<'a> {
    /// Options of the configuration.
    pub options: &'a PredicateOptions,
    /// Id of the route that the predicate belongs to.
    pub route_id: &'a str,
}

impl<'a> BuildContext<'a> {
    pub(super) fn regexes(&self) -> &'a RegexCache {
        &self.options.regexes
    }
}

/// Builds a `P` from bound arguments.
pub(super) type Make<P> = fn(&Args, &BuildContext<'_>) -> Result<P, ArgError>;
