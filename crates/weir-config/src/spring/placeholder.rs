//! `${name:default}` in values (Spring class `PlaceholderParser`).
//!
//! Names and defaults may contain placeholders. `\${` is a literal `${`. A placeholder with neither
//! a value nor a default is kept as written: `/${segment}` in a RewritePath must survive.

use std::borrow::Cow;

/// Maximum nesting of placeholders and of values that refer to others.
const DEPTH_MAX: usize = 24;
/// Maximum number of placeholders resolved for one text.
const STEPS_MAX: usize = 1_000;
/// Maximum length of the resulting text.
const BYTES_MAX: usize = 1 << 20;

/// A problem of resolving placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The first name that has neither a value nor a default.
    Unknown(String),
    /// A reference cycle, or unbounded growth.
    Loop(String),
}

/// Resolves the placeholders of `text`; `value` returns the raw value of a name.
pub(crate) fn resolve<'t>(
    text: &'t str,
    value: &dyn Fn(&str) -> Option<String>,
) -> (Cow<'t, str>, Option<Trouble>) {
    if !text.contains("${") {
        return (Cow::Borrowed(text), None);
    }
    let mut filling = Filling { value, steps: 0, trouble: None };
    let filled = filling.text(text, 0);
    (Cow::Owned(filled), filling.trouble)
}

struct Filling<'v> {
    value: &'v dyn Fn(&str) -> Option<String>,
    steps: usize,
    trouble: Option<Trouble>,
}

impl Filling<'_> {
    fn text(&mut self, text: &str, depth: usize) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let (before, from) = rest.split_at(start);
            if let Some(kept) = before.strip_suffix('\\') {
                out.push_str(kept);
                out.push_str("${");
                rest = from.get(2..).unwrap_or_default();
                continue;
            }
            let inside = from.get(2..).unwrap_or_default();
            let Some(end) = closing(inside) else { break };
            out.push_str(before);
            let inner = inside.get(..end).unwrap_or_default();
            out.push_str(&self.placeholder(inner, depth));
            rest = inside.get(end + 1..).unwrap_or_default();
            if out.len() > BYTES_MAX {
                self.looped(inner);
                break;
            }
        }
        out.push_str(rest);
        out
    }

    /// The replacement of `${inner}`.
    fn placeholder(&mut self, inner: &str, depth: usize) -> String {
        self.steps += 1;
        if depth >= DEPTH_MAX || self.steps > STEPS_MAX {
            self.looped(inner);
            return format!("${{{inner}}}");
        }
        let colon = name_end(inner);
        let name = inner.get(..colon).unwrap_or(inner);
        let name = if name.contains("${") { self.text(name, depth + 1) } else { name.to_owned() };
        let default = inner.get(colon + 1..);
        let whole = default.map(|default| format!("{name}:{default}"));
        let found = whole.and_then(|whole| (self.value)(&whole)).or_else(|| (self.value)(&name));
        match (found, default) {
            (Some(value), _) => self.text(&value, depth + 1),
            (None, Some(default)) => self.text(default, depth + 1),
            (None, None) => {
                self.trouble.get_or_insert_with(|| Trouble::Unknown(name.clone()));
                format!("${{{name}}}")
            }
        }
    }

    fn looped(&mut self, inner: &str) {
        if !matches!(self.trouble, Some(Trouble::Loop(_))) {
            let name = inner.get(..name_end(inner)).unwrap_or(inner);
            self.trouble = Some(Trouble::Loop(name.to_owned()));
        }
    }
}

/// Position of the `}` that closes a placeholder, after nested pairs of braces.
fn closing(inside: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, byte) in inside.bytes().enumerate() {
        match byte {
            b'{' => open += 1,
            b'}' if open == 0 => return Some(at),
            b'}' => open -= 1,
            _ => {}
        }
    }
    None
}

/// End of the name: the first `:` outside of nested placeholders.
fn name_end(inner: &str) -> usize {
    let mut open = 0_usize;
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            b'{' => open += 1,
            b'}' => open = open.saturating_sub(1),
            b':' if open == 0 => return at,
            _ => {}
        }
    }
    inner.len()
}

#[cfg(test)]
mod tests {
    use super::{Trouble, resolve};

    fn check(text: &str, expected: &str) {
        assert_eq!(fill(text).0, expected, "for {text}");
    }

    fn fill(text: &str) -> (String, Option<Trouble>) {
        let values = |name: &str| match name {
            "a" => Some("1".to_owned()),
            "b" => Some("${a}${a}".to_owned()),
            "key" => Some("a".to_owned()),
            "url" => Some("http://h:80".to_owned()),
            "loop" => Some("${loop}".to_owned()),
            "bomb" => Some("${bomb}${bomb}".to_owned()),
            "odd:name" => Some("odd".to_owned()),
            "empty" => Some(String::new()),
            _ => None,
        };
        let (text, trouble) = resolve(text, &values);
        (text.into_owned(), trouble)
    }

    #[test]
    fn placeholders_are_filled_in() {
        check("no", "no");
        check("x${a}y${b}z", "x1y11z");
        check("${nix:def}", "def");
        check("${nix:}", "");
        check("${nix:http://h:8080/a,b}", "http://h:8080/a,b");
        check("${nix:${nux:${a}}}", "1");
        check("${nix:{x}}", "{x}");
        check("${${key}}", "1");
        check("${url}/x", "http://h:80/x");
        check("${odd:name}", "odd");
        check("[${empty}]", "[]");
        check(r"\${a} ${a}", "${a} 1");
    }

    #[test]
    fn what_is_unknown_stays() {
        check("/${segment}", "/${segment}");
        check("/$\\{segment}", "/$\\{segment}");
        check("${open", "${open");
        assert_eq!(fill("${x}${y}").1, Some(Trouble::Unknown("x".to_owned())));
        assert_eq!(fill("${a}").1, None);
    }

    #[test]
    fn circles_end() {
        assert_eq!(fill("${loop}").1, Some(Trouble::Loop("loop".to_owned())));
        assert_eq!(fill("${bomb}").1, Some(Trouble::Loop("bomb".to_owned())));
    }
}
