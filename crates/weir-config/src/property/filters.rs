//! Properties of filters, predicates and forwarding below the gateway's prefix, and of the services
//! that `lb:` names.

use super::{Kind, PropertySpec, Usage};

const UNPROTECTED: &str = "Spring Security would refuse requests that weir lets through; protect the routes elsewhere \
     and set `weir.security.ignore-spring-security: true`, or keep this gateway on Spring";

pub(super) static FILTERS: &[PropertySpec] = &[
    PropertySpec::gateway(
        "filter.secure-headers.*",
        Kind::Text,
        None,
        "Value of a header that SecureHeaders sets, by the header's key in kebab case.",
        Usage::Read,
    ),
    PropertySpec::gateway(
        "filter.secure-headers.enable",
        Kind::List,
        None,
        "Headers that SecureHeaders sets besides its usual ones, such as `permissions-policy`.",
        Usage::Read,
    ),
    PropertySpec::gateway(
        "filter.secure-headers.disable",
        Kind::List,
        None,
        "Headers that SecureHeaders leaves out.",
        Usage::Read,
    ),
    PropertySpec::gateway(
        "filter.remove-hop-by-hop.headers",
        Kind::List,
        None,
        "Headers that are never passed on, instead of SCG's list.",
        Usage::Read,
    ),
    PropertySpec::gateway(
        "filter.remove-hop-by-hop.order",
        Kind::Int(i64::MIN, i64::MAX),
        None,
        "Where the removal stands among the header filters.",
        Usage::Ignored("it is always the last one"),
    ),
    PropertySpec::gateway(
        "filter.request-rate-limiter",
        Kind::Tree,
        None,
        "What holds for every RequestRateLimiter: `deny-empty-key`, `empty-key-status-code`.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.data.redis",
        Kind::Tree,
        None,
        "Where RequestRateLimiter keeps its buckets: `host`, `port`, `url`, `username`, \
         `password`, `database`, `ssl.enabled`, `cluster.nodes`, `sentinel.master` with \
         `sentinel.nodes`, `timeout`, `connect-timeout`. Pools are not looked at: weir has one \
         connection to a server.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.redis",
        Kind::Tree,
        None,
        "The same, by the name before Spring Boot 3.",
        Usage::Read,
    ),
    PropertySpec::new(
        "weir.redis.timeout",
        Kind::Duration,
        Some("500ms"),
        "How long a request waits for Redis, where `spring.data.redis.timeout` is not less; then it \
         passes.",
        Usage::Read,
    ),
    PropertySpec::gateway(
        "filter.local-response-cache",
        Kind::Tree,
        None,
        "What holds for every LocalResponseCache: `time-to-live` (5m), `size` of the cache that \
         routes share (64MB), `request.no-cache-strategy`; `enabled: true` gives every route one, \
         unless `global-filter.local-response-cache.enabled` is false.",
        Usage::Read,
    ),
    PropertySpec::gateway(
        "json-to-grpc.valid-proto-descriptor-prefixes",
        Kind::List,
        Some("classpath:,classpath*:"),
        "Where the descriptor sets of JsonToGrpc may be: `classpath:` is the folder of the \
         configuration, `file:/etc/protos/` another one.",
        Usage::Read,
    ),
    PropertySpec::gateway(
        "filter.*.enabled",
        Kind::Bool,
        Some("true"),
        "`false` switches a filter off, by its name in kebab case; using it is then an error.",
        Usage::Read,
    ),
    PropertySpec::gateway(
        "predicate.host.include-port",
        Kind::Bool,
        Some("true"),
        "The Host predicate sees the port of the Host header.",
        Usage::Sets(|s, v| s.compat.host_port = v.bool()),
    ),
    PropertySpec::gateway(
        "predicate.*.enabled",
        Kind::Bool,
        Some("true"),
        "`false` switches a predicate off, by its name in kebab case; using it is then an error.",
        Usage::Read,
    ),
    PropertySpec::gateway(
        "global-filter.local-response-cache.enabled",
        Kind::Bool,
        Some("true"),
        "`false` leaves caching to routes that name the filter.",
        Usage::Read,
    ),
    PropertySpec::gateway(
        "global-filter.*.enabled",
        Kind::Bool,
        Some("true"),
        "Switches a global filter of SCG off.",
        Usage::Unsupported("weir's proxying is not made of filters that can be taken out"),
    ),
    PropertySpec::gateway(
        "x-forwarded",
        Kind::Tree,
        None,
        "Which `X-Forwarded-*` headers are set, and whether they are appended to: `enabled`, \
         `for-enabled`, `for-append`, and the same for `host`, `port`, `proto`, `prefix`.",
        Usage::Read,
    ),
    PropertySpec::gateway(
        "forwarded.enabled",
        Kind::Bool,
        Some("true"),
        "Whether `Forwarded` is set.",
        Usage::Read,
    ),
    PropertySpec::gateway(
        "forwarded.by.enabled",
        Kind::Bool,
        Some("false"),
        "Whether `Forwarded` says by whom.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.webflux.apiversion.use.header",
        Kind::Text,
        None,
        "Header in which a request states its API version, for the Version predicate.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.webflux.apiversion.use.query-parameter",
        Kind::Text,
        None,
        "Query parameter in which a request states its API version.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.webflux.apiversion.use.path-segment",
        Kind::Int(0, 64),
        None,
        "Path segment, from 0, in which a request states its API version.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.webflux.apiversion.use.media-type-parameter.*",
        Kind::Text,
        None,
        "Parameter of a media type in which a request states its API version.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.discovery.client.simple.instances.*",
        Kind::Tree,
        None,
        "Instances of a service, for `lb://` uris: a list of maps with `uri`.",
        Usage::Read,
    ),
    PropertySpec::new(
        "resilience4j.circuitbreaker",
        Kind::Tree,
        None,
        "What breakers of the CircuitBreaker filter are set to: `configs.<name>`, of which \
         `default` counts for all, and `instances.<name>` with `base-config`, by resilience4j's \
         names.",
        Usage::Read,
    ),
    PropertySpec::new(
        "resilience4j.timelimiter",
        Kind::Tree,
        None,
        "`timeout-duration` of a call through a breaker until its response head is there, below \
         `configs.default` or `instances.<name>`; 1 second if nothing is set.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.cloud.circuitbreaker.resilience4j.disable-time-limiter",
        Kind::Bool,
        Some("false"),
        "Calls through breakers have no time limit.",
        Usage::Read,
    ),
    PropertySpec::new(
        "weir.retry.budget",
        Kind::Int(0, 1000),
        Some("20"),
        "How many retries there may be, in percent of the requests to an upstream; ten a second \
         are free.",
        Usage::Sets(|s, v| s.retry_budget = u32::try_from(v.int()).unwrap_or(0)),
    ),
    PropertySpec::new(
        "spring.codec.max-in-memory-size",
        Kind::SizeBetween(0, 1 << 30),
        Some("256KB"),
        "The same, by the name before Spring Boot 4.",
        Usage::Sets(|s, v| {
            s.kept_body_bytes_max = usize::try_from(v.size()).unwrap_or(usize::MAX);
        }),
    ),
    PropertySpec::new(
        "spring.http.codecs.max-in-memory-size",
        Kind::SizeBetween(0, 1 << 30),
        Some("256KB"),
        "A request's body up to this is kept for a Retry filter or the fallback of a \
         CircuitBreaker; one with a larger body is sent once.",
        Usage::Sets(|s, v| {
            s.kept_body_bytes_max = usize::try_from(v.size()).unwrap_or(usize::MAX);
        }),
    ),
    PropertySpec::new(
        "weir.security.ignore-spring-security",
        Kind::Bool,
        Some("false"),
        "`true` serves a configuration that names Spring Security, and checks neither logins nor \
         tokens: something else must protect the routes.",
        Usage::Sets(|s, v| s.ignore_spring_security = v.bool()),
    ),
    PropertySpec::new(
        "spring.security.oauth2.resourceserver.jwt.issuer-uri",
        Kind::Text,
        None,
        "The issuer whose tokens requests must carry; its keys are found by its metadata.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.security.oauth2.resourceserver.jwt.jwk-set-uri",
        Kind::Text,
        None,
        "Where the keys of the issuer are.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.security.oauth2.resourceserver.jwt.public-key-location",
        Kind::Text,
        None,
        "A file with a public key, as `file:/path/key.pem`, instead of keys that are fetched.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.security.oauth2.resourceserver.jwt.audiences",
        Kind::List,
        None,
        "One of these must be in `aud`.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.security.oauth2.resourceserver.jwt.jws-algorithms",
        Kind::List,
        None,
        "Algorithms of signatures; `RS256` if none is given.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.security.oauth2.resourceserver.jwt.authority-prefix",
        Kind::Text,
        None,
        "What stands in front of a scope to make it an authority; `SCOPE_` if not given.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.security.oauth2.resourceserver.jwt.authorities-claim-name",
        Kind::Text,
        None,
        "The claim with the authorities; `scope`, else `scp`, if not given.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.security.oauth2.resourceserver.jwt.authorities-claim-delimiter",
        Kind::Text,
        None,
        "What stands between authorities in one text; a blank if not given.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.security.oauth2.resourceserver.jwt.principal-claim-name",
        Kind::Text,
        None,
        "The claim that says who it is; `sub` if not given.",
        Usage::Read,
    ),
    PropertySpec::new(
        "weir.security.permit",
        Kind::List,
        None,
        "Path patterns that need no token, such as `/public/**`; what `permitAll` is in Java.",
        Usage::Read,
    ),
    PropertySpec::new(
        "weir.security.response-headers",
        Kind::Bool,
        Some("true"),
        "Where tokens are asked for, every response has the headers that Spring Security adds: \
         `Cache-Control: no-store`, `X-Frame-Options: DENY` and others, unless it has its own.",
        Usage::Sets(|s, v| s.security_headers = v.bool()),
    ),
    PropertySpec::new(
        "weir.api-keys.*",
        Kind::Text,
        None,
        "A key that the filter ApiKey takes, by who brings it: the key, or `sha256:` and its hash.",
        Usage::Read,
    ),
    PropertySpec::new(
        "weir.users.*",
        Kind::Text,
        None,
        "The password that the filter BasicAuth takes, by user: a bcrypt hash as `htpasswd -nB` \
         prints it, `sha256:` and a hash, or the password.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.security.oauth2.resourceserver.opaquetoken",
        Kind::Tree,
        None,
        "Tokens that only their issuer can read.",
        Usage::Protects(UNPROTECTED),
    ),
    PropertySpec::new(
        "spring.security.oauth2.client",
        Kind::Tree,
        None,
        "Clients that TokenRelay gets tokens for: `registration.<id>` with `client-id`, \
         `client-secret`, `scope` and `authorization-grant-type: client_credentials`, \
         `provider.<id>` with `token-uri` or `issuer-uri`. A registration that has users log in is \
         an error, unless `weir.security.ignore-spring-security` is true.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.security.user",
        Kind::Tree,
        None,
        "User and password that requests must carry.",
        Usage::Protects(UNPROTECTED),
    ),
];
