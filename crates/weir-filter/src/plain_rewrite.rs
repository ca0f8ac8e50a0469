//! RewritePath without a regular expression engine, for the forms that nearly all configurations
//! use.
//!
//! `/red/?(?<segment>.*)` and similar forms search for fixed text. A compiled expression takes some
//! kilobytes, too much for a million routes with different prefixes.

use crate::assembly::Assembly;

/// A rewrite by fixed text: `^`? text `/?`? `(.*)`? `$`?, whose group occurs at most once in the
/// replacement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PlainRewrite {
    /// Expression and replacement as written, concatenated.
    written: Box<str>,
    /// Length of the expression.
    regexp_len: u16,
    form: Form,
}

/// The parsed form. Ranges are within expression and replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Form {
    /// The match must start at the beginning of the path.
    anchored: bool,
    /// The text to find, within the expression.
    text: Range,
    /// The match includes a following `/`.
    slash: bool,
    /// The match extends to the end of the path.
    rest: bool,
    /// The reference to the group in the replacement.
    group: Option<Range>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Range {
    start: u16,
    end: u16,
}

impl Range {
    fn new(start: usize, end: usize) -> Option<Self> {
        Some(Self { start: u16::try_from(start).ok()?, end: u16::try_from(end).ok()? })
    }

    fn of(self, text: &str) -> &str {
        text.get(usize::from(self.start)..usize::from(self.end)).unwrap_or_default()
    }
}

const SPECIAL: &[char] = &['\\', '.', '[', ']', '{', '}', '(', ')', '*', '+', '?', '^', '$', '|'];

impl PlainRewrite {
    /// Parses an expression and its replacement; `None` if they need an engine.
    pub(crate) fn parse(regexp: &str, replacement: &str) -> Option<Self> {
        let form = Form::parse(regexp, replacement)?;
        let regexp_len = u16::try_from(regexp.len()).ok()?;
        Some(Self { written: [regexp, replacement].concat().into(), regexp_len, form })
    }

    /// The expression as written.
    pub(crate) fn regexp(&self) -> &str {
        self.written.get(..usize::from(self.regexp_len)).unwrap_or_default()
    }

    /// The replacement as written.
    pub(crate) fn replacement(&self) -> &str {
        self.written.get(usize::from(self.regexp_len)..).unwrap_or_default()
    }

    /// Writes the rewritten `path` to `out`; `false` if nothing matches.
    pub(crate) fn apply(&self, path: &[u8], out: &mut Assembly) -> bool {
        self.form.apply(self.regexp(), self.replacement(), path, out)
    }
}

impl Form {
    fn parse(regexp: &str, replacement: &str) -> Option<Self> {
        let anchored = regexp.starts_with('^');
        let start = usize::from(anchored);
        let body = regexp.get(start..)?;
        let mut len = body.find(SPECIAL).unwrap_or(body.len());
        let mut tail = body.get(len..)?;
        let mut slash = false;
        if let Some(after) = tail.strip_prefix('?') {
            // The `?` applies to the last character of the text.
            len = len.checked_sub(1).filter(|len| body.get(*len..).is_some_and(is_slash))?;
            slash = true;
            tail = after;
        }
        if len == 0 {
            return None;
        }
        let text = Range::new(start, start + len)?;
        let name = match tail {
            "" if !slash && !anchored => {
                let plain = !replacement.contains(['$', '\\']);
                return plain.then_some(Self { anchored, text, slash, rest: false, group: None });
            }
            "(.*)" | "(.*)$" => "",
            _ => group_name(tail)?,
        };
        let group = group_reference(replacement, name)?;
        Some(Self { anchored, text, slash, rest: true, group })
    }

    fn apply(self, regexp: &str, replacement: &str, path: &[u8], out: &mut Assembly) -> bool {
        let text = self.text.of(regexp).as_bytes();
        if !self.rest {
            return replace_each(text, replacement.as_bytes(), path, out);
        }
        let found = match self.anchored {
            true => path.starts_with(text).then_some(0),
            false => memchr::memmem::find(path, text),
        };
        let Some(at) = found else { return false };
        let mut rest = path.get(at + text.len()..).unwrap_or_default();
        if self.slash {
            rest = rest.strip_prefix(b"/").unwrap_or(rest);
        }
        out.push(path.get(..at).unwrap_or_default());
        match self.group {
            None => out.push(replacement.as_bytes()),
            Some(group) => {
                let (start, end) = (usize::from(group.start), usize::from(group.end));
                out.push(replacement.get(..start).unwrap_or_default().as_bytes());
                out.push(rest);
                out.push(replacement.get(end..).unwrap_or_default().as_bytes());
            }
        }
        true
    }
}

fn is_slash(text: &str) -> bool {
    text.starts_with('/')
}

/// The group name in `(?<name>.*)` or `(?<name>/?.*)`, optionally followed by `$`.
fn group_name(tail: &str) -> Option<&str> {
    let (name, rest) = tail.strip_prefix("(?<")?.split_once('>')?;
    let letters = name.bytes().all(|b| b.is_ascii_alphanumeric());
    let named = letters && name.starts_with(|c: char| c.is_ascii_alphabetic());
    (named && matches!(rest, ".*)" | ".*)$" | "/?.*)" | "/?.*)$")).then_some(name)
}

/// Position of the only reference to group 1, called `name`; `Some(None)` if there is none, `None`
/// if the replacement is more complex.
fn group_reference(replacement: &str, name: &str) -> Option<Option<Range>> {
    if replacement.contains('\\') {
        return None;
    }
    let Some(start) = replacement.find('$') else { return Some(None) };
    let reference = replacement.get(start + 1..)?;
    let len = match reference.strip_prefix('{') {
        Some(braced) => {
            let end = braced.find('}')?;
            let same = !name.is_empty() && braced.get(..end) == Some(name);
            same.then_some(end + 3)?
        }
        None => {
            let mut digits = reference.bytes();
            let one = digits.next() == Some(b'1');
            (one && !digits.next().is_some_and(|b| b.is_ascii_digit())).then_some(2)?
        }
    };
    let behind = replacement.get(start + len..)?;
    (!behind.contains('$')).then_some(Range::new(start, start + len))
}

fn replace_each(text: &[u8], replacement: &[u8], path: &[u8], out: &mut Assembly) -> bool {
    let mut done = 0;
    for at in memchr::memmem::find_iter(path, text) {
        out.push(path.get(done..at).unwrap_or_default());
        out.push(replacement);
        done = at + text.len();
    }
    out.push(path.get(done..).unwrap_or_default());
    done > 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_route::pattern::{JavaRegex, Replacement};

    use super::PlainRewrite;
    use crate::assembly::Assembly;

    fn apply(regexp: &str, replacement: &str, path: &str) -> Option<String> {
        let plain = PlainRewrite::parse(regexp, replacement)?;
        let mut out = Assembly::new();
        if !plain.apply(path.as_bytes(), &mut out) {
            return Some(path.to_owned());
        }
        Some(String::from_utf8_lossy(out.as_bytes()).into_owned())
    }

    fn check(regexp: &str, replacement: &str, path: &str, expected: Option<&str>) {
        let rewritten = apply(regexp, replacement, path);
        assert_eq!(rewritten.as_deref(), expected, "{regexp} {replacement} {path}");
    }

    #[test]
    fn common_forms_need_no_engine() {
        check("/red/?(?<segment>.*)", "/${segment}", "/red/blue", Some("/blue"));
        check("/red/?(?<segment>.*)", "/${segment}", "/red", Some("/"));
        check("/red/(?<s>.*)", "/x/${s}/y", "/a/red/b/red/c", Some("/a/x/b/red/c/y"));
        check("/red(?<s>/?.*)", "${s}", "/red/b", Some("/b"));
        check("^/red/(.*)$", "/$1", "/red/b", Some("/b"));
        check("^/red/(.*)$", "/$1", "/a/red/b", Some("/a/red/b"));
        check("/red/(.*)", "/fixed", "/red/b", Some("/fixed"));
        check("a", "b", "/all/banana", Some("/bll/bbnbnb"));
        check("/customers", "/api/v2/customers", "/customers/1", Some("/api/v2/customers/1"));
    }

    #[test]
    fn other_forms_do() {
        for regexp in [
            ".*",
            "(.*)",
            "/?(.*)",
            "^",
            "^/a",
            "/a$",
            "/v1.0/(.*)",
            "/a(.+)",
            "/a/(.*)/b",
            "/a(?=b)",
            "/a?b",
            "/ab?(.*)",
            "/(?<a>.*)(?<b>.*)",
            "/a|b",
            "/a(?<1>.*)",
        ] {
            check(regexp, "x", "/", None);
        }
        for replacement in ["$2", "$12", "${b}", "$", "\\$", "${a}$1", "$0", "${a"] {
            check("/a/(?<a>.*)", replacement, "/", None);
        }
        check("/a", "$0", "/", None);
    }

    proptest! {
        #[test]
        fn the_result_is_that_of_the_expression(
            regexp in r"\^?/a?b?/?(\?|/\?)?(\((\?<n>)?\.\*\)|\(\?<n>/\?\.\*\))?\$?",
            replacement in "[/x]{0,2}(\\$1|\\$\\{n\\})?[/y0-]{0,2}",
            path in "/[ab/]{0,8}",
        ) {
            if let Some(plain) = apply(&regexp, &replacement, &path) {
                let regex = JavaRegex::new(&regexp).expect("a plain expression is an expression");
                let replacement = Replacement::parse(&replacement, &regex);
                let replacement = replacement.expect("a plain replacement is a replacement");
                prop_assert_eq!(Ok(plain), regex.replace_all(&path, &replacement));
            }
        }
    }
}
