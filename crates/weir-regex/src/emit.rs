//! Conversion to the notation that the `regex` and `fancy-regex` crates share.

use super::ast::{Assert, Node};

/// Any line terminator of Java.
const LINE_END: &str = "[\\n\\r\\x{85}\\x{2028}\\x{2029}]";

/// An ASCII word character.
const WORD: &str = "[0-9A-Za-z_]";

/// Purpose of the emitted expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// The whole text must match.
    pub(super) full: bool,
    /// `$` also matches before a final line end. Otherwise it matches at the end only, which is
    /// equivalent for a text without line ends and needs no backtracking.
    pub(super) line_ends: bool,
}

/// Dialects of the engines, where they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// The crate `regex`.
    Linear,
    /// The crate `fancy-regex`, which supports look-around but no ASCII-only `\b`.
    Backtracking,
}

/// Emits `node` for an engine. Groups keep their numbers.
pub(super) fn emit(node: &Node, target: Target, dialect: Dialect) -> String {
    let mode = Mode { line_ends: target.line_ends, dialect };
    let mut out = String::new();
    if target.full {
        out.push_str("\\A(?:");
        write(node, mode, &mut out);
        out.push_str(")\\z");
    } else {
        write(node, mode, &mut out);
    }
    out
}

/// Settings of an emission.
#[derive(Clone, Copy)]
struct Mode {
    line_ends: bool,
    dialect: Dialect,
}

fn write(node: &Node, mode: Mode, out: &mut String) {
    match node {
        Node::Text(text) => write_text(text, out),
        Node::Class(class) => class.write(out),
        Node::Concat(nodes) => {
            for node in nodes {
                match node {
                    Node::Alternate(_) => write_group("(?:", node, mode, out),
                    _ => write(node, mode, out),
                }
            }
        }
        Node::Alternate(nodes) => {
            for (at, node) in nodes.iter().enumerate() {
                if at > 0 {
                    out.push('|');
                }
                write(node, mode, out);
            }
        }
        Node::Group(_, node) => write_group("(", node, mode, out),
        Node::Repeat { node, min, max, greedy } => {
            write_group("(?:", node, mode, out);
            let max = max.map(|max| max.to_string()).unwrap_or_default();
            out.push_str(&format!("{{{min},{max}}}"));
            if !greedy {
                out.push('?');
            }
        }
        Node::Atomic(node) => write_group("(?>", node, mode, out),
        Node::Look { ahead, negative, node } => {
            let open = match (ahead, negative) {
                (true, false) => "(?=",
                (true, true) => "(?!",
                (false, false) => "(?<=",
                (false, true) => "(?<!",
            };
            write_group(open, node, mode, out);
        }
        Node::Backref(group) => out.push_str(&format!("(?:\\{group})")),
        Node::Assert(assert) => write_assert(*assert, mode, out),
        Node::Folded(node) => write_group("(?i:", node, mode, out),
    }
}

fn write_group(open: &str, node: &Node, mode: Mode, out: &mut String) {
    out.push_str(open);
    write(node, mode, out);
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

fn write_assert(assert: Assert, mode: Mode, out: &mut String) {
    // No line ends or starts between CR and LF.
    let last = format!("(?=(?:\\r\\n|{LINE_END})?\\z)(?!(?<=\\r)(?=\\n))");
    let text = match assert {
        Assert::Start => "\\A",
        Assert::End => "\\z",
        Assert::FinalEnd { .. } if !mode.line_ends => "\\z",
        Assert::FinalEnd { unix: true } => "(?=\\n?\\z)",
        Assert::FinalEnd { unix: false } => &last,
        Assert::LineStart { unix: true } => "(?:\\A|(?<=\\n)(?!\\z))",
        Assert::LineStart { unix: false } => {
            &format!("(?:\\A|(?<={LINE_END})(?!(?<=\\r)(?=\\n))(?!\\z))")
        }
        Assert::LineEnd { unix: true } => "(?=\\n|\\z)",
        Assert::LineEnd { unix: false } => &format!("(?={LINE_END}|\\z)(?!(?<=\\r)(?=\\n))"),
        Assert::WordBoundary { unicode: false } => match mode.dialect {
            Dialect::Linear => "(?-u:\\b)",
            Dialect::Backtracking => &format!("(?:(?<={WORD})(?!{WORD})|(?<!{WORD})(?={WORD}))"),
        },
        Assert::WordBoundary { unicode: true } => "\\b",
        Assert::NotWordBoundary { unicode: false } => match mode.dialect {
            Dialect::Linear => "(?-u:\\B)",
            Dialect::Backtracking => &format!("(?:(?<={WORD})(?={WORD})|(?<!{WORD})(?!{WORD}))"),
        },
        Assert::NotWordBoundary { unicode: true } => "\\B",
        Assert::PreviousEnd => "\\G",
    };
    out.push_str(text);
}
