//! Servers of an experiment: `weir origin` and `weir run`, from the running executable.

use crate::server::Server;
use anyhow::Context;
use std::fmt::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};

/// Starts `weir ARGUMENTS`, from the running executable, and waits until it listens. Its output
/// goes to `log`.
///
/// # Errors When the address is in use, or the server ends or does not listen; with its output.
pub(super) fn start(arguments: &str, listens: SocketAddr, log: &Path) -> anyhow::Result<Server> {
    let mut command = Command::new(std::env::current_exe()?);
    let file = std::fs::File::create(log).with_context(|| log.display().to_string())?;
    command.args(arguments.split_whitespace()).stdout(Stdio::null()).stderr(file);
    Server::start(command, &format!("weir {arguments}"), &[listens]).map_err(|why| {
        let said = std::fs::read_to_string(log).unwrap_or_default();
        if said.trim().is_empty() { why } else { anyhow::anyhow!("{why:#}\n{}", said.trim_end()) }
    })
}

/// An address on this machine whose port is free.
pub(super) fn free_address() -> std::io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0")?.local_addr()
}

/// Writes the configuration of a gateway with `count` routes of the seeds' shape, then two plain
/// ones.
pub(super) fn configure(path: &Path, count: u64, origin: SocketAddr) -> std::io::Result<()> {
    let mut out = String::from("spring.cloud.gateway.server.webflux:\n      routes:\n");
    for number in 0..count {
        let _ = write!(
            out,
            "      - id: mock-{number}\n        uri: http://{origin}\n        \
             predicates: [Path=/mock/{number}]\n        filters: \
             [\"AddRequestHeader=x-benchmark-routeId, mock-{number}\", PrefixPath=/ok]\n"
        );
    }
    for (id, pattern) in [("hello", "/hello/**"), ("ok", "/ok/**")] {
        let _ = write!(
            out,
            "      - id: {id}\n        uri: http://{origin}\n        \
             predicates: [\"Path={pattern}\"]\n"
        );
    }
    std::fs::write(path, out)
}

#[cfg(test)]
mod tests {
    use super::configure;

    #[test]
    fn routes_have_the_seeds_shape() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("application.yml");
        configure(&path, 2, "127.0.0.1:9999".parse().unwrap()).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(text.matches("PrefixPath=/ok").count(), 2);
        assert!(text.contains("Path=/mock/1]") && !text.contains("Path=/mock/2"));
    }
}
