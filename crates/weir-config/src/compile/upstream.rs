//! Where a route leads: from its uri to an upstream.

use std::sync::Arc;

use weir_balance::Service;
use weir_filter::{Scheme, Target};

use super::Compiler;
use super::pool::Key;
use super::problem::{Part, Problem};
use crate::diagnostic::{Code, mask_url};
use crate::snapshot::{ForwardTo, Upstream};
use crate::uri::{self, Destination};

impl Compiler {
    pub(super) fn upstream(&self, text: &str, problems: &mut Vec<Problem>) -> Option<Upstream> {
        // Most routes share their uri with others; what it leads to is looked up before it is read.
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
                return Some(Upstream::Balanced(self.service(&name)));
            }
            Ok(Destination::Nowhere(scheme)) => {
                if scheme != "mock" {
                    return Some(Upstream::None);
                }
                match self.options.mocks.find(text) {
                    Ok(found) => {
                        return Some(
                            found.map_or(Upstream::None, |source| Upstream::Mock(Box::new(source))),
                        );
                    }
                    Err((code, message, help)) => {
                        problems.push(Problem::new(code, Part::Uri, message, help));
                        return None;
                    }
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

    fn target(&self, target: Target) -> Arc<Target> {
        let key = Key::of(&target);
        self.targets.get(key).unwrap_or_else(|| self.targets.put(key, target))
    }

    /// Instances of the configuration serve first, then those of registries, as Spring's composite
    /// of discovery clients has it. A service without an instance answers 503.
    fn service(&self, name: &str) -> Arc<Service> {
        let own = self.services.get(name).filter(|service| service.usable() > 0);
        own.map_or_else(|| self.options.directory.service(name), Arc::clone)
    }

    /// Whether a service that routes may lead to has no instance, and no registry could list one.
    pub(crate) fn lacks_instances(&self, name: &str) -> bool {
        let service = self.services.get(name);
        !self.options.settings.discovery.is_used()
            && service.is_none_or(|service| service.instances().is_empty())
    }
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
    Problem::new(Code::InvalidUri, Part::Uri, message, help)
}
