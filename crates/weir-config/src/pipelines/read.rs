//! Reads `weir.pipelines`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use weir_balance::{Balance, Directory};
use weir_filter::{CostSource, KeySource, LimitDefinition};
use weir_limit::Rate;
use weir_snapshot::{HealthCheck, Pipeline, PipelineLimit, PipelineTimeouts, Protocol, Settings};

use super::circles::{Way, circles};
use super::escape;
use super::upstreams::{Address, UPSTREAM, addresses, balance, group, missing};
use super::{dubbo, frame, http, proxy_protocol, routes, socks};
use crate::compile::Compiler;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::fields::{Field, Fields, Shape};
use crate::spring::{Kind, Layers, Node, child};

const NAME: &str = "weir.pipelines";

const FIELDS: &[Field] = &[
    Field::value("id", "front"),
    Field::new("listen", Shape::Values, "0.0.0.0:8080"),
    Field::value("protocol", "tcp"),
    UPSTREAM,
    Field::value("balance", "least-connections"),
    Field::value("slow-start", "30s"),
    Field::value("limit", "500/s"),
    Field::new("timeouts", Shape::Map, "{ connect: 5s }"),
    Field::new("check", Shape::Map, "{ interval: 2s }"),
    Field::new("routes", Shape::Maps, "[ { sni: shop.example.org, upstream: 10.0.0.1:443 } ]"),
    Field::new("proxy-protocol", Shape::Map, "{ send: v2 }"),
    Field::new("socks", Shape::Map, "{ allow: \"10.0.0.0/8:443\" }"),
    Field::new("frame", Shape::Map, "{ kind: fixed, size: 16 }"),
    Field::new("dubbo", Shape::Map, "{ max: 8MB }"),
];

const TIMEOUTS: &[Field] = &[
    Field::value("connect", "5s"),
    Field::value("hello", "10s"),
    Field::value("idle", "10m"),
    Field::value("max", "1h"),
];

const CHECK: &[Field] = &[
    Field::value("interval", "2s"),
    Field::value("timeout", "1s"),
    Field::value("send", "'PING\\r\\n'"),
    Field::value("expect", "+PONG"),
    Field::value("rise", "2"),
    Field::value("fall", "3"),
];

/// Fields for one protocol, named after it.
const OWN: &[&str] = &["socks", "frame", "dubbo"];

/// Fields that a protocol does not support, with the reason.
const USELESS: &[(&str, &[&str], &str)] = &[
    ("http", &["timeouts"], "those of `spring.cloud.gateway.…httpclient` hold"),
    ("http", &["routes"], "write routes of the gateway itself"),
    ("http", &["proxy-protocol"], "the HTTP engine takes `X-Forwarded-For` and `Forwarded`"),
    ("socks", &["upstream", "balance", "slow-start", "check"], "clients say where to connect to"),
    ("socks", &["routes"], "clients say where to connect to"),
    ("frame", &["routes"], "its messages say nothing that could be chosen by"),
];

/// All pipelines of the layers: a list, or a map by id. Problems are reported, and reject the
/// configuration.
pub(crate) fn pipelines(
    layers: &Layers<'_>,
    compiler: &Compiler,
    directory: &Directory,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Arc<Pipeline>> {
    let mut all = Vec::new();
    let mut ways = Vec::new();
    let mut listeners = own_listeners(compiler.settings());
    for (id, nodes) in written(layers, problems) {
        let what = format!("pipeline '{id}'");
        let fields = Fields::new(layers, nodes, what, problems);
        let (upstreams, routed) = (Vec::new(), Vec::new());
        let mut reading = Reading { fields, compiler, directory, id, upstreams, routed };
        let Some(pipeline) = reading.pipeline() else { continue };
        for address in &pipeline.listen {
            if let Some((who, _)) = listeners.iter().find(|(_, other)| clash(*other, *address)) {
                let message = format!("`{address}` is where {who} listens");
                let at = reading.fields.at();
                reading.fields.wrong(at, message, "give each pipeline an address of its own");
            }
            listeners.push((format!("pipeline '{}'", pipeline.id), *address));
        }
        let Reading { id, upstreams, routed, .. } = reading;
        ways.push(Way { id, listen: pipeline.listen.clone(), upstreams, routed });
        all.push(Arc::new(pipeline));
    }
    circles(&ways, problems);
    all
}

/// The addresses that the gateway listens on besides its pipelines, each with what it is for.
fn own_listeners(settings: &Settings) -> Vec<(String, SocketAddr)> {
    let main = settings.serves_http.then_some(settings.listen);
    let main = main.map(|address| ("the gateway itself (`server.port`)".to_owned(), address));
    let admin = settings.management.listen();
    main.into_iter()
        .chain(admin.map(|address| ("the admin API (`weir.admin.port`)".to_owned(), address)))
        .collect()
}

/// Whether listeners on both addresses conflict.
fn clash(one: SocketAddr, other: SocketAddr) -> bool {
    let is_same =
        one.ip() == other.ip() || one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() != 0 && one.port() == other.port() && is_same
}

/// The nodes of each pipeline, by id, from the highest layer down.
fn written<'l>(
    layers: &Layers<'l>,
    problems: &mut Vec<Diagnostic>,
) -> Vec<(String, Vec<Node<'l>>)> {
    let mut all: Vec<(String, Vec<Node<'l>>)> = Vec::new();
    let before = problems.len();
    let mut has_list = false;
    for node in layers.all(NAME) {
        if node.kind() == Kind::Scalar && node.text().is_some_and(|text| !text.trim().is_empty()) {
            let message = format!("`{NAME}` is a list of pipelines, or a map of them by `id`");
            problems.push(wrong_shape(node, message));
            continue;
        }
        // As everywhere, a list replaces those of lower layers.
        let is_list = node.kind() == Kind::List;
        if is_list && std::mem::replace(&mut has_list, true) {
            continue;
        }
        let mut here: Vec<String> = Vec::new();
        for (n, entry) in node.children().enumerate() {
            let id = match is_list {
                true => {
                    let text = child(entry, "id").and_then(Node::text).unwrap_or_default();
                    let id = layers.resolve(&text).0.trim().to_owned();
                    if id.is_empty() { format!("pipeline-{}", n + 1) } else { id }
                }
                false => entry.key().to_owned(),
            };
            if let Some(misfit) = Shape::Map.misfit(entry) {
                problems.push(wrong_shape(entry, misfit.message(&id)));
                continue;
            }
            if is_list && here.contains(&id) {
                let message = format!("there are two pipelines '{id}'");
                let found = Diagnostic::new(Code::InvalidValue, message);
                problems.push(found.at(entry.span()).help("give each an `id` of its own"));
                continue;
            }
            here.push(id.clone());
            match all.iter_mut().find(|(known, _)| *known == id) {
                Some((_, nodes)) => nodes.push(entry),
                None => all.push((id, vec![entry])),
            }
        }
    }
    if let (Some(node), true) = (layers.find(NAME), all.is_empty() && problems.len() == before) {
        let found = Diagnostic::new(Code::Suspicious, format!("`{NAME}` has no pipeline"));
        problems.push(found.at(node.key_span()).help(PIPELINE));
    }
    all
}

const PIPELINE: &str = "write `front: { listen: 0.0.0.0:8080, upstream: 10.0.0.1:80 }`";

fn wrong_shape(node: Node<'_>, message: String) -> Diagnostic {
    Diagnostic::new(Code::InvalidValue, message).at(node.span()).help(PIPELINE)
}

struct Reading<'a, 'l> {
    fields: Fields<'a, 'l>,
    compiler: &'a Compiler,
    directory: &'a Directory,
    id: String,
    /// Upstreams that have been read.
    upstreams: Vec<Address>,
    /// The same of the routes.
    routed: Vec<Address>,
}

impl Reading<'_, '_> {
    fn pipeline(&mut self) -> Option<Pipeline> {
        let fields = &mut self.fields;
        let before = fields.problems.len();
        fields.expect(FIELDS);
        let mut listen = listen(fields);
        let addresses = addresses(fields);
        let balance = balance(fields);
        let slow_start = fields.duration("slow-start").unwrap_or_default();
        let timeouts = timeouts(fields);
        let check = check(fields);
        let slow_start_ms = u64::try_from(slow_start.as_millis()).unwrap_or(u64::MAX);
        let proxy_protocol = proxy_protocol::read(fields);
        let name = fields.text("protocol").map_or("tcp".to_owned(), |written| written.text);
        if name == "socks" && proxy_protocol.send.is_some() {
            let at = fields.node("proxy-protocol").map(Node::span).unwrap_or_default();
            let help = "remove `send`: clients choose whom the proxy connects to";
            fields.wrong(at, "`socks` sends no PROXY headers", help);
        }
        let shares = (balance, slow_start_ms);
        let routes =
            routes::routes(fields, &name, self.directory, &self.id, shares, &mut self.routed);
        let has_routes = |node: Node<'_>| node.kind() == Kind::Scalar || node.len() > 0;
        let has_way =
            fields.node("upstream").is_some() || fields.node("routes").is_some_and(has_routes);
        let protocol = self.protocol(&name, &addresses, shares, has_way, &mut listen);
        let limit_name = self.limit_name();
        let limit = match protocol {
            // In HTTP pipelines the limit is a filter of the route.
            _ if name == "http" => None,
            _ => self.limit(),
        };
        let found = self.fields.problems.get(before..).unwrap_or_default();
        if found.iter().any(|problem| problem.severity == Severity::Error) {
            return None;
        }
        let id = self.id.clone();
        let owner = if name == "http" { http::owner(&id) } else { id.clone() };
        let upstream = group(self.directory, &owner, &addresses, balance, slow_start_ms);
        self.upstreams = addresses;
        Some(Pipeline {
            listen,
            protocol: protocol?,
            upstream,
            routes,
            proxy_protocol,
            limit,
            limit_name,
            timeouts,
            check,
            id,
        })
    }

    fn protocol(
        &mut self,
        name: &str,
        addresses: &[Address],
        shares: (Balance, u64),
        has_way: bool,
        listen: &mut [SocketAddr],
    ) -> Option<Protocol> {
        self.useless(name);
        if !has_way && name != "socks" {
            let at = self.fields.at();
            if !self.fields.misspells("upstream", FIELDS) {
                missing(&mut self.fields, at);
            }
            return None;
        }
        match name {
            "tcp" => Some(Protocol::Tcp),
            "http" => {
                let limit = self.fields.text("limit").map(|written| written.text);
                let (compiler, id) = (self.compiler, self.id.clone());
                let ways = (self.directory, shares);
                let table = http::table(&mut self.fields, compiler, &id, addresses, ways, limit);
                table.map(Protocol::Http)
            }
            "socks" => Some(Protocol::Socks(socks::rules(&mut self.fields, listen))),
            "frame" => frame::settings(&mut self.fields).map(Protocol::Frame),
            "dubbo" => Some(Protocol::Dubbo(dubbo::settings(&mut self.fields))),
            _ => {
                let at = self.fields.node("protocol").map(Node::span).unwrap_or_default();
                let message = format!("there is no protocol `{name}`");
                let help = "write `tcp`, `http`, `socks`, `dubbo` or `frame`";
                self.fields.wrong(at, message, help);
                None
            }
        }
    }

    /// Reports fields that the protocol does not support.
    fn useless(&mut self, protocol: &str) {
        let mut refuse = |name: &str, why: &str| {
            if let Some(node) = self.fields.node(name) {
                let at = node.key_span();
                self.fields.wrong(at, format!("`{protocol}` has no `{name}`"), why);
            }
        };
        for (_, names, why) in USELESS.iter().filter(|(known, _, _)| *known == protocol) {
            names.iter().for_each(|name| refuse(name, why));
        }
        for own in OWN.iter().filter(|own| **own != protocol) {
            refuse(own, &format!("set `protocol: {own}`, or remove it"));
        }
    }

    /// Name of the limit, for operators.
    fn limit_name(&self) -> Option<String> {
        let text = self.fields.text("limit")?.text;
        let options = self.compiler.filter_options();
        if options.limits.iter().any(|limit| limit.name == text) {
            return Some(text);
        }
        let is_http = self.fields.text("protocol").is_some_and(|name| name.text == "http");
        Some(format!("{}pipeline:{}", if is_http { "route:" } else { "" }, self.id))
    }

    /// `limit`: a limit of `weir.limits`, or a rate of its own.
    fn limit(&mut self) -> Option<PipelineLimit> {
        let written = self.fields.text("limit")?;
        let options = self.compiler.filter_options();
        if let Some(known) = options.limits.iter().find(|limit| limit.name == written.text) {
            if let Some(field) = known.of_http() {
                let message = format!("the limit `{}` counts by what HTTP has", known.name);
                let help = match field {
                    "key" => "here a key is `none` or `ip`",
                    "cost" => "here `cost` is a number",
                    "concurrency" => "here `concurrency` is a number",
                    _ => "use a limit that has no `priority` and no `deadline`",
                };
                self.fields.wrong(written.at, message, help);
                return None;
            }
            let by_ip = known.key == KeySource::Ip;
            let cost = match known.cost {
                CostSource::Fixed(cost) => cost,
                CostSource::Header(_) => 1,
            };
            let valve = options.valve(&known.name, &known.settings);
            return Some(PipelineLimit { valve, by_ip, cost });
        }
        match Rate::parse(&written.text) {
            Ok(rate) => {
                let mut limit = LimitDefinition::default();
                limit.settings.rate = Some(rate);
                let name = format!("pipeline:{}", self.id);
                let valve = options.valve(&name, &limit.settings);
                Some(PipelineLimit { valve, by_ip: false, cost: 1 })
            }
            Err(why) => {
                let message = format!("`{}` is neither a limit nor a rate: {why}", written.text);
                let help = "write a rate such as `500/s`, or the name of one of `weir.limits`";
                self.fields.wrong(written.at, message, help);
                None
            }
        }
    }
}

/// Addresses: `0.0.0.0:8080`, `[::]:8080`, `:8080`, `8080`, `localhost:8080`; one or several.
fn listen(fields: &mut Fields<'_, '_>) -> Vec<SocketAddr> {
    let help = "write `address:port`, such as `0.0.0.0:8080` or `127.0.0.1:8080`";
    let mut all = Vec::new();
    let texts = fields.texts("listen");
    if texts.is_empty()
        && !fields.misspells("listen", FIELDS)
        && fields.node("listen").is_none_or(|node| Shape::Values.misfit(node).is_none())
    {
        let at = fields.at();
        fields.wrong(at, "it listens nowhere: there is no `listen`", help);
    }
    for written in texts {
        let text = written.text.replace("localhost:", "127.0.0.1:");
        let bare = text.strip_prefix(':').unwrap_or(&text);
        let any = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let read = match bare.parse::<u16>() {
            Ok(port) => Some(SocketAddr::new(any, port)),
            Err(_) => text.parse().ok(),
        };
        match read {
            Some(address) => all.push(address),
            None => fields.wrong(written.at, format!("`{}` is no address", written.text), help),
        }
    }
    all
}

fn timeouts(fields: &mut Fields<'_, '_>) -> PipelineTimeouts {
    let mut timeouts = PipelineTimeouts::default();
    let Some(mut below) = fields.below("timeouts") else { return timeouts };
    if !below.expect(TIMEOUTS) {
        return timeouts;
    }
    let mut set = |name: &str, field: &mut Duration, may_be_zero: bool| {
        let Some(time) = below.duration(name) else { return };
        if time.is_zero() && !may_be_zero {
            let at = below.node(name).map(Node::span).unwrap_or_default();
            return below.wrong(at, format!("`{name}` cannot be 0"), "write one such as `5s`");
        }
        *field = time;
    };
    set("connect", &mut timeouts.connect, false);
    set("hello", &mut timeouts.hello, false);
    set("idle", &mut timeouts.idle, true);
    set("max", &mut timeouts.max, true);
    timeouts
}

fn check(fields: &mut Fields<'_, '_>) -> Option<HealthCheck> {
    let mut below = fields.below("check")?;
    if !below.expect(CHECK) {
        return None;
    }
    let interval = below.duration("interval").unwrap_or(Duration::from_secs(2));
    let timeout = below.duration("timeout").unwrap_or(Duration::from_secs(2));
    if interval < Duration::from_millis(100) || timeout.is_zero() {
        let at = below.at();
        below.wrong(at, "it looks without a pause", "write an `interval` of at least `100ms`");
    }
    let mut times = |name: &str, default: u32| {
        let read = below.value(name, "a whole number from 1 to 100", |text| {
            text.parse().ok().filter(|times| (1..=100).contains(times))
        });
        read.unwrap_or(default)
    };
    let (rise, fall) = (times("rise", 2), times("fall", 3));
    let (send, expect) = (escape::bytes(&mut below, "send"), escape::bytes(&mut below, "expect"));
    Some(HealthCheck { interval, timeout, send, expect, rise, fall })
}
