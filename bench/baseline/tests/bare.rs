//! The two programs as processes: answers of every kind, requested directly and through the
//! forwarder.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Hang guard: far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

struct Program {
    child: Child,
    address: String,
}

impl Program {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_weir-bare"))
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening ").unwrap().to_owned();
        Self { child, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Sends `request`, shuts down the writing side, and returns everything received.
fn ask(program: &Program, request: &[u8]) -> String {
    let mut stream = program.connect();
    stream.write_all(request).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nok\n";

#[test]
fn requests_are_answered_directly_and_through_the_forwarder() {
    let answer = Program::start(&["answer", "--listen", "127.0.0.1:0"]);
    let forward = Program::start(&["forward", "--listen", "127.0.0.1:0", "--to", &answer.address]);
    let get = "GET /a HTTP/1.1\r\nHost: x\r\n";
    let long = format!("{get}Content-Length: 300000\r\n\r\n{}", "y".repeat(300_000));
    let chunks = format!("{get}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    for program in [&answer, &forward] {
        let check = |request: &str, expected: &str| {
            let got = ask(program, request.as_bytes());
            assert_eq!(got, expected, "{}", &request[..request.len().min(200)]);
        };
        check(&format!("{get}\r\n"), OK);
        check(&format!("{get}\r\n").repeat(50), &OK.repeat(50));
        check(&long, OK);
        check(&format!("{chunks}{get}\r\n"), &OK.repeat(2));
        let closing = OK.replace("Content-Length", "Connection: close\r\nContent-Length");
        check("GET / HTTP/1.0\r\n\r\n", &closing);
        let head = OK.split_once("Content-Length").unwrap().0;
        check(
            &format!("{get}X-Answer: 5,chunked\r\n\r\n"),
            &format!("{head}Transfer-Encoding: chunked\r\n\r\n5\r\nxxxxx\r\n0\r\n\r\n"),
        );
        let body = "x".repeat(3_000_000);
        check(
            &format!("{get}X-Answer: 3000000\r\n\r\n"),
            &format!("{head}Content-Length: 3000000\r\n\r\n{body}"),
        );
        check("NONSENSE\r\n\r\n", "");
    }
}

#[test]
fn a_head_may_come_in_pieces() {
    let answer = Program::start(&["answer", "--listen", "127.0.0.1:0"]);
    let mut stream = answer.connect();
    stream.set_nodelay(true).unwrap();
    for piece in ["GET / HT", "TP/1.1\r\nHost", ": x\r\n\r", "\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"]
    {
        stream.write_all(piece.as_bytes()).unwrap();
    }
    let mut got = vec![0; OK.len() * 2];
    stream.read_exact(&mut got).unwrap();
    assert_eq!(String::from_utf8_lossy(&got), OK.repeat(2));
}
