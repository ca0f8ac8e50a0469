//! Properties of the Nacos registry, as Spring Cloud Alibaba names them.

use super::texts::some;
use super::{Kind, PropertySpec, Usage};
use weir_snapshot::Secret;

/// `spring.cloud.nacos.*`.
pub(super) static NACOS: &[PropertySpec] = &[
    PropertySpec::new(
        "spring.cloud.nacos.server-addr",
        Kind::List,
        None,
        "Nacos servers, `host:port`; the next one is asked when one is away.",
        Usage::Sets(|s, v| s.discovery.nacos.servers = v.list().to_vec()),
    ),
    PropertySpec::new(
        "spring.cloud.nacos.discovery.server-addr",
        Kind::List,
        Some("127.0.0.1:8848"),
        "Nacos servers, in place of `spring.cloud.nacos.server-addr`.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.nacos.discovery.enabled",
        Kind::Bool,
        Some("true"),
        "`false` asks no Nacos server for services and does not register.",
        Usage::Sets(|s, v| s.discovery.nacos.enabled = v.bool()),
    ),
    PropertySpec::new(
        "spring.cloud.nacos.discovery.namespace",
        Kind::Text,
        None,
        "Id of the namespace; the public one if unset.",
        Usage::Sets(|s, v| v.text().trim().clone_into(&mut s.discovery.nacos.namespace)),
    ),
    PropertySpec::new(
        "spring.cloud.nacos.discovery.group",
        Kind::Text,
        Some("DEFAULT_GROUP"),
        "Group of the services.",
        Usage::Sets(|s, v| v.text().trim().clone_into(&mut s.discovery.nacos.group)),
    ),
    PropertySpec::new(
        "spring.cloud.nacos.discovery.cluster-name",
        Kind::Text,
        Some("DEFAULT"),
        "Cluster that weir registers in.",
        Usage::Sets(|s, v| v.text().trim().clone_into(&mut s.discovery.nacos.cluster)),
    ),
    PropertySpec::new(
        "spring.cloud.nacos.username",
        Kind::Text,
        None,
        "User at Nacos.",
        Usage::Sets(|s, v| s.discovery.nacos.username = some(v.text())),
    ),
    PropertySpec::new(
        "spring.cloud.nacos.password",
        Kind::Secret,
        None,
        "Password at Nacos.",
        Usage::Sets(|s, v| s.discovery.nacos.password = Some(Secret::new(v.text()))),
    ),
    PropertySpec::new(
        "spring.cloud.nacos.discovery.username",
        Kind::Text,
        None,
        "User at Nacos.",
        Usage::Sets(|s, v| s.discovery.nacos.username = some(v.text())),
    ),
    PropertySpec::new(
        "spring.cloud.nacos.discovery.password",
        Kind::Secret,
        None,
        "Password at Nacos.",
        Usage::Sets(|s, v| s.discovery.nacos.password = Some(Secret::new(v.text()))),
    ),
    PropertySpec::new(
        "spring.cloud.nacos.discovery.watch-delay",
        Kind::Duration,
        Some("5s"),
        "Time between two looks at Nacos.",
        Usage::Sets(|s, v| s.discovery.nacos.interval = v.duration()),
    ),
    PropertySpec::new(
        "spring.cloud.nacos.discovery.register-enabled",
        Kind::Bool,
        Some("true"),
        "Whether weir registers itself at Nacos.",
        Usage::Sets(|s, v| s.discovery.nacos.register = v.bool()),
    ),
    PropertySpec::new(
        "spring.cloud.nacos.discovery.service",
        Kind::Text,
        None,
        "The name weir registers under at Nacos; `spring.application.name` if unset.",
        Usage::Sets(|s, v| s.discovery.nacos.service = some(v.text())),
    ),
    PropertySpec::new(
        "spring.cloud.nacos.discovery.ip",
        Kind::Text,
        None,
        "The address that weir registers at Nacos.",
        Usage::Sets(|s, v| s.discovery.nacos.ip = some(v.text())),
    ),
    PropertySpec::new(
        "spring.cloud.nacos.discovery.weight",
        Kind::Text,
        Some("1"),
        "Weight that weir registers at Nacos.",
        Usage::Sets(|s, v| v.text().trim().clone_into(&mut s.discovery.nacos.weight)),
    ),
    PropertySpec::new(
        "spring.cloud.nacos.discovery.ephemeral",
        Kind::Bool,
        Some("true"),
        "Whether Nacos drops weir without heartbeats.",
        Usage::Sets(|s, v| s.discovery.nacos.ephemeral = v.bool()),
    ),
    PropertySpec::new(
        "spring.cloud.nacos.discovery.metadata.*",
        Kind::Text,
        None,
        "Metadata that weir registers at Nacos.",
        Usage::Read,
    ),
];
