//! Properties of discovery in Kubernetes, as Spring Cloud Kubernetes names them.

use super::discovery::{flag, text};
use super::texts::{some, texts};
use super::{Kind, PropertySpec, Usage};
use crate::spring::Layers;
use weir_snapshot::Kubernetes;
use weir_snapshot::Secret;

/// `spring.cloud.kubernetes.*`.
pub(super) static KUBERNETES: &[PropertySpec] = &[
    PropertySpec::new(
        "spring.cloud.kubernetes.enabled",
        Kind::Bool,
        Some("true"),
        "`false` asks no Kubernetes API server.",
        Usage::Sets(|s, v| s.discovery.kubernetes.enabled &= v.bool()),
    ),
    PropertySpec::new(
        "spring.cloud.kubernetes.discovery.enabled",
        Kind::Bool,
        Some("true"),
        "`false` asks no Kubernetes API server for services.",
        Usage::Sets(|s, v| s.discovery.kubernetes.enabled &= v.bool()),
    ),
    PropertySpec::new(
        "spring.cloud.kubernetes.discovery.all-namespaces",
        Kind::Bool,
        Some("false"),
        "Reads the services of every namespace.",
        Usage::Sets(|s, v| s.discovery.kubernetes.all_namespaces = v.bool()),
    ),
    PropertySpec::new(
        "spring.cloud.kubernetes.discovery.namespaces",
        Kind::List,
        None,
        "Namespaces whose services are read; the own one if unset.",
        Usage::Sets(|s, v| s.discovery.kubernetes.namespaces = v.list().to_vec()),
    ),
    PropertySpec::new(
        "spring.cloud.kubernetes.discovery.service-labels.*",
        Kind::Text,
        None,
        "Only services with these labels are read.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.kubernetes.discovery.primary-port-name",
        Kind::Text,
        None,
        "Name of the port that requests go to where a service has several; the label \
         `primary-port-name` of a service comes first, then this, then the names `https` and \
         `http`, then the first port.",
        Usage::Sets(|s, v| s.discovery.kubernetes.port_name = some(v.text())),
    ),
    PropertySpec::new(
        "spring.cloud.kubernetes.discovery.known-secure-ports",
        Kind::List,
        Some("443,8443"),
        "Ports that speak TLS, whatever their name.",
        Usage::Sets(|s, v| s.discovery.kubernetes.secure_ports = v.list().to_vec()),
    ),
    PropertySpec::new(
        "spring.cloud.kubernetes.discovery.include-not-ready-addresses",
        Kind::Bool,
        Some("false"),
        "Pods that are not ready take requests, too.",
        Usage::Sets(|s, v| s.discovery.kubernetes.not_ready = v.bool()),
    ),
    PropertySpec::new(
        "spring.cloud.kubernetes.discovery.metadata.add-labels",
        Kind::Bool,
        Some("true"),
        "Labels of a service become metadata of its instances.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.kubernetes.discovery.metadata.labels-prefix",
        Kind::Text,
        None,
        "What is put before the names of labels.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.kubernetes.discovery.metadata.add-annotations",
        Kind::Bool,
        Some("true"),
        "Annotations of a service become metadata of its instances.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.kubernetes.discovery.metadata.annotations-prefix",
        Kind::Text,
        None,
        "What is put before the names of annotations.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.kubernetes.discovery.metadata.add-ports",
        Kind::Bool,
        Some("true"),
        "Ports of a service become metadata of its instances.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.kubernetes.discovery.metadata.ports-prefix",
        Kind::Text,
        Some("port."),
        "What is put before the names of ports.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.kubernetes.client.namespace",
        Kind::Text,
        None,
        "The own namespace; that of the service account if unset, else `default`.",
        Usage::Sets(|s, v| s.discovery.kubernetes.namespace = some(v.text())),
    ),
    PropertySpec::new(
        "spring.cloud.kubernetes.client.master-url",
        Kind::Text,
        None,
        "URL of the API server; `KUBERNETES_SERVICE_HOST` and `KUBERNETES_SERVICE_PORT` if \
         unset.",
        Usage::Sets(|s, v| s.discovery.kubernetes.url = some(v.text())),
    ),
    PropertySpec::new(
        "spring.cloud.kubernetes.client.oauth-token",
        Kind::Secret,
        None,
        "Bearer token for the API server; that of the service account if unset.",
        Usage::Sets(|s, v| s.discovery.kubernetes.token = Some(Secret::new(v.text()))),
    ),
    PropertySpec::new(
        "spring.cloud.kubernetes.client.ca-cert-file",
        Kind::Text,
        None,
        "PEM file of the authority of the API server; that of the service account if unset.",
        Usage::Sets(|s, v| s.discovery.kubernetes.ca_file = some(v.text())),
    ),
    PropertySpec::new(
        "spring.cloud.kubernetes.client.trust-certs",
        Kind::Bool,
        Some("false"),
        "Trusts any API server.",
        Usage::Unsupported(
            "name the authority of the API server: `spring.cloud.kubernetes.client.ca-cert-file`",
        ),
    ),
    PropertySpec::new(
        "spring.cloud.kubernetes.discovery.filter",
        Kind::Text,
        None,
        "Expression that services must fulfil.",
        Usage::Unsupported("use `spring.cloud.kubernetes.discovery.service-labels`"),
    ),
    PropertySpec::new(
        "spring.cloud.kubernetes.discovery.include-external-name-services",
        Kind::Bool,
        Some("false"),
        "Lists services of the type ExternalName.",
        Usage::Unsupported("write a route with `uri: http://name:port`"),
    ),
    PropertySpec::new(
        "weir.discovery.kubernetes.account-directory",
        Kind::Text,
        Some("/var/run/secrets/kubernetes.io/serviceaccount"),
        "Directory with `token`, `ca.crt` and `namespace` of the service account; read anew \
         for each request, as they rotate.",
        Usage::Sets(|s, v| v.text().trim().clone_into(&mut s.discovery.kubernetes.account)),
    ),
];

const DISCOVERY: &str = "spring.cloud.kubernetes.discovery";

/// Reads properties with names that the operator chooses, and those that depend on another
/// property.
pub(super) fn finish(kubernetes: &mut Kubernetes, layers: &Layers<'_>) {
    kubernetes.labels = texts(layers, &format!("{DISCOVERY}.service-labels"));
    let prefix = |kind: &str, default: &str| {
        let added = flag(layers, &format!("{DISCOVERY}.metadata.add-{kind}")).unwrap_or(true);
        let written = text(layers, &format!("{DISCOVERY}.metadata.{kind}-prefix"));
        added.then(|| written.unwrap_or_else(|| default.to_owned()))
    };
    kubernetes.labels_prefix = prefix("labels", "");
    kubernetes.annotations_prefix = prefix("annotations", "");
    kubernetes.ports_prefix = prefix("ports", "port.");
}
