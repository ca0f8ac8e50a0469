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
mod json_to_grpc;
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
pub use json_to_grpc::JSON_TO_GRPC;
pub use later::LATER;
pub use local_response_cache::LocalResponseCache;
pub use mirror::Mirror;
pub use mock_fallback::MockFallback;
pub use options::{CacheOptions, FilterOptions, RateHeaders, RateLimiting, Setting};
pub use request_size::request_too_large;
pub use retry::Retry;
pub use validate_response::{Comparison, ValidateResponse};

/// Builds a filter from bound arguments.
pub type Build = fn(&Args, &FilterOptions) -> Result<Filter, ArgError>;

/// Defines the closed set of filters from a list of their files, sorted by name.
macro_rules! filters {
    ($($module:ident::$name:ident,)*) => {
        /// A filter. A closed enum: a new filter does not compile until its behaviour is defined.
        /// Equality and hash follow the text as written, so that equal chains can be shared.
        /// `Display` prints as SCG's actuator.
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
    json_to_grpc::JsonToGrpc,
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

/// The filter with exactly this name.
pub fn find(name: &str) -> Option<&'static Spec<Build>> {
    SPECS.iter().find(|spec| spec.name == name).copied()
}

/// Behaviour of a filter. The defaults do nothing.
pub(crate) trait Behaviour {
    /// Its entry in the registry.
    fn spec(&self) -> &'static Spec<Build>;

    /// Fixed order, which overrides its place in the list (scg.md 1.4).
    fn own_order(&self) -> Option<i32> {
        None
    }

    /// Binds the filter to the state of the route with the id `route`, whose chain has `nth` others
    /// of its name before it.
    fn bind(&mut self, route: &str, nth: usize, options: &FilterOptions) {
        let _ = (route, nth, options);
    }

    /// Tells the filter whether an earlier filter of its chain replaces the path.
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

    /// Whether it needs the whole response body.
    fn takes_response(&self) -> bool {
        false
    }

    /// Whether it authorizes requests by their principal.
    fn asks_who(&self) -> bool {
        false
    }

    /// Whether it tells who a request is from: later filters see the principal.
    fn tells_who(&self) -> bool {
        false
    }

    /// Whether it counts requests by their principal.
    fn counts_by_who(&self) -> bool {
        false
    }

    /// Whether it stores no more than a name and a text, so that sharing it would save almost
    /// nothing.
    fn is_small(&self) -> bool {
        false
    }

    /// Maximum request content in bytes, if it limits that.
    fn request_size_max(&self) -> Option<u64> {
        None
    }

    /// Runs the request side.
    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        let _ = context;
        Ok(Verdict::Continue)
    }

    /// Runs the request side again, with the answer to its question.
    fn answered(
        &self,
        context: &mut RequestContext<'_>,
        answer: Answer,
    ) -> Result<Verdict, FilterError> {
        let _ = (context, answer);
        Ok(Verdict::Continue)
    }

    /// The response side, if it has one.
    fn on_response(&self) -> Option<&dyn OnResponse> {
        None
    }

    /// The content editor, if it has one.
    fn on_content(&self) -> Option<&dyn OnContent> {
        None
    }

    /// Names of the URI variables that it reads.
    fn variables(&self) -> Vec<&str> {
        Vec::new()
    }

    /// What happens if no predicate of the route sets one of these variables.
    fn without_variable(&self) -> String {
        "every request fails with 500".to_owned()
    }

    /// Reason for which it cannot work, although SCG starts with it.
    fn caution(&self) -> Option<String> {
        None
    }

    /// Prints its arguments as SCG does.
    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        let _ = styled;
        Ok(())
    }

    /// Description as the rest of a sentence: "adds …".
    fn explain(&self) -> String;
}

/// Behaviour of filters with a response side.
pub(crate) trait OnResponse {
    /// The response side.
    fn response(&self, context: &mut ResponseContext<'_>) -> Result<(), FilterError>;
}

impl Filter {
    /// Its entry in the registry.
    pub fn spec(&self) -> &'static Spec<Build> {
        self.behaviour().spec()
    }

    /// Fixed order, which overrides its place in the list (scg.md 1.4).
    pub fn own_order(&self) -> Option<i32> {
        self.behaviour().own_order()
    }

    /// Whether its request side replaces the path.
    pub fn changes_path(&self) -> bool {
        self.behaviour().changes_path()
    }

    /// Tells the filter whether an earlier filter of its chain replaces the path.
    pub(crate) fn place_after(&mut self, path_change: bool) {
        self.behaviour_mut().place_after(path_change);
    }

    /// Binds the filter to the state of the route with the id `route`, whose chain has `nth` others
    /// of its name before it.
    pub fn bind(&mut self, route: &str, nth: usize, options: &FilterOptions) {
        self.behaviour_mut().bind(route, nth, options);
    }

    /// Maximum request content in bytes, if it limits that.
    pub fn request_size_max(&self) -> Option<u64> {
        self.behaviour().request_size_max()
    }

    /// Runs the request side.
    ///
    /// # Errors
    /// The filter fails for this request; nothing may be sent upstream.
    pub fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        self.behaviour().request(context)
    }

    /// Runs the request side again, with the answer to its question.
    ///
    /// # Errors
    /// The filter fails for this request; nothing may be sent upstream.
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
    /// The filter fails for this response.
    pub fn response(&self, context: &mut ResponseContext<'_>) -> Result<(), FilterError> {
        self.behaviour().on_response().map_or(Ok(()), |filter| filter.response(context))
    }

    /// Whether it edits content on this side.
    pub(crate) fn edits(&self, side: Side) -> bool {
        self.on_content().is_some_and(|content| content.side() == side)
    }

    /// The content editor, if it has one.
    pub(crate) fn on_content(&self) -> Option<&dyn OnContent> {
        self.behaviour().on_content()
    }

    /// Whether it stores no more than a name and a text, so that sharing it would save almost
    /// nothing.
    pub fn is_small(&self) -> bool {
        self.behaviour().is_small()
    }

    /// Whether it authorizes requests by their principal.
    pub fn asks_who(&self) -> bool {
        self.behaviour().asks_who()
    }

    /// Whether it tells who a request is from: later filters see the principal.
    pub fn tells_who(&self) -> bool {
        self.behaviour().tells_who()
    }

    /// Whether it counts requests by their principal.
    pub fn counts_by_who(&self) -> bool {
        self.behaviour().counts_by_who()
    }

    /// Whether it wraps the call of the upstream.
    pub(crate) fn is_policy(&self) -> bool {
        self.behaviour().is_policy()
    }

    /// Whether it needs the whole response body.
    pub(crate) fn takes_response(&self) -> bool {
        self.edits(Side::Response) || self.behaviour().takes_response()
    }

    /// Whether it has a response side.
    pub fn acts_on_response(&self) -> bool {
        self.behaviour().on_response().is_some()
    }

    /// Names of the URI variables that it reads.
    pub fn variables(&self) -> Vec<&str> {
        self.behaviour().variables()
    }

    /// What happens if no predicate of the route sets one of its variables; for `weir check`.
    pub fn without_variable(&self) -> String {
        self.behaviour().without_variable()
    }

    /// Reason for which every request through it will fail, although SCG starts with it; for `weir
    /// check`.
    pub fn caution(&self) -> Option<String> {
        self.behaviour().caution()
    }

    /// Description for people: "adds the header `X: 1` to the request".
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

/// A required argument.
const fn required(name: &'static str, kind: ArgKind, doc: &'static str) -> ArgSpec {
    ArgSpec { name, kind, default: None, required: true, doc }
}

/// An optional argument.
const fn optional(
    name: &'static str,
    kind: ArgKind,
    default: Option<&'static str>,
    doc: &'static str,
) -> ArgSpec {
    ArgSpec { name, kind, default, required: false, doc }
}
