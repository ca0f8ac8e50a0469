//! Replacements of predicates and filters written in Java, by name: `weir.predicates` and
//! `weir.filters`.

use std::collections::HashMap;

use weir_route::NamedArgs;

use super::definition::{Named, Reader};
use crate::diagnostic::Diagnostic;
use crate::spring::{Layers, Node};

/// Replacements by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aliases {
    pub predicates: HashMap<String, Vec<NamedArgs>>,
    pub filters: HashMap<String, Vec<NamedArgs>>,
}

/// Every alias of the layers; a higher layer overrides an alias of the same name.
pub(crate) fn aliases(layers: &Layers<'_>, problems: &mut Vec<Diagnostic>) -> Aliases {
    let mut read = |path: &str, kind: Named| {
        let reader = Reader::new(layers, false);
        let mut aliases: HashMap<String, Vec<NamedArgs>> = HashMap::new();
        for node in layers.all(path).flat_map(Node::children) {
            if !aliases.contains_key(node.key()) {
                let list = reader.named_list(node, kind, problems);
                aliases.insert(node.key().to_owned(), list);
            }
        }
        aliases
    };
    Aliases {
        predicates: read("weir.predicates", Named::Predicate),
        filters: read("weir.filters", Named::Filter),
    }
}
