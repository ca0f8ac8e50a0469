//! API definitions that filters validate against or answer from.

use std::hash::{Hash, Hasher};

use weir_mock::{Call, MockSource};
use weir_route::{ArgError, Args};
use weir_wire::RequestHead;

use crate::filter::FilterOptions;

/// An API definition by name, as in `mock://NAME`.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) name: String,
    /// `None` if the filter was built without a configuration.
    pub(crate) source: Option<MockSource>,
}

impl Definition {
    /// The definition named by the argument `definition`.
    pub(crate) fn of(args: &Args, options: &FilterOptions) -> Result<Self, ArgError> {
        let name = args.text("definition").unwrap_or_default().to_owned();
        let source = options.definitions.as_ref().map(|find| find.source(&name)).transpose();
        let source =
            source.map_err(|(message, help)| ArgError::new("definition", message).help(help))?;
        Ok(Self { name, source })
    }
}

impl PartialEq for Definition {
    fn eq(&self, other: &Self) -> bool {
        let is_same = match (&self.source, &other.source) {
            (Some(one), Some(other)) => one.is_same(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        is_same && self.name == other.name
    }
}

impl Eq for Definition {}

impl Hash for Definition {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// The parts of a request that definitions match, without its content.
pub(crate) fn call(head: &RequestHead) -> Call<'_> {
    Call {
        method: head.method(),
        path: head.path(),
        prefix: b"",
        query: head.query(),
        fields: &head.fields,
        body: b"",
    }
}
