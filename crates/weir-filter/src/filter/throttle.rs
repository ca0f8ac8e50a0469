//! Throttle: delays requests above the rate of a limit.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use weir_limit::{Concurrency, Order, Rate, Valve};
use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, optional};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::key_source::KeySource;
use crate::limits::{LIMIT_FIELDS, LimitDefinition, set_limit, set_weight, ticket};
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "Throttle",
    doc: r#"Delays requests above the rate of a limit, so that they pass one by one, evenly.
`Throttle=orders` uses the limit `orders` of `weir.limits`; `Throttle=500/s` creates one for its
route. A request that would wait longer than `max-wait` or its own `deadline`, or that finds `queue`
others waiting, is refused with `Retry-After`: 429 if the limit has a key, else 503. A filter of
weir's own.

```yaml
filters:
- Throttle=500/s
```
```http request
GET / HTTP/1.1
```
```http sent
GET / HTTP/1.1
```"#,
    args: &[
        optional("limit", ArgKind::Text, None, "Name of a limit of `weir.limits`, or a rate."),
        optional("rate", ArgKind::Text, None, "Such as `500/s`, `30/min`, `0.5/h`."),
        optional(
            "mode",
            ArgKind::Text,
            Some("pace"),
            "`pace`: evenly; `window`: all that a second allows at once.",
        ),
        optional(
            "burst",
            ArgKind::Text,
            Some("1"),
            "Requests that pass at once after an idle time.",
        ),
        optional("warm-up", ArgKind::Text, Some("0"), "How long a rested limit takes to its rate."),
        optional(
            "concurrency",
            ArgKind::Text,
            None,
            "How many are in service at a time; `adaptive`: as many as the upstream serves well.",
        ),
        optional("concurrency-min", ArgKind::Text, Some("1"), "Least that `adaptive` comes to."),
        optional("concurrency-max", ArgKind::Text, Some("1000"), "Most that it comes to."),
        optional(
            "bandwidth",
            ArgKind::Text,
            None,
            "Bytes a second of all bodies of a key, each way, such as `10MB/s`.",
        ),
        optional(
            "stream-bandwidth",
            ArgKind::Text,
            None,
            "Bytes a second of each body, each way, such as `1MB/s`.",
        ),
        optional("queue", ArgKind::Text, Some("10000"), "Most waiting requests."),
        optional("queue-bytes", ArgKind::Text, Some("64MB"), "Most bytes that they hold."),
        optional(
            "max-wait",
            ArgKind::Text,
            Some("30s"),
            "Requests that would wait longer are refused.",
        ),
        optional("order", ArgKind::Text, Some("fifo"), "`fifo`, or `fair`: each key in turn."),
        optional("ageing", ArgKind::Text, Some("1s"), "Wait that makes up for a class less."),
        optional("enforce", ArgKind::Text, Some("true"), "`false` counts what it would do."),
        optional(
            "key",
            ArgKind::Text,
            Some("none"),
            "Whom a request counts for: `none`, `ip`, `header:NAME`, `query:NAME`, \
             `cookie:NAME`, `host`, `principal` or `path:{variable}`.",
        ),
        optional(
            "per-key",
            ArgKind::Text,
            Some("false"),
            "`true` gives each key the whole limit for itself.",
        ),
        optional(
            "weights",
            ArgKind::Text,
            None,
            "`weights.gold: 4` gives the key `gold` four turns of `order: fair`; others have one.",
        ),
        optional(
            "cost",
            ArgKind::Text,
            Some("1"),
            "What a request takes of the rate: a number, or `header:NAME`.",
        ),
        optional(
            "priority",
            ArgKind::Text,
            None,
            "`header:NAME`: `0` passes first and `7` last; also `high`, `normal`, `low`, or `u=1`.",
        ),
        optional(
            "deadline",
            ArgKind::Text,
            None,
            "`grpc-timeout` or `header:NAME`: who would wait longer than that is refused.",
        ),
        optional(
            "fields",
            ArgKind::Text,
            Some("refused"),
            "Answers with `RateLimit` and `RateLimit-Policy`: `refused`, `always` or `never`.",
        ),
    ],
    shortcut: Shortcut::Positions(1),
    compatibility: Compatibility::Own,
    build,
};

/// Delays requests above the rate of a limit.
#[derive(Clone, Debug)]
pub struct Throttle(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    definition: LimitDefinition,
    /// The arguments as written.
    text: String,
    valve: Arc<Valve>,
}

impl Throttle {
    fn of(definition: LimitDefinition, text: String, options: &FilterOptions) -> Self {
        let valve = match definition.name.as_str() {
            "" => Arc::new(Valve::new("", definition.settings.clone())),
            name => options.valve(name, &definition.settings),
        };
        Self(Arc::new(Inner { definition, text, valve }))
    }
}

impl PartialEq for Throttle {
    fn eq(&self, other: &Self) -> bool {
        self.0.definition == other.0.definition && self.0.text == other.0.text
    }
}

impl Eq for Throttle {}

impl Hash for Throttle {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.text.hash(state);
    }
}

fn build(args: &Args, options: &FilterOptions) -> Result<Filter, ArgError> {
    let named = args.text("limit").map(str::trim).filter(|text| !text.is_empty());
    let (mut own, written) = own_settings(args)?;
    let mut text = named.unwrap_or_default().to_owned();
    for (field, value) in &written {
        text += &format!(" {field}={value}");
    }
    let Some(name) = named else {
        return brought(own, text, options);
    };
    if let Some(known) = options.limits.iter().find(|limit| limit.name == name) {
        if let Some((field, _)) = written.first() {
            let why = format!("`{field}` cannot change the limit `{name}`, which routes share");
            return Err(ArgError::new(field, why).help(format!(
                "set it in `weir.limits.{name}`; or leave `limit` out, for a limit of this route"
            )));
        }
        return Ok(Filter::Throttle(Throttle::of(known.clone(), text, options)));
    }
    match Rate::parse(name) {
        Ok(_) if args.is_written("rate") => {
            Err(ArgError::new("rate", format!("`limit: {name}` is a rate, too"))
                .help("write one of the two"))
        }
        Ok(rate) => {
            own.settings.rate = Some(rate);
            brought(own, text, options)
        }
        Err(why) if name.starts_with(|c: char| c.is_ascii_digit()) => {
            Err(ArgError::new("limit", format!("`{name}` is not a rate: {why}"))
                .help("write a rate such as `500/s`, `30/min` or `0.5/h`"))
        }
        Err(_) => {
            let names: Vec<&str> = options.limits.iter().map(|limit| limit.name.as_str()).collect();
            let help = match names.as_slice() {
                [] => "define it: `weir.limits.NAME: { rate: 500/s }`; or write a rate".to_owned(),
                names => format!("there are {}; or write a rate such as `500/s`", names.join(", ")),
            };
            Err(ArgError::new("limit", format!("there is no limit `{name}`")).help(help))
        }
    }
}

/// Arguments by name, as written.
type Written<'a> = Vec<(String, &'a str)>;

/// The limit of the arguments beside `limit`, and those that were written.
fn own_settings(args: &Args) -> Result<(LimitDefinition, Written<'_>), ArgError> {
    let (mut own, mut written) = (LimitDefinition::default(), Vec::new());
    for field in LIMIT_FIELDS {
        let Some(value) = args.text(field) else { continue };
        set_limit(&mut own, field, value).map_err(|why| {
            ArgError::new(field, why).help("`weir reference Throttle` shows every argument")
        })?;
        if args.is_written(field) {
            written.push(((*field).to_owned(), value));
        }
    }
    if args.text("weights").is_some() {
        return Err(ArgError::new("weights", "`weights` has a number for each key")
            .help("write it as a map, such as `weights: { gold: 4 }`"));
    }
    for (key, weight) in args.nested("weights") {
        let field = format!("weights.{key}");
        set_weight(&mut own, key, weight)
            .map_err(|why| ArgError::new(&field, why).help("such as `weights: { gold: 4 }`"))?;
        written.push((field, weight));
    }
    Ok((own, written))
}

/// A limit that is defined in the filter's own arguments.
fn brought(
    own: LimitDefinition,
    text: String,
    options: &FilterOptions,
) -> Result<Filter, ArgError> {
    match own.contradiction().or_else(|| own.contradiction_of_keys()) {
        Some(("rate", why, _)) => Err(ArgError::new("limit", why).help(
            "write `Throttle=500/s`, or `rate`, `concurrency` or `bandwidth` in the long form",
        )),
        Some((field, why, help)) => Err(ArgError::new(field, why).help(help)),
        None => Ok(Filter::Throttle(Throttle::of(own, text, options))),
    }
}

impl Behaviour for Throttle {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn bind(&mut self, route: &str, nth: usize, options: &FilterOptions) {
        let inner = &*self.0;
        if !inner.definition.name.is_empty() {
            return;
        }
        let name = match nth {
            0 => format!("route:{route}"),
            nth => format!("route:{route}#{}", nth + 1),
        };
        let definition = LimitDefinition { name, ..inner.definition.clone() };
        *self = Self::of(definition, inner.text.clone(), options);
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        Ok(Verdict::Admit(ticket(&self.0.definition, &self.0.valve, context)))
    }

    fn counts_by_who(&self) -> bool {
        self.0.definition.key == KeySource::Principal
    }

    fn variables(&self) -> Vec<&str> {
        self.0.definition.key.variable().into_iter().collect()
    }

    fn without_variable(&self) -> String {
        "all requests count as one key".to_owned()
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.plain("limit", format_args!("{}", self.0.text.trim()))
    }

    fn explain(&self) -> String {
        let (definition, valve) = (&self.0.definition, &self.0.valve);
        let settings = valve.settings();
        let rate = settings.rate.map(|rate| format!("to {rate}"));
        let most = settings.concurrency.map(|most| match most {
            Concurrency::Fixed(most) => format!("to {most} at a time"),
            Concurrency::Adaptive => "to as many at a time as are served well".to_owned(),
        });
        let queues = rate.is_some() || most.is_some();
        let is_keyed = definition.key != KeySource::None;
        let all_bodies = if is_keyed { "all bodies of a key" } else { "all bodies" };
        let bandwidths =
            [(settings.bandwidth, all_bodies), (settings.stream_bandwidth, "each body")];
        let bandwidths = bandwidths.into_iter().filter_map(|(bytes, what)| {
            bytes.map(|bytes| format!("to {bytes} bytes a second of {what}"))
        });
        let all: Vec<String> = rate.into_iter().chain(most).chain(bandwidths).collect();
        let (holds, only_counts) = match settings.enforce {
            true => ("holds", ""),
            false => ("would hold", ", but only counts them (enforce: false)"),
        };
        let mut told = format!(
            "limit `{}` {holds} requests back {}{only_counts}; key: {}",
            valve.name(),
            all.join(" and "),
            definition.key
        );
        if settings.per_key {
            told += ", for each key";
        }
        if queues {
            let order = match settings.order {
                Order::Fifo => "fifo",
                Order::Fair => "fair",
            };
            let wait_max = Duration::from_nanos(settings.wait_max_ns);
            told +=
                &format!("; order: {order}; queue: {}; max-wait: {wait_max:?}", settings.queue_max);
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use weir_route::Arguments;

    use super::*;
    use crate::filter::find;
    use crate::test_exchange::check_refused;

    #[test]
    fn nonsense_is_refused_with_a_remedy() {
        check_refused("Throttle", "limit");
        check_refused("Throttle=0/s", "limit");
        check_refused("Throttle=nobody", "limit");
        check_refused("name: Throttle\n  args:\n    rate: NaN/s", "rate");
        check_refused("name: Throttle\n  args:\n    rate: 5/s\n    burst: 0", "burst");
        check_refused("name: Throttle\n  args:\n    rate: 5/s\n    key: soul", "key");
        check_refused("name: Throttle\n  args:\n    concurrency: 5\n    cost: 2", "cost");
        check_refused("name: Throttle\n  args:\n    limit: 5/s\n    rate: 6/s", "rate");
        check_refused("name: Throttle\n  args:\n    rate: 5/s\n    order: fair", "order");
        check_refused("name: Throttle\n  args:\n    rate: 5/s\n    weights: 4", "weights");
        let weight = "name: Throttle\n  args:\n    rate: 5/s\n    key: ip\n    weights.a: 4";
        check_refused(weight, "weights");
        check_refused(&weight.replace("a: 4", "a: 0"), "weights.a");
        assert!(find("Throttle").is_some() && FilterOptions::default().limits.is_empty());
    }

    fn orders() -> FilterOptions {
        let mut orders = LimitDefinition { name: "orders".to_owned(), ..Default::default() };
        set_limit(&mut orders, "rate", "500/s").expect("a rate");
        set_limit(&mut orders, "enforce", "false").expect("a flag");
        FilterOptions { limits: vec![orders], ..FilterOptions::default() }
    }

    fn built(args: &[(&'static str, &str)]) -> Result<Filter, ArgError> {
        let written: Arguments = args.iter().map(|(name, text)| (*name, (*text).into())).collect();
        build(&SPEC.bind(&written)?, &orders())
    }

    #[test]
    fn a_limit_with_a_name_takes_no_settings() {
        let check = |args: &[(&'static str, &str)], expected: Option<&str>| {
            let found = built(args).err();
            assert_eq!(found.as_ref().map(|error| &*error.arg), expected, "{args:?} {found:?}");
            assert!(found.is_none_or(|error| error.help.is_some()), "{args:?}");
        };
        check(&[("limit", "orders")], None);
        check(&[("limit", "orders"), ("rate", "5/s")], Some("rate"));
        check(&[("limit", "orders"), ("enforce", "true")], Some("enforce"));
        check(&[("limit", "orders"), ("weights.gold", "4")], Some("weights.gold"));
        check(&[("limit", "7/s"), ("queue", "5")], None);
    }

    #[test]
    fn weights_of_a_filter_are_those_of_its_limit() {
        let weighted = |weight| {
            let all = [("rate", "5/s"), ("key", "ip"), ("order", "fair"), ("weights.a.b", weight)];
            match built(&all) {
                Ok(Filter::Throttle(throttle)) => throttle,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(weighted("4").0.definition.weights, [("a.b".to_owned(), 4)]);
        assert!(weighted("4") == weighted("4") && weighted("4") != weighted("5"));
    }

    #[test]
    fn an_explanation_names_the_limit_and_its_settings() {
        let check = |args: &[(&'static str, &str)], expected: &str| {
            assert_eq!(built(args).expect("a filter").explain(), expected);
        };
        check(
            &[("limit", "orders")],
            "limit `orders` would hold requests back to 500/s, but only counts them (enforce: \
             false); key: none; order: fifo; queue: 10000; max-wait: 30s",
        );
        check(
            &[("concurrency", "5"), ("key", "header:X-A"), ("order", "fair"), ("queue", "7")],
            "limit `` holds requests back to 5 at a time; key: header:X-A; order: fair; queue: 7; \
             max-wait: 30s",
        );
        check(
            &[("rate", "5/s"), ("key", "ip"), ("per-key", "true"), ("queue", "7")],
            "limit `` holds requests back to 5/s; key: ip, for each key; order: fifo; queue: 7; \
             max-wait: 30s",
        );
        check(
            &[("bandwidth", "1MB/s"), ("key", "ip")],
            "limit `` holds requests back to 1048576 bytes a second of all bodies of a key; key: ip",
        );
    }
}
