//! Many routes, checked one by one as they are read, to be written together.

use std::sync::Arc;

use weir_route::RouteDefinition;
use weir_store::Encoded;

use super::refusal::{Problem, Refusal};
use super::source::{STORE_POSITION, Table};
use super::writer::Prepared;

/// Longest route id in bytes.
const ID_BYTES_MAX: usize = 1_024;

/// Routes on their way into the store. Each is compiled as it comes, so that only what is kept of it
/// takes memory.
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

    /// Takes one more route, or notes what is wrong with it.
    pub fn add(&mut self, definition: RouteDefinition) {
        let n = self.count;
        self.count += 1;
        match prepare(&self.table, &definition) {
            Ok(_) if !self.problems.is_empty() => {}
            Ok(prepared) => self.prepared.push(prepared),
            Err(found) => self.refuse(found.into_iter().map(|problem| {
                if definition.id.is_empty() {
                    Problem { at: format!("[{n}].{}", problem.at), ..problem }
                } else {
                    problem.of_route(&definition.id)
                }
            })),
        }
    }

    /// Notes a route that could not be read at all.
    pub fn add_unreadable(&mut self, error: impl std::fmt::Display) {
        let at = format!("[{}]", self.count);
        self.count += 1;
        self.refuse(std::iter::once(Problem::new(at, error.to_string())));
    }

    /// Whether enough problems are known to stop reading.
    pub fn is_hopeless(&self) -> bool {
        self.problems.len() >= Refusal::PROBLEMS_MAX
    }

    pub(crate) fn finish(self) -> Result<Vec<Prepared>, Refusal> {
        match self.problems.is_empty() {
            true => Ok(self.prepared),
            false => Err(Refusal::Invalid(self.problems)),
        }
    }

    fn refuse(&mut self, found: impl Iterator<Item = Problem>) {
        self.prepared = Vec::new();
        self.problems.extend(found);
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
    match (table.loaded.compile)(definition, STORE_POSITION) {
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
