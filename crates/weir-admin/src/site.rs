//! The endpoints that one listener serves, its clients, and its limits.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::Semaphore;
use weir_control::Control;
use weir_server::ReservedPaths;
use weir_snapshot::{Access, Secret, Settings};

use crate::access::{AccessRules, Intent, TenantRule};
use crate::hooks::Hooks;

/// The kind of the listener.
#[derive(Clone)]
pub enum Kind {
    /// The admin API on its own address.
    Admin(AccessRules),
    /// The part of the admin API that the main port forwards to. It is read-only, and only the
    /// server knows its clients, so neither peer nor Host is checked.
    Main,
}

/// `management.endpoints.web.exposure.include` and `.exclude`.
#[derive(Clone, Debug)]
pub struct Exposure {
    /// Names, or `*` for all.
    pub include: Vec<String>,
    /// Names, or `*` for all; wins.
    pub exclude: Vec<String>,
}

impl Exposure {
    /// Everything.
    pub fn all() -> Self {
        Self { include: vec!["*".into()], exclude: Vec::new() }
    }

    /// Spring Boot's default: health.
    pub fn health() -> Self {
        Self { include: vec!["health".into()], exclude: Vec::new() }
    }

    fn of(settings: &Settings) -> Self {
        let management = &settings.management;
        Self { include: management.include.clone(), exclude: management.exclude.clone() }
    }

    /// Whether endpoint `name` is served.
    pub fn includes(&self, name: &str) -> bool {
        let listed = |list: &[String]| {
            list.iter().any(|entry| entry == "*" || entry.eq_ignore_ascii_case(name))
        };
        listed(&self.include) && !listed(&self.exclude)
    }
}

/// Bounds on the resources that clients may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest body of one route (1 MiB).
    pub body_bytes_max: usize,
    /// Longest body of a bulk import (256 MiB).
    pub import_bytes_max: usize,
    /// The maximum number of routes in one bulk import (1,000,000).
    pub import_routes_max: usize,
    /// The maximum number of concurrent connections (512); further ones wait.
    pub connections_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes_max: 1024 * 1024,
            import_bytes_max: 256 * 1024 * 1024,
            import_routes_max: 1_000_000,
            connections_max: 512,
        }
    }
}

/// Endpoints that `management.endpoints.web.exposure.*` names and that can be read, in the order of
/// the index. A test compares them with the table that the router is made from.
pub const ENDPOINTS: [&str; 7] =
    ["info", "health", "loggers", "prometheus", "caches", "circuitbreakers", "gateway"];

/// The paths that the data plane reserves on its own port for the endpoints exposed there, which
/// answer at `address`; `None` if the operator configures an address for the admin API.
pub fn on_main_port(settings: &Settings, address: SocketAddr) -> Option<ReservedPaths> {
    let management = &settings.management;
    if management.is_configured() {
        return None;
    }
    let is_served = |name: &&str| {
        let access = if *name == "gateway" { management.gateway } else { Access::ReadOnly };
        management.exposes(name) && access != Access::None
    };
    let names = ENDPOINTS.iter().filter(|name| is_served(name));
    Some(ReservedPaths {
        base: management.base_path.clone(),
        names: names.map(|name| (*name).to_owned()).collect(),
        address,
    })
}

/// The settings of a site.
#[derive(Clone)]
pub struct SiteOptions {
    /// The kind of the listener.
    pub kind: Kind,
    /// `management.endpoints.web.base-path` (`/actuator`).
    pub base_path: String,
    /// The exposed endpoints.
    pub exposure: Exposure,
    /// `management.endpoint.gateway.access`.
    pub gateway: Access,
    /// `actuator.verbose.enabled`.
    pub is_verbose: bool,
    /// `management.endpoint.health.show-details=always`.
    pub health_details: bool,
    /// Some tokens are for tenants alone: the main port, which asks for none, then tells nothing
    /// of routes.
    pub keeps_tenants: bool,
    /// Bounds.
    pub limits: Limits,
}

impl SiteOptions {
    /// The site of the admin API according to `settings`: all endpoints, unless the operator
    /// configures its address; else the exposed ones.
    pub fn admin_of(settings: &Settings) -> Self {
        let management = &settings.management;
        let address = management.listen().map(|address| address.ip());
        let mut hosts = settings.admin.hosts.clone();
        hosts.extend(management.address.map(|address| address.to_string()));
        let rules = AccessRules {
            loopback_only: address.is_none_or(|address| address.is_loopback()),
            token: settings.admin.token.as_ref().map(Secret::expose).map(str::to_owned),
            tenant_tokens: settings.admin.tenant_tokens.iter().map(TenantRule::new).collect(),
            hosts,
        };
        let exposure = match management.is_configured() {
            true => Exposure::of(settings),
            false => Exposure::all(),
        };
        Self { kind: Kind::Admin(rules), exposure, ..Self::common(settings) }
    }

    /// The site of the main port according to `settings`: the exposed endpoints, unless the
    /// operator configures an address for the admin API.
    pub fn main_of(settings: &Settings) -> Self {
        Self { kind: Kind::Main, exposure: Exposure::of(settings), ..Self::common(settings) }
    }

    fn common(settings: &Settings) -> Self {
        Self {
            base_path: settings.management.base_path.clone(),
            gateway: settings.management.gateway,
            is_verbose: settings.actuator_verbose,
            health_details: settings.management.health_details,
            keeps_tenants: !settings.admin.tenant_tokens.is_empty(),
            limits: Limits {
                body_bytes_max: settings.admin.body_bytes_max,
                import_bytes_max: settings.admin.import_bytes_max,
                connections_max: settings.admin.connections_max,
                ..Limits::default()
            },
            ..Self::main()
        }
    }

    /// The admin API with everything in it.
    pub fn admin(rules: AccessRules) -> Self {
        Self {
            kind: Kind::Admin(rules),
            base_path: "/actuator".into(),
            exposure: Exposure::all(),
            gateway: Access::Unrestricted,
            is_verbose: true,
            health_details: false,
            keeps_tenants: false,
            limits: Limits::default(),
        }
    }

    /// The site of the main port without configuration: health only.
    pub fn main() -> Self {
        let rules = AccessRules::default();
        Self { kind: Kind::Main, exposure: Exposure::health(), ..Self::admin(rules) }
    }
}

/// One listener's worth of the admin API.
pub struct Site {
    pub(crate) control: Arc<Control>,
    pub(crate) hooks: Hooks,
    pub(crate) options: SiteOptions,
    /// One bulk import at a time: each may take hundreds of megabytes.
    pub(crate) imports: Semaphore,
}

impl Site {
    /// Serves `control` as `options` say.
    pub fn new(control: Arc<Control>, hooks: Hooks, options: SiteOptions) -> Arc<Self> {
        let base = options.base_path.trim_matches('/');
        let base_path = if base.is_empty() { String::new() } else { format!("/{base}") };
        let options = SiteOptions { base_path, ..options };
        Arc::new(Self { control, hooks, options, imports: Semaphore::new(1) })
    }

    /// Whether this site has an endpoint with this name and intent.
    pub(crate) fn serves(&self, name: &str, intent: Intent) -> bool {
        let reads_only = matches!(self.options.kind, Kind::Main);
        !(reads_only && intent == Intent::Write) && self.allows(name, intent)
    }

    /// Whether the settings permit an endpoint with this name and intent, on any port.
    pub(crate) fn allows(&self, name: &str, intent: Intent) -> bool {
        let is_write = intent == Intent::Write;
        let access = match (name, self.options.gateway) {
            ("gateway" | "apis", Access::None) => false,
            ("gateway" | "apis", Access::ReadOnly) => !is_write,
            _ => true,
        };
        match name {
            // The main port forwards paths below the base path only; this one lies outside of it.
            "apis" if matches!(self.options.kind, Kind::Main) => false,
            // The index lists the exposed endpoints and is always served, except at `/`, where it
            // would hide routes.
            "index" => !self.options.base_path.is_empty(),
            _ => access && self.options.exposure.includes(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Exposure;

    #[test]
    fn exclude_wins_over_include() {
        let check = |include: &[&str], exclude: &[&str], name, expected| {
            let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
            let exposure = Exposure { include: list(include), exclude: list(exclude) };
            assert_eq!(exposure.includes(name), expected, "{exposure:?} {name}");
        };
        check(&["*"], &[], "info", true);
        check(&["*"], &["info"], "info", false);
        check(&["*"], &["*"], "info", false);
        check(&["health", "info"], &[], "info", true);
        check(&["health"], &[], "info", false);
        check(&[], &[], "health", false);
    }
}
