//! Timers by route, status and method, with the names and labels that Micrometer gives them for
//! SCG.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_config::{RouteTarget, Upstream};
use weir_filter::{Scheme, Target};
use weir_route::Route;

use crate::http::local::reason;

/// How long a maximum is remembered, as Micrometer does: three windows of a minute.
const MAX_WINDOW: Duration = Duration::from_secs(60);

/// A route is known by the address of its id, which the entry keeps alive. 0 is all that have none
/// of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RouteKey(usize);

impl RouteKey {
    pub(super) fn of(route: &Route<RouteTarget>) -> Self {
        Self(route.id.as_ptr() as usize)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeriesKey {
    pub(super) route: RouteKey,
    pub(super) status: u16,
    pub(super) method: Method,
}

impl Hash for SeriesKey {
    /// In one word: an address leaves its upper bits.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let kind = u64::from(self.status) << 4 | self.method as u64;
        state.write_u64(self.route.0 as u64 ^ kind << 48);
    }
}

#[derive(Debug)]
pub(super) struct Timer {
    pub(super) route_id: Arc<str>,
    route_uri: String,
    pub(super) count: u64,
    pub(super) sum: Duration,
    max: [Duration; 3],
    rotated: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
    Options,
    Other,
}

impl Method {
    pub(super) fn of(name: &[u8]) -> Self {
        match name {
            b"GET" => Self::Get,
            b"HEAD" => Self::Head,
            b"POST" => Self::Post,
            b"PUT" => Self::Put,
            b"PATCH" => Self::Patch,
            b"DELETE" => Self::Delete,
            b"OPTIONS" => Self::Options,
            _ => Self::Other,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
            Self::Other => "OTHER",
        }
    }
}

impl Timer {
    pub(super) fn new(key: SeriesKey, route: &Route<RouteTarget>) -> Self {
        let (route_id, route_uri) = match key.route {
            RouteKey(0) => (Arc::from("_other"), "_other".to_owned()),
            _ => (Arc::clone(&route.id), uri_text(&route.target.upstream)),
        };
        let max = [Duration::ZERO; 3];
        Self { route_id, route_uri, count: 0, sum: Duration::ZERO, max, rotated: Instant::now() }
    }

    pub(super) fn add(&mut self, took: Duration) {
        self.count += 1;
        self.sum += took;
        if took > self.max[0] {
            self.max[0] = took;
        }
        if self.count.is_multiple_of(64) {
            self.rotate();
        }
    }

    pub(super) fn rotate(&mut self) {
        if self.rotated.elapsed() >= MAX_WINDOW {
            self.max = [Duration::ZERO, self.max[0], self.max[1]];
            self.rotated = Instant::now();
        }
    }

    pub(super) fn max(&self) -> Duration {
        self.max.into_iter().max().unwrap_or_default()
    }

    /// As Prometheus has them.
    pub(super) fn labels(&self, key: &SeriesKey) -> String {
        let outcome = match key.status / 100 {
            1 => "INFORMATIONAL",
            2 => "SUCCESSFUL",
            3 => "REDIRECTION",
            4 => "CLIENT_ERROR",
            5 => "SERVER_ERROR",
            _ => "UNKNOWN",
        };
        let phrase = reason(key.status).to_uppercase().replace([' ', '-'], "_").replace('\'', "");
        let status = if phrase.is_empty() { key.status.to_string() } else { phrase };
        format!(
            "httpMethod=\"{}\",httpStatusCode=\"{}\",outcome=\"{outcome}\",routeId=\"{}\",\
             routeUri=\"{}\",status=\"{status}\"",
            key.method.name(),
            key.status,
            escape(&self.route_id),
            escape(&self.route_uri),
        )
    }
}

fn uri_text(upstream: &Upstream) -> String {
    match upstream {
        Upstream::Http(target) => target_text(target),
        Upstream::Balanced(service) => format!("lb://{}", service.name),
        Upstream::None => "no://op".to_owned(),
    }
}

fn target_text(target: &Target) -> String {
    let scheme = match target.scheme {
        Scheme::Http => "http",
        Scheme::Https => "https",
        Scheme::Lb => "lb",
    };
    format!("{scheme}://{}:{}", target.host, target.port)
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
