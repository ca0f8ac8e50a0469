//! Another server that the gateway asks: for keys or for tokens. The counterpart of the recorder's
//! `Peer`.

use std::collections::{HashMap, VecDeque};
use std::io::{BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::case_file::CaseFile;
use crate::message::Message;

/// Answers by path, of the sections `peer /path`.
type Answers = Mutex<HashMap<String, VecDeque<String>>>;

/// Starts it; tells its port. Answers come in order, the last one of a path is repeated.
pub fn start(file: &CaseFile) -> u16 {
    let mut answers = HashMap::<_, VecDeque<_>>::new();
    for (title, lines) in &file.sections {
        if let Some(path) = title.strip_prefix("peer ") {
            answers.entry(path.to_owned()).or_default().push_back(lines.join("\n"));
        }
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let answers = Arc::new(Mutex::new(answers));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answers = Arc::clone(&answers);
            thread::spawn(move || serve(&stream, &answers));
        }
    });
    port
}

fn serve(mut stream: &TcpStream, answers: &Answers) {
    let mut reader = BufReader::new(stream);
    while let Ok(Some(request)) = Message::read(&mut reader, false, false) {
        let path = request.start_line().split(' ').nth(1).unwrap_or_default();
        let (status, body) = match next(answers, path) {
            Some(body) => ("200 OK", body),
            None => ("404 Not Found", String::new()),
        };
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n");
        let answer = format!("{head}Content-Type: application/json\r\n\r\n{body}");
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn next(answers: &Answers, path: &str) -> Option<String> {
    let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
    let left = answers.get_mut(path)?;
    if left.len() > 1 { left.pop_front() } else { left.front().cloned() }
}
