//! nginx in weir's place, where it is installed, to show how far the machine itself slows the
//! neighbours.

use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::net::TcpStream;
use weir_testkit::{PATIENCE, closed_port};

/// A running nginx; killed when dropped.
#[derive(Debug)]
pub(crate) struct Nginx {
    address: SocketAddr,
    child: Child,
    _directory: TempDir,
}

impl Nginx {
    /// An nginx that forwards `/large` to `large` and everything else to `origin`, with one worker
    /// per processor and no buffering on disk; `None` if it is not installed.
    ///
    /// # Panics
    /// If it is there and does not start.
    pub(crate) async fn before(origin: SocketAddr, large: SocketAddr) -> Option<Self> {
        Command::new("nginx").arg("-v").stderr(Stdio::null()).status().ok()?;
        let directory = tempfile::tempdir().expect("a temporary directory");
        let address = closed_port();
        let place = directory.path().display();
        let configuration = format!(
            "daemon off; worker_processes auto; pid {place}/pid; error_log {place}/error.log crit;
events {{ worker_connections 4096; }}
http {{
  access_log off; proxy_buffering off; proxy_http_version 1.1; proxy_set_header Connection \"\";
  client_body_temp_path {place}/body; proxy_temp_path {place}/proxy;
  fastcgi_temp_path {place}/fastcgi; uwsgi_temp_path {place}/uwsgi; scgi_temp_path {place}/scgi;
  upstream origin {{ server {origin}; keepalive 64; }}
  upstream large {{ server {large}; }}
  server {{
    listen {address};
    location / {{ proxy_pass http://origin; }}
    location /large {{ proxy_pass http://large; }}
  }}
}}
"
        );
        let file = directory.path().join("nginx.conf");
        std::fs::write(&file, configuration).expect("a file");
        let child = Command::new("nginx")
            .arg("-p")
            .arg(directory.path())
            .arg("-c")
            .arg(&file)
            .args(["-e", "stderr"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nginx starts");
        let since = Instant::now();
        while TcpStream::connect(address).await.is_err() {
            assert!(since.elapsed() < PATIENCE, "nginx does not listen");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Some(Self { address, child, _directory: directory })
    }

    /// The address it listens on.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Its workers end with it, unless it is killed outright.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}
