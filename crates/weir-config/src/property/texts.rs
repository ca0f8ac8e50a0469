//! Texts and maps of texts among properties.

use crate::spring::{self, Layers, Node};

/// Every entry of the maps at `path`, over all layers; of two with one key the higher one counts.
pub(super) fn entries<'t>(layers: &Layers<'t>, path: &str) -> Vec<Node<'t>> {
    let mut found: Vec<Node<'t>> = Vec::new();
    for entry in layers.all(path).flat_map(Node::children) {
        if !found.iter().any(|known| spring::key::same(known.key(), entry.key())) {
            found.push(entry);
        }
    }
    found
}

/// Keys and texts of the maps at `path`, placeholders resolved.
pub(super) fn texts(layers: &Layers<'_>, path: &str) -> Vec<(String, String)> {
    let entry = |node: Node<'_>| {
        let text = node.text()?;
        Some((node.key().to_owned(), layers.resolve(&text).0.into_owned()))
    };
    entries(layers, path).into_iter().filter_map(entry).collect()
}

/// The text without blanks around it; `None` if nothing is left.
pub(super) fn some(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
