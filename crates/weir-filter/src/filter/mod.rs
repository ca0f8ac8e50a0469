//! Filters: one file each, registered in [`SPECS`].

use std::fmt;

use weir_route::{ArgError, ArgKind, ArgSpec, Args, Spec};

use crate::content::{OnContent, Side};
use crate::context::{FilterError, RequestContext, ResponseContext, Verdict};
use crate::question::Answer;
use crate::styled::Styled;

mod add_request_header;
mod add_request_headers_if_not_present;
mod add_request_parameter;
mod add_response_header;
mod api_key;
mod authorize;
mod basic_auth;
mod cache_request_body;
mod circuit_breaker;
mod compress;
mod dedupe_response_header;
mod edit_request_body;
mod edit_response_body;
mod fallback_headers;
mod fault_injection;
mod forward_auth;
mod ip_access;
mod later;
mod local_response_cache;
mod map_request_header;
mod mirror;
mod mock_fallback;
mod options;
mod prefix_path;
mod preserve_host_header;
mod redirect_to;
mod remove_json_attributes_response_body;
mod remove_request_header;
mod remove_request_parameter;
mod remove_response_header;
mod request_header_size;
mod request_header_to_request_uri;
mod request_rate_limiter;
mod request_size;
mod retry;
mod rewrite_location_response_header;
mod rewrite_path;
mod rewrite_request_parameter;
mod rewrite_response_header;
mod save_session;
mod secure_headers;
mod set_path;
mod set_request_header;
mod set_request_host_header;
mod set_request_uri;
mod set_response_header;
mod set_status;
#[cfg(test)]
mod spec_tests;
mod strip_prefix;
mod throttle;
mod token_relay;
mod validate_request;
mod validate_response;

pub use crate::same::Same;
pub use authorize::denied;
pub use circuit_breaker::CircuitBreaker;
pub use compress::Compress;
pub use later::LATER;
pub use local_response_cache::LocalResponseCache;
pub use mirror::Mirror;
pub use mock_fallback::MockFallback;
pub use options::{CacheOptions, FilterOptions, RateHeaders, RateLimiting, Setting};
pub use request_size::request_too_large;
pub use retry::Retry;
pub use validate_response::{Comparison, ValidateResponse};

/// Makes a filter from bound arguments.
pub type Build = fn(&Args, &FilterOptions) -> Result<Filter, ArgError>;

/// Makes the closed set of filters from a list of their files, sorted by name.
macro_rules! filters {
    ($($module:ident::$name:ident,)*) => {
        /// A filter. Closed: a new one does not compile until its meaning is decided. Compares and
        /// hashes by how it was written, so that equal chains can be shared. Text is that of SCG's
        /// actuator.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the registry documents each filter under the same name")]
        pub enum Filter {
            $($name($module::$name),)*
        }

        /// Every filter, sorted by name.
        pub static SPECS: &[&Spec<Build>] = &[$(&$module::SPEC,)*];

        impl Filter {
            fn behaviour(&self) -> &dyn Behaviour {
                match self {
                    $(Self::$name(filter) => filter,)*
                }
            }

            fn behaviour_mut(&mut self) -> &mut dyn Behaviour {
                match self {
                    $(Self::$name(filter) => filter,)*
                }
            }
        }
    };
}

filters! {
    add_request_header::AddRequestHeader,
    add_request_headers_if_not_present::AddRequestHeadersIfNotPresent,
    add_request_parameter::AddRequestParameter,
    add_response_header::AddResponseHeader,
    api_key::ApiKey,
    authorize::Authorize,
    basic_auth::BasicAuth,
    cache_request_body::CacheRequestBody,
    circuit_breaker::CircuitBreaker,
    compress::Compress,
    dedupe_response_header::DedupeResponseHeader,
    edit_request_body::EditRequestBody,
    edit_response_body::EditResponseBody,
    fallback_headers::FallbackHeaders,
    fault_injection::FaultInjection,
    forward_auth::ForwardAuth,
    ip_access::IpAccess,
    local_response_cache::LocalResponseCache,
    map_request_header::MapRequestHeader,
    mirror::Mirror,
    mock_fallback::MockFallback,
    prefix_path::PrefixPath,
    preserve_host_header::PreserveHostHeader,
    redirect_to::RedirectTo,
    remove_json_attributes_response_body::RemoveJsonAttributesResponseBody,
    remove_request_header::RemoveRequestHeader,
    remove_request_parameter::RemoveRequestParameter,
    remove_response_header::RemoveResponseHeader,
    request_header_size::RequestHeaderSize,
    request_header_to_request_uri::RequestHeaderToRequestUri,
    request_rate_limiter::RequestRateLimiter,
    request_size::RequestSize,
    retry::Retry,
    rewrite_location_response_header::RewriteLocationResponseHeader,
    rewrite_path::RewritePath,
    rewrite_request_parameter::RewriteRequestParameter,
    rewrite_response_header::RewriteResponseHeader,
    save_session::SaveSession,
    secure_headers::SecureHeaders,
    set_path::SetPath,
    set_request_header::SetRequestHeader,
    set_request_host_header::SetRequestHostHeader,
    set_request_uri::SetRequestUri,
    set_response_header::SetResponseHeader,
    set_status::SetStatus,
    strip_prefix::StripPrefix,
    throttle::Throttle,
    token_relay::TokenRelay,
    validate_request::ValidateRequest,
    validate_response::ValidateResponse,
}

/// The filter called `name`, exactly.
pub fn find(name: &str) -> Option<&'static Spec<Build>> {
    SPECS.iter().find(|spec| spec.name == name).copied()
}

/// What every filter can do. A part that a filter does not have does nothing.
pub(crate) trait Behaviour {
    /// Its entry in the registry.
    fn spec(&self) -> &'static Spec<Build>;

    /// The order it takes whatever its place in the list (scg.md 1.4).
    fn own_order(&self) -> Option<i32> {
        None
    }

    /// Gives it what is the own of the route called `route`.
    fn bind(&mut self, route: &str, options: &FilterOptions) {
        let _ = (route, options);
    }

    /// Tells it whether one in front of it in its chain replaces the path.
    fn place_after(&mut self, path_change: bool) {
        let _ = path_change;
    }

    /// Whether its request side replaces the path.
    fn changes_path(&self) -> bool {
        false
    }

    /// Whether it wraps the call of the upstream.
    fn is_policy(&self) -> bool {
        false
    }

    /// Whether the response has to be there as a whole.
    fn takes_response(&self) -> bool {
        false
    }

    /// Whether it lets a request pass by who it is from.
    fn asks_who(&self) -> bool {
        false
    }

    /// Whether it holds no more than a name and a text: sharing it would save next to nothing.
    fn is_small(&self) -> bool {
        false
    }

    /// Most bytes of content that it lets a request have.
    fn request_size_max(&self) -> Option<u64> {
        None
    }

    /// The request side.
    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        let _ = context;
        Ok(Verdict::Continue)
    }

    /// The request side again, with the answer to what it asked.
    fn answered(
        &self,
        context: &mut RequestContext<'_>,
        answer: Answer,
    ) -> Result<Verdict, FilterError> {
        let _ = (context, answer);
        Ok(Verdict::Continue)
    }

    /// Its response side, if it has one.
    fn on_response(&self) -> Option<&dyn OnResponse> {
        None
    }

    /// What it does with content, if it changes any.
    fn on_content(&self) -> Option<&dyn OnContent> {
        None
    }

    /// The names of the URI variables it reads.
    fn variables(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Why it cannot work although SCG starts with it.
    fn caution(&self) -> Option<String> {
        None
    }

    /// Its arguments as SCG shows them.
    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        let _ = styled;
        Ok(())
    }

    /// What it does, as the rest of a sentence: "adds …".
    fn explain(&self) -> String;
}

/// What filters do that act on responses.
pub(crate) trait OnResponse {
    /// The response side.
    fn response(&self, context: &mut ResponseContext<'_>) -> Result<(), FilterError>;
}

impl Filter {
    /// Its entry in the registry.
    pub fn spec(&self) -> &'static Spec<Build> {
        self.behaviour().spec()
    }

    /// The order it takes whatever its place in the list (scg.md 1.4).
    pub fn own_order(&self) -> Option<i32> {
        self.behaviour().own_order()
    }

    /// Whether its request side replaces the path.
    pub fn changes_path(&self) -> bool {
        self.behaviour().changes_path()
    }

    /// Tells a filter whether one in front of it in its chain replaces the path.
    pub(crate) fn place_after(&mut self, path_change: bool) {
        self.behaviour_mut().place_after(path_change);
    }

    /// Gives what is the route's own to the route called `route`.
    pub fn bind(&mut self, route: &str, options: &FilterOptions) {
        self.behaviour_mut().bind(route, options);
    }

    /// Most bytes of content that it lets a request have.
    pub fn request_size_max(&self) -> Option<u64> {
        self.behaviour().request_size_max()
    }

    /// Runs the request side.
    ///
    /// # Errors
    /// What the filter cannot do for this request; nothing may be sent upstream.
    pub fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        self.behaviour().request(context)
    }

    /// Runs the request side again, with the answer to what it asked.
    ///
    /// # Errors
    /// What the filter cannot do for this request; nothing may be sent upstream.
    pub fn answered(
        &self,
        context: &mut RequestContext<'_>,
        answer: Answer,
    ) -> Result<Verdict, FilterError> {
        self.behaviour().answered(context, answer)
    }

    /// Runs the response side.
    ///
    /// # Errors
    /// What the filter cannot do for this response.
    pub fn response(&self, context: &mut ResponseContext<'_>) -> Result<(), FilterError> {
        self.behaviour().on_response().map_or(Ok(()), |filter| filter.response(context))
    }

    /// Whether it changes content on this side.
    pub(crate) fn edits(&self, side: Side) -> bool {
        self.on_content().is_some_and(|content| content.side() == side)
    }

    /// What it does with content, if it changes any.
    pub(crate) fn on_content(&self) -> Option<&dyn OnContent> {
        self.behaviour().on_content()
    }

    /// Whether it holds no more than a name and a text: sharing it would save next to nothing.
    pub fn is_small(&self) -> bool {
        self.behaviour().is_small()
    }

    /// Whether it lets a request pass by who it is from.
    pub fn asks_who(&self) -> bool {
        self.behaviour().asks_who()
    }

    /// Whether it wraps the call of the upstream.
    pub(crate) fn is_policy(&self) -> bool {
        self.behaviour().is_policy()
    }

    /// Whether the response has to be there as a whole.
    pub(crate) fn takes_response(&self) -> bool {
        self.edits(Side::Response) || self.behaviour().takes_response()
    }

    /// Whether it has a response side.
    pub fn acts_on_response(&self) -> bool {
        self.behaviour().on_response().is_some()
    }

    /// The names of the URI variables it reads: those that no predicate of its route sets make
    /// every request fail.
    pub fn variables(&self) -> Vec<&str> {
        self.behaviour().variables()
    }

    /// Why every request through it will fail although SCG starts with it; for `weir check`.
    pub fn caution(&self) -> Option<String> {
        self.behaviour().caution()
    }

    /// What it does, for people: "adds the header `X: 1` to the request".
    pub fn explain(&self) -> String {
        self.behaviour().explain()
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let behaviour = self.behaviour();
        let mut styled = Styled::start(f, behaviour.spec().name)?;
        behaviour.style(&mut styled)?;
        styled.end()
    }
}

/// An argument that must be given.
const fn required(name: &'static str, kind: ArgKind, doc: &'static str) -> ArgSpec {
    ArgSpec { name, kind, default: None, required: true, doc }
}

/// An argument that may be left out.
const fn optional(
    name: &'static str,
    kind: ArgKind,
    default: Option<&'static str>,
    doc: &'static str,
) -> ArgSpec {
    ArgSpec { name, kind, default, required: false, doc }
}
