//! By what rules an instance of a cluster is chosen: data only.

use std::time::Duration;

use crate::balance::Balance;

/// How the instances of a service share its requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Who is next.
    pub balance: Balance,
    /// What of a request is hashed, for a balance by hash.
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
    /// Only so many instances are used.
    pub subset: Option<Subset>,
    /// How instances are looked at, if they are.
    pub check: Option<Check>,
    /// When an instance whose requests fail is passed over.
    pub outlier: Option<Outlier>,
    /// With fewer usable instances than this percentage, all of them are used.
    pub panic_percent: u32,
    /// How long one that comes back has less than its share, in milliseconds.
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

/// What of a request is hashed. One that lacks it goes to any instance.
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
    /// What counts without the header.
    pub otherwise: Option<String>,
}

/// Spring class `RequestBasedStickySessionServiceInstanceListSupplier`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sticky {
    /// Name of the cookie.
    pub cookie: String,
    /// Whether a request goes where the cookie says.
    pub is_followed: bool,
    /// Whether the chosen instance finds its own id in the cookies of the request.
    pub is_passed_on: bool,
}

/// Spring class `SubsetServiceInstanceListSupplier`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subset {
    /// What tells gateways apart: each has a subset of its own.
    pub of: String,
    /// Instances in it.
    pub size: usize,
}

/// How instances are looked at.
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
    /// How long one may take.
    pub timeout: Duration,
    /// So many good looks in a row bring one back.
    pub rise: u32,
    /// So many bad ones take one out.
    pub fall: u32,
    /// First and last status of a good answer.
    pub status: (u16, u16),
    /// Looks go on; otherwise each instance is looked at until it is up.
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

/// When an instance whose requests fail is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlier {
    /// So many failures in a row: a status from 500 on, a connection that breaks, a timeout.
    pub errors: u32,
    /// Each such time without an ejection makes up for one before.
    pub interval_ms: u64,
    /// How long it is passed over, times the ejections lately.
    pub base_ms: u64,
    /// No more than this percentage of the instances at a time, but at least one.
    pub percent_max: u32,
}

impl Default for Outlier {
    fn default() -> Self {
        Self { errors: 5, interval_ms: 10_000, base_ms: 30_000, percent_max: 50 }
    }
}
