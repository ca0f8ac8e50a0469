//! Settings of service registries: data only; `weir-control` acts on it.

use std::time::Duration;

use crate::secret::Secret;

/// Settings of all service registries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovery {
    /// `spring.cloud.discovery.enabled` (true): `false` asks no registry.
    pub enabled: bool,
    /// `spring.application.name` (`weir`): the name weir registers itself under.
    pub application: String,
    /// `weir.discovery.start-timeout` (5 s): how long a start waits for the first answers.
    pub start_timeout: Duration,
    /// `weir.discovery.empty-grace` (2 min): a registry that had instances and reports none is not
    /// believed for this long.
    pub empty_grace: Duration,
    /// `weir.discovery.answer-bytes-max` (64 MiB): maximum size of a registry's answer.
    pub answer_bytes_max: usize,
    /// `spring.cloud.gateway.…discovery.locator.enabled`: services have routes of their own.
    pub locator: bool,
    /// `eureka.*`.
    pub eureka: Eureka,
    /// `spring.cloud.consul.*`.
    pub consul: Consul,
    /// `spring.cloud.nacos.*`.
    pub nacos: Nacos,
    /// `spring.cloud.zookeeper.*`.
    pub zookeeper: Zookeeper,
    /// `spring.cloud.kubernetes.*`.
    pub kubernetes: Kubernetes,
    /// `weir.discovery.dns.*`.
    pub dns: Dns,
}

/// `eureka.client.*` and `eureka.instance.*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Eureka {
    /// Any `eureka.*` property is there.
    pub configured: bool,
    /// `eureka.client.enabled` (true).
    pub enabled: bool,
    /// `eureka.client.service-url.<zone>`: base URLs by zone, in the order written.
    pub urls: Vec<(String, Vec<String>)>,
    /// `eureka.client.fetch-registry` (true).
    pub fetch: bool,
    /// `eureka.client.register-with-eureka` (true).
    pub register: bool,
    /// `eureka.client.registry-fetch-interval-seconds` (30).
    pub interval: Duration,
    /// `eureka.client.disable-delta` (false).
    pub delta: bool,
    /// `eureka.client.filter-only-up-instances` (true).
    pub only_up: bool,
    /// `eureka.client.prefer-same-zone-eureka` (true).
    pub same_zone: bool,
    /// `eureka.client.region` (`us-east-1`).
    pub region: String,
    /// `eureka.client.availability-zones.<region>`, by region.
    pub zones: Vec<(String, Vec<String>)>,
    /// `eureka.client.eureka-server-read-timeout-seconds` (8).
    pub timeout: Duration,
    /// `eureka.instance.appname` (the application's name).
    pub app: Option<String>,
    /// `eureka.instance.instance-id`.
    pub instance_id: Option<String>,
    /// `eureka.instance.hostname`.
    pub hostname: Option<String>,
    /// `eureka.instance.ip-address`.
    pub ip: Option<String>,
    /// `eureka.instance.prefer-ip-address` (false).
    pub prefer_ip: bool,
    /// `eureka.instance.lease-renewal-interval-in-seconds` (30).
    pub renewal: Duration,
    /// `eureka.instance.lease-expiration-duration-in-seconds` (90).
    pub expiration: Duration,
    /// `eureka.instance.metadata-map.*`.
    pub metadata: Vec<(String, String)>,
}

/// `spring.cloud.consul.*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consul {
    /// Any `spring.cloud.consul.*` property is there.
    pub configured: bool,
    /// `spring.cloud.consul.enabled` and `spring.cloud.consul.discovery.enabled` (true).
    pub enabled: bool,
    /// `spring.cloud.consul.scheme` (`http`).
    pub scheme: String,
    /// `spring.cloud.consul.host` (`localhost`).
    pub host: String,
    /// `spring.cloud.consul.port` (8500).
    pub port: u16,
    /// `spring.cloud.consul.token` or `spring.cloud.consul.discovery.acl-token`.
    pub token: Option<Secret>,
    /// `spring.cloud.consul.discovery.default-query-tag`.
    pub tag: Option<String>,
    /// `spring.cloud.consul.discovery.datacenters.<service>`.
    pub datacenters: Vec<(String, String)>,
    /// `spring.cloud.consul.discovery.query-passing` (true): failing instances take no requests.
    pub passing: bool,
    /// `spring.cloud.consul.discovery.register` (true).
    pub register: bool,
    /// `spring.cloud.consul.discovery.service-name`.
    pub service: Option<String>,
    /// `spring.cloud.consul.discovery.instance-id`.
    pub instance_id: Option<String>,
    /// `spring.cloud.consul.discovery.hostname` or `.ip-address`.
    pub address: Option<String>,
    /// `spring.cloud.consul.discovery.tags`.
    pub tags: Vec<String>,
    /// `spring.cloud.consul.discovery.health-check-path` (`/actuator/health`).
    pub check_path: String,
    /// `spring.cloud.consul.discovery.health-check-interval` (10 s).
    pub check_interval: Duration,
}

/// `spring.cloud.nacos.*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nacos {
    /// Any `spring.cloud.nacos.discovery.*` property or the server's address is there.
    pub configured: bool,
    /// `spring.cloud.nacos.discovery.enabled` (true).
    pub enabled: bool,
    /// `spring.cloud.nacos.server-addr` or `….discovery.server-addr` (`127.0.0.1:8848`).
    pub servers: Vec<String>,
    /// `spring.cloud.nacos.discovery.namespace` (public).
    pub namespace: String,
    /// `spring.cloud.nacos.discovery.group` (`DEFAULT_GROUP`).
    pub group: String,
    /// `spring.cloud.nacos.discovery.cluster-name` (`DEFAULT`): where weir registers itself.
    pub cluster: String,
    /// `spring.cloud.nacos.username` or `….discovery.username`.
    pub username: Option<String>,
    /// `spring.cloud.nacos.password` or `….discovery.password`.
    pub password: Option<Secret>,
    /// `spring.cloud.nacos.discovery.watch-delay` (5 s; Spring's client is told).
    pub interval: Duration,
    /// `spring.cloud.nacos.discovery.register-enabled` (true).
    pub register: bool,
    /// `spring.cloud.nacos.discovery.service` (the application's name).
    pub service: Option<String>,
    /// `spring.cloud.nacos.discovery.ip`.
    pub ip: Option<String>,
    /// `spring.cloud.nacos.discovery.weight` (1).
    pub weight: String,
    /// `spring.cloud.nacos.discovery.ephemeral` (true).
    pub ephemeral: bool,
    /// `spring.cloud.nacos.discovery.metadata.*`.
    pub metadata: Vec<(String, String)>,
}

/// `spring.cloud.zookeeper.*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zookeeper {
    /// Any `spring.cloud.zookeeper.*` property but those of a configuration server is there.
    pub configured: bool,
    /// `spring.cloud.zookeeper.enabled` and `spring.cloud.zookeeper.discovery.enabled` (true).
    pub enabled: bool,
    /// `spring.cloud.zookeeper.connect-string` (`localhost:2181`): servers with commas, and the
    /// node below which everything is.
    pub servers: String,
    /// `spring.cloud.zookeeper.session-timeout` (60 s).
    pub session_timeout: Duration,
    /// `spring.cloud.zookeeper.connection-timeout` (15 s).
    pub connection_timeout: Duration,
    /// `weir.discovery.zookeeper.username`: the user of the scheme `digest`.
    pub user: Option<String>,
    /// `weir.discovery.zookeeper.password`.
    pub password: Option<Secret>,
    /// `spring.cloud.zookeeper.discovery.root` (`/services`).
    pub root: String,
    /// `spring.cloud.zookeeper.prefix`: the node below the root where `dependencies` are.
    pub prefix: String,
    /// `spring.cloud.zookeeper.dependencies.<alias>.path`, by alias.
    pub dependencies: Vec<(String, String)>,
    /// `spring.cloud.zookeeper.discovery.register` (true).
    pub register: bool,
    /// `spring.cloud.zookeeper.discovery.instance-id`.
    pub instance_id: Option<String>,
    /// `spring.cloud.zookeeper.discovery.instance-host`.
    pub host: Option<String>,
    /// `spring.cloud.zookeeper.discovery.instance-ip-address`.
    pub ip: Option<String>,
    /// `spring.cloud.zookeeper.discovery.prefer-ip-address` (false).
    pub prefer_ip: bool,
    /// `spring.cloud.zookeeper.discovery.instance-port`.
    pub port: Option<u16>,
    /// `spring.cloud.zookeeper.discovery.instance-ssl-port`.
    pub ssl_port: Option<u16>,
    /// `spring.cloud.zookeeper.discovery.initial-status` (`UP`).
    pub status: String,
    /// `spring.cloud.zookeeper.discovery.uri-spec` (`{scheme}://{address}:{port}`).
    pub uri_spec: String,
    /// `spring.cloud.zookeeper.discovery.metadata.*`.
    pub metadata: Vec<(String, String)>,
}

/// `spring.cloud.kubernetes.*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kubernetes {
    /// Any `spring.cloud.kubernetes.*` property is there.
    pub configured: bool,
    /// `spring.cloud.kubernetes.enabled` and `….discovery.enabled` (true).
    pub enabled: bool,
    /// `spring.cloud.kubernetes.discovery.all-namespaces` (false).
    pub all_namespaces: bool,
    /// `spring.cloud.kubernetes.discovery.namespaces`.
    pub namespaces: Vec<String>,
    /// `spring.cloud.kubernetes.discovery.service-labels.*`.
    pub labels: Vec<(String, String)>,
    /// `spring.cloud.kubernetes.discovery.primary-port-name`.
    pub port_name: Option<String>,
    /// `spring.cloud.kubernetes.discovery.known-secure-ports` (443, 8443).
    pub secure_ports: Vec<String>,
    /// `spring.cloud.kubernetes.discovery.include-not-ready-addresses` (false).
    pub not_ready: bool,
    /// Prefix of the names of labels in metadata; `None` leaves labels out.
    pub labels_prefix: Option<String>,
    /// Prefix of the names of annotations; `None` leaves annotations out.
    pub annotations_prefix: Option<String>,
    /// Prefix of the names of ports (`port.`); `None` leaves ports out.
    pub ports_prefix: Option<String>,
    /// `spring.cloud.kubernetes.client.namespace`; the one of the service account if unset.
    pub namespace: Option<String>,
    /// `spring.cloud.kubernetes.client.master-url`; the environment's if unset.
    pub url: Option<String>,
    /// `spring.cloud.kubernetes.client.oauth-token`; the service account's if unset.
    pub token: Option<Secret>,
    /// `spring.cloud.kubernetes.client.ca-cert-file`; the service account's if unset.
    pub ca_file: Option<String>,
    /// `weir.discovery.kubernetes.account-directory`: where token, CA and namespace are.
    pub account: String,
}

/// `weir.discovery.dns.*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dns {
    /// `weir.discovery.dns.services.<name>`: a comma-separated list of `host:port`, each address of
    /// which is an instance, or of names of SRV records.
    pub services: Vec<(String, Vec<String>)>,
    /// `weir.discovery.dns.interval` (10 s), for hosts.
    pub interval: Duration,
    /// `weir.discovery.dns.servers`: DNS servers for SRV records; the system's if empty.
    pub servers: Vec<String>,
    /// `weir.discovery.dns.ttl-min` (5 s): lower bound of the time an SRV record is cached.
    pub ttl_min: Duration,
    /// `weir.discovery.dns.ttl-max` (5 min): upper bound of it.
    pub ttl_max: Duration,
}

impl Discovery {
    /// Whether any registry is queried.
    pub fn is_used(&self) -> bool {
        self.enabled && !self.registries().is_empty()
    }

    /// Whether weir registers itself anywhere.
    pub fn registers(&self) -> bool {
        let eureka = &self.eureka;
        let (consul, nacos, zookeeper) = (&self.consul, &self.nacos, &self.zookeeper);
        let any = [
            eureka.configured && eureka.enabled && eureka.register,
            consul.configured && consul.enabled && consul.register,
            nacos.configured && nacos.enabled && nacos.register,
            zookeeper.configured && zookeeper.enabled && zookeeper.register,
        ];
        self.enabled && any.contains(&true)
    }

    /// Names of the registries in use, in the order in which they are queried.
    pub fn registries(&self) -> Vec<&'static str> {
        let all = [
            ("eureka", self.eureka.configured && self.eureka.enabled && self.eureka.fetch),
            ("nacos", self.nacos.configured && self.nacos.enabled),
            ("consul", self.consul.configured && self.consul.enabled),
            ("zookeeper", self.zookeeper.configured && self.zookeeper.enabled),
            ("kubernetes", self.kubernetes.configured && self.kubernetes.enabled),
            ("dns", !self.dns.services.is_empty()),
        ];
        let on = all.into_iter().filter(|(_, on)| *on && self.enabled);
        on.map(|(name, _)| name).collect()
    }
}

impl Default for Discovery {
    fn default() -> Self {
        Self {
            enabled: true,
            application: "weir".to_owned(),
            start_timeout: Duration::from_secs(5),
            empty_grace: Duration::from_secs(120),
            answer_bytes_max: 64 << 20,
            locator: false,
            eureka: Eureka::default(),
            consul: Consul::default(),
            nacos: Nacos::default(),
            zookeeper: Zookeeper::default(),
            kubernetes: Kubernetes::default(),
            dns: Dns::default(),
        }
    }
}

impl Default for Eureka {
    fn default() -> Self {
        Self {
            configured: false,
            enabled: true,
            urls: Vec::new(),
            fetch: true,
            register: true,
            interval: Duration::from_secs(30),
            delta: true,
            only_up: true,
            same_zone: true,
            region: "us-east-1".to_owned(),
            zones: Vec::new(),
            timeout: Duration::from_secs(8),
            app: None,
            instance_id: None,
            hostname: None,
            ip: None,
            prefer_ip: false,
            renewal: Duration::from_secs(30),
            expiration: Duration::from_secs(90),
            metadata: Vec::new(),
        }
    }
}

impl Default for Consul {
    fn default() -> Self {
        Self {
            configured: false,
            enabled: true,
            scheme: "http".to_owned(),
            host: "localhost".to_owned(),
            port: 8500,
            token: None,
            tag: None,
            datacenters: Vec::new(),
            passing: true,
            register: true,
            service: None,
            instance_id: None,
            address: None,
            tags: Vec::new(),
            check_path: "/actuator/health".to_owned(),
            check_interval: Duration::from_secs(10),
        }
    }
}

impl Default for Nacos {
    fn default() -> Self {
        Self {
            configured: false,
            enabled: true,
            servers: Vec::new(),
            namespace: String::new(),
            group: "DEFAULT_GROUP".to_owned(),
            cluster: "DEFAULT".to_owned(),
            username: None,
            password: None,
            interval: Duration::from_secs(5),
            register: true,
            service: None,
            ip: None,
            weight: "1".to_owned(),
            ephemeral: true,
            metadata: Vec::new(),
        }
    }
}

impl Default for Zookeeper {
    fn default() -> Self {
        Self {
            configured: false,
            enabled: true,
            servers: "localhost:2181".to_owned(),
            session_timeout: Duration::from_secs(60),
            connection_timeout: Duration::from_secs(15),
            user: None,
            password: None,
            root: "/services".to_owned(),
            prefix: String::new(),
            dependencies: Vec::new(),
            register: true,
            instance_id: None,
            host: None,
            ip: None,
            prefer_ip: false,
            port: None,
            ssl_port: None,
            status: "UP".to_owned(),
            uri_spec: "{scheme}://{address}:{port}".to_owned(),
            metadata: Vec::new(),
        }
    }
}

impl Default for Kubernetes {
    fn default() -> Self {
        Self {
            configured: false,
            enabled: true,
            all_namespaces: false,
            namespaces: Vec::new(),
            labels: Vec::new(),
            port_name: None,
            secure_ports: vec!["443".to_owned(), "8443".to_owned()],
            not_ready: false,
            labels_prefix: Some(String::new()),
            annotations_prefix: Some(String::new()),
            ports_prefix: Some("port.".to_owned()),
            namespace: None,
            url: None,
            token: None,
            ca_file: None,
            account: "/var/run/secrets/kubernetes.io/serviceaccount".to_owned(),
        }
    }
}

impl Default for Dns {
    fn default() -> Self {
        Self {
            services: Vec::new(),
            interval: Duration::from_secs(10),
            servers: Vec::new(),
            ttl_min: Duration::from_secs(5),
            ttl_max: Duration::from_secs(300),
        }
    }
}
