//! Address of Redis and its uses: `spring.data.redis.*`, `redis-rate-limiter.*`,
//! `filter.request-rate-limiter.*`.

use std::sync::Arc;

use weir_filter::RedisSettings;
use weir_filter::filter::{RateHeaders, RateLimiting};
use weir_route::parse_status;

use crate::diagnostic::{Code, Diagnostic};
use crate::routes::names;
use crate::spring::{self, Layers, Node};
use crate::value;

/// The prefix since Spring Boot 3, and the older one.
const ROOTS: [&str; 2] = ["spring.data.redis", "spring.redis"];

const FLAG: &str = "`true` or `false`";
const HEADER: &str = "the name of a header";
const TIME: &str = "a duration such as `500ms`";

/// Defaults of every RequestRateLimiter.
pub(crate) fn rate_limiting(layers: &Layers<'_>, problems: &mut Vec<Diagnostic>) -> RateLimiting {
    let mut reading = Reading { layers, problems };
    let usual = RateLimiting::default();
    let gateway = |name: &str| layers.first_of(&names(name));
    let mut header = |name: &str, usual: String| {
        let node = gateway(&format!("redis-rate-limiter.{name}-header"));
        reading.get(node, HEADER, header_name).unwrap_or(usual)
    };
    let mut headers = RateHeaders {
        include: true,
        remaining: header("remaining", usual.headers.remaining),
        requested_tokens: header("requested-tokens", usual.headers.requested_tokens),
        burst_capacity: header("burst-capacity", usual.headers.burst_capacity),
        replenish_rate: header("replenish-rate", usual.headers.replenish_rate),
    };
    let node = gateway("redis-rate-limiter.include-headers");
    headers.include = reading.get(node, FLAG, value::bool).unwrap_or(true);
    let node = gateway("filter.request-rate-limiter.deny-empty-key");
    let deny_empty_key = reading.get(node, FLAG, value::bool).unwrap_or(usual.deny_empty_key);
    let node = gateway("filter.request-rate-limiter.empty-key-status-code");
    let status =
        reading.get(node, "a status such as `403` or `FORBIDDEN`", |text| parse_status(text).ok());
    let empty_key_status = status.unwrap_or(usual.empty_key_status);
    RateLimiting { redis: redis(&mut reading), headers, deny_empty_key, empty_key_status }
}

/// Address of Redis; `None` if it is not configured.
fn redis(reading: &mut Reading<'_, '_>) -> Option<Arc<RedisSettings>> {
    let layers = reading.layers;
    let root = ROOTS.into_iter().find(|root| {
        let says = |name: &&str| layers.find(&format!("{root}.{name}")).is_some();
        ["host", "port", "url", "sentinel", "cluster"].iter().any(says)
    })?;
    let node = |name: &str| layers.find(&format!("{root}.{name}"));
    let usual = RedisSettings::default();
    let host = reading.get(node("host"), "a host name", text).unwrap_or("localhost".to_owned());
    let port = reading.get(node("port"), "a port", |text| text.parse().ok()).unwrap_or(6379);
    let mut settings = RedisSettings { nodes: vec![(host, port)], ..usual };
    settings.username = reading.get(node("username"), "a name", text);
    settings.password = reading.get(node("password"), "a password", text);
    let database = reading.get(node("database"), "a number from 0", |text| text.parse().ok());
    settings.database = database.map_or(0, |number: u16| number.into());
    let tls = node("ssl.enabled").or_else(|| node("ssl").filter(|node| node.text().is_some()));
    settings.tls = reading.get(tls, FLAG, value::bool).unwrap_or(false);
    if let Some(of_url) = reading.get(node("url"), "a URL such as `redis://host:6379`", of_url) {
        settings = of_url;
    }
    for name in ["cluster.nodes", "sentinel.nodes"] {
        reading.nodes(node(name), &mut settings);
    }
    settings.sentinel_master = reading.get(node("sentinel.master"), "a name", text);
    let connect = reading.get(node("connect-timeout"), TIME, milliseconds);
    settings.connect_timeout_ms = connect.unwrap_or(settings.connect_timeout_ms);
    let bound = reading.get(layers.find("weir.redis.timeout"), TIME, milliseconds);
    let own = reading.get(node("timeout"), TIME, milliseconds);
    settings.timeout_ms = bound.unwrap_or(settings.timeout_ms).min(own.unwrap_or(u64::MAX));
    Some(Arc::new(settings))
}

struct Reading<'a, 'l> {
    layers: &'a Layers<'l>,
    problems: &'a mut Vec<Diagnostic>,
}

impl Reading<'_, '_> {
    /// The value of a field, if it is set; invalid values are reported.
    fn get<T>(
        &mut self,
        node: Option<Node<'_>>,
        what: &str,
        read: fn(&str) -> Option<T>,
    ) -> Option<T> {
        let node = node?;
        let written = node.text()?;
        let text = self.layers.resolve(&written).0;
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        let found = read(text);
        if found.is_none() {
            // The value may be a password, or a URL with one.
            let found = Diagnostic::new(Code::InvalidValue, format!("this is not {what}"));
            self.problems.push(found.at(node.span()).help(format!("write {what}")).secret(true));
        }
        found
    }

    fn nodes(&mut self, node: Option<Node<'_>>, settings: &mut RedisSettings) {
        let Some(node) = node else { return };
        let mut nodes = Vec::new();
        for text in spring::texts(self.layers, node) {
            match address(text.trim()) {
                Some(address) => nodes.push(address),
                None => {
                    let message = format!("`{}` is no host with a port", text.trim());
                    let found = Diagnostic::new(Code::InvalidValue, message).at(node.span());
                    self.problems.push(found.help("write a list such as `a:6379,b:6379`"));
                }
            }
        }
        if !nodes.is_empty() {
            settings.nodes = nodes;
        }
    }
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn header_name(text: &str) -> Option<String> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    text.bytes().all(is_token).then(|| text.to_owned())
}

fn milliseconds(text: &str) -> Option<u64> {
    let time = value::duration(text).filter(|time| !time.is_zero())?;
    u64::try_from(time.as_millis()).ok()
}

/// Parses `host:port`, or a host alone.
fn address(text: &str) -> Option<(String, u16)> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
            (host, port.parse().ok()?)
        }
        _ => (text, 6379),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

/// Parses `redis://user:password@host:port/database`, or `rediss:` for TLS.
fn of_url(text: &str) -> Option<RedisSettings> {
    let (scheme, rest) = text.split_once("://")?;
    let tls = match scheme {
        "redis" => false,
        "rediss" => true,
        _ => return None,
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, place) = match authority.rsplit_once('@') {
        Some((user, place)) => (Some(user), place),
        None => (None, authority),
    };
    let decoded = |text: &str| {
        let text = percent_encoding::percent_decode_str(text).decode_utf8().ok()?.into_owned();
        (!text.is_empty()).then_some(text)
    };
    let (name, password) = user.map_or(("", ""), |user| user.split_once(':').unwrap_or((user, "")));
    let path = path.split('?').next().unwrap_or_default();
    Some(RedisSettings {
        nodes: vec![address(place)?],
        username: decoded(name),
        password: decoded(password),
        database: if path.is_empty() { 0 } else { path.parse::<u16>().ok()?.into() },
        tls,
        ..RedisSettings::default()
    })
}

#[cfg(test)]
mod tests {
    use super::{address, of_url};

    #[test]
    fn urls_and_addresses() {
        let read = of_url("rediss://us%40er:p%3Aw@[::1]:7000/3").expect("a place");
        assert_eq!(read.nodes, [("::1".to_owned(), 7000)]);
        assert_eq!(
            (read.username.as_deref(), read.password.as_deref()),
            (Some("us@er"), Some("p:w"))
        );
        assert_eq!((read.database, read.tls), (3, true));
        let read = of_url("redis://:secret@h").expect("a place");
        assert_eq!((read.username, read.password.as_deref()), (None, Some("secret")));
        assert_eq!(read.nodes, [("h".to_owned(), 6379)]);
        for wrong in ["h:1", "http://h", "redis://", "redis://h/x", "redis://h:x"] {
            assert!(of_url(wrong).is_none(), "{wrong}");
        }
        assert_eq!(address("h"), Some(("h".to_owned(), 6379)));
        assert_eq!(address("::1"), Some(("::1".to_owned(), 6379)));
    }
}
