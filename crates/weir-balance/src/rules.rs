//! Rules for choosing an instance of a cluster: data only.

use std::time::Duration;

use crate::balance::Balance;

/// Rules for balancing requests over the instances of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Load-balancing algorithm.
    pub balance: Balance,
    /// Property of a request that is hashed, for a balance by hash.
    pub hash: HashOf,
    /// Instances have their weights; without it all have the same share.
    pub weighted: bool,
    /// Instances of this zone are preferred.
    pub zone: Option<String>,
    /// Instances that fit a hint are preferred.
    pub hint: Option<Hint>,
    /// A request goes to the instance that its cookie names.
    pub sticky: Option<Sticky>,
    /// Requests stay with one instance for as long as it is usable.
    pub same_instance: bool,
    /// Size of the subset of instances that is used.
    pub subset: Option<Subset>,
    /// Active health check, if any.
    pub check: Option<Check>,
    /// Ejection of an instance whose requests fail.
    pub outlier: Option<Outlier>,
    /// With fewer usable instances than this percentage, all of them are used.
    pub panic_percent: u32,
    /// Duration of the slow start of an instance that comes back, in milliseconds.
    pub slow_start_ms: u64,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            balance: Balance::RoundRobin,
            hash: HashOf::Nothing,
            weighted: false,
            zone: None,
            hint: None,
            sticky: None,
            same_instance: false,
            subset: None,
            check: None,
            outlier: None,
            panic_percent: 0,
            slow_start_ms: 0,
        }
    }
}

/// Property of a request that is hashed. A request without it goes to any instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HashOf {
    /// Chance alone.
    Nothing,
    /// The client's address.
    Ip,
    /// A header field, in lower case.
    Header(String),
    /// A cookie.
    Cookie(String),
    /// The path.
    Path,
}

/// Spring class `HintBasedServiceInstanceListSupplier`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// Header field that brings it, in lower case.
    pub header: String,
    /// The value used without the header.
    pub otherwise: Option<String>,
}

/// Spring class `RequestBasedStickySessionServiceInstanceListSupplier`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sticky {
    /// Name of the cookie.
    pub cookie: String,
    /// Whether a request goes to the instance named in the cookie.
    pub is_followed: bool,
    /// Whether the cookie with the instance's id is forwarded to that instance.
    pub is_passed_on: bool,
}

/// Spring class `SubsetServiceInstanceListSupplier`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subset {
    /// Name of this gateway, from which its subset is computed.
    pub of: String,
    /// Instances in it.
    pub size: usize,
}

/// Active health check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Path of a GET request; `None` only connects.
    pub path: Option<String>,
    /// Port, if it is not that of the instance.
    pub port: Option<u16>,
    /// Time before the first look.
    pub initial_delay: Duration,
    /// Time between two looks.
    pub interval: Duration,
    /// Timeout of one check.
    pub timeout: Duration,
    /// Consecutive successes that bring an instance back.
    pub rise: u32,
    /// Consecutive failures that take an instance out.
    pub fall: u32,
    /// First and last status of a good answer.
    pub status: (u16, u16),
    /// Checks are repeated; otherwise each instance is checked until it is up.
    pub repeats: bool,
}

impl Default for Check {
    fn default() -> Self {
        Self {
            path: None,
            port: None,
            initial_delay: Duration::ZERO,
            interval: Duration::from_secs(5),
            timeout: Duration::from_secs(2),
            rise: 1,
            fall: 2,
            status: (200, 299),
            repeats: true,
        }
    }
}

/// Ejection of instances whose requests fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlier {
    /// Consecutive failures that eject: a status from 500 on, a broken connection, a timeout.
    pub errors: u32,
    /// Each such time without an ejection makes up for one before.
    pub interval_ms: u64,
    /// Duration of an ejection, multiplied by the number of recent ones.
    pub base_ms: u64,
    /// No more than this percentage of the instances at a time, but at least one.
    pub percent_max: u32,
}

impl Default for Outlier {
    fn default() -> Self {
        Self { errors: 5, interval_ms: 10_000, base_ms: 30_000, percent_max: 50 }
    }
}
