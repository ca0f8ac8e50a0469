//! Parsing of an import: `optional:`, a prefix, and a location.

use std::path::{Path, PathBuf};

use super::Location;
use crate::source::Format;

/// An import as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written<'t> {
    pub optional: bool,
    pub kind: Kind,
    /// The text after the prefix.
    pub rest: &'t str,
}

/// Kind of an import, by its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// No prefix: a file beside the importing one.
    Bare,
    /// `file:`.
    File,
    /// `classpath:`, or `resource:`.
    ClassPath,
    /// `configtree:`.
    Tree,
    /// `configserver:`.
    ConfigServer,
    /// `nacos:`.
    Nacos,
    /// `consul:`.
    Consul,
    /// An unknown prefix.
    Unknown,
}

/// Parses the text of an import.
pub(super) fn parse(text: &str) -> Written<'_> {
    let text = text.trim();
    let (optional, text) = match text.strip_prefix("optional:") {
        Some(rest) => (true, rest.trim_start()),
        None => (false, text),
    };
    let Some((prefix, rest)) = text.split_once(':') else {
        return Written { optional, kind: Kind::Bare, rest: text };
    };
    let is_prefix = prefix.starts_with(|c: char| c.is_ascii_alphabetic())
        && prefix.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'*');
    let kind = match prefix {
        _ if !is_prefix => return Written { optional, kind: Kind::Bare, rest: text },
        "file" => Kind::File,
        "classpath" | "classpath*" | "resource" => Kind::ClassPath,
        "configtree" => Kind::Tree,
        "configserver" => Kind::ConfigServer,
        "nacos" => Kind::Nacos,
        "consul" => Kind::Consul,
        _ => Kind::Unknown,
    };
    Written { optional, kind, rest: if kind == Kind::Unknown { text } else { rest } }
}

/// The file or directory of `written`, which is an import in the file `importer`. A relative path
/// is relative to the importing file; with `file:` also to the working directory.
///
/// # Errors
/// The correct syntax.
pub(super) fn local(written: Written<'_>, importer: Option<&Path>) -> Result<Location, String> {
    let text = written.rest.strip_prefix("//").map_or(written.rest, |rest| match rest {
        // `file:///etc/x` is `/etc/x`.
        _ if rest.starts_with('/') => rest,
        _ => written.rest,
    });
    let (text, hint) = match text.strip_suffix(']').and_then(|text| text.rsplit_once('[')) {
        Some((path, ending)) => match Format::of_name(ending) {
            Some(format) => (path, Some(format)),
            None => return Err(format!("`[{ending}]` names no format; write `[.yaml]`")),
        },
        None => (text, None),
    };
    if text.trim_matches(['/', '.']).is_empty() && !text.contains('/') {
        return Err("name a file or, with `/` at its end, a directory".to_owned());
    }
    let mut candidates = Vec::new();
    let path = Path::new(text);
    if path.is_relative()
        && let Some(folder) = importer.and_then(Path::parent)
        && !folder.as_os_str().is_empty()
    {
        candidates.push(tidy(&folder.join(path)));
    }
    if path.is_absolute() || candidates.is_empty() || written.kind != Kind::Bare {
        candidates.push(tidy(path));
    }
    match (written.kind, text.ends_with('/')) {
        (Kind::Tree, _) => {
            let stars = text.matches('*').count();
            if stars > 1 || (stars == 1 && !text.trim_end_matches('/').ends_with("/*")) {
                return Err("a `*` may only be the last directory: `configtree:/a/*/`".to_owned());
            }
            Ok(Location::Tree(candidates))
        }
        _ if text.contains('*') => {
            Err("weir reads no `*` in imports; name each file or directory".to_owned())
        }
        (_, true) => Ok(Location::Folder(candidates)),
        (_, false) => Ok(Location::File(candidates, hint)),
    }
}

/// The path without `.` segments.
fn tidy(path: &Path) -> PathBuf {
    path.components().filter(|part| !matches!(part, std::path::Component::CurDir)).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{local, parse};

    fn check(text: &str, importer: &str, expected: &str) {
        let written = parse(text);
        let found = match local(written, Some(Path::new(importer))) {
            Ok(location) => format!("{location:?}"),
            Err(help) => help,
        };
        let found =
            format!("{}{:?} {found}", if written.optional { "?" } else { "" }, written.kind);
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn paths() {
        check("a.yml", "x/app.yml", r#"Bare File(["x/a.yml"], None)"#);
        check("optional:a.yml", "app.yml", r#"?Bare File(["a.yml"], None)"#);
        check("file:./a.yml", "x/app.yml", r#"File File(["x/a.yml", "a.yml"], None)"#);
        check("file:/e/a.yml", "x/app.yml", r#"File File(["/e/a.yml"], None)"#);
        check("file:///e/a.yml", "x/app.yml", r#"File File(["/e/a.yml"], None)"#);
        check("file:/e/a[.yaml]", "x/app.yml", r#"File File(["/e/a"], Some(Yaml))"#);
        check("file:conf/", "app.yml", r#"File Folder(["conf"])"#);
        check("configtree:/run/s/", "app.yml", r#"Tree Tree(["/run/s"])"#);
        check("configtree:/run/s/*/", "app.yml", r#"Tree Tree(["/run/s/*"])"#);
        check("/e/a.yml", "x/app.yml", r#"Bare File(["/e/a.yml"], None)"#);
    }

    #[test]
    fn what_is_not_a_path_has_a_remedy() {
        check("file:", "app.yml", "File name a file or, with `/` at its end, a directory");
        check(
            "file:c/*/",
            "app.yml",
            "File weir reads no `*` in imports; name each file or directory",
        );
        check("file:a[.x]", "app.yml", "File `[.x]` names no format; write `[.yaml]`");
        check(
            "configtree:/*/x/",
            "app.yml",
            "Tree a `*` may only be the last directory: `configtree:/a/*/`",
        );
    }

    #[test]
    fn prefixes() {
        let kind = |text: &str| format!("{:?} {}", parse(text).kind, parse(text).rest);
        assert_eq!(kind("configserver:"), "ConfigServer ");
        assert_eq!(kind("optional:configserver:http://h:1"), "ConfigServer http://h:1");
        assert_eq!(kind("nacos:a.yml?group=G"), "Nacos a.yml?group=G");
        assert_eq!(kind("consul:h:8500"), "Consul h:8500");
        assert_eq!(kind("vault://"), "Unknown vault://");
        assert_eq!(kind("classpath:a.yml"), "ClassPath a.yml");
    }
}
