//! Filters of SCG that weir does not support; a configuration that uses one gets the reason instead
//! of "unknown filter".

/// Name and reason, sorted by name.
pub const LATER: &[(&str, &str)] = &[
    ("Hystrix", "SCG itself dropped it in version 3; its successor is CircuitBreaker"),
    ("ModifyRequestBody", "it runs Java code and cannot be written in a configuration file"),
    ("ModifyResponseBody", "it runs Java code and cannot be written in a configuration file"),
];
