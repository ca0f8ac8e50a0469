//! Masking of secrets that placeholders fill in: `rate: ${DB_PASSWORD}`.

use std::collections::HashMap;

use super::{Code, Diagnostic, HIDDEN, fills_in_secret};
use crate::source::Span;
use crate::spring::{Layers, Node};

/// Masks in findings about weir's own properties what a placeholder for a secret filled in there.
pub(crate) fn mask_filled_in(layers: &Layers<'_>, problems: &mut [Diagnostic]) {
    let mut places: HashMap<Span, Vec<&mut Diagnostic>> = HashMap::new();
    for problem in problems.iter_mut().filter(|problem| problem.code == Code::InvalidValue) {
        if let Some(at) = problem.at {
            places.entry(at).or_default().push(problem);
        }
    }
    if places.is_empty() {
        return;
    }
    for node in layers.all("weir") {
        below(layers, node, &mut places);
    }
}

fn below(layers: &Layers<'_>, node: Node<'_>, places: &mut HashMap<Span, Vec<&mut Diagnostic>>) {
    for child in node.children() {
        below(layers, child, places);
    }
    let Some(written) = node.written().filter(|text| fills_in_secret(text)) else { return };
    let Some(found) = places.get_mut(&node.span()) else { return };
    let value = layers.resolve(written).0;
    // A message may show one part of a list.
    let parts = value.split([',', ' ']).map(str::trim).filter(|part| !part.is_empty());
    let texts: Vec<String> = std::iter::once(value.trim())
        .chain(parts)
        .filter(|text| !text.is_empty())
        .map(|text| format!("`{text}`"))
        .collect();
    for finding in found {
        for text in &texts {
            finding.message = finding.message.replace(text, &format!("`{HIDDEN}`"));
            finding.help = finding.help.replace(text, &format!("`{HIDDEN}`"));
        }
        finding.secret = true;
    }
}
