//! A consistent set of definitions, with their mounts.

use std::sync::Arc;

use weir_config::CommonMocks;
use weir_mock::{MockSet, Mount, Mounted, Sorted};

use super::entry::with_common;
use super::key::ApiKey;
use crate::table::Problem;

/// Definitions of one tenant, or of none, by name.
pub type Definitions = Sorted<Arc<str>, Arc<Kept>>;

/// A consistent set of definitions.
#[derive(Clone, Default)]
pub struct Shelf {
    /// The revision at which any of them last changed.
    pub revision: u64,
    /// By tenant; the empty name stands for none.
    owners: Sorted<Arc<str>, Arc<Definitions>>,
    /// Bytes of the definitions of each of them.
    bytes: Sorted<Arc<str>, u64>,
    /// Those of a tenant that does not exist.
    nothing: Definitions,
    pub(super) common: CommonMocks,
}

/// One of them.
pub struct Kept {
    /// Revision of the definitions at which it last changed.
    pub revision: u64,
    /// Bytes of its stored form.
    pub bytes: u64,
    /// The served definition; or its errors, as a later version of weir may reject it.
    pub served: Result<Served, Vec<Problem>>,
}

/// A definition that serves.
pub struct Served {
    /// The place and settings it is served with.
    pub mount: Mount,
    pub(super) mounted: Arc<Mounted>,
}

impl Shelf {
    /// An empty one.
    pub(super) fn new(revision: u64, common: &CommonMocks) -> Self {
        Self { revision, common: common.clone(), ..Self::default() }
    }

    /// The definitions of `tenant`, or of none if its name is empty.
    pub fn of(&self, tenant: &str) -> &Definitions {
        self.owners.get(tenant).map_or(&self.nothing, |own| own)
    }

    /// The definitions of each tenant; those of none come first, under the empty name.
    pub fn owners(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<Definitions>)> {
        self.owners.iter()
    }

    /// One definition.
    pub fn get(&self, key: &ApiKey) -> Option<&Arc<Kept>> {
        self.of(&key.tenant).get(key.name.as_str())
    }

    /// Bytes of the definitions of `tenant` in their stored form.
    pub fn bytes_of(&self, tenant: &str) -> u64 {
        self.bytes.get(tenant).copied().unwrap_or_default()
    }

    /// The number of tenants that have definitions.
    pub fn tenant_count(&self) -> usize {
        self.owners.len() - usize::from(self.owners.get("").is_some())
    }

    pub(super) fn insert(&mut self, key: &ApiKey, kept: Arc<Kept>) -> Option<Arc<Kept>> {
        let tenant: Arc<str> = key.tenant.as_str().into();
        let mut own = self.owners.remove(&*tenant).unwrap_or_default();
        let added = kept.bytes;
        let before = Arc::make_mut(&mut own).insert(key.name.as_str().into(), kept);
        let replaced = before.as_ref().map_or(0, |kept| kept.bytes);
        let bytes = (self.bytes_of(&tenant) + added).saturating_sub(replaced);
        self.owners.insert(Arc::clone(&tenant), own);
        self.bytes.insert(tenant, bytes);
        before
    }

    pub(super) fn remove(&mut self, key: &ApiKey) -> Option<Arc<Kept>> {
        let mut own = self.owners.remove(key.tenant.as_str())?;
        let gone = Arc::make_mut(&mut own).remove(key.name.as_str());
        let bytes = self.bytes.remove(key.tenant.as_str()).unwrap_or_default();
        if !own.is_empty() {
            let tenant: Arc<str> = key.tenant.as_str().into();
            let bytes = bytes.saturating_sub(gone.as_ref().map_or(0, |kept| kept.bytes));
            self.owners.insert(Arc::clone(&tenant), own);
            self.bytes.insert(tenant, bytes);
        }
        gone
    }

    /// Keeps a definition, and has `mocks` serve it if nothing is wrong with it.
    pub(super) fn keep(
        &mut self,
        mocks: &mut MockSet,
        key: &ApiKey,
        (revision, bytes): (u64, u64),
        served: Result<Served, Vec<Problem>>,
    ) {
        let served =
            served.and_then(|served| match mocks.put(&key.tenant, Arc::clone(&served.mounted)) {
                Ok(()) => Ok(served),
                Err(why) => Err(vec![too_many_shapes(why)]),
            });
        for problem in served.as_ref().err().into_iter().flatten() {
            tracing::error!(name = %key, "a definition of the store is not served: {problem}");
        }
        self.insert(key, Arc::new(Kept { revision, bytes, served }));
    }
}

impl Served {
    pub(super) fn new(mount: Mount, common: &CommonMocks) -> Result<Self, Vec<Problem>> {
        let mounted = Mounted::new(with_common(&mount, common), &common.options);
        let mounted = mounted.map_err(|why| vec![Problem::new("", why)])?;
        Ok(Self { mount, mounted: Arc::new(mounted) })
    }
}

/// The error for a definition with more path shapes than the router looks up.
pub(super) fn too_many_shapes(why: String) -> Problem {
    Problem::new("", why).help("give one of them another base path, host or path")
}
