//! Paths: canonical, and through filters.

use weir_filter::filter::{Filter, FilterOptions, find};
use weir_filter::{Chain, RequestContext, Verdict};
use weir_route::predicate::{self, BuildContext, PredicateOptions, WeightGroups};
use weir_route::{Request, RequestParts, Vars, parse_shortcut};
use weir_wire::http1::{self, LenientPath, lenient_path};
use weir_wire::{Fields, RequestHead};

/// A path: the canonical form is its own canonical form, has no dot segment however it is spelled,
/// and differs from the path only by whole segments.
///
/// # Panics
/// If it does not hold.
pub fn canonical_path(path: &[u8]) {
    let Ok(changed) = http1::canonical_path(path) else { return };
    let canonical = changed.clone().unwrap_or_else(|| path.to_vec());
    assert_eq!(http1::canonical_path(&canonical), Ok(None));
    if path.is_empty() || path == b"*" {
        return;
    }
    assert_eq!(canonical.first(), Some(&b'/'));
    let written: Vec<_> = path.split(|&byte| byte == b'/').collect();
    for segment in canonical.split(|&byte| byte == b'/') {
        let name = segment.split(|&byte| byte == b';').next().unwrap_or_default();
        let plain = String::from_utf8_lossy(name).to_lowercase().replace("%2e", ".");
        assert!(plain != "." && plain != "..", "{plain}");
        assert!(segment.is_empty() || written.contains(&segment));
    }
    assert_eq!(changed.is_some(), canonical != path);
}

/// A canonical path through filters: the path sent upstream is canonical, and it climbs out of the
/// root for a lenient server only if the received one did. StripPrefix removes segments from the
/// front and nothing else; PrefixPath puts its own in front.
///
/// Input: the path, a Path pattern (may be empty) whose variables the filters may use, then a
/// filter a line.
///
/// # Panics
/// If it does not hold.
pub fn path_filters(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let mut lines = text.lines();
    let (Some(path), Some(pattern)) = (lines.next(), lines.next()) else { return };
    let Ok(canonical) = http1::canonical_path(path.as_bytes()) else { return };
    let path = canonical.unwrap_or_else(|| path.as_bytes().to_vec());
    if path.first() != Some(&b'/') {
        return;
    }
    let lines: Vec<&str> = lines.take(4).collect();
    let Some(filters) = lines.iter().map(|line| filter(line)).collect::<Option<Vec<_>>>() else {
        return;
    };
    let mut head = RequestHead::default();
    head.set_method(b"GET");
    head.receive_target(&path, None, None);
    head.fields.append(b"Host", b"a");
    let vars = variables(pattern, &head);
    if !passes(&Chain::merge(Vec::new(), filters), &mut head, &vars) {
        return;
    }
    let sent = head.path();
    assert_eq!(http1::canonical_path(sent), Ok(None), "{}", sent.escape_ascii());
    let climbs = |path: &[u8]| lenient_path(path) == LenientPath::Climbing;
    assert!(!climbs(sent) || climbs(&path), "{}", sent.escape_ascii());
    let names = |path: &[u8]| -> Vec<Vec<u8>> {
        let segments = path.split(|byte| *byte == b'/').filter(|segment| !segment.is_empty());
        segments.map(<[u8]>::to_vec).collect()
    };
    let Ok([only]) = <[&str; 1]>::try_from(lines) else { return };
    if let Some(count) = only.strip_prefix("StripPrefix=").and_then(|n| n.parse::<usize>().ok()) {
        assert_eq!(names(sent), names(&path).into_iter().skip(count).collect::<Vec<_>>());
    }
    let prefix = only.strip_prefix("PrefixPath=").filter(|prefix| is_plain(prefix));
    if let Some(prefix) = prefix {
        assert!(names(sent).starts_with(&names(prefix.as_bytes())), "{}", sent.escape_ascii());
    }
}

fn is_plain(prefix: &str) -> bool {
    prefix.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'/')
}

fn filter(line: &str) -> Option<Filter> {
    let named = parse_shortcut(line, true).ok()?;
    let spec = find(&named.name)?;
    let args = spec.bind(&named.args).ok()?;
    (spec.build)(&args, &FilterOptions::default()).ok()
}

/// The variables of `pattern` in the path of `head`; none if it does not match.
fn variables(pattern: &str, head: &RequestHead) -> Vars {
    let mut vars = Vars::default();
    let options = PredicateOptions::default();
    let context = BuildContext { options: &options, route_id: "fuzz" };
    let built = parse_shortcut(&format!("Path={pattern}"), false).ok().and_then(|named| {
        let spec = predicate::find(&named.name)?;
        let args = spec.bind(&named.args).ok()?;
        (spec.build)(&args, &context).ok()
    });
    let Some(path) = built else { return vars };
    let parts = RequestParts::of(head);
    let peer = std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    let request = Request { head, parts: &parts, peer, now_ms: 0, dice: 0 };
    if path.matches(&request, &WeightGroups::default()) == Ok(true) {
        path.publish(&request, &mut vars);
    }
    vars
}

/// Whether a request would be forwarded to the upstream.
fn passes(chain: &Chain, head: &mut RequestHead, vars: &Vars) -> bool {
    let mut context = RequestContext {
        head,
        vars,
        target: &mut None,
        preserve_host: &mut false,
        prefixed: &mut false,
        claims: &mut None,
        kept: &mut None,
        failure: None,
        peer: std::net::SocketAddr::from(([127, 0, 0, 1], 1)),
        added: &mut Fields::default(),
        now_ms: 0,
        dice: 0,
        is_asked: false,
    };
    let passed = chain.request(&mut context, &mut 0) == Ok(Verdict::Continue);
    passed && context.head.fields.is_sound()
}
