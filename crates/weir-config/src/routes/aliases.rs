//! Names of predicates and filters written in Java, with what they mean here: `weir.predicates` and
//! `weir.filters`.

use std::collections::HashMap;

use weir_route::NamedArgs;

use super::definition::{Named, Reader};
use crate::diagnostic::Diagnostic;
use crate::spring::{Layers, Node};

/// What names stand for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aliases {
    pub predicates: HashMap<String, Vec<NamedArgs>>,
    pub filters: HashMap<String, Vec<NamedArgs>>,
}

/// Every alias of the layers; of two with one name the higher one counts.
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
