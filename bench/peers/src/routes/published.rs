//! The table that weir's first experiment published: Spring Cloud Gateway 3.0.3 on Java 1.8, Intel
//! i7-9700K, JMH with two threads, each request to a random route.

/// One row: routes (`None` is without a gateway), operations per second, average seconds each.
pub type Row = (Option<u64>, f64, f64);

/// The six rows.
pub const ROWS: [Row; 6] = [
    (None, 899.152, 0.002),
    (Some(100), 713.931, 0.003),
    (Some(1_000), 630.823, 0.003),
    (Some(5_000), 248.353, 0.008),
    (Some(10_000), 131.585, 0.015),
    (Some(100_000), 13.880, 0.141),
];
