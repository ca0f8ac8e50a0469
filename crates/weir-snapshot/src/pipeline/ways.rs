//! Choice of the upstream group for a connection or a call.

use std::sync::Arc;

use weir_balance::Group;

use super::routes::Fits;
use crate::snapshot::Pipeline;

impl Pipeline {
    /// All upstream groups of the pipeline: the default one, then those of its routes.
    pub fn groups(&self) -> impl Iterator<Item = &Arc<Group>> {
        std::iter::once(&self.upstream).chain(self.routes.iter().map(|route| &route.upstream))
    }

    /// The upstream group for a call of this service, method, version and group; empty texts where
    /// there is none. The method is ignored for `$echo`, by which consumers probe a service.
    pub fn way_of_call(&self, call: [&str; 4]) -> &Arc<Group> {
        let route = self.routes.iter().find(|route| match &route.fits {
            Fits::Call { service, method, version, group } => {
                let [_, called, ..] = call;
                let method = if called == "$echo" { &None } else { method };
                let patterns = [service, method, version, group];
                patterns.iter().zip(call).all(|(pattern, text)| {
                    pattern.as_ref().is_none_or(|pattern| pattern.fits(text))
                })
            }
            Fits::Hello { .. } => false,
        });
        route.map_or(&self.upstream, |route| &route.upstream)
    }

    /// The upstream group for a client whose TLS hello names the server `name` and offers
    /// `protocols`; empty if there is none.
    pub fn way_of_hello(&self, name: Option<&str>, protocols: &[&[u8]]) -> &Arc<Group> {
        let route = self.routes.iter().find(|route| match &route.fits {
            Fits::Hello { sni, alpn } => {
                let name = name.unwrap_or_default();
                let offers = |wanted: &String| protocols.contains(&wanted.as_bytes());
                (sni.is_empty() || sni.iter().any(|pattern| pattern.fits(name)))
                    && (alpn.is_empty() || alpn.iter().any(offers))
            }
            Fits::Call { .. } => false,
        });
        route.map_or(&self.upstream, |route| &route.upstream)
    }
}
