//! The server behind the gateway: records what it receives, byte for byte, and sends the case's
//! answers. The counterpart of the recorder's `Upstream`.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::message::{Message, without_blank_end};

const DEFAULT_ANSWER: &[&str] = &["HTTP/1.1 200 OK", "Content-Length: 2", "", "ok"];

/// The time that requests may still take once the response is complete: an answer of the gateway
/// itself, such as a timeout, may come before them.
const READING_MAX: Duration = Duration::from_millis(500);

/// A recording upstream on 127.0.0.1.
pub struct Upstream {
    pub port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    answers: Vec<Vec<String>>,
    got: Vec<Message>,
    /// Requests that are being read.
    busy: usize,
}

impl Upstream {
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::<Shared>::default();
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&accepting);
                thread::spawn(move || shared.serve(&stream));
            }
        });
        Self { port, shared }
    }

    /// Discards the recorded requests, and answers with `answers` in order, repeating the last one.
    pub fn prepare(&self, answers: Vec<Vec<String>>) {
        let default = || vec![DEFAULT_ANSWER.iter().map(|line| (*line).to_owned()).collect()];
        let mut state = self.shared.state();
        state.answers = if answers.is_empty() { default() } else { answers };
        state.got.clear();
    }

    /// The requests received since [`Upstream::prepare`]; waits for those in progress if fewer than
    /// `expected` have arrived.
    pub fn got(&self, expected: usize) -> Vec<Message> {
        let reading = |state: &mut State| state.busy > 0 || state.got.len() < expected;
        let state = self.shared.state();
        let waited = self.shared.changed.wait_timeout_while(state, READING_MAX, reading);
        waited.unwrap_or_else(PoisonError::into_inner).0.got.clone()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, stream: &TcpStream) {
        let _ = stream.set_nodelay(true);
        let mut reader = BufReader::new(stream);
        while reader.fill_buf().is_ok_and(|bytes| !bytes.is_empty()) {
            self.state().busy += 1;
            let request = Message::read(&mut reader, false, false).ok().flatten();
            let answer = self.take(request.as_ref());
            let Some(request) = request else { return };
            if !respond(stream, &request, &answer) {
                return;
            }
        }
    }

    fn take(&self, request: Option<&Message>) -> Vec<String> {
        let mut state = self.state();
        state.busy -= 1;
        state.got.extend(request.cloned());
        self.changed.notify_all();
        let last = state.answers.len().min(state.got.len().max(1));
        state.answers.get(last.saturating_sub(1)).cloned().unwrap_or_default()
    }
}

/// Sends one answer; `false` if the connection must end with it.
fn respond(mut stream: &TcpStream, request: &Message, answer: &[String]) -> bool {
    let mut lines = without_blank_end(answer);
    while let Some((action, rest)) = lines.split_first().filter(|(line, _)| line.starts_with('(')) {
        match action.as_str() {
            "(reset)" => return reset(stream),
            "(close)" => return false,
            wait => thread::sleep(milliseconds(wait)),
        }
        lines = rest;
    }
    let closes = lines.last().is_some_and(|line| line == "(close)");
    let message = Message::from_lines(&lines[..lines.len() - usize::from(closes)]);
    let wire = message.to_wire(!request.start_line().starts_with("HEAD "));
    let is_last = message.field("connection").is_some_and(|it| it.eq_ignore_ascii_case("close"));
    stream.write_all(&wire).is_ok() && !closes && !is_last
}

fn reset(stream: &TcpStream) -> bool {
    let _ = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO));
    false
}

fn milliseconds(action: &str) -> Duration {
    let number = action.strip_prefix("(wait ").and_then(|rest| rest.strip_suffix(" ms)"));
    let number = number.and_then(|number| number.parse().ok());
    Duration::from_millis(number.unwrap_or_else(|| panic!("unknown action {action}")))
}
