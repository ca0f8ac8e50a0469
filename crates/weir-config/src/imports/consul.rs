//! Consul's key-value store as a source of configuration: `spring.cloud.consul.config.*` (class
//! `ConsulConfigProperties`).

use std::fmt;
use std::time::Duration;

use super::properties::Properties;
use super::retry::Retry;
use super::spring_config::{Watching, retry};
use weir_snapshot::Secret;

const PREFIX: &str = "spring.cloud.consul.config";

/// A Consul agent, and the keys to read from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsulServer {
    /// `http` or `https`.
    pub scheme: String,
    /// Host of the agent.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// ACL token.
    pub token: Option<Secret>,
    /// Folders of keys, or keys with [`ConsulFormat::Files`]; later ones override earlier ones. The
    /// flag is set for those of one profile.
    pub contexts: Vec<(String, bool)>,
    /// Format of values.
    pub format: ConsulFormat,
    /// The key below a context that contains its text.
    pub data_key: String,
    /// Retries at start.
    pub retry: Retry,
    /// Pause between two blocking queries; `None` disables watching.
    pub watch: Watching,
    /// Maximum duration of a blocking query.
    pub wait: Duration,
    /// Maximum size of an answer in bytes.
    pub answer_bytes_max: usize,
}

/// Format of Consul's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsulFormat {
    /// Each key is a property.
    KeyValue,
    /// One value is YAML.
    Yaml,
    /// One value is a properties text.
    Properties,
    /// Each value is a file; the file name determines its syntax.
    Files,
}

impl ConsulServer {
    /// The agent in `location` (after `consul:`) and the properties, and whether it is required at
    /// start with a bootstrap file; `None` if the properties disable it.
    ///
    /// # Errors
    /// The correct syntax.
    pub(super) fn read(
        location: &str,
        properties: &mut Properties<'_>,
    ) -> Result<Option<(Self, bool)>, String> {
        let name = |rest: &str| format!("{PREFIX}.{rest}");
        let on = properties.flag("spring.cloud.consul.enabled", true);
        if !on || !properties.flag(&name("enabled"), true) {
            return Ok(None);
        }
        let mut host = properties.text("spring.cloud.consul.host");
        let mut port = properties.number("spring.cloud.consul.port", 8_500);
        let location = location.trim().trim_start_matches("//");
        let (authority, path) = location.split_once('/').unwrap_or((location, ""));
        if !authority.is_empty() {
            let (own, number) = authority.rsplit_once(':').unwrap_or((authority, ""));
            let number = if number.is_empty() { Some(port) } else { number.parse().ok() };
            port = number.ok_or_else(|| "write `consul:host:8500`".to_owned())?;
            host = Some(own.to_owned());
        }
        let format = match properties.text(&name("format")).as_deref() {
            Some("YAML") => ConsulFormat::Yaml,
            Some("PROPERTIES") => ConsulFormat::Properties,
            Some("FILES") => ConsulFormat::Files,
            _ => ConsulFormat::KeyValue,
        };
        let contexts = match path.is_empty() {
            true => contexts(properties, format),
            // `consul:host:8500/one;/two`: only these contexts.
            false => {
                let own = path.split(';').map(|one| one.trim_matches('/').to_owned());
                own.filter(|one| !one.is_empty()).map(|one| (one, false)).collect()
            }
        };
        let scheme = properties.text("spring.cloud.consul.scheme");
        let watches = properties.flag(&name("watch.enabled"), true);
        let delay = properties.duration(&name("watch.delay"), Duration::from_secs(1));
        let wait = properties.number(&name("watch.wait-time"), 55).clamp(1, 600);
        let fail_fast = properties.flag(&name("fail-fast"), true);
        let server = Self {
            scheme: scheme.unwrap_or_else(|| "http".to_owned()),
            host: host.unwrap_or_else(|| "localhost".to_owned()),
            port: u16::try_from(port).unwrap_or(8_500),
            token: properties.secret(&[&name("acl-token"), "spring.cloud.consul.token"]),
            contexts,
            format,
            data_key: properties.text(&name("data-key")).unwrap_or_else(|| "data".to_owned()),
            retry: match properties.says("spring.cloud.consul.retry") {
                true => retry(properties, &|rest| format!("spring.cloud.consul.retry.{rest}")),
                false => Retry::NONE,
            },
            watch: watches.then_some(delay.max(Duration::from_millis(100))),
            wait: Duration::from_secs(u64::try_from(wait).unwrap_or(55)),
            answer_bytes_max: properties.bytes_max(),
        };
        Ok(Some((server, fail_fast)))
    }
}

/// `config/application`, `config/application,profile`, `config/name`, `config/name,profile` (class
/// `ConsulPropertySources`).
fn contexts(properties: &mut Properties<'_>, format: ConsulFormat) -> Vec<(String, bool)> {
    let name = |rest: &str| format!("{PREFIX}.{rest}");
    let mut prefixes = properties.list(&name("prefixes"));
    if prefixes.is_empty() {
        let one = properties.text(&name("prefix"));
        prefixes.push(one.unwrap_or_else(|| "config".to_owned()));
    }
    let default = properties.text(&name("default-context"));
    let default = default.unwrap_or_else(|| "application".to_owned());
    let own = properties.text(&name("name")).unwrap_or_else(|| properties.application());
    let separator = properties.text(&name("profile-separator"));
    let (separator, endings): (String, &[&str]) = match format {
        ConsulFormat::Files => ("-".to_owned(), &[".yml", ".yaml", ".properties"]),
        _ => (separator.unwrap_or_else(|| ",".to_owned()), &[""]),
    };
    let mut contexts = Vec::new();
    for prefix in prefixes {
        let prefix = prefix.trim_matches('/');
        let slash = if prefix.is_empty() { "" } else { "/" };
        for base in [&default, &own] {
            let base = format!("{prefix}{slash}{base}");
            contexts.extend(endings.iter().map(|ending| (format!("{base}{ending}"), false)));
            for profile in properties.profiles {
                let specific = format!("{base}{separator}{profile}");
                contexts.extend(endings.iter().map(|ending| (format!("{specific}{ending}"), true)));
            }
        }
    }
    let mut seen = Vec::new();
    contexts.retain(|context| {
        let new = !seen.contains(context);
        seen.push(context.clone());
        new
    });
    contexts
}

impl fmt::Display for ConsulServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "consul:{}://{}:{}", self.scheme, self.host, self.port)?;
        let contexts: Vec<&str> = self.contexts.iter().map(|(name, _)| name.as_str()).collect();
        write!(f, "/{}", contexts.join(";"))
    }
}
