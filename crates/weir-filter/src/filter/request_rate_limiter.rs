//! RequestRateLimiter: refuses requests of a key that come too fast.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use weir_limit::{BucketSettings, Buckets, Taken};
use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, optional};
use crate::context::{FilterError, LocalResponse, RequestContext, Verdict};
use crate::limits::KeySource;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "RequestRateLimiter",
    doc: r#"Answers 429 to requests of a key that come faster than `replenishRate` a second, once a
burst of `burstCapacity` is used up. The key comes from a key resolver, whose name
`weir.key-resolvers` gives a meaning: `weir.key-resolvers.ipKeyResolver: ip`. A request without a
key is answered 403, unless `denyEmptyKey` is false. Each route and gateway counts for itself.

```yaml
filters:
- name: RequestRateLimiter
  args:
    denyEmptyKey: false
    redis-rate-limiter.replenishRate: 1
    redis-rate-limiter.burstCapacity: 1
```
```http request
GET / HTTP/1.1
```
```http sent
GET / HTTP/1.1
```"#,
    args: &[
        optional("key-resolver", ArgKind::Bean, None, "`#{@name}` of `weir.key-resolvers`."),
        optional("rate-limiter", ArgKind::Bean, None, "Not looked at: there is one kind."),
        optional(
            "redis-rate-limiter",
            ArgKind::Text,
            None,
            "`.replenishRate` (tokens a second), `.burstCapacity` (1), `.requestedTokens` (1).",
        ),
        optional("statusCode", ArgKind::Status, Some("429"), "Status of a refusal."),
        optional("denyEmptyKey", ArgKind::Bool, Some("true"), "Refuses requests without a key."),
        optional("emptyKeyStatus", ArgKind::Status, Some("403"), "Status of that refusal."),
    ],
    shortcut: Shortcut::Positions(0),
    compatibility: Compatibility::Differs(
        "counts in the process, for each gateway by itself, not in Redis",
    ),
    build,
};

/// Refuses requests of a key that come too fast.
#[derive(Clone, Debug)]
pub struct RequestRateLimiter(Arc<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    settings: BucketSettings,
    /// `None`: the default resolver, the name of a user who has logged in.
    key: Option<KeySource>,
    status: u16,
    /// Status for a request without a key; `None` lets it pass.
    empty_status: Option<u16>,
    buckets: Arc<Buckets>,
    /// Route it was bound to.
    route: String,
}

impl RequestRateLimiter {
    /// Gives the route called `route` its buckets, which it keeps over reloads.
    pub(super) fn bind(&mut self, route: &str, options: &FilterOptions) {
        let buckets = options.valves.buckets(route);
        *self = Self(Arc::new(Inner { buckets, route: route.to_owned(), ..(*self.0).clone() }));
    }

    fn what(&self) -> (BucketSettings, &Option<KeySource>, u16, Option<u16>, &str) {
        let inner = &self.0;
        (inner.settings, &inner.key, inner.status, inner.empty_status, &inner.route)
    }
}

impl PartialEq for RequestRateLimiter {
    fn eq(&self, other: &Self) -> bool {
        self.what() == other.what()
    }
}

impl Eq for RequestRateLimiter {}

impl Hash for RequestRateLimiter {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.what().hash(state);
    }
}

fn build(args: &Args, options: &FilterOptions) -> Result<Filter, ArgError> {
    let key = match args.text("key-resolver").map(str::trim).filter(|text| !text.is_empty()) {
        None => None,
        Some(text) => Some(resolver(text, options)?),
    };
    // Read, so that it is not taken for a mistake.
    let _ = (args.text("rate-limiter"), args.text("redis-rate-limiter"));
    let mut settings = BucketSettings { rate: 1, capacity: 1, cost: 1 };
    let mut burst = None;
    for (name, text) in args.nested("redis-rate-limiter") {
        let arg = format!("redis-rate-limiter.{name}");
        let number = text.trim().parse::<u64>().ok().filter(|number| *number <= 1 << 40);
        let number = number.ok_or_else(|| {
            ArgError::new(&arg, format!("`{text}` is not a whole number"))
                .help("write a whole number, such as `10`")
        })?;
        match name.replace('-', "").to_ascii_lowercase().as_str() {
            "replenishrate" => settings.rate = number,
            "burstcapacity" => burst = Some(number),
            "requestedtokens" => settings.cost = number,
            _ => {
                return Err(ArgError::new(&arg, "there is no such setting")
                    .help("there are replenishRate, burstCapacity and requestedTokens"));
            }
        }
    }
    if settings.rate == 0 {
        return Err(ArgError::new("redis-rate-limiter.replenishRate", "nothing could pass")
            .help("write a whole number of at least 1"));
    }
    // Left out, SCG keeps a burst of 1 and limits nothing above 2 a second; what is meant is meant.
    settings.capacity = burst.unwrap_or(settings.rate);
    if settings.capacity < settings.rate {
        let message = "the burst is lower than the rate";
        return Err(ArgError::new("redis-rate-limiter.burstCapacity", message)
            .help("write at least the replenishRate, as SCG demands"));
    }
    let status = args.status("statusCode")?.unwrap_or(429);
    let empty = args.status("emptyKeyStatus")?.unwrap_or(403);
    let deny = args.bool("denyEmptyKey")?.unwrap_or(true);
    Ok(Filter::RequestRateLimiter(RequestRateLimiter(Arc::new(Inner {
        settings,
        key,
        status,
        empty_status: deny.then_some(empty),
        buckets: Arc::default(),
        route: String::new(),
    }))))
}

/// What `#{@name}` means.
fn resolver(text: &str, options: &FilterOptions) -> Result<KeySource, ArgError> {
    let name = text.strip_prefix("#{@").and_then(|rest| rest.strip_suffix('}')).map(str::trim);
    let Some(name) = name else {
        return Err(ArgError::new("key-resolver", format!("`{text}` does not name a resolver"))
            .help("write `#{@name}`, and what it means: `weir.key-resolvers.name: ip`"));
    };
    let known = options.key_resolvers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
    known.map(|(_, source)| source.clone()).ok_or_else(|| {
        let guess = guess(name);
        ArgError::new("key-resolver", format!("weir does not know what `{name}` means")).help(
            format!(
                "it is Java code; say what it does: `weir.key-resolvers.{name}: {guess}` (`ip`, \
                 `header:NAME`, `query:NAME`, `cookie:NAME`, `host` or `path`)"
            ),
        )
    })
}

/// What a resolver of this name most likely does.
fn guess(name: &str) -> &'static str {
    let name = name.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    match () {
        () if has(&["ip", "addr", "remote"]) => "ip",
        () if has(&["apikey", "api_key"]) => "header:X-API-Key",
        () if has(&["user", "principal"]) => "query:user",
        () if has(&["path", "uri", "url", "api"]) => "path",
        () if has(&["host"]) => "ip",
        () => "ip",
    }
}

impl Behaviour for RequestRateLimiter {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        let inner = &*self.0;
        let text = inner.key.as_ref().map(|key| key.text(context)).unwrap_or_default();
        if text.is_empty() {
            return Ok(match inner.empty_status {
                None => Verdict::Continue,
                Some(status) => {
                    Verdict::Respond(Box::new(LocalResponse { status, ..LocalResponse::default() }))
                }
            });
        }
        let mut hasher = std::hash::DefaultHasher::new();
        text.hash(&mut hasher);
        let now_s = context.now_ms.div_euclid(1_000);
        let taken = inner.buckets.take(inner.settings, hasher.finish(), now_s);
        let fields = fields(inner.settings, taken);
        if taken.allowed {
            context.added.extend(fields);
            return Ok(Verdict::Continue);
        }
        let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let refusal = LocalResponse { status: inner.status, fields, body: Vec::new() };
        Ok(Verdict::Respond(Box::new(refusal)))
    }

    fn variables(&self) -> Vec<&str> {
        self.0.key.as_ref().and_then(KeySource::variable).into_iter().collect()
    }

    fn caution(&self) -> Option<String> {
        let denies = self.0.key.is_none() && self.0.empty_status.is_some();
        denies.then(|| {
            "without a key-resolver the key is the user who has logged in, and nobody logs in at \
             weir: every request is refused"
                .to_owned()
        })
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        let BucketSettings { rate, capacity, .. } = self.0.settings;
        styled.plain("replenishRate", format_args!("{rate}"))?;
        styled.plain("burstCapacity", format_args!("{capacity}"))
    }

    fn explain(&self) -> String {
        let BucketSettings { rate, capacity, cost } = self.0.settings;
        let each =
            if cost == 1 { String::new() } else { format!(", of which a request takes {cost}") };
        format!(
            "answers {} to a key with more than {rate} requests a second after a burst of \
             {capacity}{each}",
            self.0.status
        )
    }
}

/// The headers that SCG adds to every answer.
fn fields(settings: BucketSettings, taken: Taken) -> [(&'static str, Vec<u8>); 4] {
    let number = |number: u64| number.to_string().into_bytes();
    [
        ("X-RateLimit-Remaining", number(taken.left)),
        ("X-RateLimit-Requested-Tokens", number(settings.cost)),
        ("X-RateLimit-Burst-Capacity", number(settings.capacity)),
        ("X-RateLimit-Replenish-Rate", number(settings.rate)),
    ]
}

#[cfg(test)]
mod tests {
    use super::guess;
    use crate::trial::check_refused;

    #[test]
    fn names_that_people_use() {
        for (name, expected) in [
            ("ipKeyResolver", "ip"),
            ("hostAddrKeyResolver", "ip"),
            ("userKeyResolver", "query:user"),
            ("pathKeyResolver", "path"),
            ("uriKeyResolver", "path"),
        ] {
            assert_eq!(guess(name), expected, "{name}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_a_remedy() {
        let with = |arg: &str| format!("name: RequestRateLimiter\n  args:\n    {arg}");
        check_refused(&with("key-resolver: #{@nobody}"), "key-resolver");
        check_refused(&with("key-resolver: ip"), "key-resolver");
        let rate = "redis-rate-limiter.replenishRate";
        check_refused(&with(&format!("{rate}: many")), rate);
        check_refused(&with(&format!("{rate}: 0")), rate);
        let burst = "redis-rate-limiter.burstCapacity";
        check_refused(&with(&format!("{rate}: 5\n    {burst}: 2")), burst);
    }
}
