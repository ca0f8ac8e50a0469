//! Spring Cloud Config: `spring.cloud.config.*` (class `ConfigClientProperties`).

use std::fmt;
use std::time::Duration;

use super::properties::Properties;
use super::retry::Retry;
use super::url::shown;
use crate::spring::{Level, Node};
use weir_snapshot::Secret;

const PREFIX: &str = "spring.cloud.config";
/// Default address of the server.
const DEFAULT_URI: &str = "http://localhost:8888";

/// A Spring Cloud Config server, and the query to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigServer {
    /// Base URLs; if one fails, the next is tried. May contain user and password.
    pub uris: Vec<Secret>,
    /// User for basic authentication; overrides that of the URLs.
    pub username: Option<String>,
    /// Its password.
    pub password: Option<Secret>,
    /// Sent as `X-Config-Token`.
    pub token: Option<Secret>,
    /// `{application}`.
    pub application: String,
    /// `{profiles}`.
    pub profiles: Vec<String>,
    /// `{label}`: the first that the server knows is used; if empty, none is sent.
    pub labels: Vec<String>,
    /// Retries at start.
    pub retry: Retry,
    /// Timeout of connecting.
    pub connect_timeout: Duration,
    /// Timeout of a whole answer.
    pub read_timeout: Duration,
    /// Further request headers.
    pub headers: Vec<(String, Secret)>,
    /// Interval of polling for changes; `None` polls only on request.
    pub watch: Watching,
    /// Maximum size of an answer in bytes.
    pub answer_bytes_max: usize,
}

/// Interval of polling for changes; `None` disables polling.
pub type Watching = Option<Duration>;

impl ConfigServer {
    /// The server of `location` (after `configserver:`) and the properties; `None` if the
    /// properties disable it.
    pub(super) fn read(location: &str, properties: &mut Properties<'_>) -> Option<(Self, bool)> {
        let name = |rest: &str| format!("{PREFIX}.{rest}");
        if !properties.flag(&name("enabled"), true) {
            return None;
        }
        let (location, query) = location.split_once('?').unwrap_or((location, ""));
        let own = |wanted: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| *name == wanted).map(|(_, value)| value.trim())
        };
        let mut uris = properties.list(&name("uri"));
        if !location.trim().is_empty() {
            uris = vec![location.trim().to_owned()];
        }
        if uris.is_empty() {
            uris.push(DEFAULT_URI.to_owned());
        }
        let own_fail_fast = own("fail-fast").and_then(crate::value::bool);
        let fail_fast = properties.flag(&name("fail-fast"), false);
        let fail_fast = own_fail_fast.unwrap_or(fail_fast);
        let mut retry = Self::retry(properties, fail_fast);
        if let Some(count) = own("max-attempts").and_then(|text| text.parse::<u32>().ok()) {
            retry.attempts_max = count.clamp(1, 1_000);
        }
        let mut profiles = properties.list(&name("profile"));
        if profiles.is_empty() {
            profiles = properties.profiles.to_vec();
        }
        let application = properties.text(&name("name"));
        let looks = properties.flag(&name("watch.enabled"), false);
        let delay = properties.duration(&name("watch.delay"), Duration::from_secs(10));
        let server = Self {
            uris: uris.iter().map(|uri| Secret::new(uri)).collect(),
            username: properties.text(&name("username")),
            password: properties.secret(&[&name("password")]),
            token: properties.secret(&[&name("token")]),
            application: application.unwrap_or_else(|| properties.application()),
            profiles,
            labels: properties.list(&name("label")),
            retry,
            connect_timeout: properties
                .duration(&name("request-connect-timeout"), Duration::from_secs(10)),
            read_timeout: properties
                .duration(&name("request-read-timeout"), Duration::from_secs(185)),
            headers: headers(properties),
            watch: looks.then_some(delay.max(Duration::from_millis(100))),
            answer_bytes_max: properties.bytes_max(),
        };
        Some((server, fail_fast))
    }

    /// Spring retries only if a failure would end the start.
    fn retry(properties: &mut Properties<'_>, fail_fast: bool) -> Retry {
        let name = |rest: &str| format!("{PREFIX}.retry.{rest}");
        if !fail_fast && !properties.says(&format!("{PREFIX}.retry")) {
            return Retry::NONE;
        }
        retry(properties, &name)
    }

    /// Level of the server's documents: above files, unless the properties say otherwise. `legacy`
    /// is set for a bootstrap file.
    pub(super) fn level(properties: &mut Properties<'_>, legacy: bool) -> Option<Level> {
        let name = |rest: &str| format!("{PREFIX}.{rest}");
        let allows = properties.flag(&name("allow-override"), true);
        let yields = properties.flag(&name("override-none"), false);
        let over = properties.flag(&name("override-system-properties"), true);
        match (allows, yields, legacy) {
            (false, ..) => Some(Level::OverEnvironment),
            (true, true, _) => Some(Level::Beneath),
            (true, false, true) if over => Some(Level::OverEnvironment),
            (true, false, true) => Some(Level::Remote),
            (true, false, false) => None,
        }
    }
}

/// `*.initial-interval`, `multiplier`, `max-interval` and `max-attempts`.
pub(super) fn retry(properties: &mut Properties<'_>, name: &dyn Fn(&str) -> String) -> Retry {
    let milliseconds = |count: i64| Duration::from_millis(u64::try_from(count).unwrap_or_default());
    let multiplier = properties.factor(&name("multiplier")).unwrap_or(1.1);
    Retry {
        attempts_max: u32::try_from(properties.number(&name("max-attempts"), 6)).unwrap_or(1),
        interval: milliseconds(properties.number(&name("initial-interval"), 1_000)),
        multiplier_percent: (multiplier.clamp(1.0, 100.0) * 100.0) as u32,
        interval_max: milliseconds(properties.number(&name("max-interval"), 2_000)),
    }
}

fn headers(properties: &Properties<'_>) -> Vec<(String, Secret)> {
    let mut found: Vec<(String, Secret)> = Vec::new();
    let path = format!("{PREFIX}.headers");
    for node in properties.layers.all(&path).flat_map(Node::children) {
        let Some(text) = node.text() else { continue };
        if !found.iter().any(|(name, _)| name.eq_ignore_ascii_case(node.key())) {
            let value = properties.layers.resolve(&text).0;
            found.push((node.key().to_owned(), Secret::new(&value)));
        }
    }
    found
}

impl fmt::Display for ConfigServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uris: Vec<String> = self.uris.iter().map(|uri| shown(uri.expose())).collect();
        let profiles = self.profiles.join(",");
        write!(f, "configserver:{}/{}/{profiles}", uris.join(","), self.application)?;
        match self.labels.is_empty() {
            true => Ok(()),
            false => write!(f, "/{}", self.labels.join(",")),
        }
    }
}
