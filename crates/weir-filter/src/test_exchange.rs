//! Test harness: one request, written as text, through the filters of one route.

use std::sync::Arc;

use serde_json::Value;
use weir_auth::Claims;
use weir_route::predicate::{self, BuildContext, PredicateOptions};
use weir_route::{Arguments, NamedArgs, Request, RequestParts, Vars, parse_shortcut};
use weir_wire::http1::{HeadLimits, Parsed, parse_request, parse_response};
use weir_wire::{Fields, RequestHead, ResponseHead};

use crate::chain::Chain;
use crate::context::{RequestContext, ResponseContext, Verdict};
use crate::filter::{self, Filter, FilterOptions};
use crate::status::reason;

/// The filters of a route and their context.
#[derive(Debug, Default)]
pub(crate) struct TestExchange {
    /// The filters, merged.
    pub chain: Chain,
    predicates: Vec<NamedArgs>,
}

/// Result at both sides.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The request sent upstream, if any.
    pub sent: Option<String>,
    /// The response sent to the client, if any.
    pub response: Option<String>,
    /// Error of a filter.
    pub error: Option<String>,
}

const PEER: &str = "192.0.2.9:4711";

impl TestExchange {
    /// A route in SCG's YAML: `predicates:` and `filters:`, each a list.
    pub(crate) fn new(route: &str) -> Self {
        Self::with_options(route, &FilterOptions::default())
    }

    /// The same with these options.
    pub(crate) fn with_options(route: &str, options: &FilterOptions) -> Self {
        let (predicates, filters) = read_route(route);
        let build = |named: &NamedArgs| {
            let spec = filter::find(&named.name).unwrap_or_else(|| panic!("{}?", named.name));
            let args = spec.bind(&named.args).unwrap_or_else(|e| panic!("{named:?}: {e:?}"));
            assert_eq!(args.unknown().next(), None, "{route}");
            let filter = (spec.build)(&args, options);
            filter.unwrap_or_else(|error| panic!("{named:?}: {error:?}"))
        };
        let filters: Vec<Filter> = filters.iter().map(build).collect();
        Self { chain: Chain::merge(Vec::new(), filters), predicates }
    }

    /// Runs `request` through the filters, and `answer` back if the request was forwarded.
    pub(crate) fn run(&self, request: &str, answer: &str) -> Outcome {
        self.run_as(None, request, answer)
    }

    /// The same for an authenticated request.
    pub(crate) fn run_as(&self, claims: Option<Claims>, request: &str, answer: &str) -> Outcome {
        let mut head = request_head(request);
        let vars = self.vars(&head);
        let client_host = head.host().to_vec();
        let (mut target, mut preserve_host, mut prefixed) = (None, false, false);
        let mut ran = usize::MAX;
        let mut context = RequestContext {
            head: &mut head,
            vars: &vars,
            target: &mut target,
            preserve_host: &mut preserve_host,
            prefixed: &mut prefixed,
            added: &mut Fields::default(),
            claims: &mut claims.map(Arc::new),
            kept: &mut None,
            failure: None,
            peer: PEER.parse().expect("an address"),
            now_ms: 0,
            dice: 0,
            is_asked: false,
        };
        let mut verdict = self.chain.request(&mut context, &mut ran);
        while let Ok(Verdict::Admit(_)) = verdict {
            verdict = self.chain.resume(ran, &mut context, &mut ran);
        }
        match verdict {
            Err(error) => return Outcome { error: Some(error.0), ..Outcome::default() },
            Ok(Verdict::Respond(local)) => {
                assert_eq!(ran, 0, "no response side runs on a response of the gateway itself");
                let mut head = ResponseHead::default();
                head.set_status(local.status, reason(local.status).as_bytes());
                for (name, value) in &local.fields {
                    head.fields.append(name.as_bytes(), value);
                }
                assert!(head.fields.is_sound());
                let response = Some(response_text(&head));
                return Outcome { response, ..Outcome::default() };
            }
            Ok(Verdict::Continue | Verdict::Admit(_) | Verdict::Ask(_)) => {}
        }
        assert!(head.fields.is_sound());
        let url = target.map(|t| {
            let scheme = format!("{:?}", t.scheme).to_ascii_lowercase();
            format!("{scheme}://{}:{}", t.host, t.port)
        });
        let host = client_host.as_slice();
        let shown = if preserve_host { b"".as_slice() } else { host };
        let sent = Some(request_text(&head, &url.unwrap_or_default(), shown));
        let mut answer = response_head(answer);
        let mut context =
            ResponseContext { head: &mut answer, request: &head, client_host: host, vars: &vars };
        match self.chain.response(&mut context, ran) {
            Err(error) => Outcome { sent, response: None, error: Some(error.0) },
            Ok(()) => {
                assert!(answer.fields.is_sound());
                Outcome { sent, response: Some(response_text(&answer)), error: None }
            }
        }
    }

    fn vars(&self, head: &RequestHead) -> Vars {
        let options = PredicateOptions::default();
        let context = BuildContext { options: &options, route_id: "trial" };
        let parts = RequestParts::of(head);
        let peer: std::net::SocketAddr = PEER.parse().expect("an address");
        let request = Request { head, parts: &parts, peer: peer.ip(), now_ms: 0, dice: 0 };
        let mut vars = Vars::default();
        for named in &self.predicates {
            let spec = predicate::find(&named.name).expect("a predicate");
            let args = spec.bind(&named.args).expect("arguments");
            let predicate = (spec.build)(&args, &context).expect("a predicate");
            let matched = predicate.matches(&request, &predicate::WeightGroups::default());
            assert_eq!(matched, Ok(true), "{named:?} does not match");
            predicate.publish(&request, &mut vars);
        }
        vars
    }
}

/// Checks the result of a request through `route`: the forwarded request, the gateway's own
/// response, or `error: ` and the reason.
pub(crate) fn check_request(route: &str, request: &str, expected: &str) {
    let outcome = TestExchange::new(route).run(request, "");
    let text = match outcome {
        Outcome { error: Some(error), .. } => format!("error: {error}"),
        Outcome { sent: Some(sent), .. } => sent,
        Outcome { response, .. } => response.unwrap_or_default(),
    };
    assert_eq!(text, expected, "{route}\n{request}");
}

/// Checks the path (with query) of `GET path` behind `route`; a refusal is `400` and an error
/// `500`.
pub(crate) fn check_path(route: &str, path: &str, expected: &str) {
    let outcome = TestExchange::new(route).run(&format!("GET {path} HTTP/1.1"), "");
    let sent = outcome.sent.as_deref().and_then(|sent| sent.split(' ').nth(1));
    let text = match (sent, &outcome.response) {
        (Some(path), _) => path,
        (None, Some(response)) if response.starts_with("HTTP/1.1 400 ") => "400",
        (None, _) => "500",
    };
    assert_eq!(text, expected, "{route} {path}: {:?}", outcome.error);
}

/// Checks the response head sent to the client behind `route` for `answer`, or `error: ` and the
/// reason.
pub(crate) fn check_response(route: &str, request: &str, answer: &str, expected: &str) {
    let outcome = TestExchange::new(route).run(request, answer);
    let text = match outcome.error {
        Some(error) => format!("error: {error}"),
        None => outcome.response.unwrap_or_default(),
    };
    assert_eq!(text, expected, "{route}\n{answer}");
}

/// Checks that a filter with these arguments is rejected because of `arg`, with a help text.
pub(crate) fn check_refused(filter: &str, arg: &str) {
    let (_, filters) = read_route(&format!("- {filter}"));
    for named in filters {
        let spec = filter::find(&named.name).expect("a filter");
        let built =
            spec.bind(&named.args).and_then(|args| (spec.build)(&args, &FilterOptions::default()));
        let error = built.expect_err(filter);
        assert_eq!(error.arg, arg, "{filter}");
        assert!(error.help.is_some(), "{error:?}");
    }
}

/// Predicates and filters of a route, in the YAML subset of the examples.
fn read_route(text: &str) -> (Vec<NamedArgs>, Vec<NamedArgs>) {
    let (mut predicates, mut filters) = (Vec::new(), Vec::new());
    let mut current = &mut filters;
    for line in text.lines() {
        match line.strip_prefix("- ") {
            None if line == "predicates:" => current = &mut predicates,
            None if line == "filters:" => current = &mut filters,
            None if line == "  args:" || line.is_empty() => {}
            None => {
                let (key, value) = line.trim().split_once(": ").expect("an argument");
                let last: &mut NamedArgs = current.last_mut().expect("a name before arguments");
                last.args.insert(key, Value::from(value));
            }
            Some(item) => current.push(match item.strip_prefix("name: ") {
                Some(name) => NamedArgs { name: name.into(), args: Arguments::default() },
                None => parse_shortcut(item, true).expect("a shortcut"),
            }),
        }
    }
    (predicates, filters)
}

fn crlf(head: &str) -> Vec<u8> {
    format!("{}\n\n", head.trim_end()).replace('\n', "\r\n").into_bytes()
}

/// A request head; Host is `gw.example` unless the text has one.
pub(crate) fn request_head(text: &str) -> RequestHead {
    let mut text = text.trim_end().to_owned();
    if !text.to_ascii_lowercase().contains("\nhost:") {
        text += "\nHost: gw.example";
    }
    let mut head = RequestHead::default();
    let parsed = parse_request(&crlf(&text), &mut head, &HeadLimits::default());
    assert!(matches!(parsed, Ok(Parsed::Complete { .. })), "{text}: {parsed:?}");
    head
}

/// A response head; `200 OK` without fields if the text is empty.
pub(crate) fn response_head(text: &str) -> ResponseHead {
    let text = if text.is_empty() { "HTTP/1.1 200 OK" } else { text };
    let mut head = ResponseHead::default();
    let parsed = parse_response(&crlf(text), b"GET", &mut head, &HeadLimits::default());
    assert!(matches!(parsed, Ok(Parsed::Complete { .. })), "{text}: {parsed:?}");
    head
}

fn request_text(head: &RequestHead, url: &str, hidden_host: &[u8]) -> String {
    let method = head.method().escape_ascii();
    let mut text = format!("{method} {url}{}", head.path().escape_ascii());
    if let Some(query) = head.query() {
        text += &format!("?{}", query.escape_ascii());
    }
    text += " HTTP/1.1";
    push_fields(&mut text, &head.fields, hidden_host);
    text
}

fn response_text(head: &ResponseHead) -> String {
    let mut text = format!("HTTP/1.1 {} {}", head.status, head.reason().escape_ascii());
    push_fields(&mut text, &head.fields, b"");
    text
}

fn push_fields(text: &mut String, fields: &Fields, hidden_host: &[u8]) {
    for (name, value) in fields.iter() {
        if !(name.eq_ignore_ascii_case(b"host") && value == hidden_host) {
            *text += &format!("\n{}: {}", name.escape_ascii(), String::from_utf8_lossy(value));
        }
    }
}
