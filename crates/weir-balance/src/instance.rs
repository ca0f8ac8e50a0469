//! An instance of a service, as a registry or a configuration file describes it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use weir_filter::{Scheme, Target};

/// An instance (Spring class `ServiceInstance`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Unique within its service; `host:port` if the registry has no id.
    pub id: String,
    /// Its address.
    pub target: Arc<Target>,
    /// Further attributes from the registry, such as `zone` or `version`.
    pub metadata: BTreeMap<String, String>,
    /// Relative share of requests; 1 unless the registry says otherwise, 0 takes none.
    pub weight: u32,
    /// The reason why it takes no requests; `None` if it does.
    pub unused: Option<Unused>,
}

/// Reasons why an instance takes no requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unused {
    /// The registry does not call it up (`DOWN`, `STARTING`, `OUT_OF_SERVICE`, a failing check).
    NotUp,
    /// It is shutting down.
    Leaving,
    /// Standby: SRV records of other instances have priority.
    Standby,
    /// The registry or an operator disabled it, or gave it weight 0.
    Disabled,
    /// It serves TLS only, which weir does not speak to upstreams yet.
    NeedsTls,
}

impl Instance {
    /// An instance at `host`:`port` that takes requests; `host` is brought into lower case.
    pub fn new(host: &str, port: u16, secure: bool) -> Self {
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        let host = if bare.contains(':') { format!("[{bare}]") } else { bare };
        let scheme = if secure { Scheme::Https } else { Scheme::Http };
        Self {
            id: format!("{host}:{port}"),
            target: Arc::new(Target::new(scheme, host, port)),
            metadata: BTreeMap::new(),
            weight: 1,
            unused: secure.then_some(Unused::NeedsTls),
        }
    }

    /// Whether `host` can stand in a URI: a name, an IPv4 or an IPv6 address, nothing else.
    /// Registry data is not trusted.
    pub fn is_host(host: &str) -> bool {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        let name = !bare.is_empty() && bare.len() <= 253 && bare.chars().all(is_name);
        name || bare.parse::<std::net::Ipv6Addr>().is_ok()
    }

    /// The availability zone in its metadata.
    pub fn zone(&self) -> Option<&str> {
        self.metadata.get("zone").map(String::as_str)
    }
}

impl fmt::Display for Unused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotUp => "the registry does not report it as up",
            Self::Leaving => "it is shutting down",
            Self::Standby => "others have a lower priority number and come first",
            Self::Disabled => "it is disabled",
            Self::NeedsTls => "it needs TLS, which weir does not speak to upstreams yet",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Instance;

    #[test]
    fn hosts() {
        for good in ["a", "a.b-c_d", "10.0.0.1", "::1", "[::1]", "FE80::1"] {
            assert!(Instance::is_host(good), "{good}");
        }
        for bad in ["", "a b", "a/b", "a:1", "a\r\nX: y", "é", "user@host"] {
            assert!(!Instance::is_host(bad), "{bad}");
        }
        assert_eq!(Instance::new("::1", 80, false).id, "[::1]:80");
        assert_eq!(Instance::new("Host", 81, false).id, "host:81");
    }
}
