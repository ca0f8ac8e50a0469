//! A slow reference judge of paths: every way in which some server might interpret one.
//!
//! It shares nothing with the code it judges: readings are found by applying each liberty that
//! servers are known to take, in any order and any number of times, until nothing new comes out.
//! Not among them: taking upper case for lower (RFC 3986 section 6.2.2.1: paths differ by it).

use std::collections::{BTreeSet, VecDeque};

/// The interpretation of a path by a server that resolves dot segments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reading {
    /// It serves this path.
    Path(String),
    /// It leaves the root.
    AboveRoot,
}

type Liberty = fn(&str) -> String;

const LIBERTIES: &[Liberty] = &[
    decode_once,
    |path| path.replace('\\', "/"),
    |path| each_name(path, |name| name.split(';').next().unwrap_or_default()),
    |path| each_name(path, |name| name.trim_end_matches([' ', '\t'])),
    |path| each_name(path, trim_dots),
    collapse,
    |path| path.split(['?', '#', '\0']).next().unwrap_or_default().to_owned(),
];

/// Every reading of `path`, a raw path as it was sent.
pub fn readings(path: &str) -> BTreeSet<Reading> {
    readings_from(path.to_owned())
}

/// Those readings of `path` that go beyond what every server does: decode each name once, and drop
/// its parameters before.
pub fn further_readings(path: &str) -> BTreeSet<Reading> {
    let plain = |name: &str| decode_once(name.split(';').next().unwrap_or_default());
    readings_from(path.split('/').map(plain).collect::<Vec<_>>().join("/"))
}

fn readings_from(path: String) -> BTreeSet<Reading> {
    let mut seen = BTreeSet::from([path.clone()]);
    let mut queue = VecDeque::from([path]);
    while let Some(path) = queue.pop_front() {
        assert!(seen.len() < 10_000, "too many readings of {path}");
        for liberty in LIBERTIES {
            let read = liberty(&path);
            if seen.insert(read.clone()) {
                queue.push_back(read);
            }
        }
    }
    seen.iter().map(|path| resolve(path)).collect()
}

fn each_name(path: &str, change: impl Fn(&str) -> &str) -> String {
    path.split('/').map(change).collect::<Vec<_>>().join("/")
}

fn trim_dots(name: &str) -> &str {
    let trimmed = name.trim_end_matches('.');
    if trimmed.is_empty() { name } else { trimmed }
}

fn collapse(path: &str) -> String {
    let mut path = path.to_owned();
    while path.contains("//") {
        path = path.replace("//", "/");
    }
    path
}

/// Each byte becomes one character: bytes that are not UTF-8 are kept.
fn decode_once(path: &str) -> String {
    let mut out = String::new();
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        let digits = rest.get(1..3).filter(|digits| digits.chars().all(|c| c.is_ascii_hexdigit()));
        match digits.filter(|_| first == '%') {
            Some(digits) => {
                out.push(char::from(u8::from_str_radix(digits, 16).expect("hex")));
                rest = &rest[3..];
            }
            None => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    out
}

/// Resolves `.` and `..`.
fn resolve(path: &str) -> Reading {
    let mut names: Vec<&str> = Vec::new();
    let mut last = "";
    for name in path.split('/').skip(1) {
        last = name;
        match name {
            "." => {}
            ".." => {
                if names.pop().is_none() {
                    return Reading::AboveRoot;
                }
            }
            name => names.push(name),
        }
    }
    let slash = if matches!(last, "." | "..") && !names.is_empty() { "/" } else { "" };
    Reading::Path(format!("/{}{slash}", names.join("/")))
}

/// `path`, read already, so that every server reads it as it is: each name encoded.
pub fn encoded(path: &str) -> String {
    let mut out = String::new();
    for character in path.chars() {
        match character {
            '/' => out.push('/'),
            c if c.is_ascii_alphanumeric() || "-_~.".contains(c) => out.push(c),
            c => out.push_str(&format!("%{:02X}", u32::from(c) & 0xff)),
        }
    }
    out
}

/// Whether `path` is `tree` itself or lies below it; parameters of the last name count as below.
pub fn is_within(path: &str, tree: &str) -> bool {
    let tree = tree.trim_end_matches('/');
    let rest = path.strip_prefix(tree);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ';']))
}

mod tests {
    use super::{Reading, encoded, is_within, readings};

    fn reads(path: &str, other: &str) -> bool {
        readings(path).contains(&Reading::Path(other.to_owned()))
    }

    #[test]
    fn liberties_add_up() {
        assert!(reads("/a/..;/admin", "/admin"));
        assert!(reads("/a/%252e%252e%252fadmin", "/admin"));
        assert!(reads("/a/..%5cadmin", "/admin"));
        assert!(reads("/a%2f..%20/;x//admin%3fy", "/admin"));
        assert!(readings("/a/..%2f..%2f").contains(&Reading::AboveRoot));
        assert!(!reads("/a/b%20c", "/c"));
        assert_eq!(readings("/a/b").len(), 1);
    }

    #[test]
    fn trees_end_at_a_name() {
        assert!(is_within("/a/b", "/a") && is_within("/a", "/a") && is_within("/a;x", "/a"));
        assert!(is_within("/a", "/") && !is_within("/ab", "/a") && !is_within("/", "/a"));
        assert_eq!(encoded("/a;b/%2f\u{e9}"), "/a%3Bb/%252f%E9");
    }
}
