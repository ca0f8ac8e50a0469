//! Deliberate differences from Spring Cloud Gateway: one list for `weir check` and the reference.

/// A difference.
#[derive(Clone, Copy, Debug)]
pub struct Deviation {
    /// Subject of the difference.
    pub topic: &'static str,
    /// Behaviour of weir.
    pub weir: &'static str,
    /// Behaviour of Spring Cloud Gateway 5.0.
    pub scg: &'static str,
    /// The setting that restores Spring Cloud Gateway's behaviour, if there is one.
    pub switch: Option<&'static str>,
}

/// Every difference that does not depend on the routes.
pub static DEVIATIONS: &[Deviation] = &[
    Deviation {
        topic: "upstream refuses or breaks the connection",
        weir: "502",
        scg: "500",
        switch: Some("weir.compat.refused-status: 500"),
    },
    Deviation {
        topic: "request path",
        weir: "passed on byte for byte; `.` and `..` segments are resolved once, before matching",
        scg: "`//` becomes `/`, some characters are encoded again",
        switch: None,
    },
    Deviation {
        topic: "paths that servers read in different ways (`%2f`, `;`, `//`, `%252e`)",
        weir: "400 if dot segments or a path of another route could be read into them",
        scg: "passed on",
        switch: Some("weir.server.ambiguous-paths: keep, or so in a route's metadata"),
    },
    Deviation {
        topic: "preflights where tokens are asked for",
        weir: "answered by `globalcors` without a token; no upstream sees them",
        scg: "401, unless the application calls `cors()` in Java",
        switch: None,
    },
    Deviation {
        topic: "requests that come back",
        weir: "508; to find them, Via is added where the upstream's port is the gateway's own",
        scg: "go round until something breaks",
        switch: None,
    },
    Deviation {
        topic: "Via",
        weir: "neither requests nor responses have it, although RFC 9110 asks a proxy for it",
        scg: "the same",
        switch: Some("weir.forward.via: true, or a name"),
    },
    Deviation {
        topic: "Max-Forwards of OPTIONS",
        weir: "counted down; answered with 200 at 0 (RFC 9110)",
        scg: "passed on",
        switch: None,
    },
    Deviation {
        topic: "chunked bodies and RequestSize",
        weir: "counted",
        scg: "let through, whatever their size",
        switch: None,
    },
    Deviation {
        topic: "idle client connections",
        weir: "closed after 75 s",
        scg: "kept for ever",
        switch: Some("server.netty.idle-timeout: 365d"),
    },
    Deviation {
        topic: "slow clients",
        weir: "a head has 10 s, a body 100 bytes a second",
        scg: "no bound",
        switch: Some(
            "weir.server.head-timeout: 365d, weir.server.progress-bytes-per-second-min: 0",
        ),
    },
    Deviation {
        topic: "request heads",
        weir: "up to 32 KiB, targets up to 8 KiB",
        scg: "8 KiB and 4 KiB",
        switch: Some(
            "server.max-http-request-header-size: 8KB, server.netty.max-initial-line-length: 4KB",
        ),
    },
    Deviation {
        topic: "route changes through the admin API",
        weir: "checked whole, in effect at once, kept over restarts",
        scg: "in effect after a refresh, lost at restart",
        switch: None,
    },
    Deviation {
        topic: "actuator",
        weir: "on 127.0.0.1:9090 unless `management.server.port` is set; health on the main port",
        scg: "on the main port",
        switch: Some("management.server.port"),
    },
    Deviation {
        topic: "Spring expressions (SpEL)",
        weir: "never evaluated",
        scg: "evaluated where an argument is `#{…}`",
        switch: None,
    },
    Deviation {
        topic: "routes without an id",
        weir: "get an id made from what they say",
        scg: "get a random one at each start",
        switch: None,
    },
];
