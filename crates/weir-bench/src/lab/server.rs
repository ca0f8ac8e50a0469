//! Servers of an experiment: `weir origin` and `weir run`, from the running executable.

use anyhow::{Context, bail};
use std::fmt::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest time for a server to listen: 100,000 routes may take a while on a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running server; ended when dropped.
pub(super) struct Server(Child);

impl Server {
    /// Starts `weir ARGUMENTS` and waits until it listens.
    ///
    /// # Errors
    /// When the address is in use, or the server ends or does not listen.
    pub(super) fn start(arguments: &str, listens: SocketAddr) -> anyhow::Result<Self> {
        if TcpStream::connect(listens).is_ok() {
            bail!("{listens} is in use by another server");
        }
        let mut command = Command::new(std::env::current_exe()?);
        command.args(arguments.split_whitespace()).stdout(Stdio::null());
        let child = command.spawn();
        let mut server = Self(child.with_context(|| format!("weir {arguments}"))?);
        let patience = Instant::now() + PATIENCE;
        while TcpStream::connect(listens).is_err() {
            if let Some(status) = server.0.try_wait()? {
                bail!("weir {arguments}: ended with {status}");
            }
            anyhow::ensure!(Instant::now() < patience, "weir {arguments}: not listening");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
        self.0.wait().ok();
    }
}

/// An address on this machine whose port is free.
pub(super) fn free_address() -> std::io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0")?.local_addr()
}

/// Writes the configuration of a gateway with `count` routes of the seeds' shape, then two plain
/// ones.
pub(super) fn configure(path: &Path, count: u64, origin: SocketAddr) -> std::io::Result<()> {
    let mut out = String::from("spring:\n  cloud:\n    gateway:\n      routes:\n");
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
