//! The table of definitions, changed while they are served, and the definitions that a route refers
//! to.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::mocks::Mocks;
use crate::request::Call;
use crate::respond::Reply;
use crate::response::{Given, ResponseValidity};
use crate::validity::Validity;

/// Definitions that are swapped as a whole, without the routes that lead to them. It outlives
/// configurations.
#[derive(Debug, Default)]
pub struct MockTable {
    current: ArcSwap<Mocks>,
}

impl MockTable {
    /// The current definitions.
    pub fn current(&self) -> Arc<Mocks> {
        self.current.load_full()
    }

    /// Replaces the current definitions with `mocks`. Returns the previous ones, so that the caller
    /// frees them, not a worker.
    pub fn swap(&self, mocks: Arc<Mocks>) -> Arc<Mocks> {
        self.current.swap(mocks)
    }
}

/// The definitions that answer a route.
#[derive(Clone, Debug)]
pub enum MockSource {
    /// Definitions of the configuration.
    Fixed(Arc<Mocks>),
    /// Definitions of the table, or only the one with this name.
    Stored(Arc<MockTable>, Option<Box<str>>),
}

impl MockSource {
    /// See [`Mocks::answer`].
    pub fn answer(&self, call: &Call<'_>, dice: u64, now_ms: i64) -> Reply {
        match self {
            Self::Fixed(mocks) => mocks.answer(call, dice, now_ms),
            Self::Stored(table, name) => {
                table.current.load().answer_as(name.as_deref(), call, dice, now_ms)
            }
        }
    }
}

impl MockSource {
    /// Whether a request conforms to its definition. Without `content`, only the head is checked;
    /// `call.body` is ignored.
    pub fn validity(&self, call: &Call<'_>, content: Option<&[u8]>) -> Validity {
        match self {
            Self::Fixed(mocks) => mocks.validity(None, call, content),
            Self::Stored(table, name) => {
                table.current.load().validity(name.as_deref(), call, content)
            }
        }
    }

    /// Whether a response of a service conforms to the definition of the request.
    pub fn response_validity(&self, call: &Call<'_>, given: &Given<'_>) -> ResponseValidity {
        match self {
            Self::Fixed(mocks) => mocks.response_validity(None, call, given),
            Self::Stored(table, name) => {
                table.current.load().response_validity(name.as_deref(), call, given)
            }
        }
    }

    /// Whether a definition has the operation of a request.
    pub fn has(&self, call: &Call<'_>) -> bool {
        match self {
            Self::Fixed(mocks) => mocks.target_of_call(None, call).is_ok(),
            Self::Stored(table, name) => {
                table.current.load().target_of_call(name.as_deref(), call).is_ok()
            }
        }
    }

    /// Whether both lead to the same definitions.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Fixed(one), Self::Fixed(other)) => Arc::ptr_eq(one, other),
            (Self::Stored(one, name), Self::Stored(other, other_name)) => {
                Arc::ptr_eq(one, other) && name == other_name
            }
            _ => false,
        }
    }
}

/// Definitions by the names that routes and filters have for them.
#[derive(Clone, Debug, Default)]
pub struct ApiSources {
    by_name: Arc<HashMap<String, Arc<Mocks>>>,
    table: Arc<MockTable>,
}

impl ApiSources {
    /// The name of those in the store.
    pub const STORE: &'static str = "store";

    /// Definitions of the configuration, and those of the store.
    pub fn new(by_name: HashMap<String, Arc<Mocks>>, table: Arc<MockTable>) -> Self {
        Self { by_name: Arc::new(by_name), table }
    }

    /// Whether the configuration has no definitions.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Definitions of the store.
    pub fn table(&self) -> &Arc<MockTable> {
        &self.table
    }

    /// The definitions that `name` refers to: of the configuration, `store`, or `store/NAME`.
    ///
    /// # Errors
    /// There are none of this name, and which there are.
    pub fn source(&self, name: &str) -> Result<MockSource, (String, String)> {
        let (first, below) = name.split_once('/').unwrap_or((name, ""));
        if first == Self::STORE {
            let only = Some(below.trim_end_matches('/')).filter(|name| !name.is_empty());
            return Ok(MockSource::Stored(Arc::clone(&self.table), only.map(Box::from)));
        }
        if let Some(found) = self.by_name.get(first) {
            return Ok(MockSource::Fixed(Arc::clone(found)));
        }
        let mut names: Vec<_> = self.by_name.keys().map(String::as_str).collect();
        names.push(Self::STORE);
        names.sort_unstable();
        let help = format!("there are {}", names.join(", "));
        Err((format!("there is no definition `{first}`"), help))
    }
}
