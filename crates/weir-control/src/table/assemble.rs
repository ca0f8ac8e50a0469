//! A whole table from files and store, on all cores.

use std::ops::Range;
use std::sync::Arc;
use std::thread;

use weir_route::Route;
use weir_snapshot::RouteTarget;
use weir_store::{Store, StoreError};

use super::refusal::{Problem, Refusal};
use super::source::{Loaded, STORE_POSITION, Table};

/// Fewer slots than this are not worth a thread.
const SLOTS_PER_THREAD_MIN: u64 = 2_000;

type Routes = Vec<Arc<Route<RouteTarget>>>;

/// The table of the routes of `loaded` and those of `store`, which are compiled here.
pub(crate) fn assemble(
    mut loaded: Loaded,
    store: &Store,
    generation: u64,
) -> Result<Table, Refusal> {
    let revision = store.revision()?;
    let compiled = std::mem::take(&mut loaded.compiled);
    let files = compiled.definitions;
    let mut routes = compiled.routes;
    let (stored, mut problems) = compile_store(&loaded, store)?;
    routes.extend(stored);
    if !problems.is_empty() {
        if loaded.settings.fail_on_route_definition_error {
            problems.truncate(Refusal::PROBLEMS_MAX);
            return Err(Refusal::Invalid(problems));
        }
        for problem in &problems {
            tracing::warn!(%problem, "a route is left out");
        }
    }
    let snapshot = Arc::new(loaded.compiler.snapshot(routes));
    Ok(Table { snapshot, loaded: Arc::new(loaded), files: Arc::new(files), generation, revision })
}

/// `table` with the routes of the store read again: after a failure, when what a commit left behind
/// is not known.
pub(crate) fn stored_again(table: &Table, store: &Store) -> Result<Table, StoreError> {
    let revision = store.revision()?;
    let (stored, problems) = compile_store(&table.loaded, store)?;
    for problem in &problems {
        tracing::warn!(%problem, "a route is left out");
    }
    let files = table.snapshot.index.iter().filter(|route| route.position < STORE_POSITION);
    let routes = files.cloned().chain(stored).collect();
    Ok(table.with(table.loaded.compiler.snapshot(routes), revision))
}

fn refuse(problems: &mut Vec<Problem>, id: &str, found: Vec<Problem>) {
    problems.extend(found.into_iter().map(|problem| problem.of_route(id)));
}

fn compile_store(loaded: &Loaded, store: &Store) -> Result<(Routes, Vec<Problem>), StoreError> {
    let slots = store.slots()?;
    let cores = thread::available_parallelism().map_or(1, usize::from) as u64;
    let count = slots.end - slots.start;
    let threads = cores.min(count / SLOTS_PER_THREAD_MIN).max(1);
    if threads == 1 {
        return compile_slots(loaded, store, slots);
    }
    let share = count.div_ceil(threads);
    let ranges = (0..threads).map(|n| {
        let start = slots.start + n * share;
        start..(start + share).min(slots.end)
    });
    thread::scope(|scope| {
        let start = |range: Range<u64>| {
            let own = range.clone();
            let work = move || compile_slots(loaded, store, own);
            thread::Builder::new().spawn_scoped(scope, work).map_err(|_| range)
        };
        let running: Vec<_> = ranges.map(start).collect();
        let mut routes = Routes::with_capacity(count as usize);
        let mut problems = Vec::new();
        for thread in running {
            let (some, found) = match thread {
                Ok(thread) => thread.join().unwrap_or_else(|cause| {
                    std::panic::resume_unwind(cause);
                })?,
                // The system refused a thread.
                Err(range) => compile_slots(loaded, store, range)?,
            };
            routes.extend(some);
            problems.extend(found);
        }
        Ok((routes, problems))
    })
}

fn compile_slots(
    loaded: &Loaded,
    store: &Store,
    slots: Range<u64>,
) -> Result<(Routes, Vec<Problem>), StoreError> {
    let mut routes = Routes::new();
    let mut problems = Vec::new();
    store.scan::<StoreError>(slots, |stored| {
        // `enabled` counts for routes of files only (scg.md 1.2).
        match stored.definition() {
            Ok(definition) => match loaded.compile(&definition, STORE_POSITION + stored.slot) {
                Ok(route) => routes.push(route),
                Err(found) => refuse(&mut problems, &definition.id, found),
            },
            Err(error) => {
                let at = format!("stored record {}", stored.slot);
                problems.push(Problem::new(at, format!("not a route definition: {error}")));
            }
        }
        Ok(())
    })?;
    Ok((routes, problems))
}
