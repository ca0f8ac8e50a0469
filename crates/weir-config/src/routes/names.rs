//! Full names of a property of the gateway.

use crate::property::{MVC_PREFIXES, OLD_PREFIX, PREFIX};

/// Full names of a property of the gateway, in order of priority.
pub(crate) fn names(name: &str) -> [String; 2] {
    [format!("{PREFIX}.{name}"), format!("{OLD_PREFIX}.{name}")]
}

/// The same for properties that both servers, WebFlux and MVC, read in the same way: their routes.
pub(crate) fn names_of_both(name: &str) -> Vec<String> {
    let mvc = MVC_PREFIXES.iter().map(|prefix| format!("{prefix}.{name}"));
    names(name).into_iter().chain(mvc).collect()
}
