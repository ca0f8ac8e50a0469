//! The choice of routes that commands share, and what it is in a query.

use clap::Args;

use super::client::escaped;

/// Which routes.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct Which {
    /// Text anywhere in id, uri, predicates or filters.
    #[arg(short, long, value_name = "TEXT")]
    query: Option<String>,
    /// Text in the uri.
    #[arg(long = "with-uri", value_name = "TEXT")]
    uri: Option<String>,
    /// Text in a Path predicate.
    #[arg(long, value_name = "TEXT")]
    path: Option<String>,
    /// Start of the id.
    #[arg(long, value_name = "TEXT")]
    id_prefix: Option<String>,
    /// Metadata that the route has.
    #[arg(long, value_name = "KEY:VALUE")]
    metadata: Vec<String>,
}

impl Which {
    /// As a query, each pair starting with `&`.
    pub(super) fn query(&self) -> String {
        let one = |key: &'static str, value: &Option<String>| value.clone().map(|v| (key, v));
        let single = [
            one("q", &self.query),
            one("uri", &self.uri),
            one("path", &self.path),
            one("id", &self.id_prefix),
        ];
        let metadata = self.metadata.iter().map(|pair| ("metadata", pair.clone()));
        let pairs = single.into_iter().flatten().chain(metadata);
        pairs.map(|(key, value)| format!("&{key}={}", escaped(&value))).collect()
    }
}
