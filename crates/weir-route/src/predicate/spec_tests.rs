//! Self-tests of the registry: sorted, documented, and examples in `doc` that run.
//!
//! An example is a fence of the kind `example`: the predicate, then requests that match (`+`) and
//! that do not (`-`). Headers follow after `|`, as do other inputs: `@peer`, `@now`, `@body`; after
//! the predicate, `@version-header` sets the source of the API version.

use weir_wire::RequestHead;

use super::{
    ApiVersionSource, Build, BuildContext, Predicate, PredicateOptions, SPECS, WeightGroups, find,
};
use crate::definition::parse_shortcut;
use crate::request::{Content, Request, RequestParts};
use crate::spec::Spec;
use crate::value::Moment;
use crate::vars::Vars;

struct Example<'a> {
    predicate: Predicate,
    /// Whether it should match, and the request as written.
    requests: Vec<(bool, &'a str)>,
}

fn fields_of(line: &str) -> (&str, Vec<(&str, &str)>) {
    let mut parts = line.split(" | ").map(str::trim);
    let first = parts.next().expect("split gives one");
    (first, parts.map(|part| field(part).expect("a field")).collect())
}

fn field(part: &str) -> Option<(&str, &str)> {
    if part.starts_with('@') { part.split_once(' ') } else { part.split_once(": ") }
}

pub(super) fn build(line: &str) -> Predicate {
    let (text, settings) = fields_of(line);
    let written = parse_shortcut(text, false).expect("a shortcut");
    let mut options = PredicateOptions::default();
    for (name, value) in settings {
        assert_eq!(name, "@version-header");
        options.api_version = Some(ApiVersionSource::Header(value.to_owned()));
    }
    let spec = find(&written.name).expect("a predicate");
    let args = spec.bind(&written.args).expect("arguments");
    assert_eq!(args.unknown().count(), 0, "{line}");
    let context = BuildContext { options: &options, route_id: "example" };
    let predicate = (spec.build)(&args, &context).expect("a predicate");
    assert_eq!(args.unread().count(), 0, "every argument is read: {line}");
    predicate
}

fn holds(predicate: &Predicate, line: &str) -> bool {
    let (request_line, fields) = fields_of(line);
    let (method, target) = request_line.split_once(' ').expect("method and target");
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query.as_bytes())),
        None => (target, None),
    };
    let mut head = RequestHead::default();
    head.set_method(method.as_bytes());
    head.receive_target(path.as_bytes(), query, None);
    let mut peer = "127.0.0.1".parse().expect("an address");
    let mut now_ms = 0;
    let mut content = Content::Unusable;
    for (name, value) in fields {
        match name {
            "@peer" => peer = value.parse().expect("an address"),
            "@body" => {
                content = serde_json::from_str(value).map_or(Content::Unusable, Content::Json);
            }
            "@now" => now_ms = Moment::parse(value).expect("a moment").millis(),
            _ => head.fields.append(name.as_bytes(), value.as_bytes()),
        }
    }
    let parts = RequestParts { content, ..RequestParts::of(&head) };
    let request = Request { head: &head, parts: &parts, peer, now_ms, dice: 1 };
    let groups = WeightGroups::new(predicate.weight());
    let matched = predicate.matches(&request, &groups) == Ok(true);
    let explained = predicate.explain(&request, &groups);
    let said = if matched { "` holds: " } else { "` does not hold: " };
    assert!(explained.contains(said), "{explained}");
    let mut vars = Vars::default();
    predicate.publish(&request, &mut vars);
    assert!(matched || vars.is_empty(), "what does not match publishes nothing: {line}");
    matched
}

fn examples(doc: &str) -> Vec<Example<'_>> {
    let fences = doc.split("```example\n").skip(1).filter_map(|rest| rest.split("```").next());
    fences.map(example).collect()
}

fn example(fence: &str) -> Example<'_> {
    let mut lines = fence.lines();
    let predicate = build(lines.next().expect("the predicate"));
    let request = |line| match str::split_at(line, 2) {
        ("+ ", request) => (true, request),
        ("- ", request) => (false, request),
        _ => panic!("neither + nor -: {line}"),
    };
    Example { predicate, requests: lines.map(request).collect() }
}

fn check(spec: &Spec<Build>) {
    let examples = examples(spec.doc);
    let mut outcomes = Vec::new();
    for example in &examples {
        for (expected, request) in &example.requests {
            let matched = holds(&example.predicate, request);
            assert_eq!(matched, *expected, "{}: {request}", spec.name);
            outcomes.push(matched);
        }
    }
    assert!(outcomes.contains(&true) && outcomes.contains(&false), "{} needs both", spec.name);
}

#[test]
fn the_examples_are_true() {
    for spec in SPECS {
        check(spec);
    }
}

#[test]
fn the_registry_is_sorted_and_documented() {
    assert!(SPECS.is_sorted_by(|one, other| one.name < other.name));
    for spec in SPECS {
        assert!(spec.doc.trim_end().ends_with("```"), "{}: no example", spec.name);
        for arg in spec.args {
            assert!(arg.doc.ends_with('.'), "{}: {} is not documented", spec.name, arg.name);
            assert!(arg.default.is_none() || !arg.required, "{}: {}", spec.name, arg.name);
        }
    }
}

#[test]
fn a_required_argument_that_is_missing_is_named() {
    for spec in SPECS {
        let missing = spec.bind(&crate::Arguments::default()).err().map(|error| error.arg);
        let first = spec.args.iter().find(|arg| arg.required).map(|arg| arg.name.to_owned());
        assert_eq!(missing, first, "{}", spec.name);
    }
}

#[test]
fn predicates_are_shown_as_by_the_actuator() {
    let shown = |lines: &[&str]| {
        let predicates: Vec<_> = lines.iter().map(|line| build(line)).collect();
        super::joined(&predicates)
    };
    assert_eq!(
        shown(&["Host=**.x.org", "Path=/headers"]),
        "(Hosts: [**.x.org] && Paths: [/headers], match trailing slash: true)"
    );
    assert_eq!(
        shown(&["Method=GET,POST", "Query=a", "Header=X, \\d+"]),
        "((Methods: [GET, POST] && Query: param=a regexp=null) && Header: X regexp=\\d+)"
    );
    assert_eq!(shown(&["Path=/a,/b,false"]), "Paths: [/a, /b], match trailing slash: false");
    assert_eq!(shown(&["RemoteAddr=10.0.0.1/8,::1/128"]), "RemoteAddrs: [10.0.0.1/8, ::1/128]");
    assert_eq!(shown(&["Weight=g, 3"]), "Weight: g 3");
    assert_eq!(shown(&["Cookie=c, v"]), "Cookie: name=c regexp=v");
    assert_eq!(shown(&["After=0"]), "After: 1970-01-01T00:00:00Z");
}

#[test]
fn a_route_of_a_large_table_stays_small() {
    // Including its only pattern.
    assert!(size_of::<Predicate>() <= 48, "{}", size_of::<Predicate>());
}
