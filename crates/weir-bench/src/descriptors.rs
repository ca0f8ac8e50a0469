//! The limit of open files of this process: each connection takes one.

use crate::units::show_count;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors needed besides connections: standard streams, pollers, results, `/proc`.
pub const OTHERS: u64 = 100;

/// Raises the limit of open files as far as the system permits, and returns it; `None` for no
/// limit.
pub(crate) fn raise() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}

/// The warning before opening so many connections, if they may exceed the limit.
pub(crate) fn warning(connections: usize, limit: Option<u64>) -> Option<String> {
    let (needed, limit) = (connections as u64 + OTHERS, limit?);
    let fewer = match limit.saturating_sub(OTHERS) {
        0 => String::new(),
        most => format!(", or ask for at most {}", show_count(most as f64)),
    };
    (needed > limit).then(|| {
        format!(
            "{} connections at a time need {} file descriptors, but a process may open {} here; \
             raise that (ulimit -Hn {needed} as root, or LimitNOFILE={needed} in a service){fewer}",
            show_count(connections as f64),
            show_count(needed as f64),
            show_count(limit as f64),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::warning;

    #[test]
    fn too_many_connections_are_told_before_they_fail() {
        assert_eq!(warning(20_000, None), None);
        assert_eq!(warning(900, Some(1_000)), None);
        let told = warning(20_000, Some(20_000)).unwrap();
        for part in ["need 20,100 file", "may open 20,000", "-Hn 20100 as root", "most 19,900"] {
            assert!(told.contains(part), "{told}");
        }
        let told = warning(2, Some(64)).unwrap();
        assert!(told.ends_with("in a service)"), "{told}");
    }
}
