//! The explanation of an answer, and the likely intent of a request that matches nothing. It calls
//! the functions that answer, and scans all operations only if none matched.

use serde_json::{Value, json};

use crate::callback::{Callback, CallbackRequest};
use crate::mocks::{Listed, Mocks};
use crate::problem::Fault;
use crate::request::{Call, check};
use crate::respond::Reply;

/// Operations that are proposed.
const NEAR_MAX: usize = 3;
/// Letters of a segment that are compared.
const LETTERS_MAX: usize = 64;
/// Segments that are compared.
const SEGMENTS_MAX: usize = 64;

/// The outcome of a request, and the reasons for it.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The tenant whose definitions are asked; `None` if it is none, or does not exist.
    pub tenant: Option<String>,
    /// Name of the API; `None` if no operation was found.
    pub api: Option<String>,
    /// Method and path of the operation, as written.
    pub operation: Option<String>,
    /// The reason why this operation was chosen, or none.
    pub chosen: String,
    /// Variables of the path.
    pub variables: Vec<(String, String)>,
    /// The result of validation, whether or not it decides the outcome.
    pub problem: Option<Fault>,
    /// The answer, as it would be sent.
    pub reply: Reply,
    /// Operations that may have been meant, the nearest first; only where none was found.
    pub near: Vec<Near>,
}

/// An operation that may have been meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Near {
    /// Name of the API.
    pub api: String,
    /// Method.
    pub method: String,
    /// Path as written, base path included.
    pub path: String,
    /// The difference.
    pub difference: String,
}

impl Mocks {
    /// Explains the outcome of a request. Like any request, it uses up a step of a sequence or a
    /// recording in turn.
    pub fn explain(&self, call: &Call<'_>, dice: u64, now_ms: i64) -> Explanation {
        self.explain_as(None, call, dice, now_ms)
    }

    /// Explains with the definition `name` only, if one is given.
    pub fn explain_as(
        &self,
        name: Option<&str>,
        call: &Call<'_>,
        dice: u64,
        now_ms: i64,
    ) -> Explanation {
        let tenant = self.tenant().map(str::to_owned);
        let target = match self.target_of_call(name, call) {
            Ok(target) => target,
            Err(failed) => {
                let chosen = match &failed.fault {
                    Fault::NoMethod(methods) => {
                        format!("the path is there, but only with {}", methods.join(", "))
                    }
                    _ => "no operation has such a path".to_owned(),
                };
                return Explanation {
                    tenant,
                    api: None,
                    operation: None,
                    chosen,
                    variables: Vec::new(),
                    problem: None,
                    reply: self.told(Err(failed)),
                    near: self.near(call),
                };
            }
        };
        let operation = target.operation;
        let values = target.values.iter();
        let variables: Vec<(String, String)> =
            values.map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let chosen = match variables.is_empty() {
            true => format!("the path is `{}` itself", operation.path),
            false => {
                let each = variables.iter().map(|(name, value)| format!("{name}={value}"));
                let each: Vec<String> = each.collect();
                format!("the path fits `{}` with {}", operation.path, each.join(", "))
            }
        };
        let problem = check(operation, &target.values, call).err();
        Explanation {
            tenant,
            api: Some(target.api.name.clone()),
            operation: Some(format!("{} {}", operation.method, operation.path)),
            chosen,
            variables,
            problem,
            reply: self.told(self.reply(&target, call, dice, now_ms)),
            near: Vec::new(),
        }
    }

    /// Operations with the paths that are nearest to that of a request.
    fn near(&self, call: &Call<'_>) -> Vec<Near> {
        let path = percent_encoding::percent_decode(call.path).decode_utf8_lossy().into_owned();
        let method = String::from_utf8_lossy(call.method).into_owned();
        let asked: Vec<&str> = segments(&path);
        let mut best: Vec<(usize, String, Listed<'_>)> = Vec::new();
        for one in self.operations() {
            let bases = one.api.bases.iter().map(String::as_str);
            let own = Some(one.base_path).filter(|base| !base.is_empty());
            let bases = bases.filter(|_| own.is_none()).chain(own);
            let paths = bases.map(|base| format!("{base}{}", one.operation.path));
            let nearest = paths.map(|path| (distance(&asked, &segments(&path)), path));
            let Some((far, path)) = nearest.min_by_key(|(far, _)| *far) else { continue };
            let is_other = !one.operation.method.eq_ignore_ascii_case(&method);
            let far = far * 4 + usize::from(is_other);
            let at = best.partition_point(|(other, _, _)| *other <= far);
            if at < NEAR_MAX {
                best.insert(at, (far, path, one));
                best.truncate(NEAR_MAX);
            }
        }
        // An operation with little in common is not proposed.
        let limit = asked.len().max(1) * COST_OTHER * 4 * 2 / 3;
        best.retain(|(far, _, _)| *far < limit);
        let near = best.into_iter().map(|(_, path, one)| Near {
            difference: difference(&path, &asked, one.operation.method.as_str(), &method),
            api: one.api.name.clone(),
            method: one.operation.method.clone(),
            path,
        });
        near.collect()
    }
}

impl Explanation {
    /// As JSON.
    pub fn document(&self) -> Value {
        let near = self.near.iter().map(|one| {
            json!({ "api": one.api, "method": one.method, "path": one.path,
                "difference": one.difference })
        });
        let near: Vec<Value> = near.collect();
        let variables = self.variables.iter();
        let variables: serde_json::Map<String, Value> =
            variables.map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
        let mut document = json!({
            "api": self.api,
            "operation": self.operation,
            "chosen": self.chosen,
            "variables": variables,
            "problem": self.problem.as_ref().map(Fault::document),
            "status": self.reply.status,
            "why": self.reply.why,
            "delayMs": self.reply.delay_ms,
            "didYouMean": near,
            "callbacks": self.reply.callbacks.iter().map(Callback::document).collect::<Value>(),
        });
        if let (Some(tenant), Some(members)) = (&self.tenant, document.as_object_mut()) {
            members.insert("tenant".to_owned(), tenant.as_str().into());
        }
        document
    }
}

impl std::fmt::Display for Explanation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(tenant) = &self.tenant {
            writeln!(f, "tenant {tenant}")?;
        }
        match (&self.api, &self.operation) {
            (Some(api), Some(operation)) => writeln!(f, "{operation} of {api}: {}", self.chosen)?,
            _ => writeln!(f, "{}", self.chosen)?,
        }
        for one in &self.near {
            let Near { api, method, path, difference } = one;
            writeln!(f, "did you mean {method} {path} of {api}? {difference}")?;
        }
        match &self.problem {
            Some(Fault::Invalid(violations)) => {
                for one in violations {
                    writeln!(f, "{}: {} ({})", one.location.join("."), one.message, one.code)?;
                }
            }
            Some(fault) => writeln!(f, "{}", fault.name())?,
            None => {}
        }
        writeln!(f, "answered {}: {}", self.reply.status, self.reply.why)?;
        for Callback { name, request } in &self.reply.callbacks {
            match request {
                Ok(CallbackRequest { method, url, why, .. }) => {
                    writeln!(f, "callback {name}: {method} {url} ({why})")?;
                }
                Err(why) => writeln!(f, "callback {name}: not sent: {why}")?,
            }
        }
        Ok(())
    }
}

/// The cost of an added, missing or different segment.
const COST_OTHER: usize = 8;

fn segments(path: &str) -> Vec<&str> {
    let path = path.split(['?', '#']).next().unwrap_or(path);
    path.split('/').filter(|part| !part.is_empty()).take(SEGMENTS_MAX).collect()
}

/// The distance of a path from a template: Levenshtein over segments.
fn distance(asked: &[&str], template: &[&str]) -> usize {
    levenshtein(asked, template, COST_OTHER, segment_cost)
}

/// A segment costs nothing if it is the same, little if it is a variable or similar.
fn segment_cost(asked: &str, own: &str) -> usize {
    if asked == own {
        return 0;
    }
    if own.contains('{') {
        return 1;
    }
    let letters = |text: &str| -> Vec<char> {
        text.chars().flat_map(char::to_lowercase).take(LETTERS_MAX).collect()
    };
    let (asked, own) = (letters(asked), letters(own));
    let apart = levenshtein(&asked, &own, 1, |a, b| usize::from(a != b));
    // More than half of the letters apart is another word.
    match apart * 2 > asked.len().max(own.len()) {
        true => COST_OTHER + 1,
        false => apart.clamp(1, COST_OTHER - 1),
    }
}

fn levenshtein<T: Copy>(a: &[T], b: &[T], gap: usize, cost: impl Fn(T, T) -> usize) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).map(|n| n * gap).collect();
    for one in a {
        let mut corner = row.first().copied().unwrap_or(0);
        let mut left = corner + gap;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (above, other) in row.iter_mut().skip(1).zip(b) {
            let best = (corner + cost(*one, *other)).min(*above + gap).min(left + gap);
            corner = std::mem::replace(above, best);
            left = best;
        }
    }
    row.last().copied().unwrap_or(0)
}

/// The difference between a request and an operation, in words.
fn difference(path: &str, asked: &[&str], own_method: &str, method: &str) -> String {
    let own = segments(path);
    let mut all = Vec::new();
    if !own_method.eq_ignore_ascii_case(method) {
        all.push(format!("the method is {own_method}"));
    }
    match own.len().cmp(&asked.len()) {
        std::cmp::Ordering::Equal => {
            let other = asked.iter().zip(&own).filter(|(a, b)| a != b && !b.contains('{'));
            all.extend(other.map(|(asked, own)| format!("`{own}` instead of `{asked}`")));
        }
        _ => all.push(format!("{} segments instead of {}", own.len(), asked.len())),
    }
    if all.is_empty() {
        all.push("the slash at the end or the query".to_owned());
    }
    all.join(", ")
}
