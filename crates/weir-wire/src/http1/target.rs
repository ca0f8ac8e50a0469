//! Request targets: their four forms, and the one canonical path that is matched and sent.

use std::fmt;
use std::ops::Range;

use super::authority::{is_authority, is_authority_with_port};
use super::error::HeadError;
use crate::syntax::{is_plain_path, is_target_byte, percent_byte};

/// Why a path is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathError {
    /// A `%` without two hex digits, a byte that RFC 3986 does not allow in a path, an ASCII byte
    /// hidden in an overlong UTF-8 sequence (`%c0%ae`), or a path that is not absolute.
    Illegal,
    /// `%00`.
    Nul,
    /// Dot segments climb above the root.
    AboveRoot,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Illegal => write!(f, "illegal byte or escape in the path"),
            Self::Nul => write!(f, "%00 in the path"),
            Self::AboveRoot => write!(f, "path climbs above the root"),
        }
    }
}

impl std::error::Error for PathError {}

/// Resolves dot segments (plain or percent-encoded, also `..;x`) of a raw path.
///
/// `None` means the path is canonical already (the common case, nothing allocated). All other bytes
/// stay as they are: `//`, `%7E`, `%2F`, the case of hex digits. `*` and the empty path (CONNECT)
/// are canonical.
///
/// # Errors
/// See [`PathError`].
pub fn canonical_path(path: &[u8]) -> Result<Option<Vec<u8>>, PathError> {
    match path {
        [] | b"*" => return Ok(None),
        _ if is_plain_path(path) => return Ok(None),
        [b'/', ..] => {}
        _ => return Err(PathError::Illegal),
    }
    let mut dotted = false;
    let mut escaped = false;
    for &byte in path {
        if !is_target_byte(byte) || byte == b'?' {
            return Err(PathError::Illegal);
        }
        dotted |= byte == b'.';
        escaped |= byte == b'%';
    }
    if escaped {
        check_escapes(path)?;
    }
    let segments = path.get(1..).unwrap_or_default().split(|&byte| byte == b'/');
    if !(dotted || escaped) || !segments.clone().any(|segment| dots(segment) != Dots::None) {
        return Ok(None);
    }
    resolve_dots(path, segments).map(Some)
}

/// The dots a segment stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dots {
    None,
    Same,
    Parent,
}

/// Reads `.` and `..`, each dot plain or as `%2e`, with or without a path parameter: a servlet
/// container drops `;x` before it resolves dots, so `..;x` climbs there.
fn dots(segment: &[u8]) -> Dots {
    let mut rest = segment;
    let mut count = 0;
    loop {
        rest = match rest {
            [] | [b';', ..] => break,
            [b'.', tail @ ..] | [b'%', b'2', b'e' | b'E', tail @ ..] => tail,
            _ => return Dots::None,
        };
        count += 1;
    }
    match count {
        1 => Dots::Same,
        2 => Dots::Parent,
        _ => Dots::None,
    }
}

/// RFC 3986 section 5.2.4, but climbing above the root is an error instead of being ignored.
fn resolve_dots<'a>(
    path: &[u8],
    segments: impl Iterator<Item = &'a [u8]>,
) -> Result<Vec<u8>, PathError> {
    let mut out = Vec::with_capacity(path.len());
    let mut open = false;
    for segment in segments {
        match dots(segment) {
            Dots::None => {
                out.push(b'/');
                out.extend_from_slice(segment);
                open = false;
            }
            Dots::Same => open = true,
            Dots::Parent => {
                let parent = memchr::memrchr(b'/', &out).ok_or(PathError::AboveRoot)?;
                out.truncate(parent);
                open = true;
            }
        }
    }
    if open {
        out.push(b'/');
    }
    Ok(out)
}

fn check_escapes(path: &[u8]) -> Result<(), PathError> {
    let mut lead = None;
    let mut at = 0;
    while let Some(&byte) = path.get(at) {
        if byte != b'%' {
            lead = None;
            at += 1;
            continue;
        }
        let value = percent_byte(path.get(at + 1..at + 3)).ok_or(PathError::Illegal)?;
        if value == 0 {
            return Err(PathError::Nul);
        }
        if is_overlong(lead, value) {
            return Err(PathError::Illegal);
        }
        lead = Some(value);
        at += 3;
    }
    Ok(())
}

/// Whether two escaped bytes in a row start an overlong UTF-8 sequence.
fn is_overlong(lead: Option<u8>, next: u8) -> bool {
    matches!((lead, next), (Some(0xc0 | 0xc1), 0x80..0xc0))
        || matches!((lead, next), (Some(0xe0), 0x80..0xa0) | (Some(0xf0), 0x80..0x90))
}

/// Ranges of the parts of a target (RFC 9112 section 3.2).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// Only in absolute-form and authority-form.
    pub authority: Option<Range<usize>>,
    pub path: TargetPath,
    /// The path is plain ([`is_plain_path`]). Not checked for a target with a query or an
    /// authority.
    pub plain: bool,
    pub query: Option<Range<usize>>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum TargetPath {
    /// As written; `*` too, and empty for CONNECT.
    Written(Range<usize>),
    /// An absolute-form target without a path stands for `/`.
    Slash,
    /// An OPTIONS request with an absolute-form target without path and query stands for `*`.
    Asterisk,
}

/// Splits a target by its form; never corrects it.
pub(super) fn read_target(method: &[u8], target: &[u8]) -> Result<Target, HeadError> {
    if method == b"CONNECT" {
        if !is_authority_with_port(target) {
            return Err(HeadError::Target("CONNECT needs host:port"));
        }
        let path = TargetPath::Written(0..0);
        return Ok(Target { authority: Some(0..target.len()), path, plain: false, query: None });
    }
    // The most frequent case, recognized in one pass.
    if is_plain_path(target) {
        let path = TargetPath::Written(0..target.len());
        return Ok(Target { authority: None, path, plain: true, query: None });
    }
    check_target(target)?;
    if target.first() == Some(&b'/') {
        let (path, query) = split_query(target, 0);
        let path = TargetPath::Written(path);
        return Ok(Target { authority: None, path, plain: false, query });
    }
    if target == b"*" {
        if method != b"OPTIONS" {
            return Err(HeadError::Target("* is for OPTIONS only"));
        }
        let path = TargetPath::Written(0..1);
        return Ok(Target { authority: None, path, plain: false, query: None });
    }
    read_absolute(method, target)
}

fn read_absolute(method: &[u8], target: &[u8]) -> Result<Target, HeadError> {
    let starts = |scheme: &[u8]| {
        target.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    let start = match () {
        () if starts(b"http://") => 7,
        () if starts(b"https://") => 8,
        () => return Err(HeadError::Target("neither a path nor an http URI")),
    };
    let rest = target.get(start..).unwrap_or_default();
    let len = memchr::memchr2(b'/', b'?', rest).unwrap_or(rest.len());
    if !rest.get(..len).is_some_and(is_authority) {
        return Err(HeadError::Target("authority not valid"));
    }
    let (path, query) = split_query(target, start + len);
    let path = match (path.is_empty(), &query) {
        (false, _) => TargetPath::Written(path),
        (true, None) if method == b"OPTIONS" => TargetPath::Asterisk,
        (true, _) => TargetPath::Slash,
    };
    Ok(Target { authority: Some(start..start + len), path, plain: false, query })
}

fn split_query(target: &[u8], start: usize) -> (Range<usize>, Option<Range<usize>>) {
    let rest = target.get(start..).unwrap_or_default();
    match memchr::memchr(b'?', rest) {
        Some(at) => (start..start + at, Some(start + at + 1..target.len())),
        None => (start..target.len(), None),
    }
}

fn check_target(target: &[u8]) -> Result<(), HeadError> {
    for (at, &byte) in target.iter().enumerate() {
        if !is_target_byte(byte) {
            return Err(HeadError::Target("byte not allowed in a target"));
        }
        if byte == b'%' && percent_byte(target.get(at + 1..at + 3)).is_none() {
            return Err(HeadError::Target("% without two hex digits"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{PathError, canonical_path};

    fn check(path: &str, expected: Result<&str, PathError>) {
        let result = canonical_path(path.as_bytes());
        let changed = result.map(|path| path.map(|p| String::from_utf8_lossy(&p).into_owned()));
        let same = Ok(expected.ok().filter(|e| *e != path).map(str::to_owned));
        assert_eq!(changed, expected.and(same), "{path:?}");
    }

    #[test]
    fn canonical_paths_stay_byte_for_byte() {
        for path in [
            "",
            "*",
            "/",
            "/a",
            "//",
            "/a//b/",
            "/a.b/c..d/...",
            "/....",
            "/%7E%7e%2F%5C%2f",
            "/a;x=..",
            "/a/;..",
            "/%2e%2e%2e/a",
            "/%252e%252e/a",
            "/..a/.b/a..;x/%2ea",
            "/a+b,c:d@e!$&'()*=~[x]",
            "/%e4%b8%ad%E6%96%87",
            "/..%2f..",
            "/..%3bx",
        ] {
            check(path, Ok(path));
        }
    }

    #[test]
    fn dot_segments_are_resolved() {
        check("/a/../b", Ok("/b"));
        check("/a/%2e%2e/b", Ok("/b"));
        check("/a/.%2E/b", Ok("/b"));
        check("/a/%2E./b", Ok("/b"));
        check("/a/..;x/b", Ok("/b"));
        check("/a/%2e.;/b", Ok("/b"));
        check("/a/.;x/b", Ok("/a/b"));
        check("/./a/%2e/b", Ok("/a/b"));
        check("/.", Ok("/"));
        check("/a/.", Ok("/a/"));
        check("/a/..", Ok("/"));
        check("/a/b/..", Ok("/a/"));
        check("/a/b/../", Ok("/a/"));
        check("/a//../b", Ok("/a/b"));
        check("//..", Ok("/"));
        check("/a/./%7e//x/../%2F", Ok("/a/%7e//%2F"));
        check("/.//a", Ok("//a"));
    }

    #[test]
    fn what_is_refused() {
        use PathError::{AboveRoot, Illegal, Nul};
        for path in ["/..", "/../a", "/a/../..", "/%2e%2e", "/..;", "/a/../../b", "/./.%2e/"] {
            check(path, Err(AboveRoot));
        }
        for path in [
            "a", "/a b", "/a?b", "/#", "/%", "/%2", "/%zz", "/\u{e9}", "/\\", "/\"", "/<", "/>",
            "/^", "/`", "/{", "/|", "/}", "/\0", "/\r", "/\n", "/\x7f", "**", "*/", "/%+1",
        ] {
            check(path, Err(Illegal));
        }
        for path in ["/%c0%ae", "/%C1%9c", "/%e0%80%ae", "/%f0%80%80%ae"] {
            check(path, Err(Illegal));
        }
        check("/%00", Err(Nul));
        check("/a/../%00", Err(Nul));
    }

    proptest! {
        #[test]
        fn a_canonical_path_is_its_own_canonical_path(
            path in "/([a-c.;/]|%2[eEfF]|%7e){0,24}",
        ) {
            if let Ok(Some(once)) = canonical_path(path.as_bytes()) {
                prop_assert_eq!(once.first(), Some(&b'/'));
                prop_assert_eq!(canonical_path(&once), Ok(None));
            }
        }

        #[test]
        fn no_bytes_make_it_panic(path in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = canonical_path(&path);
        }
    }
}
