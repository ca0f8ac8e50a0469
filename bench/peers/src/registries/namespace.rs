//! The network namespace of the checks. Kubernetes refuses loopback addresses as endpoints: here
//! the loopback device has one more address, and no other device exists.

use std::env;
use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;

use anyhow::{Context, ensure};

/// Address of the instances; RFC 2544 sets its network apart for tests.
pub(super) const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1));
/// Set for the process in the namespace.
const ENTERED: &str = "WEIR_PEERS_NAMESPACE";

pub(super) fn is_entered() -> bool {
    env::var_os(ENTERED).is_some()
}

/// Runs this program once more, with the same arguments, in a new network namespace.
pub(super) fn enter() -> anyhow::Result<()> {
    let set_up = format!("ip link set lo up && ip address add {ADDRESS}/32 dev lo && exec \"$@\"");
    let status = Command::new("unshare")
        .args(["--map-root-user", "--net", "sh", "-c", &set_up, "sh"])
        .arg(env::current_exe()?)
        .args(env::args_os().skip(1))
        .env(ENTERED, "1")
        .status()
        .context("unshare (Debian's util-linux) makes the network namespace of the checks")?;
    ensure!(status.success(), "not all checks pass");
    Ok(())
}
