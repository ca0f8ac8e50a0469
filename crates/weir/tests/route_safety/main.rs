//! No spelling of a path bypasses a route.
//!
//! Cross product: hostile spellings × kinds of Path patterns × path filters × fields that pretend
//! another target, through the functions that serve (`weir explain` calls them); a slice of it
//! through a running gateway, which must do what `explain` says.

mod judge;
mod spellings;

use std::collections::HashMap;

use weir_admin::{Explanation, Question, explain};
use weir_config::{Format, Loader, Source};
use weir_snapshot::Snapshot;
use weir_testkit::{Client, Origin, spawn_weir};

use crate::judge::{Reading, encoded, further_readings, is_within, readings};
use crate::spellings::{TRICKS, spellings};

/// A kind of pattern: the route's predicate, a path that it takes, and the tree it takes.
struct Pattern {
    predicate: &'static str,
    entry: &'static str,
    tree: &'static str,
    /// It publishes `{id}`.
    publishes: bool,
}

const fn pattern(
    predicate: &'static str,
    entry: &'static str,
    tree: &'static str,
    publishes: bool,
) -> Pattern {
    Pattern { predicate, entry, tree, publishes }
}

const PATTERNS: &[Pattern] = &[
    pattern("/exact", "/exact", "/exact", false),
    pattern("/public/**", "/public", "/public", false),
    pattern("/t/{id}", "/t/a", "/t", true),
    pattern("/t/{id}/**", "/t/a", "/t", true),
    pattern("/r/{*id}", "/r", "/r", true),
    pattern("/**/x", "/s/x", "/", false),
    pattern("/g/{id:[^x]+}/**", "/g/a", "/g", true),
    pattern("/w*/**", "/wild", "/", false),
    pattern("/o?e/*", "/one/a", "/", false),
    pattern("/**", "/any", "/", false),
];

/// Filters, and the tree all of whose paths the upstream may get; `TREE` is that of the pattern.
const FILTERS: &[(&[&str], &str)] = &[
    (&[], "TREE"),
    (&["StripPrefix=1"], "/"),
    (&["StripPrefix=2"], "/"),
    (&["PrefixPath=/in"], "/inTREE"),
    (&["PrefixPath=/in/{id}"], "/in"),
    (&["StripPrefix=1", "PrefixPath=/in"], "/in"),
    (&[r"RewritePath=/(?<first>[^/]*)(?<rest>.*), /in$\{rest}"], "/in"),
    (&[r"RewritePath=/(?<rest>.*), /in/$\{rest}"], "/in"),
    (&["RewritePath=%2[fF], /"], "/"),
    (&["RewritePath=x, ."], "/"),
    (&[r"RewritePath=^.(?<rest>.*)$, /in/a?b=$\{rest}"], "/in/a"),
    (&["SetPath=/in"], "/in"),
    (&["SetPath=/in/{id}"], "/in"),
    (&["SetPath=/in{id}/b"], "/"),
    (&["SetRequestUri=http://up:1/in/{id}"], "/in"),
    (&["RequestHeaderToRequestUri=X-To"], "TREE"),
];

/// The protected routes and the one under test, which comes last.
fn table(pattern: &Pattern, filters: &[&str]) -> Snapshot {
    let mut yaml = "spring.cloud.gateway.routes:\n".to_owned();
    for (id, path, filters) in [
        ("admin", "/admin/**", &[][..]),
        ("secret", "/secret", &[]),
        ("it", pattern.predicate, filters),
    ] {
        yaml += &format!("- id: {id}\n  uri: http://up:1\n  predicates: ['Path={path}']\n");
        for filter in filters {
            let lead = if filter == &filters[0] { "  filters:\n" } else { "" };
            yaml += &format!("{lead}  - '{filter}'\n");
        }
    }
    let mut loader = Loader::new(Vec::new(), &[], Vec::new());
    loader.add(Source::new("a.yml", yaml, Format::Yaml));
    let mut loaded = loader.load();
    let compiled = loaded.compile();
    let errors = loaded.diagnostics.iter().filter(|d| d.severity == weir_config::Severity::Error);
    let errors: Vec<_> = errors.map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}");
    loaded.compiler.snapshot(compiled.routes)
}

fn ask(snapshot: &Snapshot, target: &str, fields: &[(&str, &str)]) -> Explanation {
    let method = if target == "*" { "OPTIONS" } else { "GET" };
    let headers = fields.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let question = Question {
        method: method.to_owned(),
        target: target.to_owned(),
        headers,
        peer: None,
        body: None,
        dice: 0,
    };
    explain(snapshot, &question)
}

/// The path that the upstream gets, if it gets the request.
fn sent(told: &Explanation) -> Option<&str> {
    let target = told.head.as_deref()?.split(' ').nth(1)?;
    Some(target.split('?').next().unwrap_or_default())
}

/// The fault in the handling of `target`, if any; a refusal is never one.
fn wrong(
    snapshot: &Snapshot,
    target: &str,
    tree: &str,
    read: &mut HashMap<(String, bool), Vec<Reading>>,
) -> Option<String> {
    let told = ask(snapshot, target, &[]);
    let served = told.winner.clone()?;
    let upstream = sent(&told)?.to_owned();
    let mut read = |path: &str, further: bool| {
        let known = read.entry((path.to_owned(), further)).or_insert_with(|| match further {
            true => further_readings(path).into_iter().collect(),
            false => readings(path).into_iter().collect(),
        });
        Vec::clone(known)
    };
    for reading in read(&upstream, false).into_iter().filter(|_| served == "it") {
        match reading {
            Reading::Path(path) if is_within(&path, tree) => {}
            other => return Some(format!("{target}: sent as {upstream}, read as {other:?}")),
        }
    }
    let before = target.strip_prefix("http://a").unwrap_or(target).split('?').next();
    let matched = told.path.as_deref().or(before).filter(|path| path.starts_with('/'))?;
    for reading in read(matched, true) {
        let Reading::Path(path) = reading else {
            return Some(format!("{target}: some server leaves the root"));
        };
        if let Some(other) = ask(snapshot, &encoded(&path), &[]).winner
            && other != served
        {
            return Some(format!("{target}: served by {served}, read as {path} of {other}"));
        }
    }
    None
}

#[test]
fn no_spelling_leads_out_of_a_route() {
    let mut read = HashMap::new();
    let (mut count, mut passed) = (0, 0);
    let mut found = Vec::new();
    for pattern in PATTERNS {
        let targets = spellings(pattern.entry);
        for (filters, tree) in FILTERS {
            if !pattern.publishes && filters.iter().any(|filter| filter.contains("{id}")) {
                continue;
            }
            let snapshot = table(pattern, filters);
            let tree = tree.replace("TREE", pattern.tree);
            for target in &targets {
                count += 1;
                passed += usize::from(ask(&snapshot, target, &[]).head.is_some());
                let problem = wrong(&snapshot, target, &tree, &mut read);
                found.extend(problem.map(|why| format!("{} {filters:?} {why}", pattern.predicate)));
            }
        }
    }
    println!("{count} requests, {passed} passed on");
    assert!(found.is_empty(), "{} found:\n{}", found.len(), found.join("\n"));
    // A gateway that refuses everything would pass, too.
    assert!(passed * 10 > count, "only {passed} of {count} were passed on");
}

#[test]
fn no_field_changes_the_route_or_the_path() {
    for pattern in PATTERNS {
        for (filters, _) in FILTERS {
            if !pattern.publishes && filters.iter().any(|filter| filter.contains("{id}")) {
                continue;
            }
            let snapshot = table(pattern, filters);
            let tail = format!("{}/a%20b", pattern.entry);
            for target in [pattern.entry, &tail, "/admin/x", "/secret", "/none"] {
                let plain = ask(&snapshot, target, &[]);
                for trick in TRICKS {
                    let told = ask(&snapshot, target, &[*trick]);
                    assert_eq!(told.winner, plain.winner, "{target} {trick:?}");
                    assert_eq!(sent(&told), sent(&plain), "{target} {trick:?}");
                    assert_eq!(told.upstream, plain.upstream, "{target} {trick:?}");
                    let head = told.head.unwrap_or_default();
                    let gone = ["X_Forwarded", "X-Forwarded-Prefix", "Forwarded: host=admin"];
                    assert!(!gone.iter().any(|name| head.contains(name)), "{head}");
                }
            }
        }
    }
}

#[test]
fn every_path_filter_is_in_the_product() {
    let used: Vec<&str> = FILTERS
        .iter()
        .flat_map(|(filters, _)| filters.iter())
        .filter_map(|filter| filter.split('=').next())
        .collect();
    for spec in weir_filter::filter::SPECS {
        let about = ["Path", "Prefix", "RequestUri"].iter().any(|word| spec.name.contains(word));
        assert_eq!(used.contains(&spec.name), about, "{}", spec.name);
    }
}

/// A running gateway does what `explain` says.
#[tokio::test]
async fn a_running_gateway_does_what_was_judged() {
    let origin = Origin::start().await;
    let routes = [
        ("admin", "/admin/**", "PrefixPath=/a"),
        ("secret", "/secret", "PrefixPath=/s"),
        ("strip", "/public/**", "StripPrefix=1"),
        ("set", "/t/{id}", "SetPath=/in/{id}"),
        ("rewrite", "/r/{*id}", r"RewritePath=/r(?<rest>.*), /in$\{rest}"),
        ("all", "/**", "AddRequestHeader=X-All, 1"),
    ];
    let mut yaml = "server: { port: 0, address: 127.0.0.1 }\nweir.admin.port: 0\n\
        spring.cloud.gateway.routes:\n"
        .to_owned();
    for (id, path, filter) in routes {
        yaml += &format!(
            "- {{ id: {id}, uri: '{}', predicates: ['Path={path}'], filters: ['{filter}'] }}\n",
            origin.uri()
        );
    }
    let mut loader = Loader::new(Vec::new(), &[], Vec::new());
    loader.add(Source::new("a.yml", yaml.clone(), Format::Yaml));
    let mut loaded = loader.load();
    let compiled = loaded.compile();
    let snapshot = loaded.compiler.snapshot(compiled.routes);
    let gateway = spawn_weir(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &yaml);
    let mut compared = 0;
    for target in ["/public", "/t/a", "/r"].into_iter().flat_map(spellings) {
        let method = if target == "*" { "OPTIONS" } else { "GET" };
        let told = ask(&snapshot, &target, &[]);
        let before = origin.requests().len();
        let mut client = Client::connect(gateway.address()).await;
        client.send(format!("{method} {target} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
        let response = client.read_response().await;
        let got: Vec<String> =
            origin.requests().iter().skip(before).map(|request| request.target()).collect();
        let expected: Vec<String> = told.head.as_deref().into_iter().map(first_target).collect();
        assert_eq!(got, expected, "{target}: {} {told:?}", response.status);
        compared += 1;
    }
    assert!(compared > 1_000, "{compared}");
}

fn first_target(head: &str) -> String {
    head.split(' ').nth(1).unwrap_or_default().to_owned()
}
