//! `spring.cloud.loadbalancer.*`: the configuration of Spring Cloud LoadBalancer.

use std::time::Duration;

use weir_balance::{Balance, Check, Hint, Rules, Sticky, Subset};

use crate::diagnostic::Diagnostic;
use crate::fields::Fields;
use crate::spring::{Layers, Node, key};
use weir_snapshot::Settings;

const NAME: &str = "spring.cloud.loadbalancer";

/// Values of `configurations`. Spring allows one; here several may be combined.
const CONFIGURATIONS: &[&str] = &[
    "default",
    "zone-preference",
    "hint-based",
    "request-based-sticky-session",
    "health-check",
    "same-instance-preference",
    "subset",
    "weighted",
    "random",
    "round-robin",
];

/// The configuration for all services and for some.
#[derive(Debug, Default)]
pub(super) struct Balancing {
    all: One,
    /// `clients.<service>`: unset properties are inherited from the common ones.
    clients: Vec<(String, One)>,
}

/// The configuration for one service, or for all.
#[derive(Debug, Default)]
struct One {
    rules: Rules,
    is_plain: bool,
    /// Hints by service, and `default`; only if hints are enabled.
    hints: Vec<(String, String)>,
    /// Paths of health checks by service, and `default`.
    paths: Vec<(String, String)>,
}

impl Balancing {
    /// The rules of a service; `None` for plain round robin.
    pub fn rules(&self, name: &str) -> Option<Rules> {
        let own = self.clients.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let one = own.map_or(&self.all, |(_, one)| one);
        (!one.is_plain).then(|| one.of(name))
    }

    pub fn has_checks(&self) -> bool {
        let clients = self.clients.iter().map(|(_, one)| one);
        clients.chain([&self.all]).any(|one| one.rules.check.is_some())
    }

    /// The initial rules of a service that also has rules in `weir.upstreams`.
    pub fn start_of(&self, name: &str) -> Rules {
        self.rules(name).unwrap_or_default()
    }
}

impl One {
    fn of(&self, name: &str) -> Rules {
        let mut rules = self.rules.clone();
        if let Some(hint) = &mut rules.hint {
            hint.otherwise = of_service(&self.hints, name);
        }
        if let Some(check) = &mut rules.check {
            let path = of_service(&self.paths, name);
            check.path = Some(path.unwrap_or_else(|| "/actuator/health".to_owned()));
        }
        rules
    }
}

/// The value for a service, or the default.
fn of_service(list: &[(String, String)], name: &str) -> Option<String> {
    let called = |wanted: &str| list.iter().find(|(known, _)| known.eq_ignore_ascii_case(wanted));
    called(name).or_else(|| called("default")).map(|(_, text)| text.clone())
}

pub(super) fn balancing(
    layers: &Layers<'_>,
    settings: &Settings,
    problems: &mut Vec<Diagnostic>,
) -> Balancing {
    let all: Vec<Node<'_>> = layers.all(NAME).collect();
    let mut clients: Vec<(String, Vec<Node<'_>>)> = Vec::new();
    for node in layers.all(&format!("{NAME}.clients")).flat_map(Node::children) {
        match clients.iter_mut().find(|(known, _)| key::same(known, node.key())) {
            Some((_, nodes)) => nodes.push(node),
            None => clients.push((node.key().to_owned(), vec![node])),
        }
    }
    let mut read = |nodes: Vec<Node<'_>>, what: String| {
        one(&mut Fields::new(layers, nodes, what, problems), settings)
    };
    let global = read(all.clone(), NAME.to_owned());
    let clients = clients.into_iter().map(|(name, mut nodes)| {
        nodes.extend(&all);
        let what = format!("{NAME}.clients.{name}");
        let one = read(nodes, what);
        (name, one)
    });
    Balancing { clients: clients.collect(), all: global }
}

fn one(fields: &mut Fields<'_, '_>, settings: &Settings) -> One {
    let chosen: Vec<String> = configurations(fields);
    let has = |name: &str| chosen.iter().any(|one| one == name);
    let mut one = One::default();
    let rules = &mut one.rules;
    if has("zone-preference") {
        let eureka = &settings.discovery.eureka.metadata;
        let zone = fields.text("zone").map(|written| written.text);
        let from_eureka = || eureka.iter().find(|(name, _)| name == "zone");
        rules.zone = zone.or_else(|| from_eureka().map(|(_, zone)| zone.clone()));
    }
    if has("hint-based") {
        let header = fields.text("hint-header-name").map(|written| written.text);
        let header = header.unwrap_or_else(|| "X-SC-LB-Hint".to_owned()).to_ascii_lowercase();
        rules.hint = Some(Hint { header, otherwise: None });
        one.hints = texts(fields, "hint");
    }
    let is_followed = has("request-based-sticky-session");
    let (cookie, is_passed_on) = sticky(fields);
    if is_followed || is_passed_on {
        rules.sticky = Some(Sticky { cookie, is_followed, is_passed_on });
    }
    if has("health-check") {
        let (check, paths) = check(fields);
        (rules.check, one.paths) = (Some(check), paths);
    }
    rules.same_instance = has("same-instance-preference");
    if has("subset") {
        rules.subset = Some(subset(fields, settings));
    }
    rules.weighted = has("weighted");
    if has("random") {
        rules.balance = Balance::Random;
    }
    one.is_plain = one.rules == Rules::default();
    one
}

fn configurations(fields: &mut Fields<'_, '_>) -> Vec<String> {
    let mut chosen = Vec::new();
    for written in fields.texts("configurations") {
        match CONFIGURATIONS.iter().find(|name| key::same(name, &written.text)) {
            Some(name) => chosen.push((*name).to_owned()),
            None => {
                let message = format!("there is no configuration `{}`", written.text);
                let help = format!("write one of {}", CONFIGURATIONS.join(", "));
                fields.wrong(written.at, message, help);
            }
        }
    }
    chosen
}

fn sticky(fields: &mut Fields<'_, '_>) -> (String, bool) {
    let default = "sc-lb-instance-id".to_owned();
    let Some(mut below) = fields.below("sticky-session") else { return (default, false) };
    let name = below.text("instance-id-cookie-name").map(|written| written.text);
    (name.unwrap_or(default), flag(&mut below, "add-service-instance-cookie").unwrap_or(false))
}

/// The health check, and its paths by service.
fn check(fields: &mut Fields<'_, '_>) -> (Check, Vec<(String, String)>) {
    let mut check = Check { interval: Duration::from_secs(25), fall: 1, ..Check::default() };
    let Some(mut below) = fields.below("health-check") else { return (check, Vec::new()) };
    if let Some(interval) = below.duration("interval") {
        check.interval = interval.max(Duration::from_millis(100));
    }
    check.initial_delay = below.duration("initial-delay").unwrap_or_default();
    check.repeats = flag(&mut below, "repeat-health-check").unwrap_or(true);
    check.port = below
        .value("port", "a port from 1 to 65535", |text| text.parse().ok().filter(|port| *port > 0));
    let paths = texts(&mut below, "path");
    (check, paths)
}

fn subset(fields: &mut Fields<'_, '_>, settings: &Settings) -> Subset {
    let host = fields.layers.find("hostname").map(|node| fields.text_of(node).text);
    let mut subset =
        Subset { of: host.unwrap_or_else(|| settings.discovery.application.clone()), size: 100 };
    let Some(mut below) = fields.below("subset") else { return subset };
    if let Some(written) = below.text("instance-id") {
        subset.of = written.text;
    }
    let size = below.value("size", "a whole number from 1 on", |text| {
        text.parse().ok().filter(|size| *size > 0)
    });
    subset.size = size.unwrap_or(subset.size);
    subset
}

fn flag(fields: &mut Fields<'_, '_>, name: &str) -> Option<bool> {
    fields.value(name, "`true` or `false`", crate::value::bool)
}

/// The entries of a map.
fn texts(fields: &mut Fields<'_, '_>, name: &str) -> Vec<(String, String)> {
    let Some(below) = fields.below(name) else { return Vec::new() };
    let mut all: Vec<(String, String)> = Vec::new();
    for entry in below.entries() {
        if !all.iter().any(|(known, _)| key::same(known, entry.key())) {
            all.push((entry.key().to_owned(), below.text_of(entry).text));
        }
    }
    all
}
