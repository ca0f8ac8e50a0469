//! Services with static instances: `spring.cloud.discovery.client.simple.instances`.

use std::sync::Arc;

use weir_balance::Instance;
use weir_filter::Scheme;

use crate::diagnostic::{Code, Diagnostic, mask_url};
use crate::spring::{Kind, Layers, Node, child};
use crate::uri::{self, Destination};

pub(super) const INSTANCES: &str = "spring.cloud.discovery.client.simple.instances";

/// Instances by service name, in lower case.
pub(crate) type ServiceList = Vec<(String, Vec<Arc<Instance>>)>;

/// Every service of the layers; a higher layer overrides a service of the same name.
pub(crate) fn services(layers: &Layers<'_>, problems: &mut Vec<Diagnostic>) -> ServiceList {
    let mut list = ServiceList::new();
    for node in layers.all(INSTANCES) {
        for service in node.children() {
            let name = service.key().to_ascii_lowercase();
            if list.iter().any(|(known, _)| *known == name) {
                continue;
            }
            let instances = match service.kind() {
                Kind::List => {
                    service.children().filter_map(|i| target(layers, i, problems)).collect()
                }
                _ => Vec::new(),
            };
            list.push((name, instances));
        }
    }
    list
}

/// Parses `uri: http://h:80`, or `host: h` with `port: 80`.
fn target(
    layers: &Layers<'_>,
    node: Node<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Option<Arc<Instance>> {
    let field = |name: &str| {
        let text = child(node, name)?.text()?;
        Some(layers.resolve(&text).0.into_owned())
    };
    let written = match (field("uri"), field("host")) {
        (Some(uri), _) => uri,
        (None, Some(host)) => {
            let secure = field("secure").is_some_and(|text| text == "true");
            let scheme = if secure { "https" } else { "http" };
            format!("{scheme}://{host}:{}", field("port").unwrap_or_else(|| "80".to_owned()))
        }
        (None, None) => String::new(),
    };
    match uri::parse(&written).map(|uri| uri.destination) {
        Ok(Destination::Target(target)) if target.scheme == Scheme::Http => {
            let mut instance = Instance::new(&target.host, target.port, false);
            if let Some(id) = field("instance-id").filter(|id| !id.trim().is_empty()) {
                instance.id = id;
            }
            let metadata = child(node, "metadata").into_iter().flat_map(Node::children);
            instance.metadata.extend(metadata.filter_map(|entry| {
                let text = entry.text()?;
                Some((entry.key().to_owned(), layers.resolve(&text).0.into_owned()))
            }));
            Some(Arc::new(instance))
        }
        Ok(Destination::Target(_)) => {
            let message = format!("the instance `{}` needs TLS", mask_url(&written));
            let help = "weir does not speak TLS to upstreams yet; use an `http` instance";
            problems
                .push(Diagnostic::new(Code::UriUnsupported, message).at(node.span()).help(help));
            None
        }
        _ => {
            let message = "an instance needs a `uri` such as `http://host:8080`";
            let help = "write `- uri: http://host:port`";
            problems.push(Diagnostic::new(Code::InvalidUri, message).at(node.span()).help(help));
            None
        }
    }
}
