//! Route definitions, predicates and the route index.
//!
//! Pure: no clock, no random numbers, no I/O. Time, random bits and the peer's address are part of
//! a [`Request`]. `Index::lookup` gives exactly the result of the linear `scan` (Spring Cloud
//! Gateway's rule).

#![deny(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

#[cfg(test)]
extern crate self as weir_route;

mod args;
mod beside;
mod definition;
pub mod index;
mod one_or_more;
pub mod pattern;
pub mod predicate;
mod request;
mod route;
mod spec;
mod value;
mod vars;

pub use args::{ArgError, Args};
pub use beside::{Beside, alone};
pub use definition::{Arguments, NamedArgs, RouteDefinition, ShortcutError, parse_shortcut};
pub use request::{Content, Request, RequestParts};
pub use route::{Predicates, Route, RouteGroup};
pub use spec::{ArgKind, ArgSpec, Compatibility, Shortcut, Spec};
pub use value::{Moment, ValueError, iso_time, parse_data_size, parse_duration, parse_status};
pub use vars::Vars;
