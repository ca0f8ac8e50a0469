//! The upstream of a route's uri.

use std::sync::{Arc, PoisonError};

use weir_balance::{Cluster, Service};
use weir_filter::{Scheme, Target};

use super::Compiler;
use super::interner::Key;
use super::problem::{Part, Problem};
use crate::diagnostic::{Code, mask_url};
use crate::uri::{self, Destination};
use weir_snapshot::{ForwardTo, Upstream};

impl Compiler {
    /// The upstream of a uri. One that needs TLS is accepted only for calls of gRPC methods, which
    /// the control plane makes; these need a server.
    pub(super) fn upstream(
        &self,
        text: &str,
        is_called: bool,
        problems: &mut Vec<Problem>,
    ) -> Option<Upstream> {
        // Most routes share their uri with others, so a cache is consulted before parsing.
        let key = Key::of(&text);
        if let Some(target) = self.targets.get(key) {
            return Some(Upstream::Http(target));
        }
        let problem = match uri::parse(text).map(|uri| uri.destination) {
            Ok(Destination::Target(target)) if target.scheme == Scheme::Http => {
                let target = self.target(target);
                self.targets.also(key, &target);
                return Some(Upstream::Http(target));
            }
            Ok(Destination::Service { name, scheme: None | Some(Scheme::Http | Scheme::Lb) }) => {
                return Some(self.balanced(&name));
            }
            Ok(Destination::Target(target)) if is_called => {
                return Some(Upstream::Http(self.target(target)));
            }
            Ok(Destination::Nowhere(scheme)) if scheme == "upstream" => {
                match self.named_upstream(name_in(text)) {
                    Ok(upstream) => return Some(upstream),
                    Err(problem) => problem,
                }
            }
            Ok(Destination::Nowhere(_) | Destination::Forward(_)) if is_called => Problem::new(
                Code::UriUnsupported,
                Part::Uri,
                format!("JsonToGrpc calls a server, and `{}` is none", mask_url(text)),
                "write `https://host:port`, `http://host:port` without TLS, or `lb://service`",
            ),
            Ok(Destination::Nowhere(scheme)) => {
                if scheme != "mock" {
                    return Some(Upstream::None);
                }
                let mocked = |source| Upstream::Mock(Box::new(source));
                match self.options.mocks.find(text) {
                    Ok(found) => return Some(found.map_or(Upstream::None, mocked)),
                    Err((code, message, help)) => Problem::new(code, Part::Uri, message, help),
                }
            }
            Ok(Destination::Forward(path)) => {
                return Some(Upstream::Forward(Box::new(ForwardTo { path })));
            }
            Ok(Destination::Target(_) | Destination::Service { .. }) => Problem::new(
                Code::UriUnsupported,
                Part::Uri,
                format!("`{}` needs TLS to the upstream", mask_url(text)),
                "weir does not speak TLS to upstreams yet; use an `http` address, or leave this \
                 route with Spring Cloud Gateway",
            ),
            Ok(Destination::Internal(scheme)) => Problem::new(
                Code::UriUnsupported,
                Part::Uri,
                format!("`{scheme}:` leads into a Java application"),
                "weir has no application behind it; send the route to a service of its own",
            ),
            Err(error) => invalid_uri(text, error),
        };
        problems.push(problem);
        None
    }

    /// An upstream of `weir.upstreams`.
    fn named_upstream(&self, name: &str) -> Result<Upstream, Problem> {
        let names: Vec<&str> = self.options.upstreams.names().collect();
        if names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return Ok(self.balanced(name));
        }
        let help = match names.as_slice() {
            [] => "write it: `weir.upstreams.NAME.targets: [ host:port ]`".to_owned(),
            names => format!("there are {}", names.join(", ")),
        };
        let message = format!("there is no upstream `{name}`");
        Err(Problem::new(Code::InvalidUri, Part::Uri, message, help))
    }

    fn target(&self, target: Target) -> Arc<Target> {
        let key = Key::of(&target);
        self.targets.get(key).unwrap_or_else(|| self.targets.put(key, target))
    }

    /// A service, as a cluster if it has load-balancing rules.
    fn balanced(&self, name: &str) -> Upstream {
        let upstreams = &self.options.upstreams;
        let Some(rules) = upstreams.rules(name) else {
            return Upstream::Balanced(self.service(name));
        };
        let mut clusters = self.clusters.lock().unwrap_or_else(PoisonError::into_inner);
        let cluster = clusters.entry(name.to_ascii_lowercase()).or_insert_with(|| {
            let service = match upstreams.targets(name) {
                Some(targets) => Arc::new(Service::new(name, targets.to_vec())),
                None => self.service(name),
            };
            let directory = &self.options.directory;
            let cluster = Arc::new(Cluster::new(service, rules, directory));
            directory.enlist(&cluster);
            cluster
        });
        Upstream::Clustered(Arc::clone(cluster))
    }

    /// Instances of the configuration take precedence over those of registries, as in Spring's
    /// composite discovery client. A service without instances answers 503.
    fn service(&self, name: &str) -> Arc<Service> {
        let own = self.services.get(name).filter(|service| service.usable() > 0);
        own.map_or_else(|| self.options.directory.service(name), Arc::clone)
    }

    /// Whether a service has no instance, and no registry can list one.
    pub(crate) fn lacks_instances(&self, name: &str) -> bool {
        let service = self.services.get(name);
        !self.options.settings.discovery.is_used()
            && self.options.upstreams.targets(name).is_none()
            && service.is_none_or(|service| service.instances().is_empty())
    }
}

/// `NAME` of `upstream://NAME`.
pub(super) fn name_in(uri: &str) -> &str {
    let rest = uri.split_once(':').map_or("", |(_, rest)| rest).trim_start_matches('/');
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

fn invalid_uri(text: &str, error: uri::UriError) -> Problem {
    let placeholder = text.split_once("${").and_then(|(_, rest)| rest.split(['}', ':']).next());
    let (message, help) = match placeholder {
        Some(name) => (
            format!("the uri holds `${{{name}}}`, which has neither a value nor a default"),
            format!("set `{name}` (environment, `--set` or a file), or write `${{{name}:…}}`"),
        ),
        None => (error.message, error.help),
    };
    let problem = Problem::new(Code::InvalidUri, Part::Uri, message, help);
    match placeholder {
        Some(name) if text.trim().starts_with("${") => {
            problem.paste(format!("{name}: http://host:8080"))
        }
        Some(name) => problem.paste(format!("{name}: host")),
        None => problem,
    }
}
