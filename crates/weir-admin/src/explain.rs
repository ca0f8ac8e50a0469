//! The explanation of a request's way through the gateway, by the same functions that serve it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use weir_balance::{Instance, InstanceState};
use weir_filter::cors::CorsDecision;
use weir_filter::forwarding::{Hop, via};
use weir_filter::{ChainEntry, RequestContext, Target, Verdict};
use weir_mock::MockSource;
use weir_route::index::Scratch;
use weir_route::{Content, Request, RequestParts, Route, Vars};
use weir_server::{ErrorKind, enter, spend_forward};
use weir_snapshot::{RouteTarget, Settings, Snapshot, Upstream};
use weir_wire::http1::{HeadLimits, Parsed, parse_request};
use weir_wire::{Fields, RequestHead};

use crate::explanation::{Candidate, Explanation, Question, Step};
use crate::redact::conceal;
use crate::site::on_main_port;

/// The maximum number of reported candidates.
const CANDIDATES_MAX: usize = 50;
/// The maximum number of reported instances.
const INSTANCES_MAX: usize = 20;

/// Explains `question` with the table and the rules of `snapshot`. Values of secret fields are
/// hidden.
pub fn explain(snapshot: &Snapshot, question: &Question) -> Explanation {
    let mut told = tell(snapshot, question);
    conceal(&mut told, question);
    told
}

fn tell(snapshot: &Snapshot, question: &Question) -> Explanation {
    let mut told = Explanation { routes: snapshot.index.len(), ..Explanation::default() };
    let mut head = RequestHead::default();
    if let Err(why) = read(question, &snapshot.settings.head_limits, &mut head) {
        told.refused = Some(why);
        return told;
    }
    if !enters(snapshot, question, &mut head, &mut told) {
        return told;
    }
    let ip = question.peer.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let mut parts = RequestParts::of(&head);
    if let Some(body) = &question.body {
        parts.content = serde_json::from_str(body).map_or(Content::Unusable, Content::Json);
    }
    let now_ms = jiff::Timestamp::now().as_millisecond();
    let request = Request { head: &head, parts: &parts, peer: ip, now_ms, dice: question.dice };
    let (winner, candidates) = candidates(snapshot, &request);
    told.candidates = candidates;
    let scratch = &mut Scratch::default();
    let cors = snapshot.cors.decide(&request, false, winner.is_some(), scratch);
    let preflight = match cors {
        CorsDecision::Respond(local) => Some(local),
        CorsDecision::NotCors | CorsDecision::Proceed(_) => None,
    };
    if preflight.is_none() {
        told.token = token(snapshot, &parts);
    }
    // An ambiguous path is refused, whatever the answer to a preflight request would be.
    let ambiguity = winner.and_then(|winner| snapshot.ambiguity(winner, &request, scratch));
    if ambiguity.is_none()
        && let Some(local) = preflight
    {
        told.answer = Some(format!("{} by the cross-origin rules", local.status));
        return told;
    }
    let Some(winner) = winner else {
        told.answer = Some("404: no route matches".to_owned());
        return told;
    };
    told.winner = Some(winner.id.to_string());
    told.group = group_id(winner);
    if let Some(why) = ambiguity {
        told.answer = Some(format!("400: {why}"));
        return told;
    }
    let mut vars = Vars::default();
    for predicate in winner.all_predicates() {
        predicate.publish(&request, &mut vars);
    }
    told.variables = vars.iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
    if let Some(local) = spend_forward(&mut head) {
        told.answer = Some(format!("{}: Max-Forwards has come to its end", local.status));
        return told;
    }
    let client_host = head.host().to_vec();
    snapshot.forwarding.receive(&mut head, ip);
    let mut running = Running { head, vars, target: None, preserve_host: false, prefixed: false };
    for entry in winner.target.chain.entries() {
        let (step, answer) = running.step(entry, SocketAddr::new(ip, 0), now_ms);
        told.filters.push(step);
        if answer.is_some() {
            told.answer = answer;
            return told;
        }
    }
    running.finish(snapshot, winner, ip, &client_host, &mut told);
    told
}

/// Whether a request reaches the route table; if not, records the answer it gets.
fn enters(
    snapshot: &Snapshot,
    question: &Question,
    head: &mut RequestHead,
    told: &mut Explanation,
) -> bool {
    match enter(head) {
        Ok(is_changed) => told.path = is_changed.then(|| text(head.path())),
        Err(error) if error.kind == ErrorKind::MethodNotAllowed => {
            told.answer = Some(format!("405: {} is not served", question.method));
            return false;
        }
        Err(error) => {
            told.refused = Some(format!("the path is refused: {}", error.detail));
            return false;
        }
    }
    if is_reserved(&snapshot.settings, head.path()) {
        told.answer = Some("that of the gateway's own actuator, whatever routes say".to_owned());
        return false;
    }
    if snapshot.is_outside(head.path()) {
        let base = &snapshot.settings.base_path;
        told.answer = Some(format!("404: the path is not below `{base}`, the base path"));
        return false;
    }
    true
}

/// Whether the path belongs to the actuator on the gateway's own port.
fn is_reserved(settings: &Settings, path: &[u8]) -> bool {
    let anywhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
    on_main_port(settings, anywhere).is_some_and(|reserved| reserved.takes(path))
}

/// The required token, where the configuration asks for tokens.
fn token(snapshot: &Snapshot, parts: &RequestParts) -> Option<String> {
    let security = snapshot.security.as_ref()?;
    let text = match security.permits(&parts.path) {
        true => "not needed: `weir.security.permit` lists the path",
        false => "needed: without a good one the answer is 401",
    };
    Some(text.to_owned())
}

fn candidates<'s>(
    snapshot: &'s Snapshot,
    request: &Request<'_>,
) -> (Option<&'s Route<RouteTarget>>, Vec<Candidate>) {
    let groups = snapshot.index.groups();
    let mut told = Vec::new();
    for route in snapshot.index.candidates(request) {
        let matched = route.matches(request, groups) == Ok(true);
        if told.len() < CANDIDATES_MAX || matched {
            told.push(candidate(route, request, snapshot, matched));
        }
        if matched {
            return (Some(route), told);
        }
    }
    (None, told)
}

fn candidate(
    route: &Route<RouteTarget>,
    request: &Request<'_>,
    snapshot: &Snapshot,
    matched: bool,
) -> Candidate {
    let groups = snapshot.index.groups();
    let mut reasons = Vec::new();
    for predicate in route.all_predicates() {
        reasons.push(predicate.explain(request, groups));
        if predicate.matches(request, groups) != Ok(true) {
            break;
        }
    }
    let (id, group) = (route.id.to_string(), group_id(route));
    Candidate { id, order: route.order, group, matched, reasons }
}

fn group_id(route: &Route<RouteTarget>) -> Option<String> {
    route.group.as_ref().map(|group| group.id.to_string())
}

/// Parses the question as the data plane would parse it.
fn read(question: &Question, limits: &HeadLimits, head: &mut RequestHead) -> Result<(), String> {
    let mut raw = format!("{} {} HTTP/1.1\r\n", question.method, question.target);
    let named = |name: &str| question.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
    if !named("host") {
        raw += "Host: localhost\r\n";
    }
    for (name, value) in &question.headers {
        raw += &format!("{name}: {value}\r\n");
    }
    raw += "\r\n";
    match parse_request(raw.as_bytes(), head, limits) {
        Ok(Parsed::Complete { consumed, .. }) if consumed == raw.len() => Ok(()),
        Ok(_) => Err("the request contains an empty line".to_owned()),
        Err(error) => Err(format!("the head is refused: {error:?}")),
    }
}

/// Which definitions answer a request.
fn mocked(head: &RequestHead, source: &MockSource) -> String {
    let (method, path, query) = (head.method(), head.path(), head.query());
    let call =
        weir_mock::Call { method, path, prefix: b"", query, fields: &head.fields, body: b"" };
    match source.tenant(&call) {
        Some(tenant) => format!("made from an API definition of tenant {tenant}"),
        None => "made from an API definition".to_owned(),
    }
}

/// A request on its way through the filters.
struct Running {
    head: RequestHead,
    vars: Vars,
    target: Option<Target>,
    preserve_host: bool,
    prefixed: bool,
}

impl Running {
    fn step(
        &mut self,
        entry: &ChainEntry,
        peer: SocketAddr,
        now_ms: i64,
    ) -> (Step, Option<String>) {
        let before = lines(&self.head);
        let mut context = RequestContext {
            head: &mut self.head,
            vars: &self.vars,
            target: &mut self.target,
            preserve_host: &mut self.preserve_host,
            prefixed: &mut self.prefixed,
            added: &mut Fields::default(),
            claims: &mut None,
            kept: &mut None,
            failure: None,
            peer,
            now_ms,
            dice: u64::MAX,
            is_asked: true,
        };
        let answer = match entry.filter.request(&mut context) {
            // Whether it has to wait is known only at run time.
            Ok(Verdict::Continue | Verdict::Admit(_) | Verdict::Ask(_)) => None,
            // Authentication is not checked here.
            Ok(Verdict::Respond(_)) if entry.filter.asks_who() => None,
            Ok(Verdict::Respond(local)) => Some(format!("{} by this filter", local.status)),
            Err(error) => Some(format!("500: {}", error.0)),
        };
        let after = lines(&self.head);
        let gone =
            before.iter().filter(|line| !after.contains(line)).map(|line| format!("- {line}"));
        let come =
            after.iter().filter(|line| !before.contains(line)).map(|line| format!("+ {line}"));
        let step = Step {
            name: entry.filter.spec().name.to_owned(),
            order: entry.order,
            does: entry.filter.explain(),
            changes: gone.chain(come).collect(),
        };
        (step, answer)
    }

    fn finish(
        mut self,
        snapshot: &Snapshot,
        winner: &Route<RouteTarget>,
        peer: IpAddr,
        client_host: &[u8],
        told: &mut Explanation,
    ) {
        let target = match (self.target.take(), &winner.target.upstream) {
            (Some(target), _) => target,
            (None, Upstream::Http(target)) => Target::clone(target),
            (None, Upstream::Balanced(service)) => {
                let list = service.instances();
                told.instances = instances(&list, |one| one.unused.map(|why| why.to_string()));
                let first = list.iter().find(|one| one.unused.is_none());
                let Some(instance) = first else { return told.no_instance(service.name()) };
                Target::clone(&instance.target)
            }
            (None, Upstream::Clustered(cluster)) => {
                let states = cluster.states(weir_server::now_ns() / 1_000_000);
                let list: Vec<_> = states.iter().map(|state| Arc::clone(&state.instance)).collect();
                let why = |one: &Instance| {
                    let state = states.iter().find(|state| state.instance.id == one.id);
                    state.and_then(|state| state.why.clone())
                };
                told.instances = instances(&list, why);
                // An unhealthy instance is better than none; a drained one is never chosen.
                let is_left = |state: &&InstanceState| {
                    state.member.as_ref().is_some_and(|member| !member.is_drained)
                };
                let used = states.iter().find(|state| state.why.is_none());
                let first = used.or_else(|| states.iter().find(is_left));
                let Some(state) = first else { return told.no_instance(cluster.name()) };
                Target::clone(&state.instance.target)
            }
            (None, Upstream::Forward(to)) => {
                let path = &to.path;
                told.answer = Some(format!("that of the route of `{path}`, within the gateway"));
                return;
            }
            (None, Upstream::Mock(source)) => {
                told.answer = Some(mocked(&self.head, source));
                return;
            }
            (None, Upstream::None) => {
                told.answer = Some("200 with an empty body: the route leads nowhere".to_owned());
                return;
            }
        };
        let hop = Hop {
            peer: SocketAddr::new(peer, 0),
            local: snapshot.settings.listen.ip(),
            https: false,
            client_host,
            target: &target,
            preserve_host: self.preserve_host,
            upgrade: false,
        };
        snapshot.forwarding.request(&mut self.head, &hop);
        // The serving process has a name of its own.
        if let Some(name) = snapshot.settings.via.name("weir-…") {
            via::append(&mut self.head.fields, weir_wire::Version::Http11, name);
        }
        let mut head = Vec::new();
        self.head.write_to(&mut head);
        told.upstream = Some(format!("{}:{}", target.host, target.port));
        told.head = Some(text(&head).replace("\r\n", "\n"));
    }
}

/// A line for each of the first instances of a service.
fn instances(list: &[Arc<Instance>], why: impl Fn(&Instance) -> Option<String>) -> Vec<String> {
    let line = |one: &Arc<Instance>| {
        let place = format!("{}:{}", one.target.host, one.target.port);
        match why(one) {
            Some(why) => format!("{place} is not used: {why}"),
            None => format!("{place} is used"),
        }
    };
    list.iter().take(INSTANCES_MAX).map(line).collect()
}

impl Explanation {
    fn no_instance(&mut self, service: &str) {
        self.answer = Some(format!("503: service {service} has no instance"));
    }
}

fn lines(head: &RequestHead) -> Vec<String> {
    let mut raw = Vec::new();
    head.write_to(&mut raw);
    text(&raw).lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(why) = &self.refused {
            return writeln!(f, "refused    {why}");
        }
        if let Some(path) = &self.path {
            writeln!(f, "path       {path} (dot segments resolved)")?;
        }
        if let Some(token) = &self.token {
            writeln!(f, "token      {token}")?;
        }
        writeln!(f, "candidates {} of {} routes", self.candidates.len(), self.routes)?;
        for candidate in &self.candidates {
            let sign = if candidate.matched { "matches" } else { "does not match" };
            let group = candidate.group.as_ref();
            let group = group.map_or(String::new(), |group| format!(" in group {group}"));
            writeln!(f, "  {} (order {}{group}) {sign}", candidate.id, candidate.order)?;
            for reason in &candidate.reasons {
                writeln!(f, "    {reason}")?;
            }
        }
        if let Some(winner) = &self.winner {
            writeln!(f, "route      {winner}")?;
        }
        if let Some(group) = &self.group {
            writeln!(f, "group      {group}")?;
        }
        for (name, value) in &self.variables {
            writeln!(f, "  {{{name}}} = {value}")?;
        }
        if !self.filters.is_empty() {
            writeln!(f, "filters")?;
        }
        for step in &self.filters {
            writeln!(f, "  {} (order {}): {}", step.name, step.order, step.does)?;
            for change in &step.changes {
                writeln!(f, "    {change}")?;
            }
        }
        if let Some(answer) = &self.answer {
            writeln!(f, "answer     {answer}")?;
        }
        if !self.instances.is_empty() {
            writeln!(f, "instances")?;
        }
        for line in &self.instances {
            writeln!(f, "  {line}")?;
        }
        if let (Some(upstream), Some(head)) = (&self.upstream, &self.head) {
            writeln!(f, "upstream   {upstream}")?;
            for line in head.lines().filter(|line| !line.is_empty()) {
                writeln!(f, "  {line}")?;
            }
        }
        Ok(())
    }
}
