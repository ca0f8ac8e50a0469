//! The overrides of a definition by operation, and the choice of the one that applies to a request.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::delay::Delay;
use super::overrides::{InjectedFault, Override, Step};
use crate::chance::Chance;
use crate::definition::{Api, Code, Operation};
use crate::request::Asked;
use crate::template::Template;

impl Override {
    /// Whether `api` has an operation that it is for.
    pub fn means_any_of(&self, api: &Api) -> bool {
        let is_meant = |one: &Operation| self.operation == "*" || is_named(one, &self.operation);
        api.operations.iter().any(is_meant)
    }
}

/// An override as it is kept.
#[derive(Debug)]
pub(crate) struct Rule {
    pub own: Override,
    pub headers: Vec<(String, Template)>,
    pub body: Option<Template>,
    turns: AtomicUsize,
}

/// The overrides of one definition, by operation.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    all: Vec<Rule>,
    /// For each operation the overrides that may be meant, those of it alone first.
    by_operation: Vec<Vec<usize>>,
}

impl Rules {
    /// # Errors
    /// An override that means nothing.
    pub(crate) fn new(api: &Api, overrides: &[Override]) -> Result<Self, String> {
        let mut by_operation = vec![Vec::new(); api.operations.len()];
        for (at, own) in overrides.iter().enumerate() {
            check(own).map_err(|why| format!("{}: `{}`: {why}", api.name, own.operation))?;
            let mut means_any = false;
            for (operation, list) in api.operations.iter().zip(&mut by_operation) {
                if own.operation != "*" && !is_named(operation, &own.operation) {
                    continue;
                }
                let codes = own.code.into_iter().chain(own.sequence.iter().filter_map(|s| s.code));
                let missing = codes.into_iter().find(|code| !declares(operation, *code));
                let missing = missing.filter(|_| own.body.is_none());
                match missing {
                    Some(code) if own.operation != "*" => {
                        return Err(format!(
                            "{}: `{}` declares no response {code}",
                            api.name, own.operation
                        ));
                    }
                    Some(_) => {}
                    None => list.push(at),
                }
                means_any = true;
            }
            if !means_any {
                return Err(format!("{}: there is no operation `{}`", api.name, own.operation));
            }
        }
        let is_for_all = |at: &usize| overrides.get(*at).is_some_and(|own| own.operation == "*");
        by_operation.iter_mut().for_each(|list| list.sort_by_key(is_for_all));
        let all = overrides.iter().map(|own| {
            Rule::new(own.clone())
                .map_err(|why| format!("{}: `{}`: {why}", api.name, own.operation))
        });
        Ok(Self { all: all.collect::<Result<_, _>>()?, by_operation })
    }

    /// The override that applies to a request.
    pub(crate) fn find(&self, operation: usize, asked: &Asked<'_>) -> Option<&Rule> {
        let mut best: Option<(usize, &Rule)> = None;
        for at in self.by_operation.get(operation)? {
            let Some(rule) = self.all.get(*at) else { continue };
            let Some(weight) = rule.own.when.weight(asked) else { continue };
            if best.is_none_or(|(most, _)| weight > most) {
                best = Some((weight, rule));
            }
        }
        best.map(|(_, rule)| rule)
    }

    /// Whether an operation has any.
    pub(crate) fn has(&self, operation: usize) -> bool {
        self.by_operation.get(operation).is_some_and(|list| !list.is_empty())
    }
}

impl Rule {
    fn new(own: Override) -> Result<Self, String> {
        let mut notes = Vec::new();
        let body = own.body.as_ref().map(|body| Template::read(body, "body", &mut notes));
        let wrong = |(within, why): (String, String)| format!("its body at `{within}`: {why}");
        let body = body
            .transpose()
            .map_err(|all| all.into_iter().map(wrong).collect::<Vec<_>>().join("; "))?;
        if let Some(note) = notes.into_iter().next() {
            return Err(wrong(note));
        }
        let headers = own.headers.iter();
        let headers = headers.map(|(name, text)| (name.clone(), Template::of_text(text))).collect();
        Ok(Self { own, headers, body, turns: AtomicUsize::new(0) })
    }

    /// The status and example of the next answer.
    pub(crate) fn next(&self) -> (Option<u16>, Option<String>) {
        let own = &self.own;
        let times = |step: &Step| step.times.max(1) as usize;
        let count: usize = own.sequence.iter().map(times).sum();
        if count == 0 {
            return (own.code, own.example.clone());
        }
        let mut turn = self.turns.fetch_add(1, Ordering::Relaxed) % count;
        for step in &own.sequence {
            if turn < times(step) {
                let example = step.example.clone().or_else(|| own.example.clone());
                return (step.code.or(own.code), example);
            }
            turn -= times(step);
        }
        (own.code, own.example.clone())
    }

    /// The injected fault of an answer, if any.
    pub(crate) fn fault(&self, chance: Chance) -> Option<InjectedFault> {
        let mut dice = chance.below("fault", 0, 10_000);
        for (share, fault) in &self.own.faults {
            if dice < u64::from(*share) {
                return Some(*fault);
            }
            dice -= u64::from(*share);
        }
        None
    }
}

fn check(own: &Override) -> Result<(), String> {
    let shares: u64 = own.faults.iter().map(|(share, _)| u64::from(*share)).sum();
    if shares > 10_000 {
        return Err("its faults have more than all answers".to_owned());
    }
    let wrong = own.faults.iter().find_map(|(_, fault)| match fault {
        InjectedFault::Status(code) if !(200..=999).contains(code) => Some(code),
        _ => None,
    });
    if let Some(code) = wrong {
        return Err(format!("{code} is no status of an answer"));
    }
    match own.delay {
        Some(Delay::LogNormal { sigma, .. }) if !(0.0..=10.0).contains(&sigma) => {
            Err("`sigma` lies between 0 and 10".to_owned())
        }
        _ => Ok(()),
    }
}

fn is_named(operation: &Operation, name: &str) -> bool {
    let written = name.split_once(' ');
    operation.id.as_deref() == Some(name)
        || written.is_some_and(|(method, path)| {
            operation.method.eq_ignore_ascii_case(method) && operation.path == path.trim()
        })
}

fn declares(operation: &Operation, code: u16) -> bool {
    operation.responses.iter().any(|response| match response.code {
        Code::Exact(own) => own == code,
        Code::Range(digit) => digit == code / 100,
        Code::Default => true,
    })
}
