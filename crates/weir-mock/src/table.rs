//! Definitions that come and go while they are served, and where a route finds its definitions.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::mocks::Mocks;
use crate::request::Call;
use crate::respond::Reply;

/// Definitions that are swapped as a whole, without the routes that lead to them. It outlives
/// configurations.
#[derive(Debug, Default)]
pub struct MockTable {
    current: ArcSwap<Mocks>,
}

impl MockTable {
    /// What serves.
    pub fn current(&self) -> Arc<Mocks> {
        self.current.load_full()
    }

    /// Has `mocks` serve from now on. Gives what served before, so that the caller frees it and no
    /// worker has to.
    pub fn swap(&self, mocks: Arc<Mocks>) -> Arc<Mocks> {
        self.current.swap(mocks)
    }
}

/// Which definitions a route is answered from.
#[derive(Clone, Debug)]
pub enum MockSource {
    /// Those of the configuration.
    Fixed(Arc<Mocks>),
    /// Those of the table, or only the one of this name.
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
