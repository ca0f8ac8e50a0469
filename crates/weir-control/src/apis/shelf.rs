//! A consistent set of definitions, with their mounts.

use std::sync::Arc;

use weir_config::CommonMocks;
use weir_mock::{Mocks, Mount, Mounted, Sorted};

use super::entry::with_common;
use crate::table::Problem;

/// A consistent set of definitions.
#[derive(Clone, Default)]
pub struct Shelf {
    /// The revision at which any of them last changed.
    pub revision: u64,
    /// By name.
    pub kept: Sorted<Arc<str>, Arc<Kept>>,
    pub(super) common: CommonMocks,
}

/// One of them.
pub struct Kept {
    /// Revision of the definitions at which it last changed.
    pub revision: u64,
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
    /// Keeps a definition, and has `mocks` serve it if nothing is wrong with it.
    pub(super) fn keep(
        &mut self,
        mocks: &mut Mocks,
        name: &str,
        revision: u64,
        served: Result<Served, Vec<Problem>>,
    ) {
        let served = served.and_then(|served| match mocks.put(Arc::clone(&served.mounted)) {
            Ok(()) => Ok(served),
            Err(why) => Err(vec![too_many_shapes(why)]),
        });
        for problem in served.as_ref().err().into_iter().flatten() {
            tracing::error!(name, "a definition of the store is not served: {problem}");
        }
        self.kept.insert(name.into(), Arc::new(Kept { revision, served }));
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
