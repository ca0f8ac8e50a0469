//! Many routes, checked one by one as they are read, to be written together.

use std::sync::Arc;

use weir_route::RouteDefinition;
use weir_store::Encoded;

use super::refusal::{Problem, Refusal};
use super::source::{STORE_POSITION, Table};
use super::writer::Prepared;

/// Longest route id in bytes.
const ID_BYTES_MAX: usize = 1_024;

/// A batch of routes to be written. Each is compiled as it is read, so that only the result takes
/// memory.
pub struct Batch {
    table: Arc<Table>,
    prepared: Vec<Prepared>,
    problems: Vec<Problem>,
    count: usize,
}

impl Batch {
    pub(crate) fn new(table: Arc<Table>) -> Self {
        Self { table, prepared: Vec::new(), problems: Vec::new(), count: 0 }
    }

    /// Routes seen so far.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Adds a route, or notes its errors.
    pub fn add(&mut self, definition: RouteDefinition) {
        let n = self.count;
        self.count += 1;
        match prepare(&self.table, &definition) {
            Ok(_) if !self.problems.is_empty() => {}
            Ok(prepared) => self.prepared.push(prepared),
            Err(found) => self.refuse(n, &definition.id, found),
        }
    }

    /// Notes a route whose shape is wrong already.
    pub fn add_refused(&mut self, problems: Vec<Problem>) {
        let n = self.count;
        self.count += 1;
        self.refuse(n, "", problems);
    }

    /// Notes a route that could not be read at all.
    pub fn add_unreadable(&mut self, error: impl std::fmt::Display) {
        self.add_refused(vec![Problem::new("", error.to_string())]);
    }

    pub(crate) fn finish(self) -> Result<Vec<Prepared>, Refusal> {
        match self.problems.is_empty() {
            true => Ok(self.prepared),
            false => Err(Refusal::Invalid(self.problems)),
        }
    }

    fn refuse(&mut self, n: usize, id: &str, found: Vec<Problem>) {
        self.prepared = Vec::new();
        self.problems.extend(found.into_iter().map(|problem| match id {
            "" if problem.at.is_empty() => Problem { at: format!("[{n}]"), ..problem },
            "" => Problem { at: format!("[{n}].{}", problem.at), ..problem },
            _ => problem.of_route(id),
        }));
        self.problems.truncate(Refusal::PROBLEMS_MAX);
    }
}

/// Checks and compiles one definition; all that is wrong with it, if something is.
pub(crate) fn prepare(
    table: &Table,
    definition: &RouteDefinition,
) -> Result<Prepared, Vec<Problem>> {
    let mut problems = Vec::new();
    if definition.id.is_empty() {
        problems.push(Problem::new("id", "a route needs an id"));
    }
    if definition.id.len() > ID_BYTES_MAX {
        problems.push(Problem::new("id", format!("longer than {ID_BYTES_MAX} bytes")));
    }
    let encoded = Encoded::new(definition).map_err(|error| vec![Problem::new("", error)])?;
    match table.loaded.compile(definition, STORE_POSITION) {
        Ok(route) if problems.is_empty() => {
            Ok(Prepared { encoded, route, generation: table.generation })
        }
        Ok(_) => Err(problems),
        Err(found) => {
            problems.extend(found);
            Err(problems)
        }
    }
}
