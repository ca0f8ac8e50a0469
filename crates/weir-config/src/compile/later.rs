//! Filters of Spring Cloud Gateway that weir does not have yet, and what to do until it does.

/// A filter to come.
pub(super) struct Later {
    pub name: &'static str,
    pub help: &'static str,
}

pub(super) const LATER: &[Later] = &[
    Later {
        name: "CacheRequestBody",
        help: "it serves Java filters, which do not run here: remove it",
    },
    Later {
        name: "CircuitBreaker",
        help: "remove it, and bound the wait with `response-timeout` in the route's metadata",
    },
    Later { name: "FallbackHeaders", help: "it works with CircuitBreaker only; remove both" },
    Later {
        name: "JsonToGrpc",
        help: "let the service offer JSON, or leave this route with Spring Cloud Gateway",
    },
    Later { name: "LocalResponseCache", help: "remove it: every request then goes to the service" },
    Later {
        name: "RemoveJsonAttributesResponseBody",
        help: "let the service leave the attributes out; do not expose them through weir until then",
    },
    Later {
        name: "RequestRateLimiter",
        help: "limit in front of weir or in the service, or leave this route with Spring Cloud \
               Gateway; running it without a limit is your decision: remove the filter then",
    },
    Later {
        name: "Retry",
        help: "remove it; weir itself repeats a request once when a pooled connection turns out to \
               be closed",
    },
    Later {
        name: "TokenRelay",
        help: "let the client send its token to the service itself; weir passes `Authorization` on",
    },
];
