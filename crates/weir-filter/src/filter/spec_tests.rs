//! Self-tests of the registry: sorted, documented, and examples in `doc` that run.
//!
//! An example is a route in a `yaml` fence, followed by heads in `http` fences: `request` is sent
//! by the client, `sent` is received by the upstream, `answer` is the upstream's response and
//! `response` is received by the client. A line that starts with blanks continues the line before.

use std::collections::HashSet;

use serde_json::Value;
use weir_route::{ArgKind, ArgSpec, Arguments, Spec};

use super::{Build, Filter, FilterOptions, LATER, SPECS, find};
use crate::test_exchange::TestExchange;

/// The code fences of `doc` as (kind, text).
fn fences(doc: &str) -> Vec<(&str, &str)> {
    let mut fences = Vec::new();
    let mut rest = doc;
    while let Some((_, opened)) = rest.split_once("```") {
        let (fence, after) = opened.split_once("\n```").expect("a fence ends");
        fences.push(fence.split_once('\n').expect("a fence has content"));
        rest = after;
    }
    fences
}

fn written_arg(kind: ArgKind) -> &'static str {
    match kind {
        ArgKind::Status => "302",
        ArgKind::Int => "1",
        ArgKind::Bool => "true",
        ArgKind::DataSize => "5MB",
        ArgKind::List => "x:y",
        ArgKind::OneOf(names) => names.first().copied().unwrap_or_default(),
        _ => "x",
    }
}

/// The filter of `spec` built with required arguments only, and whether it read all arguments.
fn build_default(spec: &Spec<Build>) -> (Filter, bool) {
    // Filters that need one of several arguments.
    let either = match spec.name {
        "Throttle" => Some(("limit", Value::from("5/s"))),
        "IpAccess" => Some(("allow", Value::from("10.0.0.0/8"))),
        "Authorize" => Some(("rule", Value::from("authenticated"))),
        "EditRequestBody" | "EditResponseBody" => Some(("remove", Value::from("/x"))),
        "FaultInjection" => Some(("delay", Value::from("1s"))),
        "Mirror" => Some(("uri", Value::from("http://next"))),
        "ForwardAuth" => Some(("uri", Value::from("http://auth/check"))),
        _ => None,
    };
    let given = |arg: &&ArgSpec| either.as_ref().is_some_and(|(name, _)| *name == arg.name);
    let required = spec.args.iter().filter(|arg| arg.required && !given(arg));
    let written: Arguments = required
        .map(|arg| (arg.name, Value::from(written_arg(arg.kind))))
        .chain(either.clone())
        .collect();
    let args = spec.bind(&written).expect("arguments");
    let filter = (spec.build)(&args, &FilterOptions::default());
    (filter.unwrap_or_else(|e| panic!("{}: {e:?}", spec.name)), args.unread().next().is_none())
}

#[test]
fn names_are_sorted_and_unique() {
    let names: Vec<_> = SPECS.iter().map(|spec| spec.name).collect();
    assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    let later: Vec<_> = LATER.iter().map(|(name, _)| *name).collect();
    assert!(later.is_sorted_by(|a, b| a < b), "{later:?}");
    assert!(later.iter().all(|name| find(name).is_none()));
}

#[test]
fn everything_is_documented() {
    for spec in SPECS {
        assert!(spec.doc.contains("```yaml"), "{} has no example", spec.name);
        let names: HashSet<_> = spec.args.iter().map(|arg| arg.name).collect();
        assert_eq!(names.len(), spec.args.len(), "{}", spec.name);
        for arg in spec.args {
            assert!(arg.doc.ends_with('.'), "{}.{}", spec.name, arg.name);
            assert!(arg.doc.len() > 5 && !(arg.required && arg.default.is_some()));
        }
    }
    assert!(LATER.iter().all(|(_, reason)| reason.len() > 10 && !reason.ends_with('.')));
}

#[test]
fn defaults_build_and_every_argument_is_read() {
    for spec in SPECS {
        let (filter, all_read) = build_default(spec);
        assert!(all_read, "{} does not read all of its arguments", spec.name);
        assert_eq!(filter.spec().name, spec.name);
        assert!(filter.to_string().starts_with(&format!("[{}", spec.name)), "{filter}");
        let explained = filter.explain();
        assert!(explained.starts_with(|c: char| c.is_ascii_lowercase()), "{explained}");
        assert_eq!(filter, build_default(spec).0);
    }
}

#[test]
fn required_arguments_are_required() {
    for spec in SPECS {
        let missing = spec.bind(&Arguments::default()).is_err();
        assert_eq!(missing, spec.args.iter().any(|arg| arg.required), "{}", spec.name);
    }
}

#[test]
fn examples_do_what_they_say() {
    for spec in SPECS {
        let fences = fences(spec.doc);
        let fence = |kind: &str| fences.iter().find(|(k, _)| *k == kind).map(|(_, text)| *text);
        let text = |kind: &str| fence(kind).map(|text| text.replace("\n  ", " "));
        let trial = TestExchange::new(fence("yaml").expect("a route"));
        let own = trial.chain.entries().iter().any(|e| e.filter.spec().name == spec.name);
        assert!(own, "{}'s example does not use it", spec.name);
        let request = text("http request").expect("a request");
        let outcome = trial.run(&request, &text("http answer").unwrap_or_default());
        assert_eq!(outcome.error, None, "{}", spec.name);
        let (sent, response) = (text("http sent"), text("http response"));
        assert!(sent.is_some() || response.is_some(), "{}'s example shows nothing", spec.name);
        if sent.is_some() || text("http answer").is_none() {
            assert_eq!(outcome.sent, sent, "{}", spec.name);
        }
        if response.is_some() {
            assert_eq!(outcome.response, response, "{}", spec.name);
        }
    }
}

#[test]
fn a_filter_is_small() {
    assert!(size_of::<Filter>() <= 48, "{}", size_of::<Filter>());
}
