//! Predicates: one file each, registered in [`SPECS`].

mod after;
mod before;
mod between;
mod cloud_foundry_route_service;
mod condition;
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
use crate::vars::Vars;

pub use after::After;
pub use before::Before;
pub use between::Between;
pub use cloud_foundry_route_service::CloudFoundryRouteService;
use condition::Condition;
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

/// Builds a predicate from bound arguments.
pub type Build = Make<Predicate>;

/// Type that the enum stores for a predicate.
macro_rules! held {
    ($held:ty) => { $held };
    ($held:ty, $box:ident) => { $box<$held> };
}

/// Bytes of the box that the enum stores.
macro_rules! box_bytes {
    ($held:ty) => {
        0
    };
    ($held:ty, $box:ident) => {
        size_of::<$held>()
    };
}

/// Defines the closed set of predicates from a list of their files, sorted by name. Large ones are
/// boxed: most routes of a large table have a Path and little else.
macro_rules! predicates {
    ($($module:ident::$name:ident $(in $box:ident)?,)*) => {
        /// A condition on a request. A closed enum: a new predicate does not compile until its
        /// behaviour is defined.
        #[derive(Debug)]
        #[expect(missing_docs, reason = "the registry documents each under the same name")]
        pub enum Predicate {
            $($name(held!($module::$name $(, $box)?)),)*
        }

        /// Every predicate, sorted by name.
        pub static SPECS: &[&Spec<Build>] = &[$(
            &$module::SPEC.built_by(|args, context| {
                ($module::SPEC.build)(args, context).map(Predicate::$name)
            }),
        )*];

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
                    $(Self::$name(one) => one.matches(request, groups),)*
                }
            }

            /// Publishes the URI variables of a request that this predicate matched.
            pub fn publish(&self, request: &Request<'_>, vars: &mut Vars) {
                match self {
                    $(Self::$name(one) => one.publish(request, vars),)*
                }
            }

            /// Whether the result depends on the body of a request.
            pub fn reads_body(&self) -> bool {
                match self {
                    $(Self::$name(one) => one.reads_body(),)*
                }
            }

            /// The trait object, for methods that are not performance-critical.
            fn condition(&self) -> &dyn Condition {
                match self {
                    $(Self::$name(one) => {
                        let one: &$module::$name = one;
                        one
                    })*
                }
            }

            /// Bytes of its box, if it has one.
            fn box_bytes(&self) -> usize {
                match self {
                    $(Self::$name(_) => box_bytes!($module::$name $(, $box)?),)*
                }
            }
        }
    };
}

predicates! {
    after::After,
    before::Before,
    between::Between in Box,
    cloud_foundry_route_service::CloudFoundryRouteService,
    cookie::Cookie,
    header::Header,
    host::Host,
    method::Method,
    path::Path,
    query::Query,
    read_body::ReadBody in Box,
    remote_addr::RemoteAddr in Box,
    version::Version in Box,
    weight::Weight in Box,
    x_forwarded_remote_addr::XForwardedRemoteAddr in Box,
}

/// The predicate with exactly this name.
pub fn find(name: &str) -> Option<&'static Spec<Build>> {
    SPECS.iter().find(|spec| spec.name == name).copied()
}

impl Predicate {
    /// The key of this predicate, if it has one.
    pub fn key(&self) -> Option<Key<'_>> {
        self.condition().key()
    }

    /// A sentence for the operator: whether this predicate holds for `request`, and the request's
    /// value.
    pub fn explain(&self, request: &Request<'_>, groups: &WeightGroups) -> String {
        let subject = self.condition().subject(request, groups);
        match self.matches(request, groups) {
            Ok(true) => format!("`{self}` holds: {subject}"),
            Ok(false) => format!("`{self}` does not hold: {subject}"),
            Err(error) => format!("`{self}` cannot decide: {}; {subject}", error.0),
        }
    }

    /// A warning about a predicate that SCG accepts but that cannot be intended; for `weir check`.
    pub fn caution(&self) -> Option<String> {
        self.condition().caution()
    }

    /// Estimated heap memory in bytes: stored texts are assumed to be as long as SCG's actuator
    /// prints them.
    pub fn heap_bytes(&self) -> usize {
        self.box_bytes() + self.condition().heap_bytes()
    }

    /// This predicate if it is a weight.
    pub fn weight(&self) -> Option<&Weight> {
        if let Self::Weight(weight) = self { Some(weight) } else { None }
    }
}

impl fmt::Display for Predicate {
    /// Prints as SCG's actuator.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.condition().fmt(f)
    }
}

/// All predicates of a route, printed as by SCG's actuator: `((A && B) && C)`.
pub fn joined<'p>(predicates: impl IntoIterator<Item = &'p Predicate>) -> String {
    let mut texts = predicates.into_iter().map(Predicate::to_string);
    let first = texts.next().unwrap_or_default();
    texts.fold(first, |left, right| format!("({left} && {right})"))
}
