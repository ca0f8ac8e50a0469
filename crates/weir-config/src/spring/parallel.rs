//! Parses a long YAML text with two threads: parsing takes most of the start time.
//!
//! The text is cut inside a block list, before one of its elements. One thread parses the elements
//! from there to the end of the list as a text of their own; this thread parses the rest, with one
//! null in their place. The null validates the cut: if the parser meets it as an element of a list,
//! it would have met the omitted elements there. Otherwise, or if anything else differs from a
//! plain list, one thread parses the whole text and finds the errors.

use std::ops::Range;
use std::sync::mpsc::channel;

use weir_route::Beside;

use super::builder::Builder;
use super::events::{Instead, Reading};

/// Minimum length of a text for two threads.
const BYTES_MIN: usize = 1 << 20;
/// Length of the part of the text, from its middle on, that is searched for the least deep
/// elements.
const WINDOW: usize = 64 * 1024;
/// The replacement of the omitted elements.
const MARK: &str = "- ~";
/// Number of bytes before the null.
const DASH: usize = 2;

/// Lines that are elements of one block list.
#[derive(Debug, PartialEq, Eq)]
struct Elements {
    lines: Range<usize>,
    /// Spaces before each `-`.
    indent: usize,
}

/// The documents of `whole`, parsed by this thread and a second one; `None` if one thread should
/// parse it.
pub(super) fn read(whole: &Reading<'_>, beside: Beside) -> Option<Vec<Builder>> {
    if whole.body.len() < BYTES_MIN {
        return None;
    }
    read_at(whole, &find(whole.body)?, beside)
}

fn read_at(whole: &Reading<'_>, elements: &Elements, beside: Beside) -> Option<Vec<Builder>> {
    let Elements { lines: Range { start, end }, indent } = elements;
    let (before, behind) = (whole.body.get(..*start)?, whole.body.get(*end..)?);
    // A directive changes what a tag means.
    if before.starts_with('%') || memchr::memmem::find(before.as_bytes(), b"\n%").is_some() {
        return None;
    }
    // A line that looks like a comment or a blank line may belong to a block scalar in the last
    // element, which the null cannot detect.
    if behind.trim_start_matches([' ', '\t']).starts_with(['#', '\n', '\r']) {
        return None;
    }
    let mut rest = String::with_capacity(before.len() + indent + MARK.len() + 1 + behind.len());
    rest.push_str(before);
    rest.extend(std::iter::repeat_n(' ', *indent));
    rest.push_str(MARK);
    rest.push('\n');
    let kept = rest.len();
    rest.push_str(behind);
    let part = Reading {
        body: whole.body.get(*start..*end)?,
        from: whole.from + start,
        left_out: None,
        ..*whole
    };
    // Never negative: there are at least two elements, longer than their replacement.
    let left_out = end.checked_sub(kept)?;
    let rest = Reading { body: &rest, left_out: Some((kept, left_out)), ..*whole };
    let (sender, receiver) = channel();
    let mut sender = Some(sender);
    let mut there = || {
        // Dropped if parsing panics, so that the receiver does not wait.
        let Some(sender) = sender.take() else { return };
        let mut documents = Vec::new();
        let read = part.read(&mut documents, None).ok().and_then(|()| documents.pop());
        // Fails only if the other thread has given up.
        let _ = sender.send(read.filter(|_| documents.is_empty()));
    };
    let mut filled = false;
    let mut fill = |builder: &mut Builder| {
        let read = receiver.recv().ok().flatten();
        filled = read.is_some_and(|elements| builder.take_elements(elements));
    };
    let null = whole.from + start + indent + DASH;
    let at = null..null + MARK.len() - DASH;
    let mut documents = Vec::new();
    let mut read = None;
    let mut here = || {
        let instead = Instead { at: at.clone(), fill: &mut fill };
        read = rest.read(&mut documents, Some(instead)).ok();
    };
    let both = beside(&mut there, &mut here);
    read.filter(|()| both && filled).map(|()| documents)
}

/// Elements of the least deep list in the middle of `text`, from there to the end of the list.
fn find(text: &str) -> Option<Elements> {
    let middle = text.len() / 2;
    let from = middle + memchr::memchr(b'\n', text.as_bytes().get(middle..)?)? + 1;
    let mut first: Option<Elements> = None;
    for line in lines(text, from).take_while(|line| line.start < from + WINDOW) {
        let indent = indent(text, &line);
        if is_element(text, &line, indent) && first.as_ref().is_none_or(|f| indent < f.indent) {
            first = Some(Elements { lines: line.start..text.len(), indent });
        }
    }
    let mut found = first?;
    let mut others = 0;
    for line in lines(text, found.lines.start).skip(1) {
        let at = indent(text, &line);
        if at > found.indent
            || matches!(text.as_bytes().get(line.start + at), None | Some(b'\n' | b'\r' | b'#'))
        {
            continue;
        }
        if at < found.indent || !is_element(text, &line, at) {
            found.lines.end = line.start;
            break;
        }
        others += 1;
    }
    (others > 0).then_some(found)
}

/// The lines of `text` from `start` on, which is the start of a line.
fn lines(text: &str, start: usize) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut next = start;
    std::iter::from_fn(move || {
        let start = next;
        let rest = bytes.get(start..).filter(|rest| !rest.is_empty())?;
        next = start + memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        Some(start..next)
    })
}

/// Spaces at the start of a line.
fn indent(text: &str, line: &Range<usize>) -> usize {
    let bytes = text.as_bytes().get(line.clone()).unwrap_or_default();
    bytes.iter().take_while(|byte| **byte == b' ').count()
}

/// Whether an element starts on this line.
fn is_element(text: &str, line: &Range<usize>, indent: usize) -> bool {
    text.get(line.start + indent..line.end).is_some_and(|rest| rest.starts_with("- "))
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use proptest::collection::vec;
    use proptest::prelude::{ProptestConfig, Strategy, proptest};

    use super::super::tree::Node;
    use super::{Elements, Reading, find, indent, is_element, read_at};
    use crate::diagnostic::Diagnostic;
    use crate::spring::builder::Builder;

    /// All nodes with their places, and the findings.
    type Dump = (Vec<String>, Vec<String>);

    /// A thread for the test.
    #[expect(clippy::disallowed_methods, reason = "production gets its threads from the caller")]
    pub(crate) fn on_a_thread(there: &mut (dyn FnMut() + Send), here: &mut dyn FnMut()) -> bool {
        std::thread::scope(|scope| {
            let thread = scope.spawn(there);
            here();
            thread.join().unwrap();
        });
        true
    }

    fn node(node: Node<'_>, depth: usize, out: &mut Vec<String>) {
        let (key, value) = (node.key(), node.scalar());
        // A block scalar ends at the next token; an empty one is located there.
        let is_empty = node.written().is_some_and(str::is_empty);
        let places = (!is_empty).then(|| (node.key_span().start, node.span().start));
        out.push(format!("{depth} {:?} {key:?} {value:?} {places:?}", node.kind()));
        node.children().for_each(|child| self::node(child, depth + 1, out));
    }

    fn dump(documents: Vec<Builder>) -> Dump {
        let mut problems = Vec::new();
        let mut out = Vec::new();
        for builder in documents {
            node(builder.finish(&mut problems).root(), 0, &mut out);
        }
        let told = |problem: &Diagnostic| format!("{} {:?}", problem.message, problem.at);
        (out, problems.iter().map(told).collect())
    }

    /// Results of parsing with one thread, and with two and the cut of `at`.
    fn both(text: &str, at: impl Fn(&str) -> Option<Elements>) -> (Option<Dump>, Option<Dump>) {
        let text: Arc<str> = text.into();
        let whole = Reading { source: 3, text: &text, body: &text, from: 0, left_out: None };
        let mut documents = Vec::new();
        let one = whole.read(&mut documents, None).ok().map(|()| dump(documents));
        let two = at(&text).and_then(|elements| read_at(&whole, &elements, on_a_thread));
        (one, two.map(dump))
    }

    #[track_caller]
    fn check(text: &str, by_two: bool) {
        let (one, two) = both(text, find);
        assert_eq!(two.is_some(), by_two, "{text}");
        assert!(two.is_none() || one == two, "{text}\n{one:#?}\n{two:#?}");
    }

    /// Repeats an element until the middle of the text lies within it.
    fn repeated(element: &str) -> String {
        (0..9).map(|n| element.replace('@', &n.to_string())).collect()
    }

    #[test]
    fn two_threads_read_what_one_does() {
        let flow = repeated("    - { id: r@, predicates: [ \"Path=/@\" ], a.b: 1 }\n");
        check(&format!("x:\n  routes:\n{flow}"), true);
        check(&format!("x:\n  routes:\n{flow}  more: 1\ny: [ 2 ]\n---\nz: \"\\x41\"\n"), true);
        let block = repeated(
            "- id: \"r\\x41@\"\n  predicates:\n  - Path=/@\n  # a remark\n  - Host=h\n\n  id: twice\n",
        );
        check(&format!("routes:\n{block}"), true);
        check(&format!("routes:\n{block}more: \"\\x42\"\n"), true);
        check(&repeated("- a@: |+\n    text\n\n  b: >\n    text\n  c: 'x\n    y'\n"), true);
        check(&block.replace('\n', "\r\n"), true);
        check("routes: [ 1 ]\n", false);
    }

    #[test]
    fn what_is_no_plain_list_is_read_by_one_thread() {
        let flow = repeated("  - { id: r@ }\n");
        // A directive, and anchors on both sides of the cut.
        check(&format!("%TAG !! tag:example.org,2000:\n---\nroutes:\n{flow}"), false);
        check(&format!("base: &a 1\nroutes:\n{}", flow.replace('}', ", x: *a }")), false);
        check(&format!("routes:\n{}", repeated("  - &a@ x\n")), false);
        // Within a block scalar, whose lines only look like elements.
        check(&format!("text: |\n{flow}"), false);
        check(&format!("text: 'a\n{flow}  '\n"), false);
        check(&format!("text: [ a,\n{flow} ]\n"), false);
        check(&format!("text: a\n{flow}"), false);
        check(&format!("routes:\n{flow} - less\n"), false);
        check(&format!("routes:\n{flow}  - {{ id: \n"), false);
        let deep = "[".repeat(62) + &"]".repeat(62);
        check(&format!("a:\n  b:\n    c:\n{}", repeated(&format!("    - {deep}\n"))), false);
    }

    #[test]
    fn what_looks_like_a_comment_behind_the_cut_may_be_text() {
        for text in ["- |\n  # n\n", "- |\n\n  n\n"] {
            let (one, two) = both(text, |_| Some(Elements { lines: 0..4, indent: 0 }));
            assert!(one.is_some() && two.is_none(), "{text}\n{one:#?}\n{two:#?}");
        }
    }

    fn line() -> impl Strategy<Value = String> {
        let texts = [
            "- a",
            "- v",
            "- w x",
            "- b: 1",
            "- y: z",
            "c: 2",
            "d:",
            "- - e",
            "- |",
            "f: >+",
            "- 'g",
            "h'",
            "\"i",
            "j\"",
            "- [ k,",
            "l ]",
            "m: {",
            "}",
            "# n",
            "---",
            "...",
            "-",
            "- &o p",
            "- *o",
            "- !!str 1",
            "? q",
            ": r",
            "\ts",
            "t.u: v",
            "",
            "plain",
        ];
        let text = proptest::sample::select(texts.to_vec());
        (0..4usize, text).prop_map(|(deep, text)| format!("{}{text}\n", "  ".repeat(deep)))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn a_cut_changes_nothing(lines in vec(line(), 1..14), from in 0..14usize, len in 1..14usize) {
            let text: String = lines.concat();
            let ends = |n: usize| lines.iter().take(n).map(String::len).sum::<usize>();
            let cut = |text: &str| {
                let lines = ends(from)..ends(from + len);
                let first = super::lines(text, lines.start).next()?;
                let indent = indent(text, &first);
                is_element(text, &first, indent).then_some(Elements { lines, indent })
            };
            let (one, two) = both(&text, cut);
            assert!(two.is_none() || one == two, "{text}\n{one:#?}\n{two:#?}");
            let (one, two) = both(&text, find);
            assert!(two.is_none() || one == two, "{text}\n{one:#?}\n{two:#?}");
        }
    }
}
