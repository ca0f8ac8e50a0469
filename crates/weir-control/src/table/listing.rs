//! Reading the route table: definitions by id, by page, by search.

use std::borrow::Cow;
use std::sync::Arc;

use weir_route::{Route, RouteDefinition};
use weir_snapshot::{RouteTarget, Snapshot};
use weir_store::{Store, StoreError};

use super::filter::{Filter, Origin};
use super::source::{STORE_POSITION, Table};

/// Definitions read from the store at once: a bound on how long a reader holds it.
const BATCH: usize = 256;

/// A route as it is shown.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The route that serves.
    pub route: Arc<Route<RouteTarget>>,
    /// The definition that the route was compiled from.
    pub definition: RouteDefinition,
    /// Its revision, if it belongs to the store.
    pub revision: Option<u64>,
    /// The definition with what its group adds; `None` without a group.
    grouped: Option<Box<RouteDefinition>>,
}

impl Entry {
    /// The definition in effect: with the additions of the route's group, if it is in one.
    pub fn effective(&self) -> &RouteDefinition {
        self.grouped.as_deref().unwrap_or(&self.definition)
    }

    /// The origin of the route.
    pub fn origin(&self) -> Origin {
        origin(&self.route)
    }
}

fn origin(route: &Route<RouteTarget>) -> Origin {
    if route.position < STORE_POSITION { Origin::File } else { Origin::Store }
}

/// A version of the route table. Definitions of the store are read on demand, so a route removed
/// since then is left out.
pub struct View {
    table: Arc<Table>,
    store: Arc<Store>,
}

impl View {
    pub(crate) fn new(table: Arc<Table>, store: Arc<Store>) -> Self {
        Self { table, store }
    }

    /// The current snapshot.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.table.snapshot
    }

    /// Memory of the definitions of the files in bytes; those of the store are on the disk.
    pub fn definitions_bytes(&self) -> usize {
        self.table.files.bytes()
    }

    /// Revision of the table.
    pub fn revision(&self) -> u64 {
        self.table.revision
    }

    /// The routes called `id` in order of trial.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn find(&self, id: &str) -> Result<Vec<Entry>, StoreError> {
        let files = self.table.files.find(id);
        let mut positions: Vec<u64> = files.into_iter().map(|n| n as u64).collect();
        positions.extend(self.store.slot_of(id)?.map(|slot| STORE_POSITION + slot));
        let index = &self.table.snapshot.index;
        let found = positions.into_iter().filter_map(|position| index.at_position(position));
        let mut routes: Vec<_> = found.cloned().collect();
        routes.sort_by_key(|route| (route.order, route.position));
        self.entries(&routes)
    }

    /// Passes the routes that match `filter` to `visit`, in order of trial, until it returns
    /// `false`; the first `skip` are left out, and at most `limit` are passed.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn list(
        &self,
        from: Option<Origin>,
        filter: &Filter,
        mut skip: usize,
        mut limit: usize,
        mut visit: impl FnMut(Entry) -> bool,
    ) -> Result<(), StoreError> {
        let mut routes = self.of(from);
        if filter.is_empty() && skip > 0 {
            // Nothing to look at: the page can be cut from the index.
            routes.nth(skip - 1);
            skip = 0;
        }
        loop {
            let batch: Vec<_> = routes.by_ref().take(BATCH.min(limit)).cloned().collect();
            if batch.is_empty() {
                return Ok(());
            }
            for entry in self.entries(&batch)? {
                if !filter.matches(&entry.definition) {
                    continue;
                }
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                if limit == 0 || !visit(entry) {
                    return Ok(());
                }
                limit -= 1;
            }
        }
    }

    fn of(&self, from: Option<Origin>) -> impl Iterator<Item = &Arc<Route<RouteTarget>>> {
        let routes = self.table.snapshot.index.iter();
        routes.filter(move |route| from.is_none_or(|from| from == origin(route)))
    }

    /// Passes all definitions to `visit` in the order they were written, files first, until it
    /// returns `false`. Routes that are not served are included, except for `enabled: false` in a
    /// file.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn list_as_written(
        &self,
        mut visit: impl FnMut(&RouteDefinition) -> bool,
    ) -> Result<(), StoreError> {
        for definition in self.table.files.iter().filter(|definition| definition.enabled) {
            if !visit(&definition) {
                return Ok(());
            }
        }
        let slots = self.store.slots()?;
        // In portions: a slow reader must not hold the store.
        for start in slots.clone().step_by(BATCH) {
            let mut goes_on = true;
            self.store.scan::<StoreError>(start..start + BATCH as u64, |found| {
                if goes_on && let Ok(definition) = found.definition() {
                    goes_on = visit(&definition);
                }
                Ok(())
            })?;
            if !goes_on {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The number of routes that match `filter`.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn count(&self, from: Option<Origin>, filter: &Filter) -> Result<usize, StoreError> {
        if filter.is_empty() {
            return Ok(self.of(from).count());
        }
        let mut count = 0;
        self.list(from, filter, 0, usize::MAX, |_| {
            count += 1;
            true
        })?;
        Ok(count)
    }

    /// The definitions of `routes`, in that order.
    fn entries(&self, routes: &[Arc<Route<RouteTarget>>]) -> Result<Vec<Entry>, StoreError> {
        let stored = routes.iter().filter(|route| route.position >= STORE_POSITION);
        let slots = stored.map(|route| route.position - STORE_POSITION);
        let mut read = Vec::with_capacity(routes.len());
        self.store.pick::<StoreError>(slots, |found| {
            // A record that is not a definition is left out, as the index leaves it out.
            if let Ok(definition) = found.definition() {
                read.push((found.slot + STORE_POSITION, definition, found.revision));
            }
            Ok(())
        })?;
        let mut read = read.into_iter().peekable();
        let mut entries = Vec::with_capacity(routes.len());
        let mut files = self.table.files.reader();
        for route in routes {
            let (definition, revision) = if route.position < STORE_POSITION {
                (files.get(usize::try_from(route.position).unwrap_or(usize::MAX)), None)
            } else {
                let next = read.next_if(|(position, ..)| *position == route.position);
                next.map_or((None, None), |(_, definition, rev)| (Some(definition), Some(rev)))
            };
            if let Some(definition) = definition {
                let grouped = match self.table.loaded.compiler.effective(&definition) {
                    Cow::Owned(whole) => Some(Box::new(whole)),
                    Cow::Borrowed(_) => None,
                };
                entries.push(Entry { route: Arc::clone(route), definition, revision, grouped });
            }
        }
        Ok(entries)
    }
}
