//! The table of definitions, changed while they are served, and the definitions that a route refers
//! to.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::mocks::Mocks;
use crate::request::Call;
use crate::respond::Reply;
use crate::response::{Given, ResponseValidity};
use crate::tenants::{MockSet, check_tenant};
use crate::validity::Validity;

/// Definitions that are swapped as a whole, without the routes that lead to them. It outlives
/// configurations.
#[derive(Debug, Default)]
pub struct MockTable {
    current: ArcSwap<MockSet>,
}

impl MockTable {
    /// The current definitions.
    pub fn current(&self) -> Arc<MockSet> {
        self.current.load_full()
    }

    /// Replaces the current definitions with `mocks`. Returns the previous ones, so that the caller
    /// frees them, not a worker.
    pub fn swap(&self, mocks: Arc<MockSet>) -> Arc<MockSet> {
        self.current.swap(mocks)
    }
}

/// The definitions of a table that a route leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredPart {
    /// Those of this tenant; otherwise of the one that the request names.
    pub tenant: Option<Box<str>>,
    /// Only the one with this name.
    pub name: Option<Box<str>>,
}

/// The definitions that answer a route.
#[derive(Clone, Debug)]
pub enum MockSource {
    /// Definitions of the configuration.
    Fixed(Arc<MockSet>),
    /// Definitions of the table.
    Stored(Arc<MockTable>, StoredPart),
}

impl MockSource {
    /// See [`Mocks::answer`].
    pub fn answer(&self, call: &Call<'_>, dice: u64, now_ms: i64) -> Reply {
        self.meant(call, |mocks, name, call| mocks.answer_as(name, call, dice, now_ms))
    }

    /// Whether a request conforms to its definition. Without `content`, only the head is checked;
    /// `call.body` is ignored.
    pub fn validity(&self, call: &Call<'_>, content: Option<&[u8]>) -> Validity {
        self.meant(call, |mocks, name, call| mocks.validity(name, call, content))
    }

    /// Whether a response of a service conforms to the definition of the request.
    pub fn response_validity(&self, call: &Call<'_>, given: &Given<'_>) -> ResponseValidity {
        self.meant(call, |mocks, name, call| mocks.response_validity(name, call, given))
    }

    /// Whether a definition has the operation of a request.
    pub fn has(&self, call: &Call<'_>) -> bool {
        self.meant(call, |mocks, name, call| mocks.target_of_call(name, call).is_ok())
    }

    /// The existing tenant whose definitions a request is for.
    pub fn tenant(&self, call: &Call<'_>) -> Option<String> {
        self.meant(call, |mocks, _, _| mocks.tenant().map(str::to_owned))
    }

    /// Calls `act` with the definitions that a request is for, the name of the only one that is
    /// meant, and the request as they see it.
    fn meant<T>(
        &self,
        call: &Call<'_>,
        act: impl FnOnce(&Mocks, Option<&str>, &Call<'_>) -> T,
    ) -> T {
        match self {
            Self::Fixed(set) => {
                let (mocks, call) = set.meant(call);
                act(mocks, None, &call)
            }
            Self::Stored(table, StoredPart { tenant, name }) => {
                let set = table.current.load();
                let (mocks, call) = match tenant {
                    Some(tenant) => (set.of(tenant), *call),
                    None => set.meant(call),
                };
                act(mocks, name.as_deref(), &call)
            }
        }
    }

    /// Whether both lead to the same definitions.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Fixed(one), Self::Fixed(other)) => Arc::ptr_eq(one, other),
            (Self::Stored(one, part), Self::Stored(other, other_part)) => {
                Arc::ptr_eq(one, other) && part == other_part
            }
            _ => false,
        }
    }
}

/// Definitions by the names that routes and filters have for them.
#[derive(Clone, Debug, Default)]
pub struct ApiSources {
    by_name: Arc<HashMap<String, Arc<MockSet>>>,
    table: Arc<MockTable>,
}

impl ApiSources {
    /// The name of those in the store.
    pub const STORE: &'static str = "store";
    /// Stands for each definition of a tenant.
    pub const ANY: &'static str = "*";

    /// Definitions of the configuration, and those of the store.
    pub fn new(by_name: HashMap<String, Arc<MockSet>>, table: Arc<MockTable>) -> Self {
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

    /// The definitions that `name` refers to. Of the configuration: `NAME`, or `TENANT/NAME` and
    /// `TENANT/*`. Of the store: `store`, `store/NAME`, `store/TENANT/NAME` and `store/TENANT/*`.
    ///
    /// # Errors
    /// There are none of this name, and which there are.
    pub fn source(&self, name: &str) -> Result<MockSource, (String, String)> {
        let (first, below) = name.split_once('/').unwrap_or((name, ""));
        let below = below.trim_end_matches('/');
        if first == Self::STORE {
            return Ok(MockSource::Stored(Arc::clone(&self.table), stored_part(below)?));
        }
        let of_tenant = format!("{first}/{below}");
        let is_tenant = self.by_name.contains_key(&format!("{first}/{}", Self::ANY));
        let key = if is_tenant && !below.is_empty() { of_tenant.as_str() } else { first };
        if let Some(found) = self.by_name.get(key) {
            return Ok(MockSource::Fixed(Arc::clone(found)));
        }
        let mut names: Vec<_> = self.by_name.keys().map(String::as_str).collect();
        names.push(Self::STORE);
        names.sort_unstable();
        let help = format!("there are {}", names.join(", "));
        Err((format!("there is no definition `{key}`"), help))
    }
}

/// What `NAME`, `TENANT/NAME` or `TENANT/*` of the store mean.
fn stored_part(text: &str) -> Result<StoredPart, (String, String)> {
    let (tenant, name) = match text.split_once('/') {
        Some((tenant, name)) => (Some(tenant), name),
        None => (None, text),
    };
    if let Some(tenant) = tenant {
        check_tenant(tenant)?;
        if name.is_empty() || name.contains('/') {
            let help = "write `store/NAME`, `store/TENANT/NAME`, or `store/TENANT/*` for all of it";
            return Err((format!("`store/{text}` is no definition"), help.to_owned()));
        }
    }
    let is_all = name.is_empty() || (tenant.is_some() && name == ApiSources::ANY);
    let name = (!is_all).then(|| Box::from(name));
    Ok(StoredPart { tenant: tenant.map(Box::from), name })
}
