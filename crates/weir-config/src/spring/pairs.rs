//! Trees of keys and values that have no text: answers of configuration servers, and directories in
//! which each file is a value.

use std::fmt::Write as _;
use std::sync::Arc;

use super::expand::{Expansion, bound_depth};
use super::tree::Tree;
use crate::diagnostic::Diagnostic;
use crate::source::{Sources, Span, offset};

/// The tree of `pairs`. For findings, each pair is a line `key=value` of a text with the name
/// `name`.
pub(super) fn parse(
    name: &str,
    pairs: &[(String, String)],
    sources: &mut Sources,
    problems: &mut Vec<Diagnostic>,
) -> Tree {
    let mut text = String::new();
    let mut places = Vec::with_capacity(pairs.len());
    for (key, value) in pairs {
        let start = text.len();
        // A line for excerpts only; lookups use the value itself.
        let _ = writeln!(text, "{key}={}", value.replace(['\n', '\r'], " "));
        places.push((start, start + key.len() + 1, text.len() - 1));
    }
    let text: Arc<str> = text.into();
    let source = sources.add(name.into(), Arc::clone(&text));
    let mut tree = Tree::new(source, Arc::clone(&text));
    tree.adopt(tree.root, &[], false);
    let mut expansion = Expansion::default();
    for ((key, value), (start, value_start, end)) in pairs.iter().zip(places) {
        let at = Span { source, start: offset(value_start), end: offset(end) };
        let key = tree.keep(text.get(start..start + key.len()).unwrap_or(key));
        // By offset if the text contains the same value, so that it is not stored twice.
        let written = text.get(value_start..end).filter(|written| written == value);
        expansion.set(&mut tree, key, written.unwrap_or(value), at);
    }
    expansion.seal(&mut tree, problems);
    bound_depth(&mut tree, problems);
    tree
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::source::Sources;

    #[test]
    fn indexes_become_lists() {
        let pairs = [
            ("spring.cloud.gateway.routes[0].id", "a"),
            ("spring.cloud.gateway.routes[0].predicates[0]", "Path=/a"),
            ("note", "two\nlines"),
        ];
        let pairs = pairs.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let (mut sources, mut problems) = (Sources::default(), Vec::new());
        let tree = parse("configserver:x", &pairs, &mut sources, &mut problems);
        assert_eq!(
            format!("{:?}", tree.root()),
            concat!(
                r#"{"spring": {"cloud": {"gateway": {"routes": [{"id": "a", "#,
                r#""predicates": ["Path=/a"]}]}}}, "note": "two\nlines"}"#,
            )
        );
        assert!(problems.is_empty(), "{problems:?}");
        let node = tree.root().children().nth(1).expect("the note");
        assert_eq!(sources.place(node.span()).to_string(), "configserver:x:3:6");
    }
}
