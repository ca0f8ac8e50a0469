//! The choice among recorded answers.

use std::sync::atomic::Ordering;

use super::prefer::Prefer;
use crate::definition::{Operation, Recording};
use crate::problem::Fault;
use crate::request::body::fits;
use crate::request::{Asked, Call};

/// The recording for a request, with the reason: the one that the client prefers, else the most
/// specific match, else the next in turn or the first good one.
pub(super) fn choose<'o>(
    operation: &'o Operation,
    asked: &Asked<'_>,
    call: &Call<'_>,
    prefer: &Prefer,
) -> Result<(&'o Recording, &'static str), Fault> {
    let all = &operation.recordings;
    let mut open: Vec<&Recording> = all
        .iter()
        .filter(|one| prefer.code.is_none_or(|code| code == one.status))
        .filter(|one| prefer.example.as_ref().is_none_or(|name| *name == one.name))
        .collect();
    if open.is_empty() {
        let each = all.iter().map(|one| format!("{} `{}`", one.status, one.name));
        let known: Vec<String> = each.take(20).collect();
        let message = format!("no such answer is recorded; there are: {}", known.join(", "));
        return Err(Fault::NotFound(message));
    }
    open.retain(|one| is_accepted(one, call));
    let weights: Vec<Option<usize>> = open.iter().map(|one| one.when.weight(asked)).collect();
    let best = weights.iter().flatten().max();
    let fitting: Vec<&Recording> = match best {
        None => Vec::new(),
        best => open
            .iter()
            .zip(&weights)
            .filter(|(_, weight)| weight.as_ref() == best)
            .map(|(one, _)| *one)
            .collect(),
    };
    if let Some(found) = in_turn(operation, &fitting, !operation.in_turn) {
        return Ok((found, "the request fits"));
    }
    if operation.in_turn {
        let found = in_turn(operation, &open, false).ok_or(Fault::NotAcceptable)?;
        return Ok((found, "in turn"));
    }
    let good = open.iter().find(|one| (200..300).contains(&one.status)).or(open.first());
    good.map(|one| (*one, "the first one")).ok_or(Fault::NotAcceptable)
}

/// The only one, or the next one.
fn in_turn<'o>(
    operation: &Operation,
    list: &[&'o Recording],
    is_first: bool,
) -> Option<&'o Recording> {
    if list.len() < 2 || is_first {
        let good = list.iter().find(|one| (200..300).contains(&one.status));
        return good.or(list.first()).copied();
    }
    let turn = operation.turns.fetch_add(1, Ordering::Relaxed);
    list.get(turn % list.len()).copied()
}

fn is_accepted(recording: &Recording, call: &Call<'_>) -> bool {
    let Some((media_type, _)) = &recording.content else { return true };
    let mut lines = call.fields.get_all(b"accept").peekable();
    if lines.peek().is_none() {
        return true;
    }
    let mut parts = lines.flat_map(|line| line.split(|byte| *byte == b','));
    parts.any(|part| {
        let text = String::from_utf8_lossy(part).into_owned();
        let is_refused = text
            .split(';')
            .skip(1)
            .any(|one| one.trim().strip_prefix("q=").is_some_and(|q| q.parse::<f32>() == Ok(0.0)));
        !is_refused && (text.trim().is_empty() || fits(&text, media_type))
    })
}
