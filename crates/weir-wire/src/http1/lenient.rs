//! The path as the most lenient server would read it: to find other resources that a request could
//! reach. The result is never sent.

use crate::syntax::{is_plain_path, percent_byte};

/// A canonical path as the most lenient server reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LenientPath {
    /// All servers read the path in the same way.
    Same,
    /// The path as a lenient server reads it: decoded repeatedly, `\` read as `/`, without
    /// `;parameters`, doubled slashes, blanks and dots at the end of names, and any part behind `?`
    /// or `#`.
    Other(Vec<u8>),
    /// With `..` segments, as in `/a/..%2fb` and `/%252e%252e/b`: as a path that climbs.
    Climbing,
}

/// Reads `path`, a canonical one, as leniently as any server is known to.
pub fn lenient_path(path: &[u8]) -> LenientPath {
    let same = is_plain_path(path) || path.first() != Some(&b'/') || !is_readable_otherwise(path);
    if same {
        return LenientPath::Same;
    }
    let decoded = decode_fully(path);
    let mut names = decoded.split(|&byte| byte == b'/').map(as_if_last);
    if names.any(|name| without_blanks(name) == b"..") {
        return LenientPath::Climbing;
    }
    let lenient = read_leniently(&decoded);
    if lenient == read_plainly(path) { LenientPath::Same } else { LenientPath::Other(lenient) }
}

/// Whether `path` has a part that can be read in two ways; few paths have.
fn is_readable_otherwise(path: &[u8]) -> bool {
    let mut before = 0;
    for &byte in path {
        match byte {
            b'%' | b';' => return true,
            b'/' if matches!(before, b'/' | b'.') => return true,
            _ => before = byte,
        }
    }
    before == b'.'
}

/// Decodes percent-encoding repeatedly, until none is left; `\` becomes `/`.
fn decode_fully(path: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(path.len());
    for &byte in path {
        out.push(byte);
        // Each round shortens the path by two bytes: linear in total.
        while let Some(start) = out.len().checked_sub(3)
            && out.get(start) == Some(&b'%')
            && let Some(value) = percent_byte(out.get(start + 1..))
        {
            out.truncate(start);
            out.push(value);
        }
    }
    for byte in &mut out {
        if *byte == b'\\' {
            *byte = b'/';
        }
    }
    out
}

fn read_leniently(decoded: &[u8]) -> Vec<u8> {
    let end = memchr::memchr3(b'?', b'#', 0, decoded).unwrap_or(decoded.len());
    let decoded = decoded.get(..end).unwrap_or_default();
    let mut out = Vec::with_capacity(decoded.len());
    for segment in decoded.split(|&byte| byte == b'/') {
        let name = without_trail(without_parameters(segment));
        if !(name.is_empty() || without_blanks(name) == b".") {
            out.push(b'/');
            out.extend_from_slice(name);
        }
    }
    if decoded.ends_with(b"/") || out.is_empty() {
        out.push(b'/');
    }
    out
}

/// The path as read by a server that decodes once and takes every character literally.
fn read_plainly(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, tail)) = rest.split_first() {
        match percent_byte(tail.get(..2)) {
            // A decoded delimiter does not delimit.
            Some(b'/' | b'\\') if byte == b'%' => out.push(0),
            Some(value) if byte == b'%' => out.push(value),
            _ => {
                out.push(byte);
                rest = tail;
                continue;
            }
        }
        rest = tail.get(2..).unwrap_or_default();
    }
    out
}

/// The name as read by a server that ends the name or the path at a delimiter within it.
fn as_if_last(segment: &[u8]) -> &[u8] {
    segment.split(|byte| matches!(byte, b';' | b'?' | b'#')).next().unwrap_or_default()
}

fn without_parameters(segment: &[u8]) -> &[u8] {
    segment.split(|&byte| byte == b';').next().unwrap_or_default()
}

/// Without blanks and dots at its end, which some file systems drop; a name of dots stays.
fn without_trail(name: &[u8]) -> &[u8] {
    let name = without_blanks(name);
    let last = name.iter().rposition(|&byte| byte != b'.' && byte > b' ');
    last.and_then(|last| name.get(..=last)).unwrap_or(name)
}

fn without_blanks(name: &[u8]) -> &[u8] {
    let last = name.iter().rposition(|&byte| byte > b' ');
    last.and_then(|last| name.get(..=last)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{LenientPath, lenient_path};

    fn check(path: &str, expected: &str) {
        let read = match lenient_path(path.as_bytes()) {
            LenientPath::Same => path.to_owned(),
            LenientPath::Other(path) => String::from_utf8_lossy(&path).into_owned(),
            LenientPath::Climbing => "climbs".to_owned(),
        };
        assert_eq!(read, expected, "{path}");
    }

    #[test]
    fn most_paths_are_read_in_one_way() {
        for path in ["", "*", "/", "/a/b/", "/a.b/.c", "/a%20b", "/%e4%b8%ad", "/%7E", "/100%"] {
            check(path, path);
        }
    }

    #[test]
    fn what_some_servers_decode_drop_or_join() {
        check("/a%2Fb", "/a/b");
        check("/a%5cb", "/a/b");
        check("/a%252Fb", "/a/b");
        check("/a%25%32%66b", "/a/b");
        check("/a%%32fb", "/a/b");
        check("/a;x=1/b;y", "/a/b");
        check("/a%3bx/b", "/a/b");
        check("/;x/a", "/a");
        check("//a///b//", "/a/b/");
        check("/a%3fb/c", "/a");
        check("/a%23b", "/a");
        check("/a./b%20/c", "/a/b/c");
        check("/a.", "/a");
        check("/%3b", "/");
        check("/.../a", "/.../a");
        check("/%20/a", "/a");
        check("/100%2525", "/100%");
        check("/a/%252e/.%2fb", "/a/b");
    }

    #[test]
    fn climbs_that_only_some_servers_see() {
        for path in [
            "/a/..%2fb",
            "/a%2f..",
            "/..%5ca",
            "/%252e%252e/a",
            "/a/.%2e%3bx/b",
            "/a%2f../b",
            "/a%3f/..%2fb",
            "/..%20/a",
            "/a/..%09/b",
            "/%2e%252e/a",
            "/a;%2f../b",
            "/a/..%3fx/b",
            "/a/..%23",
        ] {
            check(path, "climbs");
        }
    }

    #[test]
    fn nested_escapes_take_linear_time() {
        let path = format!("/{}2f", "%25".repeat(100_000));
        check(&path, &format!("/{}/", "%".repeat(99_999)));
    }
}
