//! The definitions of an import, checked one by one.

use axum::body::Bytes;
use serde_json::Value;
use weir_control::apis::{Apis, Checked, Entry};
use weir_control::{Problem, Refusal};

use super::body::ListForm;
use crate::rights::Rights;

/// The maximum number of reported problems of one import.
const PROBLEMS_MAX: usize = Refusal::PROBLEMS_MAX;

/// Entries of an import so far.
pub(super) struct Batch<'a> {
    apis: &'a Apis,
    /// The tenant that they are written to; otherwise each names its own.
    tenant: Option<String>,
    /// What the caller may write to.
    rights: &'a Rights,
    checked: Vec<Checked>,
    problems: Vec<Problem>,
}

impl<'a> Batch<'a> {
    /// An empty one.
    pub(super) fn new(apis: &'a Apis, tenant: Option<String>, rights: &'a Rights) -> Self {
        Self { apis, tenant, rights, checked: Vec::new(), problems: Vec::new() }
    }

    /// The definitions of a body.
    ///
    /// # Errors
    /// All that is wrong with them, each with its number; or they are more than `entries_max`.
    pub(super) fn check_all(
        mut self,
        bytes: &Bytes,
        form: ListForm,
        entries_max: usize,
    ) -> Result<Vec<Checked>, Refusal> {
        let invalid = |why: String| Refusal::Invalid(vec![Problem::new("", why)]);
        match form {
            ListForm::Array => {
                let all: Vec<Value> = serde_json::from_slice(bytes)
                    .map_err(|error| invalid(format!("no list: {error}")))?;
                all.into_iter().enumerate().for_each(|(at, value)| self.add(at, value));
            }
            ListForm::Lines => {
                let lines = bytes.split(|byte| *byte == b'\n').enumerate();
                for (at, line) in lines.filter(|(_, line)| !line.trim_ascii().is_empty()) {
                    match serde_json::from_slice(line) {
                        Ok(value) => self.add(at, value),
                        Err(error) => self.wrong(at, vec![Problem::new("", error.to_string())]),
                    }
                }
            }
        }
        if self.checked.len() > entries_max {
            return Err(invalid(format!(
                "more than {entries_max} definitions; send them in parts"
            )));
        }
        match self.problems.is_empty() {
            true => Ok(self.checked),
            false => Err(Refusal::Invalid(self.problems)),
        }
    }

    fn add(&mut self, at: usize, value: Value) {
        let entry = Entry::read(self.tenant.as_deref(), None, value);
        match entry.and_then(|entry| self.allowed(entry)).and_then(|entry| self.apis.check(entry)) {
            Ok(checked) => self.checked.push(checked),
            Err(problems) => self.wrong(at, problems),
        }
    }

    /// The entry, if the caller may write to its tenant.
    fn allowed(&self, entry: Entry) -> Result<Entry, Vec<Problem>> {
        let tenant = &entry.key.tenant;
        if self.rights.include(tenant) {
            return Ok(entry);
        }
        let why = match tenant.is_empty() {
            true => "the definition names no tenant, and the token has several".to_owned(),
            false => format!("the token has no tenant `{tenant}`"),
        };
        let help = "write to a tenant of the token, with `tenant` here or `?tenant=` for all";
        Err(vec![Problem::new("/tenant", why).help(help.to_owned())])
    }

    fn wrong(&mut self, at: usize, problems: Vec<Problem>) {
        for mut problem in problems {
            if self.problems.len() < PROBLEMS_MAX {
                problem.at = format!("definition {}: {}", at + 1, problem.at);
                self.problems.push(problem);
            }
        }
    }
}
