//! Environment variables and `--set` as trees.
//!
//! In `SPRING_CLOUD_GATEWAY_ROUTES_0_ID` every `_` may stand for `.`, `-` or nothing. So the tree
//! has a level for each, and lookups join levels as necessary (Spring Boot's
//! `SystemEnvironmentPropertyMapper`).

use std::fmt::Write as _;
use std::sync::Arc;

use super::expand::{Expansion, Step, bound_depth};
use super::key;
use super::tree::Tree;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::{Sources, Span, offset};

/// First words of variables that are properties; all others only resolve placeholders.
const ROOTS: &[&str] = &["spring", "server", "management", "weir", "reactor"];

/// The tree of the variables that are properties.
pub(super) fn variables(variables: &[(String, String)], sources: &mut Sources) -> Tree {
    let mut text = String::new();
    let mut places = Vec::new();
    for (name, value) in variables.iter().filter(|(name, _)| is_property(name)) {
        let start = text.len();
        // A line for excerpts only; lookups use the value itself.
        let _ = writeln!(text, "{name}={}", value.replace(['\n', '\r'], " "));
        places.push((name, value, start, text.len() - 1));
    }
    let text: Arc<str> = text.into();
    let source = sources.add("environment".into(), Arc::clone(&text));
    let mut tree = Tree::new(source, text);
    tree.joined = true;
    tree.adopt(tree.root, &[], false);
    let mut expansion = Expansion::default();
    for (name, value, start, end) in places {
        let path = steps(&mut tree, name);
        let at = Span { source, start: offset(start), end: offset(end) };
        expansion.set_path(&mut tree, &path, value, at);
    }
    // Kubernetes sets names such as WEIR_PORT_8080_TCP, which must not become a list with 8,080
    // missing elements.
    let mut ignored = Vec::new();
    expansion.seal(&mut tree, &mut ignored);
    bound_depth(&mut tree, &mut ignored);
    tree
}

fn is_property(name: &str) -> bool {
    let first = name.split(['_', '.']).next().unwrap_or_default();
    first.len() < name.len() && ROOTS.iter().any(|root| root.eq_ignore_ascii_case(first))
}

fn steps(tree: &mut Tree, name: &str) -> Vec<Step> {
    let parts = name.split(['_', '.', '[', ']', '-']).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let name = part.to_ascii_lowercase();
            let text = tree.keep(&name);
            Step { bracketed: key::index(&name).is_some(), name, text }
        })
        .collect()
}

/// The tree of `key=value` texts of the command line; later ones override earlier ones.
pub(super) fn sets(sets: &[String], sources: &mut Sources, problems: &mut Vec<Diagnostic>) -> Tree {
    let text: Arc<str> = sets.join("\n").into();
    let source = sources.add("--set".into(), Arc::clone(&text));
    let mut tree = Tree::new(source, text);
    tree.adopt(tree.root, &[], false);
    let mut expansion = Expansion::default();
    let mut start = 0;
    for set in sets {
        let end = start + set.len();
        let at = Span { source, start: offset(start), end: offset(end) };
        start = end + 1;
        let Some((key, value)) = set.split_once('=') else {
            let message = format!("`--set {set}` has no `=`");
            let help = "write it as `--set key=value`, such as `--set server.port=8081`";
            problems.push(Diagnostic::new(Code::SetSyntax, message).at(at).help(help));
            continue;
        };
        let key = tree.keep(key.trim());
        expansion.set(&mut tree, key, value, at);
    }
    expansion.seal(&mut tree, problems);
    bound_depth(&mut tree, problems);
    tree
}

#[cfg(test)]
mod tests {
    use super::{sets, variables};
    use crate::source::Sources;

    #[test]
    fn variables_become_levels() {
        let list = [
            ("SPRING_CLOUD_GATEWAY_ROUTES_0_ID", "a"),
            ("SPRING_CLOUD_GATEWAY_ROUTES_0_PREDICATES_0", "Path=/x"),
            ("server.port", "1"),
            ("WEIR_PORT_8080_TCP", "tcp://1"),
            ("HOME", "/root"),
            ("WEIRD", "x"),
        ];
        let list: Vec<_> = list.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let tree = variables(&list, &mut Sources::default());
        assert_eq!(
            format!("{:?}", tree.root()),
            concat!(
                r#"{"spring": {"cloud": {"gateway": {"routes": [{"id": "a", "predicates":"#,
                r#" ["Path=/x"]}]}}}, "server": {"port": "1"}, "weir": {"port": [{"tcp":"#,
                r#" "tcp://1"}]}}"#,
            )
        );
    }

    #[test]
    fn sets_are_properties() {
        let mut problems = Vec::new();
        let list = ["server.port=1".to_owned(), "a".to_owned(), "r[0].id=x=y".to_owned()];
        let tree = sets(&list, &mut Sources::default(), &mut problems);
        assert_eq!(
            format!("{:?}", tree.root()),
            r#"{"server": {"port": "1"}, "r": [{"id": "x=y"}]}"#
        );
        assert_eq!(problems.len(), 1);
    }
}
