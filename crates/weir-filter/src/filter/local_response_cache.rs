//! LocalResponseCache: answers requests from a cache of responses.

use std::fmt;
use std::sync::Arc;

use weir_cache::ResponseCache;
use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, optional};
use crate::same::Same;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "LocalResponseCache",
    doc: r#"Keeps responses to GET of status 200 and 301 in memory and answers the same request with
them, for `timeToLive` or as long as `Cache-Control` of the response says, if that is less. The same
request: route, Host, path, query, `Authorization`, cookies, and what `Vary` names. Never kept:
`private`, `no-store`, `no-cache`, `Set-Cookie`, `Vary: *`. One request fetches for all who wait;
`stale-while-revalidate` and `stale-if-error` are followed, and conditional requests answered 304.
Guards, limits and other filters act on each request all the same.

```yaml
filters:
- LocalResponseCache=30m,500MB
```
```http request
GET / HTTP/1.1
```
```http sent
GET / HTTP/1.1
```"#,
    args: &[
        optional(
            "timeToLive",
            ArgKind::Duration,
            None,
            "How long a response is used; `filter.local-response-cache.time-to-live` (5m) if not \
             given.",
        ),
        optional(
            "size",
            ArgKind::DataSize,
            None,
            "Memory of this route's own cache; without it the one of all routes is used.",
        ),
    ],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Differs(
        "stands behind the guards and limits of its route; a lifetime that a response gives itself \
         is not exceeded; ranges are not kept",
    ),
    build,
};

/// Answers requests from a cache of responses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LocalResponseCache(Arc<Inner>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Inner {
    ttl_ms: u64,
    bytes: Option<u64>,
    updates: bool,
    route: String,
    cache: Same<Option<Arc<ResponseCache>>>,
}

fn build(args: &Args, options: &FilterOptions) -> Result<Filter, ArgError> {
    let ttl = args.duration("timeToLive")?;
    let ttl_ms = ttl.map(|ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX));
    let bytes = args.data_size("size")?;
    let cache = &options.cache;
    Ok(Filter::LocalResponseCache(LocalResponseCache(Arc::new(Inner {
        ttl_ms: ttl_ms.unwrap_or(cache.ttl_ms),
        bytes,
        updates: cache.updates_on_no_cache,
        route: String::new(),
        cache: Same::default(),
    }))))
}

impl LocalResponseCache {
    /// The cache, once the filter is bound to a route.
    pub fn cache(&self) -> Option<&Arc<ResponseCache>> {
        self.0.cache.0.as_ref()
    }

    /// Time to live of a response, in milliseconds.
    pub fn ttl_ms(&self) -> u64 {
        self.0.ttl_ms
    }

    /// Whether the response to a request with `no-cache` is stored.
    pub fn updates_on_no_cache(&self) -> bool {
        self.0.updates
    }
}

impl Behaviour for LocalResponseCache {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn bind(&mut self, route: &str, _: usize, options: &FilterOptions) {
        let caches = &options.cache.caches.0;
        let cache = match self.0.bytes {
            Some(bytes) => caches.get(route, bytes),
            None => caches.get("", options.cache.bytes_max),
        };
        let route = route.to_owned();
        *self = Self(Arc::new(Inner { cache: Same(Some(cache)), route, ..(*self.0).clone() }));
    }

    fn takes_response(&self) -> bool {
        true
    }

    fn is_policy(&self) -> bool {
        true
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.plain("timeToLive", format_args!("{}ms", self.0.ttl_ms))?;
        match self.0.bytes {
            Some(bytes) => styled.plain("size", format_args!("{bytes}B")),
            None => Ok(()),
        }
    }

    fn explain(&self) -> String {
        let seconds = self.0.ttl_ms as f64 / 1_000.0;
        format!("answers a GET with a response of up to {seconds} s before, if that may be kept")
    }
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::check_refused;

    #[test]
    fn nonsense_is_refused_with_a_remedy() {
        check_refused("LocalResponseCache=soon", "timeToLive");
        check_refused("LocalResponseCache=5m,much", "size");
    }
}
