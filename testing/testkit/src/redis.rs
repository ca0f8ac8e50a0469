//! A real Redis, for tests of the data kept there.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use crate::PATIENCE;

/// A Redis server of its own; stopped when dropped.
pub struct Redis {
    process: Child,
    address: SocketAddr,
}

impl Redis {
    /// Starts a server with more arguments, such as `--requirepass pw`. `None`, with a message,
    /// where Redis is not installed.
    ///
    /// # Panics
    /// If it does not answer.
    pub fn start(address: SocketAddr, more: &[&str]) -> Option<Self> {
        let port = address.port().to_string();
        let mut command = Command::new("redis-server");
        command.args(more);
        command.args(["--bind", "127.0.0.1", "--port", &port, "--save", ""]);
        let process = match command.stdout(Stdio::null()).spawn() {
            Ok(process) => process,
            Err(error) => {
                eprintln!("left out: redis-server: {error}");
                return None;
            }
        };
        let redis = Self { process, address };
        let start = Instant::now();
        while redis.command("PING") != "+PONG" {
            assert!(start.elapsed() < PATIENCE, "Redis does not answer");
            thread::yield_now();
        }
        Some(redis)
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The first line of the answer, or what follows the length of a text. The password, if there
    /// is one, is `pw`.
    pub fn command(&self, line: &str) -> String {
        let Ok(mut stream) = TcpStream::connect(self.address) else {
            return String::new();
        };
        let mut answer = String::new();
        let sent = stream.write_all(format!("AUTH pw\r\n{line}\r\nQUIT\r\n").as_bytes());
        if sent.is_err() || stream.read_to_string(&mut answer).is_err() {
            return String::new();
        }
        let mut lines = answer.lines().skip(1);
        let first = lines.next().unwrap_or_default();
        if first.starts_with('$') { lines.next().unwrap_or_default() } else { first }.to_owned()
    }

    /// Stops or wakes the process.
    ///
    /// # Panics
    /// If there is no shell.
    pub fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("sh").args(["-c", &format!("kill -{name} {pid}")]).status();
        assert!(sent.expect("a shell").success());
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // Ended already, in some tests.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
