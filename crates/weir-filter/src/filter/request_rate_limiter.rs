//! RequestRateLimiter: refuses requests above the rate of their key.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use weir_limit::{BucketSettings, Buckets, Refill, Taken};
use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec, parse_duration};

use super::{Behaviour, Build, Filter, FilterOptions, RateHeaders, optional};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::key_source::{KeySource, hash_of};
use crate::local_response::LocalResponse;
use crate::question::{Answer, BucketQuestion, Question};
use crate::redis::RedisSettings;
use crate::same::Same;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "RequestRateLimiter",
    doc: r#"Answers 429 to requests of a key that come faster than `replenishRate` a second, once a
burst of `burstCapacity` is used up. The key comes from a key resolver, whose name
`weir.key-resolvers` gives a meaning: `weir.key-resolvers.ipKeyResolver: ip`. Without one requests
are counted by the subject of their token, or the name of their API key. A request without a
key is answered 403, unless `denyEmptyKey`, or `filter.request-rate-limiter.deny-empty-key` for all,
is false. Where `spring.data.redis.*` names a Redis, the buckets are kept there under SCG's names,
so that all gateways of both kinds share them; a request that Redis does not answer in time passes.
Elsewhere each gateway counts for itself. Arguments `bucket4j-rate-limiter.*` make it a limiter of
Bucket4j, in this process.

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
        optional(
            "rate-limiter",
            ArgKind::Bean,
            None,
            "Not looked at: the other arguments tell which kind it is.",
        ),
        optional(
            "redis-rate-limiter",
            ArgKind::Text,
            None,
            "`.replenishRate` (tokens a second), `.burstCapacity` (1), `.requestedTokens` (1).",
        ),
        optional(
            "bucket4j-rate-limiter",
            ArgKind::Text,
            None,
            "`.capacity`, `.refillPeriod`, `.refillTokens` (the capacity), `.refillStyle` \
             (`GREEDY`, `INTERVALLY`), `.requestedTokens` (1), `.headerName` \
             (`X-RateLimit-Remaining`).",
        ),
        optional("statusCode", ArgKind::Status, Some("429"), "Status of a refusal."),
        optional("denyEmptyKey", ArgKind::Bool, None, "Refuses requests without a key (true)."),
        optional("emptyKeyStatus", ArgKind::Status, None, "Status of that refusal (403)."),
    ],
    shortcut: Shortcut::Positions(0),
    compatibility: Compatibility::Differs(
        "counts in the process, for each gateway by itself, where no Redis is configured",
    ),
    build,
};

/// Refuses requests above the rate of their key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestRateLimiter(Arc<Inner>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Inner {
    settings: BucketSettings,
    key: KeySource,
    /// The key is the principal, but no part of the configuration authenticates clients.
    is_keyless: bool,
    status: u16,
    /// Status for a request without a key; `None` lets it pass.
    empty_status: Option<u16>,
    buckets: Same<Arc<Buckets>>,
    redis: Option<Arc<RedisSettings>>,
    /// Headers of every response.
    headers: Vec<Header>,
    /// Id of the route that it is bound to.
    route: String,
}

/// A response header; without a value, it carries the number of remaining tokens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Header {
    name: String,
    value: Option<String>,
}

impl RequestRateLimiter {
    fn decide(&self, context: &mut RequestContext<'_>, allowed: bool, left: i64) -> Verdict {
        let left = left.to_string();
        let fields = self.0.headers.iter().map(|Header { name, value }| {
            let value = value.as_deref().unwrap_or(&left);
            (name, value.as_bytes())
        });
        if allowed {
            for (name, value) in fields {
                context.added.append(name.as_bytes(), value);
            }
            return Verdict::Continue;
        }
        let fields = fields.map(|(name, value)| (name.clone(), value.to_vec())).collect();
        Verdict::Respond(Box::new(LocalResponse {
            status: self.0.status,
            fields,
            body: Vec::new(),
        }))
    }
}

/// The headers that SCG adds to every response, in its order.
fn redis_headers(names: &RateHeaders, settings: BucketSettings) -> Vec<Header> {
    if !names.include {
        return Vec::new();
    }
    let constant =
        |name: &String, value: u64| Header { name: name.clone(), value: Some(value.to_string()) };
    vec![
        Header { name: names.remaining.clone(), value: None },
        constant(&names.requested_tokens, settings.cost),
        constant(&names.burst_capacity, settings.capacity),
        constant(&names.replenish_rate, settings.refill.tokens()),
    ]
}

fn build(args: &Args, options: &FilterOptions) -> Result<Filter, ArgError> {
    let name = args.text("key-resolver").map(str::trim).filter(|text| !text.is_empty());
    let key = name.map_or(Ok(KeySource::Principal), |text| resolver(text, options))?;
    let is_keyless = name.is_none() && options.nobody_is_known;
    // Marks them as read, so that they are not reported as unknown arguments.
    let _ = args.text("rate-limiter");
    let _ = (args.text("redis-rate-limiter"), args.text("bucket4j-rate-limiter"));
    let common = &options.rate_limiting;
    let bucket4j: Vec<_> = args.nested("bucket4j-rate-limiter").collect();
    let (settings, headers, redis) = match bucket4j.is_empty() {
        true => {
            let settings = of_redis(args)?;
            (settings, redis_headers(&common.headers, settings), common.redis.clone())
        }
        false => {
            let (settings, name) = of_bucket4j(bucket4j)?;
            (settings, vec![Header { name, value: None }], None)
        }
    };
    let status = args.status("statusCode")?.unwrap_or(429);
    let empty = args.status("emptyKeyStatus")?.unwrap_or(common.empty_key_status);
    let deny = args.bool("denyEmptyKey")?.unwrap_or(common.deny_empty_key);
    Ok(Filter::RequestRateLimiter(RequestRateLimiter(Arc::new(Inner {
        settings,
        key,
        is_keyless,
        status,
        empty_status: deny.then_some(empty),
        buckets: Same::default(),
        redis,
        headers,
        route: String::new(),
    }))))
}

fn whole(arg: &str, text: &str) -> Result<u64, ArgError> {
    let number = text.trim().parse::<u64>().ok().filter(|number| *number <= 1 << 40);
    number.ok_or_else(|| {
        ArgError::new(arg, format!("`{text}` is not a whole number"))
            .help("write a whole number, such as `10`")
    })
}

/// A property name normalized from any of Spring's relaxed spellings.
fn plain(name: &str) -> String {
    name.replace('-', "").to_ascii_lowercase()
}

fn of_redis(args: &Args) -> Result<BucketSettings, ArgError> {
    let (mut rate, mut burst, mut cost) = (1, None, 1);
    for (name, text) in args.nested("redis-rate-limiter") {
        let arg = format!("redis-rate-limiter.{name}");
        let number = whole(&arg, text)?;
        match plain(name).as_str() {
            "replenishrate" => rate = number,
            "burstcapacity" => burst = Some(number),
            "requestedtokens" => cost = number,
            _ => {
                return Err(ArgError::new(&arg, "there is no such setting")
                    .help("there are replenishRate, burstCapacity and requestedTokens"));
            }
        }
    }
    if rate == 0 {
        return Err(ArgError::new("redis-rate-limiter.replenishRate", "nothing could pass")
            .help("write a whole number of at least 1"));
    }
    // SCG's default burst of 1 makes higher rates ineffective; weir defaults to the rate.
    let capacity = burst.unwrap_or(rate);
    if capacity < rate {
        let message = "the burst is lower than the rate";
        return Err(ArgError::new("redis-rate-limiter.burstCapacity", message)
            .help("write at least the replenishRate, as SCG demands"));
    }
    Ok(BucketSettings { refill: Refill::EachSecond(rate), capacity, cost })
}

/// Bucket4j's settings, and the name of the header with the remaining tokens.
fn of_bucket4j(given: Vec<(&str, &str)>) -> Result<(BucketSettings, String), ArgError> {
    let (mut capacity, mut tokens, mut period_ms, mut cost) = (None, None, None, 1);
    let (mut greedy, mut header) = (true, "X-RateLimit-Remaining".to_owned());
    for (name, text) in given {
        let arg = format!("bucket4j-rate-limiter.{name}");
        match plain(name).as_str() {
            "capacity" => capacity = Some(whole(&arg, text)?),
            "refilltokens" => tokens = Some(whole(&arg, text)?),
            "requestedtokens" => cost = whole(&arg, text)?,
            "refillperiod" => {
                let period = parse_duration(text.trim()).ok();
                let ms = period.and_then(|period| u64::try_from(period.as_millis()).ok());
                period_ms = Some(ms.filter(|ms| *ms > 0).ok_or_else(|| {
                    ArgError::new(&arg, format!("`{text}` is not a duration"))
                        .help("write one such as `1s`")
                })?);
            }
            "refillstyle" => {
                greedy = match text.trim().to_ascii_uppercase().as_str() {
                    "GREEDY" => true,
                    "INTERVALLY" => false,
                    _ => {
                        let message = format!("weir does not have the style `{text}`");
                        return Err(ArgError::new(&arg, message).help("write GREEDY or INTERVALLY"));
                    }
                }
            }
            "headername" => text.trim().clone_into(&mut header),
            _ => {
                return Err(ArgError::new(&arg, "there is no such setting").help(
                    "there are capacity, refillTokens, refillPeriod, refillStyle, \
                     requestedTokens and headerName",
                ));
            }
        }
    }
    let missing = |name: &str, example: &str| {
        ArgError::new(&format!("bucket4j-rate-limiter.{name}"), "it is not set")
            .help(format!("write it, such as `{example}`"))
    };
    let capacity = capacity.filter(|tokens| *tokens > 0);
    let capacity = capacity.ok_or_else(|| missing("capacity", "100"))?;
    let period_ms = period_ms.ok_or_else(|| missing("refillPeriod", "1s"))?;
    let tokens = tokens.unwrap_or(capacity).max(1);
    let refill = match greedy {
        true => Refill::Greedy { tokens, period_ms },
        false => Refill::Intervally { tokens, period_ms },
    };
    Ok((BucketSettings { refill, capacity, cost }, header))
}

/// Resolves `#{@name}`.
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

/// Suggests a key for a resolver of this name.
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

    fn bind(&mut self, route: &str, _: usize, options: &FilterOptions) {
        let buckets = Same(options.valves.buckets(route));
        *self = Self(Arc::new(Inner { buckets, route: route.to_owned(), ..(*self.0).clone() }));
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        let inner = &*self.0;
        let text = inner.key.read(context, <[u8]>::to_vec);
        if text.is_empty() {
            return Ok(match inner.empty_status {
                None => Verdict::Continue,
                Some(status) => {
                    Verdict::Respond(Box::new(LocalResponse { status, ..LocalResponse::default() }))
                }
            });
        }
        if let Some(redis) = &inner.redis {
            let mut key = format!("request_rate_limiter.{{{}.", inner.route).into_bytes();
            key.extend_from_slice(&text);
            key.push(b'}');
            let redis = Arc::clone(redis);
            let question = BucketQuestion { redis, key, settings: inner.settings };
            return Ok(Verdict::Ask(Box::new(Question::Bucket(question))));
        }
        let (settings, key) = (inner.settings, hash_of(&text));
        let Taken { allowed, left } = match context.is_asked {
            true => inner.buckets.0.look(settings, key, context.now_ms),
            false => inner.buckets.0.take(settings, key, context.now_ms),
        };
        Ok(self.decide(context, allowed, i64::try_from(left).unwrap_or(i64::MAX)))
    }

    fn answered(
        &self,
        context: &mut RequestContext<'_>,
        answer: Answer,
    ) -> Result<Verdict, FilterError> {
        // If Redis does not answer, requests pass, as in SCG.
        let (allowed, left) = match answer {
            Answer::Bucket { allowed, left } => (allowed, left),
            _ => (true, -1),
        };
        Ok(self.decide(context, allowed, left))
    }

    fn variables(&self) -> Vec<&str> {
        self.0.key.variable().into_iter().collect()
    }

    fn without_variable(&self) -> String {
        match self.0.empty_status {
            None => "no request is limited".to_owned(),
            Some(status) => format!("every request is refused with {status}"),
        }
    }

    fn caution(&self) -> Option<String> {
        let denies = self.0.is_keyless && self.0.empty_status.is_some();
        denies.then(|| {
            "without a key-resolver the key is who the request is from, which the configuration \
             does not tell: requests are refused"
                .to_owned()
        })
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        let BucketSettings { refill, capacity, .. } = self.0.settings;
        styled.plain("replenishRate", format_args!("{}", refill.tokens()))?;
        styled.plain("burstCapacity", format_args!("{capacity}"))
    }

    fn explain(&self) -> String {
        let BucketSettings { refill, capacity, cost } = self.0.settings;
        let each =
            if cost == 1 { String::new() } else { format!(", of which a request takes {cost}") };
        let place = match &self.0.redis {
            Some(redis) => format!("; all gateways at Redis {redis} count together"),
            None => String::new(),
        };
        format!(
            "answers {} to a key with more than {refill} after a burst of {capacity}{each}{place}",
            self.0.status
        )
    }
}

#[cfg(test)]
mod tests {
    use super::guess;
    use crate::test_exchange::check_refused;

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
