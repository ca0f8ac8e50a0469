//! The names that a property of the gateway goes by.

use crate::property::{MVC_PREFIXES, OLD_PREFIX, PREFIX};

/// The names of a property of the gateway, the one that wins first.
pub(crate) fn names(name: &str) -> [String; 2] {
    [format!("{PREFIX}.{name}"), format!("{OLD_PREFIX}.{name}")]
}

/// The same for what both servers, WebFlux and MVC, read in the same way: their routes.
pub(crate) fn names_of_both(name: &str) -> Vec<String> {
    let mvc = MVC_PREFIXES.iter().map(|prefix| format!("{prefix}.{name}"));
    names(name).into_iter().chain(mvc).collect()
}
