//! Properties of Zookeeper as a registry, as Spring Cloud Zookeeper names them.

use super::texts::{some, texts};
use super::{Kind, PropertySpec, Usage};
use crate::spring::{self, Layers, Node};
use weir_snapshot::{Secret, Zookeeper};

/// `spring.cloud.zookeeper.*`.
pub(super) static ZOOKEEPER: &[PropertySpec] = &[
    PropertySpec::new(
        "spring.cloud.zookeeper.enabled",
        Kind::Bool,
        Some("true"),
        "`false` asks no Zookeeper server and does not register.",
        Usage::Sets(|s, v| s.discovery.zookeeper.enabled &= v.bool()),
    ),
    PropertySpec::new(
        "spring.cloud.zookeeper.discovery.enabled",
        Kind::Bool,
        Some("true"),
        "`false` asks no Zookeeper server for services and does not register.",
        Usage::Sets(|s, v| s.discovery.zookeeper.enabled &= v.bool()),
    ),
    PropertySpec::new(
        "spring.cloud.zookeeper.connect-string",
        Kind::Text,
        Some("localhost:2181"),
        "Zookeeper servers, `host:port` with commas; the next one is asked when one is away. A \
         path at the end, such as `/spring`, is the node below which everything is.",
        Usage::Sets(|s, v| v.text().trim().clone_into(&mut s.discovery.zookeeper.servers)),
    ),
    PropertySpec::new(
        "spring.cloud.zookeeper.session-timeout",
        Kind::Duration,
        Some("60s"),
        "Time without a sign of weir after which Zookeeper drops its registration, as far as the \
         server allows. A server that is silent for two thirds of it is left.",
        Usage::Sets(|s, v| s.discovery.zookeeper.session_timeout = v.duration()),
    ),
    PropertySpec::new(
        "spring.cloud.zookeeper.connection-timeout",
        Kind::Duration,
        Some("15s"),
        "How long a session with a Zookeeper server may take to begin.",
        Usage::Sets(|s, v| s.discovery.zookeeper.connection_timeout = v.duration()),
    ),
    PropertySpec::new(
        "spring.cloud.zookeeper.discovery.root",
        Kind::Text,
        Some("/services"),
        "The node below which services are.",
        Usage::Sets(|s, v| v.text().trim().clone_into(&mut s.discovery.zookeeper.root)),
    ),
    PropertySpec::new(
        "spring.cloud.zookeeper.prefix",
        Kind::Text,
        None,
        "The node below the root where the paths of `dependencies` begin.",
        Usage::Sets(|s, v| v.text().trim().clone_into(&mut s.discovery.zookeeper.prefix)),
    ),
    PropertySpec::new(
        "spring.cloud.zookeeper.dependencies.*.path",
        Kind::Text,
        None,
        "The node, below the root, of the service that `lb://` calls by this alias.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.zookeeper.discovery.register",
        Kind::Bool,
        Some("true"),
        "Whether weir registers itself at Zookeeper.",
        Usage::Sets(|s, v| s.discovery.zookeeper.register = v.bool()),
    ),
    PropertySpec::new(
        "spring.cloud.zookeeper.discovery.instance-id",
        Kind::Text,
        None,
        "The id of this instance at Zookeeper; another one at each start if unset.",
        Usage::Sets(|s, v| s.discovery.zookeeper.instance_id = some(v.text())),
    ),
    PropertySpec::new(
        "spring.cloud.zookeeper.discovery.instance-host",
        Kind::Text,
        None,
        "The host name that weir registers at Zookeeper; the machine's if unset.",
        Usage::Sets(|s, v| s.discovery.zookeeper.host = some(v.text())),
    ),
    PropertySpec::new(
        "spring.cloud.zookeeper.discovery.instance-ip-address",
        Kind::Text,
        None,
        "The address that weir registers with `prefer-ip-address`; the one it reaches the server \
         from if unset.",
        Usage::Sets(|s, v| s.discovery.zookeeper.ip = some(v.text())),
    ),
    PropertySpec::new(
        "spring.cloud.zookeeper.discovery.prefer-ip-address",
        Kind::Bool,
        Some("false"),
        "Registers the address in place of the host name.",
        Usage::Sets(|s, v| s.discovery.zookeeper.prefer_ip = v.bool()),
    ),
    PropertySpec::new(
        "spring.cloud.zookeeper.discovery.instance-port",
        Kind::Int(1, 65_535),
        None,
        "The port that weir registers at Zookeeper; the one it listens on if unset.",
        Usage::Sets(|s, v| s.discovery.zookeeper.port = Some(v.short())),
    ),
    PropertySpec::new(
        "spring.cloud.zookeeper.discovery.instance-ssl-port",
        Kind::Int(1, 65_535),
        None,
        "The TLS port that weir registers at Zookeeper, for a TLS proxy in front of it.",
        Usage::Sets(|s, v| s.discovery.zookeeper.ssl_port = Some(v.short())),
    ),
    PropertySpec::new(
        "spring.cloud.zookeeper.discovery.initial-status",
        Kind::Text,
        Some("UP"),
        "The `instance_status` that weir registers; others send nothing to an instance that is not \
         `UP`.",
        Usage::Sets(|s, v| v.text().trim().clone_into(&mut s.discovery.zookeeper.status)),
    ),
    PropertySpec::new(
        "spring.cloud.zookeeper.discovery.uri-spec",
        Kind::Text,
        Some("{scheme}://{address}:{port}"),
        "How others make weir's URI of what it registers.",
        Usage::Sets(|s, v| v.text().trim().clone_into(&mut s.discovery.zookeeper.uri_spec)),
    ),
    PropertySpec::new(
        "spring.cloud.zookeeper.discovery.metadata.*",
        Kind::Text,
        None,
        "Metadata that weir registers at Zookeeper.",
        Usage::Read,
    ),
    PropertySpec::new(
        "weir.discovery.zookeeper.username",
        Kind::Text,
        None,
        "The user, of the scheme `digest`, whose rights weir has at Zookeeper; in Spring this \
         takes a bean.",
        Usage::Sets(|s, v| s.discovery.zookeeper.user = some(v.text())),
    ),
    PropertySpec::new(
        "weir.discovery.zookeeper.password",
        Kind::Secret,
        None,
        "The password of this user. It is sent as it is: weir has no TLS to Zookeeper.",
        Usage::Sets(|s, v| s.discovery.zookeeper.password = Some(Secret::new(v.text()))),
    ),
    PropertySpec::new(
        "spring.cloud.zookeeper.config",
        Kind::Tree,
        None,
        "Zookeeper as a configuration server.",
        Usage::Unsupported(
            "weir reads services from Zookeeper, not its configuration; put the properties into a \
             file, or a configuration server that `spring.config.import` can name",
        ),
    ),
];

/// Reads properties with names that the operator chooses.
pub(super) fn finish(zookeeper: &mut Zookeeper, layers: &Layers<'_>) {
    let is_registry = |node: Node<'_>| !spring::key::same(node.key(), "config");
    zookeeper.configured =
        layers.all("spring.cloud.zookeeper").flat_map(Node::children).any(is_registry);
    zookeeper.metadata = texts(layers, "spring.cloud.zookeeper.discovery.metadata");
    let path = |alias: Node<'_>| {
        let node = alias.children().find(|node| spring::key::same(node.key(), "path"))?;
        let text = node.text()?;
        Some((alias.key().to_owned(), layers.resolve(&text).0.into_owned()))
    };
    let aliases = layers.all("spring.cloud.zookeeper.dependencies").flat_map(Node::children);
    for (alias, path) in aliases.filter_map(path) {
        if !zookeeper.dependencies.iter().any(|(known, _)| *known == alias) {
            zookeeper.dependencies.push((alias, path));
        }
    }
}
