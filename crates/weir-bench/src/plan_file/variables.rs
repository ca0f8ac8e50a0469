//! `${name}`, `${counter}` and `${random(LOW,HIGH)}` in requests: from text to pieces of a
//! template.

use crate::journey::{Piece, Template};
use crate::plan::{Message, Request};
use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Names of variables in the order of their slots.
#[derive(Default)]
pub(super) struct Names(pub(super) Vec<String>);

impl Names {
    pub(super) fn slot(&mut self, name: &str) -> usize {
        self.0.iter().position(|known| known == name).unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        })
    }
}

/// Converts a request with `${counter}` or `${random(LOW,HIGH)}` in its head to one that is
/// rendered at each sending. A body is left as it is.
///
/// # Errors
/// For any other variable.
pub(crate) fn render_variables(request: &mut Request) -> anyhow::Result<()> {
    let Message::Fixed(bytes) = &request.message else { return Ok(()) };
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
    let (head, rest) = bytes.split_at(end);
    let Ok(head) = std::str::from_utf8(head) else { return Ok(()) };
    if !head.contains("${") {
        return Ok(());
    }
    let mut head = pieces(head, &BTreeMap::new(), &mut Names::default())?;
    head.push(Piece::Text(rest.get(..2).unwrap_or_default().to_vec()));
    let body = rest.get(4..).filter(|body| !body.is_empty());
    if body.is_some() {
        bail!("a request with a body cannot have variables in its URL or headers; use a plan");
    }
    request.message = Message::Rendered(Arc::new(Template { head, body: None }));
    Ok(())
}

/// A template without variables is written once.
pub(super) fn message(template: Template) -> Message {
    let text = |piece: &Piece| matches!(piece, Piece::Text(_));
    if template.head.iter().all(text) && template.body.iter().flatten().all(text) {
        let mut bytes = Vec::new();
        template.render(&[], &mut crate::dice::Dice::new(0), &mut bytes);
        return Message::Fixed(bytes.into());
    }
    Message::Rendered(Arc::new(template))
}

/// Splits text at `${name}`, `${counter}` and `${random(LOW,HIGH)}`; constants are substituted.
pub(super) fn pieces(
    text: &str,
    constants: &BTreeMap<String, String>,
    names: &mut Names,
) -> anyhow::Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        literal.push_str(before);
        let (name, behind) = after.split_once('}').context("'${' without '}'")?;
        rest = behind;
        let range = name.strip_prefix("random(").and_then(|range| range.strip_suffix(')'));
        let piece = if let Some(value) = constants.get(name) {
            literal.push_str(value);
            continue;
        } else if let Some(range) = range {
            let (low, high) = range.split_once(',').context("random takes (LOW,HIGH)")?;
            let (low, high) = (low.trim().parse()?, high.trim().parse()?);
            anyhow::ensure!(low <= high, "random({low},{high}): empty range");
            Piece::Random(low, high)
        } else if name == "counter" {
            Piece::Counter(Arc::default())
        } else if names.0.iter().any(|known| known == name) {
            Piece::Slot(names.slot(name))
        } else {
            bail!("nothing gives the variable '{name}'");
        };
        if !literal.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut literal).into_bytes()));
        }
        pieces.push(piece);
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        pieces.push(Piece::Text(literal.into_bytes()));
    }
    Ok(pieces)
}
