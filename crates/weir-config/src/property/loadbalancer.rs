//! Properties of Spring Cloud LoadBalancer. They are read for each service (`upstreams/spring.rs`).

use super::{Kind, PropertySpec, Usage};

/// `spring.cloud.loadbalancer.*`.
pub(super) static LOADBALANCER: &[PropertySpec] = &[
    PropertySpec::new(
        "spring.cloud.loadbalancer.configurations",
        Kind::List,
        None,
        "How the instances of services are chosen: `zone-preference`, `hint-based`, \
         `request-based-sticky-session`, `health-check`, `same-instance-preference`, \
         `subset`, `weighted`, `random`; several may be combined. Without any they take \
         turns.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.loadbalancer.zone",
        Kind::Text,
        None,
        "The own zone, for `zone-preference`; `eureka.instance.metadata-map.zone` if unset.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.loadbalancer.hint.*",
        Kind::Text,
        None,
        "Hint of requests to a service without the header, or to all (`default`), for \
         `hint-based`: instances whose metadata `hint` is the same are preferred.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.loadbalancer.hint-header-name",
        Kind::Text,
        Some("X-SC-LB-Hint"),
        "Header field that brings the hint of a request.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.loadbalancer.sticky-session.instance-id-cookie-name",
        Kind::Text,
        Some("sc-lb-instance-id"),
        "Cookie with the id of the instance that a request goes to, for \
         `request-based-sticky-session`.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.loadbalancer.sticky-session.add-service-instance-cookie",
        Kind::Bool,
        Some("false"),
        "Adds this cookie, with the id of the chosen instance, to the request that is sent \
         on.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.loadbalancer.health-check.path.*",
        Kind::Text,
        None,
        "Path that instances of a service are checked at, or of all (`default`), for \
         `health-check`; `/actuator/health` if unset.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.loadbalancer.health-check.port",
        Kind::Int(1, 65_535),
        None,
        "Port that instances are checked at; their own if unset.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.loadbalancer.health-check.interval",
        Kind::Duration,
        Some("25s"),
        "Time between two checks of an instance.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.loadbalancer.health-check.initial-delay",
        Kind::Duration,
        Some("0"),
        "Time before the first check of an instance.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.loadbalancer.health-check.repeat-health-check",
        Kind::Bool,
        Some("true"),
        "`false` ends the checks of an instance with the first good one.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.loadbalancer.subset.instance-id",
        Kind::Text,
        None,
        "What tells gateways apart, for `subset`; the host name, else the application's \
         name, if unset.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.loadbalancer.subset.size",
        Kind::Int(1, i64::MAX),
        Some("100"),
        "Instances that one gateway uses, for `subset`.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.loadbalancer.clients.*",
        Kind::Tree,
        None,
        "Any of these properties for one service.",
        Usage::Read,
    ),
];
