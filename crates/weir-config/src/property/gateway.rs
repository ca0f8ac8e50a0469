//! Properties of Spring Cloud Gateway below its prefix (scg.md sections 4 and 6).

use super::{Kind, PropertySpec, Usage};

const LATER_UPSTREAM_TLS: &str =
    "weir does not speak TLS to upstreams yet; routes to `https` are refused until it does";
const NO_PROXY: &str = "weir connects to upstreams directly; route to the proxy itself instead";
const ALWAYS_FLUSHED: &str = "weir passes every part of a body on at once, whatever its type";

/// Everything except routes, filters and their switches.
pub(super) static GATEWAY: &[PropertySpec] = &[
    PropertySpec::gateway(
        "enabled",
        Kind::Bool,
        Some("true"),
        "`false` leaves the gateway without routes.",
        Usage::Sets(|s, v| s.gateway_enabled = v.bool()),
    ),
    PropertySpec::gateway(
        "fail-on-route-definition-error",
        Kind::Bool,
        Some("true"),
        "A route that is wrong refuses the whole configuration; `false` leaves the route out.",
        Usage::Sets(|s, v| s.fail_on_route_definition_error = v.bool()),
    ),
    PropertySpec::gateway(
        "routes",
        Kind::Tree,
        None,
        "The routes: a list of maps with `id`, `uri`, `predicates`, `filters`, `metadata`, \
         `order`, `enabled`, or of texts such as `id=uri, Path=/x`.",
        Usage::Read,
    ),
    PropertySpec::gateway(
        "routes-map",
        Kind::Tree,
        None,
        "Routes by id: a map of the same shapes, used when a list would be replaced as a whole.",
        Usage::Read,
    ),
    PropertySpec::gateway(
        "default-filters",
        Kind::Tree,
        None,
        "Filters of every route, in front of its own.",
        Usage::Read,
    ),
    PropertySpec::gateway(
        "globalcors.cors-configurations.*",
        Kind::Tree,
        None,
        "Cross-origin rules by path pattern, the pattern in brackets: `'[/**]'`.",
        Usage::Read,
    ),
    PropertySpec::gateway(
        "globalcors.add-to-simple-url-handler-mapping",
        Kind::Bool,
        Some("false"),
        "Answers preflights before a route is looked for.",
        Usage::Read,
    ),
    PropertySpec::gateway(
        "globalcors.enabled",
        Kind::Bool,
        Some("true"),
        "Whether the cross-origin rules count.",
        Usage::Read,
    ),
    PropertySpec::gateway(
        "httpclient.connect-timeout",
        Kind::Duration,
        Some("30s"),
        "How long a connection to an upstream may take.",
        Usage::Sets(|s, v| s.connect_timeout = v.duration()),
    ),
    PropertySpec::gateway(
        "httpclient.response-timeout",
        Kind::Duration,
        None,
        "How long an upstream may take to answer; above is 504. Unset is no bound.",
        Usage::Sets(|s, v| s.response_timeout = Some(v.duration())),
    ),
    PropertySpec::gateway(
        "httpclient.max-header-size",
        Kind::DataSize,
        Some("32KB"),
        "Most bytes of an upstream's response head.",
        Usage::Sets(|s, v| {
            s.response_head_limits.head_bytes_max = usize::try_from(v.size()).unwrap_or(usize::MAX);
        }),
    ),
    PropertySpec::gateway(
        "httpclient.max-initial-line-length",
        Kind::DataSize,
        None,
        "Longest status line of an upstream.",
        Usage::Ignored("the bound of the whole head, `httpclient.max-header-size`, covers it"),
    ),
    PropertySpec::gateway(
        "httpclient.pool.type",
        Kind::OneOf(&["elastic", "fixed", "disabled"]),
        Some("elastic"),
        "`fixed` bounds the connections per upstream (500 unless `max-connections` says \
         otherwise), `disabled` closes each after use.",
        Usage::Sets(|s, v| {
            s.pool.enabled = v.text() != "disabled";
            s.pool.fixed = v.text() == "fixed";
        }),
    ),
    PropertySpec::gateway(
        "httpclient.pool.max-connections",
        Kind::Int(1, 10_000_000),
        None,
        "Most connections per upstream over all workers, for the type `fixed`.",
        Usage::Sets(|s, v| s.pool.connections_max = Some(v.count())),
    ),
    PropertySpec::gateway(
        "httpclient.pool.acquire-timeout",
        Kind::Duration,
        Some("45s"),
        "How long a request may wait for a connection of the pool.",
        Usage::Sets(|s, v| s.pool.acquire_timeout = v.duration()),
    ),
    PropertySpec::gateway(
        "httpclient.pool.max-idle-time",
        Kind::Duration,
        Some("60s"),
        "How long an idle upstream connection is kept.",
        Usage::Sets(|s, v| s.pool.idle_timeout = v.duration()),
    ),
    PropertySpec::gateway(
        "httpclient.pool.max-life-time",
        Kind::Duration,
        None,
        "How long an upstream connection is used at most.",
        Usage::Sets(|s, v| s.pool.life_timeout = Some(v.duration())),
    ),
    PropertySpec::gateway(
        "httpclient.pool.eviction-interval",
        Kind::Duration,
        Some("0"),
        "How often Reactor Netty looks for connections to close.",
        Usage::Ignored("weir looks once a second"),
    ),
    PropertySpec::gateway(
        "httpclient.pool.leasing-strategy",
        Kind::OneOf(&["fifo", "lifo"]),
        None,
        "Which idle connection is taken first.",
        Usage::Ignored("weir takes the one used last"),
    ),
    PropertySpec::gateway(
        "httpclient.pool.name",
        Kind::Text,
        None,
        "Name of the pool in Reactor Netty's metrics.",
        Usage::Ignored("weir's metrics name the upstream"),
    ),
    PropertySpec::gateway(
        "httpclient.pool.metrics",
        Kind::Bool,
        None,
        "Whether Reactor Netty measures the pool.",
        Usage::Ignored("weir always measures it"),
    ),
    PropertySpec::gateway(
        "httpclient.compression",
        Kind::Bool,
        Some("false"),
        "Asks upstreams for gzip and unpacks it.",
        Usage::Unsupported("weir passes bodies on as they are; ask upstreams for plain answers"),
    ),
    PropertySpec::gateway(
        "httpclient.wiretap",
        Kind::Bool,
        Some("false"),
        "Logs every byte to and from upstreams.",
        Usage::Unsupported("use `weir explain`, the access log, or a packet capture"),
    ),
    PropertySpec::gateway(
        "httpserver.wiretap",
        Kind::Bool,
        Some("false"),
        "Logs every byte to and from clients.",
        Usage::Unsupported("use `weir explain`, the access log, or a packet capture"),
    ),
    PropertySpec::gateway(
        "httpclient.proxy",
        Kind::Tree,
        None,
        "A proxy in front of all upstreams.",
        Usage::Refused(NO_PROXY),
    ),
    PropertySpec::gateway(
        "httpclient.ssl",
        Kind::Tree,
        None,
        "TLS towards upstreams.",
        Usage::Unsupported(LATER_UPSTREAM_TLS),
    ),
    PropertySpec::gateway(
        "httpclient.websocket.max-frame-payload-length",
        Kind::Int(0, i64::MAX),
        None,
        "Largest WebSocket frame.",
        Usage::Ignored("weir passes frames on untouched, of any size"),
    ),
    PropertySpec::gateway(
        "httpclient.websocket.proxy-ping",
        Kind::Bool,
        Some("true"),
        "Passes pings on.",
        Usage::Ignored("weir passes every frame on untouched"),
    ),
    PropertySpec::gateway(
        "trusted-proxies",
        Kind::Text,
        None,
        "Java regex over a whole peer address: whose `Forwarded` and `X-Forwarded-*` are believed. \
         Those of other peers are removed and made anew.",
        Usage::Read,
    ),
    PropertySpec::gateway(
        "metrics.enabled",
        Kind::Bool,
        Some("true"),
        "Whether requests are counted by route.",
        Usage::Sets(|s, v| s.metrics_enabled = v.bool()),
    ),
    PropertySpec::gateway(
        "metrics.prefix",
        Kind::Text,
        Some("spring.cloud.gateway"),
        "Prefix of the metrics' names.",
        Usage::Sets(|s, v| v.text().clone_into(&mut s.metrics_prefix)),
    ),
    PropertySpec::gateway(
        "metrics.tags.*",
        Kind::Text,
        None,
        "A label with a fixed value on every metric.",
        Usage::Read,
    ),
    PropertySpec::gateway(
        "metrics.path-tags.enabled",
        Kind::Bool,
        Some("false"),
        "Labels metrics with the path, too.",
        Usage::Unsupported("paths make labels without bound; metrics are by route"),
    ),
    PropertySpec::gateway(
        "observability.enabled",
        Kind::Bool,
        Some("true"),
        "Micrometer observations of upstream calls.",
        Usage::Ignored("weir has its metrics and access log"),
    ),
    PropertySpec::gateway(
        "loadbalancer.use404",
        Kind::Bool,
        Some("false"),
        "404 instead of 503 when a service has no instance.",
        Usage::Sets(|s, v| s.no_instance_status = if v.bool() { 404 } else { 503 }),
    ),
    PropertySpec::gateway(
        "loadbalancer",
        Kind::Tree,
        None,
        "What else Spring's load balancer takes.",
        Usage::Unsupported("set `spring.cloud.loadbalancer.*` or `weir.upstreams`"),
    ),
    PropertySpec::gateway(
        "discovery.locator.enabled",
        Kind::Bool,
        Some("false"),
        "Makes a route `/<service>/**` for every service with static instances.",
        Usage::Read,
    ),
    PropertySpec::gateway(
        "discovery.locator",
        Kind::Tree,
        None,
        "Form of the routes that the locator makes: `lower-case-service-id` and `route-id-prefix` \
         count, expressions do not.",
        Usage::Read,
    ),
    PropertySpec::gateway(
        "actuator.verbose.enabled",
        Kind::Bool,
        Some("true"),
        "`false` gives `/actuator/gateway/routes` its short form.",
        Usage::Sets(|s, v| s.actuator_verbose = v.bool()),
    ),
    PropertySpec::gateway(
        "set-status.original-status-header-name",
        Kind::Text,
        None,
        "SetStatus puts the upstream's status into this response header.",
        Usage::Read,
    ),
    PropertySpec::gateway(
        "streaming-media-types",
        Kind::List,
        None,
        "Types of bodies that are flushed part by part.",
        Usage::Ignored(ALWAYS_FLUSHED),
    ),
    PropertySpec::gateway(
        "handler-mapping.order",
        Kind::Int(i64::MIN, i64::MAX),
        None,
        "Where routes stand among annotated controllers.",
        Usage::Ignored("there are no controllers"),
    ),
    PropertySpec::gateway(
        "route-filter-cache-enabled",
        Kind::Bool,
        Some("false"),
        "Sorts the filters of a route once instead of for every request.",
        Usage::Ignored("weir always does"),
    ),
    PropertySpec::gateway(
        "route-refresh-listener.enabled",
        Kind::Bool,
        Some("true"),
        "Reads the routes again at discovery heartbeats.",
        Usage::Ignored("route changes apply at once"),
    ),
    PropertySpec::gateway(
        "redis-route-definition-repository.enabled",
        Kind::Bool,
        None,
        "Routes are kept in Redis.",
        Usage::Unsupported(
            "import them once with `weir routes import`; weir keeps routes in its own store",
        ),
    ),
    PropertySpec::gateway(
        "redis-rate-limiter",
        Kind::Tree,
        None,
        "How RequestRateLimiter tells about its buckets: `include-headers`, and the names of its \
         headers: `remaining-header`, `replenish-rate-header`, `burst-capacity-header`, \
         `requested-tokens-header`.",
        Usage::Read,
    ),
];
