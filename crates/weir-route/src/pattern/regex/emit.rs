//! An expression in the notation that the `regex` and `fancy-regex` crates share.

use super::ast::{Assert, Node};

/// Any line end that Java knows.
const LINE_END: &str = "[\\n\\r\\x{85}\\x{2028}\\x{2029}]";

/// How the engine is going to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// The whole text has to match.
    pub(super) full: bool,
    /// `$` looks for a line end at the end of the text. Without, it takes the end alone, which is
    /// the same in a text without line ends, and needs no backtracking.
    pub(super) line_ends: bool,
}

/// `node` for the engine. Groups keep their numbers.
pub(super) fn emit(node: &Node, target: Target) -> String {
    let mut out = String::new();
    if target.full {
        out.push_str("\\A(?:");
        write(node, target, &mut out);
        out.push_str(")\\z");
    } else {
        write(node, target, &mut out);
    }
    out
}

fn write(node: &Node, target: Target, out: &mut String) {
    match node {
        Node::Text(text) => write_text(text, out),
        Node::Class(class) => class.write(out),
        Node::Concat(nodes) => {
            for node in nodes {
                match node {
                    Node::Alternate(_) => write_group("(?:", node, target, out),
                    _ => write(node, target, out),
                }
            }
        }
        Node::Alternate(nodes) => {
            for (at, node) in nodes.iter().enumerate() {
                if at > 0 {
                    out.push('|');
                }
                write(node, target, out);
            }
        }
        Node::Group(_, node) => write_group("(", node, target, out),
        Node::Repeat { node, min, max, greedy } => {
            write_group("(?:", node, target, out);
            let max = max.map(|max| max.to_string()).unwrap_or_default();
            out.push_str(&format!("{{{min},{max}}}"));
            if !greedy {
                out.push('?');
            }
        }
        Node::Atomic(node) => write_group("(?>", node, target, out),
        Node::Look { ahead, negative, node } => {
            let open = match (ahead, negative) {
                (true, false) => "(?=",
                (true, true) => "(?!",
                (false, false) => "(?<=",
                (false, true) => "(?<!",
            };
            write_group(open, node, target, out);
        }
        Node::Backref(group) => out.push_str(&format!("(?:\\{group})")),
        Node::Assert(assert) => write_assert(*assert, target, out),
        Node::Folded(node) => write_group("(?i:", node, target, out),
    }
}

fn write_group(open: &str, node: &Node, target: Target, out: &mut String) {
    out.push_str(open);
    write(node, target, out);
    out.push(')');
}

fn write_text(text: &str, out: &mut String) {
    for char in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(char) {
            out.push('\\');
        }
        out.push(char);
    }
}

fn write_assert(assert: Assert, target: Target, out: &mut String) {
    // Between CR and LF no line ends or starts.
    let last = format!("(?=(?:\\r\\n|{LINE_END})?\\z)(?!(?<=\\r)(?=\\n))");
    let text = match assert {
        Assert::Start => "\\A",
        Assert::End => "\\z",
        Assert::FinalEnd { .. } if !target.line_ends => "\\z",
        Assert::FinalEnd { unix: true } => "(?=\\n?\\z)",
        Assert::FinalEnd { unix: false } => &last,
        Assert::LineStart { unix: true } => "(?:\\A|(?<=\\n)(?!\\z))",
        Assert::LineStart { unix: false } => {
            &format!("(?:\\A|(?<={LINE_END})(?!(?<=\\r)(?=\\n))(?!\\z))")
        }
        Assert::LineEnd { unix: true } => "(?=\\n|\\z)",
        Assert::LineEnd { unix: false } => &format!("(?={LINE_END}|\\z)(?!(?<=\\r)(?=\\n))"),
        Assert::WordBoundary { unicode: false } => "(?-u:\\b)",
        Assert::WordBoundary { unicode: true } => "\\b",
        Assert::NotWordBoundary { unicode: false } => "(?-u:\\B)",
        Assert::NotWordBoundary { unicode: true } => "\\B",
        Assert::PreviousEnd => "\\G",
    };
    out.push_str(text);
}
