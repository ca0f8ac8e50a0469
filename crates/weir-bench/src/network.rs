//! The kernel's TCP counters, before a run and after it: the evidence that connections, not the
//! server's work, were the limit. They belong to the network namespace, so they include other
//! programs.

use serde::{Deserialize, Serialize};
use std::fs::read_to_string;

/// TCP events during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// Connections that found the listen queue of a local server full.
    pub listen_overflows: u64,
    /// SYNs sent again, each after a second or more.
    pub syn_retransmits: u64,
    /// Segments sent again, SYNs among them.
    pub retransmits: u64,
    /// Closed connections that still hold their port, at the end.
    pub time_wait: u64,
    /// The number of local ports for connections to one address.
    pub ports: u64,
}

impl Network {
    /// The current counters; unreadable ones are 0.
    pub fn read() -> Self {
        let text = |path: &str| read_to_string(path).unwrap_or_default();
        let netstat = text("/proc/net/netstat");
        let extended = |name| counter(&netstat, "TcpExt:", name);
        let sockets = text("/proc/net/sockstat");
        let waiting = sockets.lines().find_map(|line| {
            let mut words = line.strip_prefix("TCP:")?.split_whitespace();
            words.find(|word| *word == "tw")?;
            words.next()?.parse().ok()
        });
        Self {
            listen_overflows: extended("ListenOverflows"),
            syn_retransmits: extended("TCPSynRetrans"),
            retransmits: counter(&text("/proc/net/snmp"), "Tcp:", "RetransSegs"),
            time_wait: waiting.unwrap_or(0),
            ports: range(&text("/proc/sys/net/ipv4/ip_local_port_range")).unwrap_or(0),
        }
    }

    /// The increase since `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            listen_overflows: self.listen_overflows.saturating_sub(before.listen_overflows),
            syn_retransmits: self.syn_retransmits.saturating_sub(before.syn_retransmits),
            retransmits: self.retransmits.saturating_sub(before.retransmits),
            ..self
        }
    }
}

/// A counter of a table that has its names in one line and the values in the next, both after
/// `label`.
fn counter(text: &str, label: &str, name: &str) -> u64 {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(label));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    pairs.find(|pair| pair.0 == name).and_then(|pair| pair.1.parse().ok()).unwrap_or(0)
}

fn range(text: &str) -> Option<u64> {
    let mut bounds = text.split_whitespace().map(str::parse::<u64>);
    let (first, last) = (bounds.next()?.ok()?, bounds.next()?.ok()?);
    Some((last + 1).saturating_sub(first))
}

#[cfg(test)]
mod tests {
    use super::{Network, counter, range};

    #[test]
    fn counters_are_found_by_name() {
        let text = "IpExt: A B\nIpExt: 7 8\nTcpExt: A ListenOverflows\nTcpExt: 1 42\n";
        assert_eq!(counter(text, "TcpExt:", "ListenOverflows"), 42);
        assert_eq!(counter(text, "TcpExt:", "B"), 0);
        assert_eq!(range("32768\t60999\n"), Some(28_232));
        assert!(Network::read().ports > 0);
    }
}
