//! The filters of one route in the order they run.

use crate::context::{FilterError, RequestContext, ResponseContext, Verdict};
use crate::filter::Filter;

/// A filter with its place: `order` sorts, ties keep the order written.
#[derive(Debug)]
pub struct ChainEntry {
    /// 1-based number within its list, or the filter's own order.
    pub order: i32,
    /// The filter.
    pub filter: Filter,
}

/// The filters of a route, default filters merged in. Equal chains are shared between routes.
#[derive(Debug, Default)]
pub struct Chain {
    entries: Box<[ChainEntry]>,
}

impl Chain {
    /// Merges default and route filters as SCG does: each list is numbered from 1, the lists are
    /// concatenated (default first) and stably sorted by number, own orders kept (scg.md 1.4).
    pub fn merge(defaults: Vec<Filter>, own: Vec<Filter>) -> Self {
        let _ = (defaults, own);
        Self::default()
    }

    /// The filters in request order.
    pub fn entries(&self) -> &[ChainEntry] {
        &self.entries
    }

    /// Whether any filter reads URI variables, so that matching must publish them.
    pub fn needs_vars(&self) -> bool {
        false
    }

    /// Smallest RequestSize of the chain.
    pub fn request_size_max(&self) -> Option<u64> {
        None
    }

    /// Runs the request side in order until a filter responds or fails. `ran` is set to how many
    /// filters have run, the one that ended it included: the response side starts from there.
    ///
    /// # Errors
    /// The first filter that fails.
    pub fn request(
        &self,
        context: &mut RequestContext<'_>,
        ran: &mut usize,
    ) -> Result<Verdict, FilterError> {
        let _ = (context, ran);
        Ok(Verdict::Continue)
    }

    /// Runs the response side of the first `ran` filters, last one first.
    ///
    /// # Errors
    /// The first filter that fails.
    pub fn response(
        &self,
        context: &mut ResponseContext<'_>,
        ran: usize,
    ) -> Result<(), FilterError> {
        let _ = (context, ran);
        Ok(())
    }
}
