//! One request on a connection of its own: a check that a server answers as expected.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::interrupt::Interrupt;
use crate::process::Process;

/// Longest wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Time between two looks at a server that does not answer yet.
const LOOK: Duration = Duration::from_millis(2);

/// Sends a request and returns the status; `None` if there was no answer.
pub fn status(address: SocketAddr, method: &str, target: &str, fields: &str) -> Option<u16> {
    exchange(address, method, target, fields, "", TIMEOUT).map(|(status, _)| status)
}

/// Sends a request with a body; status and everything after the status line. `None` if nothing came
/// for as long as `timeout`.
pub fn exchange(
    address: SocketAddr,
    method: &str,
    target: &str,
    fields: &str,
    body: &str,
    timeout: Duration,
) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT).ok()?;
    stream.set_read_timeout(Some(timeout)).ok()?;
    stream.set_nodelay(true).ok()?;
    let host = if fields.to_ascii_lowercase().contains("host:") {
        String::new()
    } else {
        format!("Host: {address}\r\n")
    };
    let length = match body {
        "" => String::new(),
        body => format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()),
    };
    let request = format!(
        "{method} {target} HTTP/1.1\r\n{host}Connection: close\r\n{length}{fields}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    read.ok().or((!answer.is_empty()).then_some(0))?;
    let (line, rest) = answer.split_once("\r\n")?;
    Some((line.split(' ').nth(1)?.parse().ok()?, rest.to_owned()))
}

/// A request to be answered with 200: method, target, field lines.
pub type Asked = (&'static str, String, String);

/// Waits until `asked` is answered with 200; returns the time since `began`. `None` if that did not
/// happen within `limit`.
///
/// # Errors
/// The process ended, or Ctrl-C.
pub fn until_ok(
    address: SocketAddr,
    asked: &Asked,
    process: Option<&mut Process>,
    (began, limit): (Instant, Duration),
    interrupt: &Interrupt,
) -> anyhow::Result<Option<Duration>> {
    let mut process = process;
    let (method, target, fields) = asked;
    while status(address, method, target, fields) != Some(200) {
        interrupt.check()?;
        if let Some(process) = process.as_deref_mut() {
            process.check()?;
        }
        if began.elapsed() > limit {
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
    Ok(Some(began.elapsed()))
}
