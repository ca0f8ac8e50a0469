//! Sequential requests on a kept connection, and the number of lost ones.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, ensure};

/// Longest wait for an answer.
const ANSWER: Duration = Duration::from_secs(20);
/// Pause between two requests, so that the processors are left to the programs under test.
const PAUSE: Duration = Duration::from_millis(2);
/// Longest body that is read.
const BODY_BYTES_MAX: usize = 1024;
/// The maximum number of losses described in words.
const WORDS_MAX: usize = 3;

/// The results of the requests.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    pub(crate) sent: u64,
    pub(crate) lost: u64,
    /// The first losses.
    pub(crate) words: Vec<String>,
}

/// A client at work.
pub(crate) struct Traffic {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Counted>,
}

impl Traffic {
    /// Begins to send requests to a gateway.
    pub(crate) fn start(gateway: SocketAddr) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut counted = Counted::default();
            let mut kept = None;
            while !stopped.load(Ordering::Relaxed) {
                counted.sent += 1;
                if let Err(error) = on(&mut kept, gateway) {
                    kept = None;
                    counted.lost += 1;
                    if counted.words.len() < WORDS_MAX {
                        counted.words.push(format!("{error:#}"));
                    }
                }
                std::thread::sleep(PAUSE);
            }
            counted
        });
        Self { stop, thread }
    }

    /// Lets the client finish its current request.
    pub(crate) fn finish(self) -> Counted {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|_| Counted { lost: 1, ..Counted::default() })
    }
}

/// The answer to one request on a connection of its own: the port of the service.
pub(crate) fn ask(gateway: SocketAddr) -> anyhow::Result<String> {
    on(&mut None, gateway)
}

fn on(kept: &mut Option<BufReader<TcpStream>>, gateway: SocketAddr) -> anyhow::Result<String> {
    let mut stream = match kept.take() {
        Some(stream) => stream,
        None => {
            let stream = TcpStream::connect(gateway).context("connect")?;
            stream.set_read_timeout(Some(ANSWER))?;
            BufReader::new(stream)
        }
    };
    stream.get_mut().write_all(b"GET /orders/1 HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        ensure!(stream.read_line(&mut line).context("head")? > 0, "closed instead of an answer");
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().context("Content-Length")?;
        }
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    ensure!(length <= BODY_BYTES_MAX, "{length} bytes instead of a port");
    let mut body = vec![0; length];
    stream.read_exact(&mut body).context("body")?;
    let body = String::from_utf8_lossy(&body).into_owned();
    ensure!(head.starts_with("HTTP/1.1 200"), "{} {body}", head.lines().next().unwrap_or_default());
    ensure!(body.parse::<u16>().is_ok(), "`{body}` instead of a port");
    if !head.to_ascii_lowercase().contains("connection: close") {
        *kept = Some(stream);
    }
    Ok(body)
}
