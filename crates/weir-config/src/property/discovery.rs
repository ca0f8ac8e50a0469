//! Properties of service registries, as Spring Cloud names them.

use std::time::Duration;

use super::texts::{entries, some, texts};
use super::{Kind, PropertySpec, Usage};
use crate::spring::{self, Layers, Node};
use weir_snapshot::Discovery;
use weir_snapshot::{Secret, Settings};

/// Registries. Properties of Spring's clients that weir does not need are not listed: Spring's own
/// keys below these prefixes are never reported as unknown.
pub(super) static DISCOVERY: &[PropertySpec] = &[
    PropertySpec::new(
        "spring.application.name",
        Kind::Text,
        Some("weir"),
        "The name that weir registers itself under.",
        Usage::Sets(|s, v| v.text().trim().clone_into(&mut s.discovery.application)),
    ),
    PropertySpec::new(
        "spring.cloud.discovery.enabled",
        Kind::Bool,
        Some("true"),
        "`false` asks no registry for services.",
        Usage::Sets(|s, v| s.discovery.enabled = v.bool()),
    ),
    PropertySpec::new(
        "weir.discovery.start-timeout",
        Kind::Duration,
        Some("5s"),
        "How long a start waits for the first answer of each registry; after it, the list on disk \
         serves, if there is one.",
        Usage::Sets(|s, v| s.discovery.start_timeout = v.duration()),
    ),
    PropertySpec::new(
        "weir.discovery.empty-grace",
        Kind::Duration,
        Some("2m"),
        "How long the last list goes on serving when a registry that listed services lists none.",
        Usage::Sets(|s, v| s.discovery.empty_grace = v.duration()),
    ),
    PropertySpec::new(
        "weir.discovery.answer-bytes-max",
        Kind::SizeBetween(4 << 10, 1 << 30),
        Some("64MB"),
        "Longest answer that weir takes from a registry or a configuration server; the last answer \
         stays in use if it is longer.",
        Usage::Sets(|s, v| {
            s.discovery.answer_bytes_max = usize::try_from(v.size()).unwrap_or(usize::MAX);
        }),
    ),
    PropertySpec::new(
        "weir.discovery.dns.services.*",
        Kind::List,
        None,
        "A service made of DNS names, several with commas: `host:port`, each address of which is an \
         instance, or the name of SRV records, such as `_http._tcp.orders.example`.",
        Usage::Read,
    ),
    PropertySpec::new(
        "weir.discovery.dns.interval",
        Kind::Duration,
        Some("10s"),
        "How often the hosts of `weir.discovery.dns.services` are resolved.",
        Usage::Sets(|s, v| s.discovery.dns.interval = v.duration()),
    ),
    PropertySpec::new(
        "weir.discovery.dns.servers",
        Kind::List,
        None,
        "DNS servers that are asked for SRV records, `address:port` or an address; those of \
         `/etc/resolv.conf` if unset.",
        Usage::Sets(|s, v| s.discovery.dns.servers = v.list().to_vec()),
    ),
    PropertySpec::new(
        "weir.discovery.dns.ttl-min",
        Kind::Duration,
        Some("5s"),
        "SRV records are kept for their TTL, but no less than this.",
        Usage::Sets(|s, v| s.discovery.dns.ttl_min = v.duration()),
    ),
    PropertySpec::new(
        "weir.discovery.dns.ttl-max",
        Kind::Duration,
        Some("5m"),
        "SRV records are kept for their TTL, but no more than this.",
        Usage::Sets(|s, v| s.discovery.dns.ttl_max = v.duration()),
    ),
    PropertySpec::new(
        "eureka.client.enabled",
        Kind::Bool,
        Some("true"),
        "`false` asks no Eureka server and does not register.",
        Usage::Sets(|s, v| s.discovery.eureka.enabled = v.bool()),
    ),
    PropertySpec::new(
        "eureka.client.service-url.*",
        Kind::List,
        None,
        "Base URLs of Eureka servers by zone (`defaultZone`), such as \
         `http://user:password@host:8761/eureka/`; the next one is asked when one is away. \
         Without any, `http://localhost:8761/eureka/`.",
        Usage::Read,
    ),
    PropertySpec::new(
        "eureka.client.fetch-registry",
        Kind::Bool,
        Some("true"),
        "Whether services are read from Eureka.",
        Usage::Sets(|s, v| s.discovery.eureka.fetch = v.bool()),
    ),
    PropertySpec::new(
        "eureka.client.register-with-eureka",
        Kind::Bool,
        Some("true"),
        "Whether weir registers itself.",
        Usage::Sets(|s, v| s.discovery.eureka.register = v.bool()),
    ),
    PropertySpec::new(
        "eureka.client.registry-fetch-interval-seconds",
        Kind::Int(1, 86_400),
        Some("30"),
        "Seconds between two looks at the registry.",
        Usage::Sets(|s, v| s.discovery.eureka.interval = seconds(v.int())),
    ),
    PropertySpec::new(
        "eureka.client.disable-delta",
        Kind::Bool,
        Some("false"),
        "Reads the whole registry each time instead of what has changed.",
        Usage::Sets(|s, v| s.discovery.eureka.delta = !v.bool()),
    ),
    PropertySpec::new(
        "eureka.client.filter-only-up-instances",
        Kind::Bool,
        Some("true"),
        "Instances that are not `UP` take no requests.",
        Usage::Sets(|s, v| s.discovery.eureka.only_up = v.bool()),
    ),
    PropertySpec::new(
        "eureka.client.prefer-same-zone-eureka",
        Kind::Bool,
        Some("true"),
        "Asks the servers of the first zone of the region first.",
        Usage::Sets(|s, v| s.discovery.eureka.same_zone = v.bool()),
    ),
    PropertySpec::new(
        "eureka.client.region",
        Kind::Text,
        Some("us-east-1"),
        "The region whose `availability-zones` order the Eureka servers.",
        Usage::Sets(|s, v| v.text().trim().clone_into(&mut s.discovery.eureka.region)),
    ),
    PropertySpec::new(
        "eureka.client.availability-zones.*",
        Kind::List,
        None,
        "Zones of a region, the own one first.",
        Usage::Read,
    ),
    PropertySpec::new(
        "eureka.client.eureka-server-read-timeout-seconds",
        Kind::Int(1, 600),
        Some("8"),
        "Seconds that an answer of a Eureka server may take.",
        Usage::Sets(|s, v| s.discovery.eureka.timeout = seconds(v.int())),
    ),
    PropertySpec::new(
        "eureka.instance.appname",
        Kind::Text,
        None,
        "The name weir registers under at Eureka; `spring.application.name` if unset.",
        Usage::Sets(|s, v| s.discovery.eureka.app = some(v.text())),
    ),
    PropertySpec::new(
        "eureka.instance.instance-id",
        Kind::Text,
        None,
        "The id of this instance at Eureka; `host:application:port` if unset.",
        Usage::Sets(|s, v| s.discovery.eureka.instance_id = some(v.text())),
    ),
    PropertySpec::new(
        "eureka.instance.hostname",
        Kind::Text,
        None,
        "The host name that weir registers; the machine's if unset.",
        Usage::Sets(|s, v| s.discovery.eureka.hostname = some(v.text())),
    ),
    PropertySpec::new(
        "eureka.instance.ip-address",
        Kind::Text,
        None,
        "The address that weir registers; the one it reaches the server from if unset.",
        Usage::Sets(|s, v| s.discovery.eureka.ip = some(v.text())),
    ),
    PropertySpec::new(
        "eureka.instance.prefer-ip-address",
        Kind::Bool,
        Some("false"),
        "Registers the address in place of the host name.",
        Usage::Sets(|s, v| s.discovery.eureka.prefer_ip = v.bool()),
    ),
    PropertySpec::new(
        "eureka.instance.lease-renewal-interval-in-seconds",
        Kind::Int(1, 86_400),
        Some("30"),
        "Seconds between two heartbeats to Eureka.",
        Usage::Sets(|s, v| s.discovery.eureka.renewal = seconds(v.int())),
    ),
    PropertySpec::new(
        "eureka.instance.lease-expiration-duration-in-seconds",
        Kind::Int(1, 86_400),
        Some("90"),
        "Seconds without a heartbeat after which Eureka drops weir.",
        Usage::Sets(|s, v| s.discovery.eureka.expiration = seconds(v.int())),
    ),
    PropertySpec::new(
        "eureka.instance.metadata-map.*",
        Kind::Text,
        None,
        "Metadata that weir registers.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.consul.enabled",
        Kind::Bool,
        Some("true"),
        "`false` asks no Consul agent and does not register.",
        Usage::Sets(|s, v| s.discovery.consul.enabled &= v.bool()),
    ),
    PropertySpec::new(
        "spring.cloud.consul.discovery.enabled",
        Kind::Bool,
        Some("true"),
        "`false` asks no Consul agent for services and does not register.",
        Usage::Sets(|s, v| s.discovery.consul.enabled &= v.bool()),
    ),
    PropertySpec::new(
        "spring.cloud.consul.scheme",
        Kind::OneOf(&["http", "https"]),
        Some("http"),
        "How the Consul agent is reached.",
        Usage::Sets(|s, v| v.text().clone_into(&mut s.discovery.consul.scheme)),
    ),
    PropertySpec::new(
        "spring.cloud.consul.host",
        Kind::Text,
        Some("localhost"),
        "Host of the Consul agent.",
        Usage::Sets(|s, v| v.text().trim().clone_into(&mut s.discovery.consul.host)),
    ),
    PropertySpec::new(
        "spring.cloud.consul.port",
        Kind::Int(1, 65_535),
        Some("8500"),
        "Port of the Consul agent.",
        Usage::Sets(|s, v| s.discovery.consul.port = v.short()),
    ),
    PropertySpec::new(
        "spring.cloud.consul.token",
        Kind::Secret,
        None,
        "ACL token for the Consul agent.",
        Usage::Sets(|s, v| s.discovery.consul.token = Some(Secret::new(v.text()))),
    ),
    PropertySpec::new(
        "spring.cloud.consul.discovery.acl-token",
        Kind::Secret,
        None,
        "ACL token for the Consul agent.",
        Usage::Sets(|s, v| s.discovery.consul.token = Some(Secret::new(v.text()))),
    ),
    PropertySpec::new(
        "spring.cloud.consul.discovery.default-query-tag",
        Kind::Text,
        None,
        "Only instances with this tag are used.",
        Usage::Sets(|s, v| s.discovery.consul.tag = some(v.text())),
    ),
    PropertySpec::new(
        "spring.cloud.consul.discovery.datacenters.*",
        Kind::Text,
        None,
        "The datacenter in which a service is looked for.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.consul.discovery.query-passing",
        Kind::Bool,
        Some("true"),
        "Instances with a failing check take no requests.",
        Usage::Sets(|s, v| s.discovery.consul.passing = v.bool()),
    ),
    PropertySpec::new(
        "spring.cloud.consul.discovery.register",
        Kind::Bool,
        Some("true"),
        "Whether weir registers itself at Consul.",
        Usage::Sets(|s, v| s.discovery.consul.register = v.bool()),
    ),
    PropertySpec::new(
        "spring.cloud.consul.discovery.service-name",
        Kind::Text,
        None,
        "The name weir registers under at Consul; `spring.application.name` if unset.",
        Usage::Sets(|s, v| s.discovery.consul.service = some(v.text())),
    ),
    PropertySpec::new(
        "spring.cloud.consul.discovery.instance-id",
        Kind::Text,
        None,
        "The id of this instance at Consul; `application-port` if unset.",
        Usage::Sets(|s, v| s.discovery.consul.instance_id = some(v.text())),
    ),
    PropertySpec::new(
        "spring.cloud.consul.discovery.hostname",
        Kind::Text,
        None,
        "The host name that weir registers at Consul.",
        Usage::Sets(|s, v| s.discovery.consul.address = some(v.text())),
    ),
    PropertySpec::new(
        "spring.cloud.consul.discovery.ip-address",
        Kind::Text,
        None,
        "The address that weir registers at Consul.",
        Usage::Sets(|s, v| s.discovery.consul.address = some(v.text())),
    ),
    PropertySpec::new(
        "spring.cloud.consul.discovery.tags",
        Kind::List,
        None,
        "Tags that weir registers at Consul.",
        Usage::Sets(|s, v| s.discovery.consul.tags = v.list().to_vec()),
    ),
    PropertySpec::new(
        "spring.cloud.consul.discovery.health-check-path",
        Kind::Text,
        Some("/actuator/health"),
        "The path at which Consul checks weir.",
        Usage::Sets(|s, v| v.text().trim().clone_into(&mut s.discovery.consul.check_path)),
    ),
    PropertySpec::new(
        "spring.cloud.consul.discovery.health-check-interval",
        Kind::Duration,
        Some("10s"),
        "How often Consul checks weir.",
        Usage::Sets(|s, v| s.discovery.consul.check_interval = v.duration()),
    ),
];

/// Reads properties with names that the operator chooses, and detects which registries are
/// configured.
pub(super) fn finish(settings: &mut Settings, layers: &Layers<'_>) {
    let discovery: &mut Discovery = &mut settings.discovery;
    let eureka = &mut discovery.eureka;
    eureka.configured = layers.find("eureka").is_some_and(says);
    eureka.urls = lists(layers, "eureka.client.service-url");
    eureka.zones = lists(layers, "eureka.client.availability-zones");
    eureka.metadata = texts(layers, "eureka.instance.metadata-map");
    let consul = &mut discovery.consul;
    // A `config` section alone configures a configuration server, not a registry.
    let is_registry = |node: Node<'_>| !spring::key::same(node.key(), "config");
    consul.configured = layers.all("spring.cloud.consul").flat_map(Node::children).any(is_registry);
    consul.datacenters = texts(layers, "spring.cloud.consul.discovery.datacenters");
    let nacos = &mut discovery.nacos;
    let own = layers.find("spring.cloud.nacos.discovery");
    nacos.configured = own.is_some_and(says) || !nacos.servers.is_empty();
    if let Some(node) = layers.find("spring.cloud.nacos.discovery.server-addr") {
        nacos.servers = spring::texts(layers, node);
    }
    nacos.metadata = texts(layers, "spring.cloud.nacos.discovery.metadata");
    super::zookeeper::finish(&mut discovery.zookeeper, layers);
    discovery.kubernetes.configured = layers.find("spring.cloud.kubernetes").is_some_and(says);
    discovery.dns.services = lists(layers, "weir.discovery.dns.services");
    let locator = super::PREFIX.to_owned() + ".discovery.locator.enabled";
    let names = [locator, super::OLD_PREFIX.to_owned() + ".discovery.locator.enabled"];
    let on = layers.first_of(&names).and_then(|node| flag_of(layers, node));
    discovery.locator = on == Some(true);
}

/// The text at `path`, with its placeholders resolved.
pub(super) fn text(layers: &Layers<'_>, path: &str) -> Option<String> {
    let text = layers.find(path)?.text()?;
    Some(layers.resolve(&text).0.into_owned())
}

/// The boolean at `path`.
pub(super) fn flag(layers: &Layers<'_>, path: &str) -> Option<bool> {
    flag_of(layers, layers.find(path)?)
}

fn flag_of(layers: &Layers<'_>, node: Node<'_>) -> Option<bool> {
    crate::value::bool(&layers.resolve(&node.text()?).0)
}

/// Whether a node has any children: an empty key configures nothing.
fn says(node: Node<'_>) -> bool {
    node.children().next().is_some()
}

fn lists(layers: &Layers<'_>, path: &str) -> Vec<(String, Vec<String>)> {
    let entry = |node: Node<'_>| (node.key().to_owned(), spring::texts(layers, node));
    entries(layers, path).into_iter().map(entry).filter(|(_, list)| !list.is_empty()).collect()
}

fn seconds(count: i64) -> Duration {
    Duration::from_secs(u64::try_from(count).unwrap_or_default())
}
