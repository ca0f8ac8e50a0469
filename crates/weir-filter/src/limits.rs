//! Limits in filters: settings, and the key by which requests are counted.

use std::sync::Arc;

use weir_limit::{
    Arrival, CLASS_DEFAULT, Concurrency, Key, LimitSettings, Mode, Order, Rate, Valve,
};

use crate::arrivals::{CostSource, DeadlineSource, class_of, priority};
use crate::context::RequestContext;
use crate::key_source::{KeySource, hash_of};
use crate::ticket::{RateFields, Ticket};

/// A limit of `weir.limits`, or of a filter's own arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitDefinition {
    /// Name; empty for a limit of a filter's own arguments.
    pub name: String,
    /// Settings of the limit.
    pub settings: LimitSettings,
    /// Key by which requests are counted.
    pub key: KeySource,
    /// Weights of keys in fair queueing: requests per round by key; other keys have 1.
    pub weights: Vec<(String, u32)>,
    /// Cost of a request.
    pub cost: CostSource,
    /// Name of the header with the priority of a request.
    pub priority: Option<String>,
    /// Deadline of a request.
    pub deadline: Option<DeadlineSource>,
    /// Responses that get RateLimit fields.
    pub fields: RateFields,
}

impl LimitDefinition {
    /// A setting that contradicts another: its name, the error and the remedy.
    pub fn contradiction(&self) -> Option<(&'static str, &'static str, &'static str)> {
        let settings = &self.settings;
        let (rate, concurrency) = (settings.rate.is_some(), settings.concurrency.is_some());
        let bandwidth = settings.bandwidth.or(settings.stream_bandwidth).is_some();
        if !rate && !concurrency && !bandwidth {
            let help = "write `rate: 500/s`, `concurrency: 64` or `bandwidth: 10MB/s`";
            return Some(("rate", "it limits nothing", help));
        }
        if settings.warm_up_ns > 0 && (!rate || settings.mode == Mode::Window) {
            let what = "`warm-up` is for a rate that is kept evenly";
            return Some(("warm-up", what, "set `rate` and `mode: pace`, or remove `warm-up`"));
        }
        if settings.burst > 1 && settings.mode == Mode::Window {
            let what = "`burst` has no effect with `mode: window`";
            return Some(("burst", what, "remove `burst`, or set `mode: pace`"));
        }
        let is_adaptive = settings.concurrency == Some(Concurrency::Adaptive);
        if settings.concurrency_min > settings.concurrency_max {
            let what = "`concurrency-min` is higher than `concurrency-max`";
            let help = "there are at most 1000 where `concurrency-max` is not set";
            return Some(("concurrency-min", what, help));
        }
        let plain = LimitSettings::default();
        let bounds = |of: &LimitSettings| (of.concurrency_min, of.concurrency_max);
        if !is_adaptive && bounds(settings) != bounds(&plain) {
            let what = "`concurrency-min` and `concurrency-max` are for `concurrency: adaptive`";
            return Some(("concurrency", what, "set that, or remove the bounds"));
        }
        if !rate && self.cost != CostSource::default() {
            return Some(("cost", "`cost` is for a rate", "set `rate`, or remove `cost`"));
        }
        None
    }

    /// A setting about keys that has no effect: its name, the error and the remedy. An operator's
    /// change, which knows no key, skips this.
    pub fn contradiction_of_keys(&self) -> Option<(&'static str, &'static str, &'static str)> {
        let is_fair = self.settings.order == Order::Fair;
        if self.settings.per_key && self.key == KeySource::None {
            let what = "`per-key` gives each key the limit for itself, and the limit has no `key`";
            return Some(("per-key", what, "set `key`, such as `key: ip`, or remove `per-key`"));
        }
        if self.settings.per_key && is_fair {
            let what = "`order: fair` is for keys that share a limit, and `per-key` separates them";
            return Some(("order", what, "remove one of the two"));
        }
        if is_fair && self.key == KeySource::None {
            let what = "`order: fair` gives each key its turn, and the limit has no `key`";
            return Some(("order", what, "set `key`, such as `key: ip`, or remove `order`"));
        }
        if !is_fair && !self.weights.is_empty() {
            let help = "set `order: fair`, or remove `weights`";
            return Some(("weights", "`weights` are for `order: fair`", help));
        }
        None
    }

    /// The first setting that needs a part of HTTP.
    pub fn of_http(&self) -> Option<&'static str> {
        match (&self.cost, &self.key) {
            (_, KeySource::None | KeySource::Ip) => {}
            _ => return Some("key"),
        }
        if let CostSource::Header(_) = self.cost {
            return Some("cost");
        }
        if self.settings.concurrency == Some(Concurrency::Adaptive) {
            return Some("concurrency");
        }
        self.priority.as_ref().map(|_| "priority").or(self.deadline.as_ref().map(|_| "deadline"))
    }
}

/// The ticket of a request for the limit of `definition`.
pub(crate) fn ticket(
    definition: &LimitDefinition,
    valve: &Arc<Valve>,
    context: &RequestContext<'_>,
) -> Ticket {
    let keyed = definition.key != KeySource::None;
    let key = if keyed { key_of(definition, valve, context) } else { Key::default() };
    let head = &*context.head;
    let arrival = Arrival {
        key,
        cost: definition.cost.of(head),
        class: definition.priority.as_ref().map_or(CLASS_DEFAULT, |name| class_of(head, name)),
        patience_ns: definition.deadline.as_ref().and_then(|source| source.patience_ns(head)),
        bytes: 0,
    };
    Ticket { valve: Arc::clone(valve), arrival, keyed, fields: definition.fields }
}

/// The key of a request, whose name is told to the limit if it wants to know.
fn key_of(definition: &LimitDefinition, valve: &Valve, context: &RequestContext<'_>) -> Key {
    definition.key.read(context, |text| {
        let weight = definition.weights.iter().find(|(own, _)| own.as_bytes() == text);
        let hash = hash_of(text);
        valve.name_key(hash, || definition.key.shown(text));
        Key { hash, weight: weight.map_or(1, |(_, weight)| *weight) }
    })
}

/// Applies one setting.
///
/// # Errors
/// The error in the value.
pub fn set_limit(limit: &mut LimitDefinition, name: &str, text: &str) -> Result<(), String> {
    let text = text.trim();
    let settings = &mut limit.settings;
    let whole = |least: u64| {
        let number = text.parse::<u64>().ok().filter(|number| *number >= least);
        number.ok_or_else(|| format!("`{text}` is not a whole number of at least {least}"))
    };
    let duration_ns = || {
        let time = weir_route::parse_duration(text);
        let time = time.map_err(|_| format!("`{text}` is not a duration such as `30s`"))?;
        Ok::<u64, String>(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    };
    match name {
        "rate" => {
            let rate = Rate::parse(text).map_err(|why| format!("`{text}` is not a rate: {why}"))?;
            settings.rate = Some(rate);
        }
        "mode" | "order" | "per-key" | "enforce" | "fields" => return choose(limit, name, text),
        "burst" => settings.burst = whole(1)?,
        "concurrency" => {
            settings.concurrency = Some(match text {
                "adaptive" => Concurrency::Adaptive,
                _ => Concurrency::Fixed(whole(1).map_err(|why| format!("{why}, nor `adaptive`"))?),
            });
        }
        "concurrency-min" => settings.concurrency_min = whole(1)?,
        "concurrency-max" => settings.concurrency_max = whole(1)?,
        "bandwidth" => settings.bandwidth = Some(bytes_per_second(text)?),
        "stream-bandwidth" => settings.stream_bandwidth = Some(bytes_per_second(text)?),
        "queue" => settings.queue_max = usize::try_from(whole(0)?).unwrap_or(usize::MAX),
        "queue-bytes" => {
            let bytes = weir_route::parse_data_size(text);
            settings.queue_bytes_max =
                bytes.map_err(|_| format!("`{text}` is not a size such as `64MB`"))?;
        }
        "max-wait" => settings.wait_max_ns = duration_ns()?,
        "warm-up" => {
            let warm_up_ns = duration_ns()?;
            if warm_up_ns > WARM_UP_MAX_NS {
                return Err(format!("`{text}` is longer than a day"));
            }
            settings.warm_up_ns = warm_up_ns;
        }
        "ageing" => settings.ageing_ns = duration_ns()?,
        "key" => {
            let read = KeySource::parse(text);
            limit.key = read.map_err(|why| format!("`{text}` is not a key: {why}"))?;
        }
        "cost" => limit.cost = CostSource::parse(text)?,
        "priority" => limit.priority = Some(priority(text)?),
        "deadline" => limit.deadline = Some(DeadlineSource::parse(text)?),
        _ => return Err(format!("a limit has no `{name}`; it has {}", LIMIT_FIELDS.join(", "))),
    }
    Ok(())
}

/// Sets the weight of a key.
///
/// # Errors
/// The error in the value.
pub fn set_weight(limit: &mut LimitDefinition, key: &str, text: &str) -> Result<(), String> {
    let weight = text.trim().parse::<u32>().ok().filter(|weight| *weight > 0);
    let weight = weight
        .ok_or_else(|| format!("`{text}` is not a weight: write a whole number of at least 1"))?;
    limit.weights.push((key.to_owned(), weight));
    Ok(())
}

/// Applies a setting with a fixed set of values.
fn choose(limit: &mut LimitDefinition, name: &str, text: &str) -> Result<(), String> {
    let settings = &mut limit.settings;
    match (name, text) {
        ("mode", "pace" | "bucket") => settings.mode = Mode::Pace,
        ("mode", "window") => settings.mode = Mode::Window,
        ("mode", _) => return Err(format!("`{text}` is none of pace, bucket, window")),
        ("order", "fifo") => settings.order = Order::Fifo,
        ("order", "fair") => settings.order = Order::Fair,
        ("order", _) => return Err(format!("`{text}` is neither fifo nor fair")),
        ("enforce", "true" | "false") => settings.enforce = text == "true",
        ("per-key", "true" | "false") => settings.per_key = text == "true",
        ("enforce" | "per-key", _) => return Err(format!("`{text}` is neither true nor false")),
        (_, "refused") => limit.fields = RateFields::Refused,
        (_, "always") => limit.fields = RateFields::Always,
        (_, "never") => limit.fields = RateFields::Never,
        _ => return Err(format!("`{text}` is not one of refused, always, never")),
    }
    Ok(())
}

/// Reads `10MB/s`; the units are those of Spring's DataSize.
fn bytes_per_second(text: &str) -> Result<u64, String> {
    let size = text.strip_suffix("/s").unwrap_or(text).trim();
    match weir_route::parse_data_size(size) {
        Ok(bytes) if bytes >= BANDWIDTH_MIN => Ok(bytes),
        Ok(_) => Err(format!("`{text}` is less than {BANDWIDTH_MIN} bytes a second")),
        Err(_) => Err(format!("`{text}` is no bandwidth: write a size and `/s`, such as `10MB/s`")),
    }
}

/// Minimum bandwidth, in bytes per second.
const BANDWIDTH_MIN: u64 = 1_024;

/// Maximum warm-up time.
const WARM_UP_MAX_NS: u64 = 86_400_000_000_000;

/// Names of the settings of a limit, except `weights`.
pub const LIMIT_FIELDS: &[&str] = &[
    "rate",
    "mode",
    "burst",
    "warm-up",
    "concurrency",
    "concurrency-min",
    "concurrency-max",
    "bandwidth",
    "stream-bandwidth",
    "queue",
    "queue-bytes",
    "max-wait",
    "order",
    "ageing",
    "enforce",
    "key",
    "per-key",
    "cost",
    "priority",
    "deadline",
    "fields",
];

/// The settings that read the request: they belong to a configuration, not to
/// the limit, which outlives it.
pub const REQUEST_FIELDS: &[&str] =
    &["key", "per-key", "weights", "cost", "priority", "deadline", "fields"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_or_refused() {
        let check = |name: &str, text: &str, ok: bool| {
            let mut limit = LimitDefinition::default();
            assert_eq!(set_limit(&mut limit, name, text).is_ok(), ok, "{name} {text}");
            assert_eq!(limit != LimitDefinition::default(), ok && text != "none", "{name} {text}");
        };
        check("rate", "500/s", true);
        check("rate", "0/s", false);
        check("concurrency", "adaptive", true);
        check("concurrency", "some", false);
        check("concurrency-min", "0", false);
        check("bandwidth", "10MB/s", true);
        check("stream-bandwidth", "64KB", true);
        check("bandwidth", "10/min", false);
        check("bandwidth", "100B/s", false);
        check("burst", "0", false);
        check("burst", "5", true);
        check("max-wait", "2s", true);
        check("max-wait", "soon", false);
        check("queue", "-1", false);
        check("queue-bytes", "1MB", true);
        check("queue-bytes", "much", false);
        check("order", "fair", true);
        check("order", "lifo", false);
        check("per-key", "true", true);
        check("per-key", "yes", false);
        check("key", "none", true);
        check("key", "header:X-Tenant", true);
        check("key", "path:{id}", true);
        check("key", "header:", false);
        check("key", "header:bad name", false);
        check("cost", "header:bad:name", false);
        check("priority", "header:bad name", false);
        check("deadline", "header:bad(name)", false);
        check("key", "principal", true);
        check("speed", "1", false);
        check("cost", "3", true);
        check("cost", "header:X-Cost", true);
        check("cost", "0", false);
        check("priority", "header:X-Priority", true);
        check("priority", "high", false);
        check("deadline", "grpc-timeout", true);
        check("deadline", "tomorrow", false);
        check("fields", "always", true);
        check("fields", "yes", false);
        check("ageing", "5s", true);
        check("warm-up", "10s", true);
        check("warm-up", "2d", false);
    }

    #[test]
    fn settings_that_make_no_sense_together() {
        let check = |settings: &[(&str, &str)], expected: Option<&str>| {
            let mut limit = LimitDefinition::default();
            for (name, text) in settings {
                set_limit(&mut limit, name, text).expect("a setting");
            }
            let found = limit.contradiction().map(|(field, ..)| field);
            assert_eq!(found, expected, "{settings:?}");
        };
        check(&[("rate", "5/s"), ("warm-up", "1s"), ("cost", "2")], None);
        check(&[("bandwidth", "1MB/s")], None);
        check(&[("burst", "5")], Some("rate"));
        check(&[("concurrency", "5"), ("warm-up", "1s")], Some("warm-up"));
        check(&[("rate", "5/s"), ("mode", "window"), ("warm-up", "1s")], Some("warm-up"));
        check(&[("concurrency", "5"), ("cost", "2")], Some("cost"));
        check(&[("concurrency", "adaptive"), ("concurrency-max", "2")], None);
        check(&[("concurrency", "5"), ("concurrency-max", "2")], Some("concurrency"));
        check(&[("rate", "5/s"), ("mode", "window"), ("burst", "1")], None);
        check(&[("rate", "5/s"), ("mode", "window"), ("burst", "2")], Some("burst"));
        let upside_down = [("concurrency", "adaptive"), ("concurrency-min", "2000")];
        check(&upside_down, Some("concurrency-min"));
    }

    #[test]
    fn keys_and_their_order_belong_together() {
        let check = |settings: &[(&str, &str)], weights: &[&str], expected: Option<&str>| {
            let mut limit = LimitDefinition::default();
            for (name, text) in settings {
                set_limit(&mut limit, name, text).expect("a setting");
            }
            for key in weights {
                set_weight(&mut limit, key, "4").expect("a weight");
            }
            let found = limit.contradiction_of_keys().map(|(field, ..)| field);
            assert_eq!(found, expected, "{settings:?} {weights:?}");
        };
        check(&[("key", "ip")], &[], None);
        check(&[("key", "ip"), ("order", "fair")], &["a"], None);
        check(&[("order", "fair")], &["a"], Some("order"));
        check(&[("key", "ip")], &["a"], Some("weights"));
        check(&[("key", "ip"), ("per-key", "true")], &[], None);
        check(&[("per-key", "true")], &[], Some("per-key"));
        check(&[("key", "ip"), ("per-key", "true"), ("order", "fair")], &[], Some("order"));
        for bad in ["0", "-1", "1.5", "99999999999", ""] {
            assert!(set_weight(&mut LimitDefinition::default(), "a", bad).is_err(), "{bad}");
        }
    }
}
