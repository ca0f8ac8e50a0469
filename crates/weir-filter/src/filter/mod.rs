//! Filters: one file each, registered in [`SPECS`].

use weir_route::{ArgError, Args, Spec};

/// What filters need to know of the configuration when they are built.
#[derive(Clone, Debug, Default)]
pub struct FilterOptions {
    /// `filter.secure-headers.*`: header key in kebab case to value, and the enable/disable lists.
    pub secure_headers: Vec<(String, String)>,
    /// `set-status.original-status-header-name`.
    pub original_status_header: Option<String>,
}

/// Makes a filter from bound arguments.
pub type Build = fn(&Args, &FilterOptions) -> Result<Filter, ArgError>;

/// A filter. Closed: a new one does not compile until its meaning is decided.
#[derive(Debug)]
pub enum Filter {}

/// Every filter, sorted by name.
pub static SPECS: &[&Spec<Build>] = &[];
