//! Rendering of findings: for operators with excerpt, caret and remedy, or as JSON.

use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use serde_json::{Value, json};

use super::secret::mask_line;
use super::{Diagnostic, Severity};
use crate::source::{Excerpt, Sources, Span};

/// Style of rendered findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// ASCII without colour.
    Plain,
    /// With colour and line drawing.
    Coloured,
}

/// Maximum number of characters shown of a line that is too long for an excerpt.
const SHOWN_CHARS_MAX: usize = 100;

/// Renders a finding as several lines, without a trailing line break.
pub fn render(diagnostic: &Diagnostic, sources: &Sources, style: Style) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let (message, help) = (sources.hide(&diagnostic.message), sources.hide(&diagnostic.help));
    let title = level.primary_title(&*message).id(diagnostic.code.as_str());
    let mut group = Group::with_title(title);
    let excerpt = diagnostic.at.and_then(|span| Some((span, sources.excerpt(span)?)));
    if let Some((span, excerpt)) = excerpt {
        let place = sources.place(span);
        let open = within(&diagnostic.open, span, &excerpt);
        let marked = (excerpt.start, excerpt.end);
        let (line, start, end) = mask_line(excerpt.line, marked, diagnostic.secret, &open);
        let end = if end == start { end_of_char(&line, start) } else { end };
        // The renderer counts columns in the line as it is shown.
        let before = line.get(..start).unwrap_or_default();
        let is_moved = excerpt.cut || before.chars().count() + 1 != place.column;
        let file = place.file.to_string();
        let origin = Origin::path(file.clone()).line(place.line).char_column(place.column);
        group = if is_moved { group.element(origin) } else { group };
        group = match excerpt.cut {
            true => group.element(Level::NOTE.with_name("here").message(beginning(&line, start))),
            false => group.element(
                Snippet::source(line)
                    .line_start(place.line)
                    .path((!is_moved).then_some(file))
                    .annotation(AnnotationKind::Primary.span(start..end)),
            ),
        };
    }
    if !help.is_empty() {
        group = group.element(Level::HELP.message(&*help));
    }
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Coloured => Renderer::styled().decor_style(DecorStyle::Unicode),
    };
    renderer.render(&[group])
}

/// The parts of an excerpt of `span` that are in `texts`.
fn within(texts: &[Span], span: Span, excerpt: &Excerpt<'_>) -> Vec<Range<usize>> {
    let first = (span.start as usize).saturating_sub(excerpt.start);
    let here = |text: &&Span| text.source == span.source && text.end as usize >= first;
    let part = |text: &Span| {
        (text.start as usize).saturating_sub(first)..(text.end as usize).saturating_sub(first)
    };
    texts.iter().filter(here).map(part).collect()
}

/// The excerpt of a long line, starting at the mark.
fn beginning(line: &str, start: usize) -> String {
    let rest = line.get(start..).unwrap_or_default();
    match rest.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{} ...", rest.get(..end).unwrap_or_default()),
        None => rest.to_owned(),
    }
}

/// End of the marked range if it is empty: one character, so that there is room for a caret.
fn end_of_char(line: &str, start: usize) -> usize {
    let rest = line.get(start..).unwrap_or_default();
    start + rest.chars().next().map_or(0, char::len_utf8)
}

/// Renders a finding as a JSON object: `severity`, `code`, `category`, `file`, `line`, `column`,
/// `message`, `help`.
pub fn to_json(diagnostic: &Diagnostic, sources: &Sources) -> Value {
    let place = diagnostic.at.map(|span| sources.place(span));
    json!({
        "severity": diagnostic.severity.as_str(),
        "code": diagnostic.code.as_str(),
        "category": diagnostic.code.category().as_str(),
        "file": place.as_ref().map(|place| place.file.to_string()),
        "line": place.as_ref().map(|place| place.line),
        "column": place.as_ref().map(|place| place.column),
        "message": sources.hide(&diagnostic.message),
        "help": sources.hide(&diagnostic.help),
    })
}

#[cfg(test)]
mod tests {
    use super::{Style, render, to_json};
    use crate::diagnostic::{Code, Diagnostic};
    use crate::source::{Sources, Span};

    fn sample(text: &str, start: u32, end: u32) -> (Diagnostic, Sources) {
        let mut sources = Sources::default();
        let source = sources.add("application.yml".into(), text.into());
        let diagnostic = Diagnostic::new(Code::UnknownProperty, "unknown property `weir.sever`")
            .at(Span { source, start, end })
            .help("did you mean `weir.server`?");
        (diagnostic, sources)
    }

    #[test]
    fn an_excerpt_has_a_caret_and_a_remedy() {
        let (diagnostic, sources) = sample("weir:\n  sever:\n    workers: 2\n", 8, 13);
        insta::assert_snapshot!(render(&diagnostic, &sources, Style::Plain), @r"
        warning[unknown-property]: unknown property `weir.sever`
         --> application.yml:2:3
          |
        2 |   sever:
          |   ^^^^^
          |
          = help: did you mean `weir.server`?
        ");
    }

    #[test]
    fn a_secret_is_not_shown() {
        let (diagnostic, sources) = sample("weir:\n  admin.token: abc\n", 21, 24);
        let text = render(&diagnostic, &sources, Style::Plain);
        assert!(!text.contains("abc"), "{text}");
    }

    #[test]
    fn the_column_is_that_of_the_file_where_a_secret_stands_before_it() {
        let text = "{ é: 1, password: abc, weight: x }\n";
        let start = text.find("x }").expect("it is there") as u32;
        let (diagnostic, sources) = sample(text, start, start + 1);
        let shown = |diagnostic: &Diagnostic| render(diagnostic, &sources, Style::Plain);
        let masked = shown(&diagnostic);
        assert!(masked.contains("--> application.yml:1:32\n"), "{masked}");
        assert!(masked.contains("1 | { é: 1, password: ******\n"), "{masked}");
        let open = shown(&diagnostic.open(vec![Span { source: 0, start: 2, end: start }]));
        assert!(open.contains("--> application.yml:1:32\n"), "{open}");
        assert!(open.contains("1 | { é: 1, password: abc, weight: x }\n"), "{open}");
    }

    #[test]
    fn of_a_long_line_a_part_is_shown_and_no_secret() {
        let filler = "a, ".repeat(100_000);
        let text = format!("x: [{filler}, b: 1, password: abc{filler}\n");
        let shown = |marked: &str| {
            let start = text.find(marked).expect("it is there") as u32;
            let (diagnostic, sources) = sample(&text, start, start + marked.len() as u32);
            render(&diagnostic, &sources, Style::Plain)
        };
        insta::assert_snapshot!(shown("b: 1"), @r"
        warning[unknown-property]: unknown property `weir.sever`
        --> application.yml:1:300007
         = here: b: 1, password: ******
         = help: did you mean `weir.server`?
        ");
        let secret = shown("abc");
        assert!(secret.contains("******") && !secret.contains("abc"), "{secret}");
        assert!(secret.len() < 600, "{secret}");
    }

    #[test]
    fn json_names_the_place() {
        let (diagnostic, sources) = sample("weir:\n  sever: 1\n", 8, 13);
        let json = to_json(&diagnostic, &sources);
        assert_eq!(json["line"], 2);
        assert_eq!(json["column"], 3);
        assert_eq!(json["code"], "unknown-property");
        assert_eq!(json["category"], "mistake");
    }
}
