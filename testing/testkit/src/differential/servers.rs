//! Real servers that report how they interpret requests. The files they need are in
//! `tests/differential`.
//!
//! Each answers a request with `x-seen: METHOD.TARGET.BODY` in hex. Servers that run programs do it
//! themselves; nginx and Apache forward the request as they understood it to [`Echo`], which
//! answers for them.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::requests::SENTINEL;
use crate::judge::{End, Message, read_requests};

/// The time limit for an answer: far longer than a server needs.
const PATIENCE: Duration = Duration::from_secs(5);
/// The time limit for a start: some servers are compiled first.
const START: Duration = Duration::from_secs(240);

/// An upstream for servers that only forward: it answers with the received request.
#[derive(Debug)]
pub struct Echo(SocketAddr);

impl Echo {
    /// Starts on a free port, in threads that end with the process.
    ///
    /// # Errors
    /// What the socket says.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || echo(stream));
            }
        });
        Ok(Self(address))
    }
}

fn echo(mut stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 * 1024];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        bytes.extend(buffer.iter().take(count));
        let reading = read_requests(&bytes);
        for message in &reading.messages {
            let seen = shown(&message.method, &message.target, &message.body);
            let answer = format!("HTTP/1.1 200 OK\r\nx-seen: {seen}\r\nContent-Length: 0\r\n\r\n");
            if stream.write_all(answer.as_bytes()).is_err() || message.last {
                return;
            }
        }
        let awaits = reading.open.as_ref().is_some_and(|open| !open.all("expect").is_empty());
        if awaits && stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").is_err() {
            return;
        }
        if let End::Refused(why) = reading.end {
            eprintln!("a server passed on what is not HTTP ({why}): {}", bytes.escape_ascii());
            return;
        }
        bytes.drain(..reading.messages.last().map_or(0, |message| message.end));
    }
}

/// A running server. Killed when dropped.
#[derive(Debug)]
pub struct Server {
    /// The name.
    pub name: &'static str,
    /// The version, as the server reports it.
    pub version: String,
    address: SocketAddr,
    joins_slashes: bool,
    child: Child,
}

/// A server's interpretation of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Understanding {
    /// As the judge did.
    Same,
    /// As the judge did up to this request (from 0), which it answered with this status, or closed
    /// the connection instead (0).
    Refused(u16, usize),
    /// The judge's, up to this request (from 0): with the answer before it the server announced
    /// that it closes the connection, and did.
    Ended(usize),
    /// A different interpretation, or a failure.
    Other(String),
}

/// The recipe to start a server: its program, the one that reports its version, and the arguments,
/// in which `{port}`, `{echo}`, `{files}`, `{dir}` and `{modules}` are replaced.
struct Recipe {
    name: &'static str,
    program: &'static str,
    version: &'static [&'static str],
    arguments: &'static [&'static str],
    /// Whether it forwards `//a` as `/a`: a habit of forwarding, not of reading.
    joins_slashes: bool,
    /// A configuration file, written to `{dir}` with the same replacements.
    configuration: Option<&'static str>,
}

const RECIPES: &[Recipe] = &[
    Recipe {
        name: "nginx",
        program: "nginx",
        version: &["-v"],
        arguments: &["-p", "{dir}", "-c", "{dir}/nginx.conf", "-e", "stderr"],
        joins_slashes: false,
        configuration: Some("nginx.conf"),
    },
    Recipe {
        name: "Apache",
        program: "apache2",
        version: &["-v"],
        arguments: &["-X", "-d", "{dir}", "-f", "{dir}/apache.conf"],
        joins_slashes: true,
        configuration: Some("apache.conf"),
    },
    Recipe {
        name: "Node.js",
        program: "node",
        version: &["--version"],
        arguments: &["{files}/node.js", "{port}"],
        joins_slashes: false,
        configuration: None,
    },
    Recipe {
        name: "Go net/http",
        program: "go",
        version: &["version"],
        arguments: &["run", "{files}/go.go", "{port}"],
        joins_slashes: false,
        configuration: None,
    },
    Recipe {
        name: "JDK HttpServer",
        program: "java",
        version: &["--version"],
        arguments: &["{files}/Jdk.java", "{port}"],
        joins_slashes: false,
        configuration: None,
    },
];

impl Server {
    /// Starts every server that is installed; `files` is `tests/differential`, `directory` a place
    /// for their files.
    ///
    /// # Errors
    /// One is there and does not start.
    pub fn start_all(files: &Path, directory: &Path, echo: &Echo) -> io::Result<Vec<Self>> {
        let mut servers = Vec::new();
        for recipe in RECIPES {
            if let Some(version) = recipe.version() {
                servers.push(recipe.start(version, files, directory, echo)?);
            }
        }
        Ok(servers)
    }

    /// Sends `raw`, the bytes of each of `messages`, and [`SENTINEL`]; returns the server's
    /// interpretation. All are sent at once, except that a request for another protocol waits for
    /// the answers before it and is the last of its connection, as weir sends it.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub fn ask(&self, raw: &[Vec<u8>], messages: &[Message]) -> io::Result<Understanding> {
        let mut expected: Vec<_> =
            messages.iter().map(|m| shown(&m.method, self.passed_on(&m.target), &m.body)).collect();
        expected.push(shown(b"GET", b"/sentinel", b""));
        let mut stream = self.connect()?;
        let mut answers = Vec::new();
        let mut batch = Vec::new();
        for (number, (bytes, message)) in raw.iter().zip(messages).enumerate() {
            if message.all("upgrade").is_empty() {
                batch.extend(bytes);
                continue;
            }
            for (piece, due) in [(batch.as_slice(), number), (bytes, number + 1)] {
                // A server that refuses closes early: its answers count.
                let _ = stream.write_all(piece);
                let enough = |answers: &[u8]| read_answers(answers).len() >= due;
                if !read_until(&mut stream, &mut answers, enough)? {
                    return Ok(Understanding::Other("waits for more".to_owned()));
                }
            }
            if read_answers(&answers).len() <= number {
                return Ok(understanding(&read_answers(&answers), &expected));
            }
            batch.clear();
            stream = self.connect()?;
        }
        batch.extend(SENTINEL);
        let _ = stream.write_all(&batch);
        if !read_until(&mut stream, &mut answers, |_| false)? {
            return Ok(Understanding::Other("waits for more".to_owned()));
        }
        Ok(understanding(&read_answers(&answers), &expected))
    }
}

impl Server {
    fn connect(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    fn passed_on<'t>(&self, target: &'t [u8]) -> &'t [u8] {
        let mut target = target;
        while let (true, [b'/', rest @ ..]) = (self.joins_slashes, target)
            && rest.starts_with(b"/")
        {
            target = rest;
        }
        target
    }
}

/// Reads until `enough`, or the server closes; false if neither happens.
fn read_until(
    stream: &mut TcpStream,
    answers: &mut Vec<u8>,
    enough: impl Fn(&[u8]) -> bool,
) -> io::Result<bool> {
    let mut buffer = [0; 16 * 1024];
    while !enough(answers) {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(true),
            Ok(count) => answers.extend(buffer.iter().take(count)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(true),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// A final answer.
#[derive(Debug)]
struct Final {
    status: u16,
    /// The value of `x-seen`.
    seen: Option<String>,
    /// Whether it announces the end of the connection.
    closes: bool,
}

fn read_answers(answers: &[u8]) -> Vec<Final> {
    let text = String::from_utf8_lossy(answers).into_owned();
    let heads = text.split("HTTP/1.1 ").skip(1);
    let read = heads.map(|head| {
        let status = head.get(..3).and_then(|code| code.parse().ok()).unwrap_or(0);
        let value = |wanted: &str| {
            head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case(wanted).then(|| value.trim().to_owned())
            })
        };
        let closes = value("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        Final { status, seen: value("x-seen"), closes }
    });
    read.filter(|answer| answer.status >= 200).collect()
}

/// An answer without `x-seen` refuses the request in its place; a connection that ends early
/// refuses those left.
fn understanding(answers: &[Final], expected: &[String]) -> Understanding {
    let differs = |(answer, expected): (&Final, &String)| match &answer.seen {
        Some(seen) => seen != expected,
        None => answer.status < 400,
    };
    if answers.len() > expected.len() || answers.iter().zip(expected).any(differs) {
        return Understanding::Other(format!("{answers:?} instead of {expected:?}"));
    }
    let refused = answers.iter().enumerate().find(|(_, answer)| answer.seen.is_none());
    match (refused, answers.last()) {
        (Some((at, answer)), _) => Understanding::Refused(answer.status, at),
        (None, _) if answers.len() == expected.len() => Understanding::Same,
        (None, Some(last)) if last.closes => Understanding::Ended(answers.len()),
        (None, _) => Understanding::Refused(0, answers.len()),
    }
}

fn shown(method: &[u8], target: &[u8], body: &[u8]) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("{}.{}.{}", hex(method), hex(target), hex(body))
}

impl Recipe {
    /// The directory of Apache's modules: beside that of the program.
    fn modules(&self) -> PathBuf {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut programs = std::env::split_paths(&path).map(|place| place.join(self.program));
        let program = programs.find(|program| program.is_file()).unwrap_or_default();
        let prefix = program.ancestors().nth(2).unwrap_or(Path::new("/usr"));
        prefix.join("lib/apache2/modules")
    }

    /// The version that the installed server reports; `None` if it is not installed.
    fn version(&self) -> Option<String> {
        let output = Command::new(self.program).args(self.version).output().ok()?;
        let said = [output.stdout, output.stderr].concat();
        let line = String::from_utf8_lossy(&said).lines().next()?.to_owned();
        let line = line.trim_start_matches("nginx version: ");
        Some(line.trim_start_matches("Server version: ").to_owned())
    }

    fn start(
        &self,
        version: String,
        files: &Path,
        directory: &Path,
        echo: &Echo,
    ) -> io::Result<Server> {
        let address = crate::closed_port();
        let place = directory.join(self.name.replace(['/', ' '], "-"));
        std::fs::create_dir_all(&place)?;
        let words = HashMap::from([
            ("{port}", address.port().to_string()),
            ("{echo}", echo.0.to_string()),
            ("{files}", files.display().to_string()),
            ("{dir}", place.display().to_string()),
            ("{modules}", self.modules().display().to_string()),
        ]);
        let fill = |text: &str| {
            words.iter().fold(text.to_owned(), |text, (word, value)| text.replace(word, value))
        };
        if let Some(name) = self.configuration {
            let written = fill(&std::fs::read_to_string(files.join(name))?);
            std::fs::write(place.join(name), written)?;
        }
        let log = std::fs::File::create(place.join("log"))?;
        let child = Command::new(self.program)
            .args(self.arguments.iter().map(|argument| fill(argument)))
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let (name, joins_slashes) = (self.name, self.joins_slashes);
        let mut server = Server { name, version, address, joins_slashes, child };
        server.wait_until_it_listens(&place.join("log"))?;
        Ok(server)
    }
}

impl Server {
    fn wait_until_it_listens(&mut self, log: &PathBuf) -> io::Result<()> {
        let started = Instant::now();
        while TcpStream::connect(self.address).is_err() {
            let ended = self.child.try_wait()?;
            if ended.is_some() || started.elapsed() > START {
                let said = std::fs::read_to_string(log).unwrap_or_default();
                return Err(io::Error::other(format!("{} does not start: {said}", self.name)));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Some run in a child of what was started: all of them end with their standard input.
        drop(self.child.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
