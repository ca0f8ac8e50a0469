//! Plays the exchanges of one file against a running gateway. The counterpart of the recorder's
//! `Recorder`.

use std::io::{BufReader, ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use weir_testkit::{Gateway, Redis, closed_port};

use crate::case_file::{CaseFile, Exchange};
use crate::message::{Block, Message};
use crate::methods;
use crate::normal::Normal;
use crate::peer;
use crate::upstream::Upstream;

/// The time limit for an answer, that of the recorder.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(8);

/// Descriptor sets, for files `with grpc`. The recorder has them on its class path.
const DESCRIPTORS: [(&str, &[u8]); 2] = [
    ("shop.pb", include_bytes!("../../../../tests/grpc/shop.pb")),
    ("shop-first.pb", include_bytes!("../../../../tests/grpc/shop-first.pb")),
];

/// The observed messages of one exchange, with placeholders.
pub struct Seen {
    pub requests: Vec<Block>,
    pub responses: Vec<Block>,
}

/// A gateway, its upstream, and the connection of the last exchange.
pub struct Player {
    upstream: Upstream,
    gateway: Gateway,
    /// For files `with redis`; ended with the player.
    _redis: Option<Redis>,
    /// The base path of the actuator, if the file lets it change routes.
    writable: Option<String>,
    connection: Option<Connection>,
}

struct Connection {
    stream: BufReader<TcpStream>,
    port: u16,
}

impl Player {
    /// Starts weir with the configuration of `file`, and with settings (`key=value`) over it.
    ///
    /// # Errors
    /// It refuses to start: what it said.
    pub fn start(file: &CaseFile, settings: &[String]) -> Result<Self, String> {
        let upstream = Upstream::start();
        let redis = file.wants("redis").then(|| Redis::start(closed_port(), &[])).flatten();
        let redis_port = redis.as_ref().map(|redis| redis.address().port().to_string());
        let peer = format!("http://127.0.0.1:{}", peer::start(file));
        // Spring Cloud Gateway calls methods over TLS only.
        let methods = file.wants("grpc").then(methods::start).unwrap_or_default();
        let fill = |text: &str| {
            let port = upstream.port.to_string();
            text.replace("${UPSTREAM}", &format!("http://127.0.0.1:{port}"))
                .replace("${UPSTREAM_PORT}", &port)
                .replace("${REDIS_PORT}", redis_port.as_deref().unwrap_or_default())
                .replace("${PEER}", &peer)
                .replace("${GRPC}", &format!("http://127.0.0.1:{methods}"))
                .replace("${FOLDER}", ".")
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command.env_clear();
        let mut args: Vec<String> = "run application.yml --log=off --data=data \
            --set=server.port=0 --set=weir.admin.port=0 --set=weir.admin.hosts=gw.example \
            --set=weir.server.workers=1"
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        args.extend(settings.iter().map(|setting| format!("--set={setting}")));
        let mut files = Vec::new();
        for (title, lines) in &file.sections {
            let text: Vec<u8> = fill(&(lines.join("\n") + "\n")).chars().map(|c| c as u8).collect();
            match title.split_once(' ').unwrap_or((title, "")) {
                ("config", _) => files.insert(0, ("application.yml", text)),
                ("file", name) => files.push((name, text)),
                ("profile", name) => args.push(format!("--profile={name}")),
                ("env", pair) => {
                    let (name, value) = pair.split_once('=').expect("NAME=value");
                    command.env(name, fill(value));
                }
                ("with" | "peer", _) => {}
                _ => panic!("{}: unknown section `{title}`", file.name),
            }
        }
        if file.wants("grpc") {
            files.extend(DESCRIPTORS.iter().map(|(name, set)| (*name, set.to_vec())));
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, &**text)).collect();
        let gateway = Gateway::launch(command, &args, &files);
        if !gateway.starts() {
            return Err(gateway.output());
        }
        Ok(Self { upstream, gateway, _redis: redis, writable: writable(file), connection: None })
    }

    /// Plays one exchange.
    pub fn play(&mut self, exchange: &Exchange) -> Seen {
        let fill = |lines: &Vec<String>| lines.iter().map(|line| self.fill(line)).collect();
        self.upstream.prepare(exchange.answers.iter().map(fill).collect());
        let request: Vec<String> = fill(&exchange.request);
        let request = Message::from_lines(&request);
        let reused =
            self.connection.take().filter(|_| exchange.options.contains("same-connection"));
        let mut connection = reused.unwrap_or_else(|| self.connect(&exchange.options, &request));
        let normal =
            Normal::new(self.upstream.port, self.gateway.address().port(), connection.port);
        let sent = connection.stream.get_mut().write_all(&request.to_wire(true));
        let responses = match sent {
            Ok(()) => connection.responses(&request, &normal),
            Err(_) => vec![Block::Note("(connection reset)".to_owned())],
        };
        self.connection = Some(connection);
        let got = self.upstream.got(exchange.recorded_requests().len());
        let requests = got.iter().map(|message| Block::Message(normal.apply(message))).collect();
        Seen { requests, responses }
    }

    fn connect(&self, options: &str, request: &Message) -> Connection {
        let from = options.trim().strip_prefix("from ").map(|ip| ip.parse().expect("an address"));
        let from = from.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let address = match self.is_write(request) {
            true => self.gateway.admin(),
            false => self.gateway.address(),
        };
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.bind(&SocketAddr::new(from, 0).into()).expect("a local address");
        socket.connect(&address.into()).expect("the gateway accepts");
        let stream = TcpStream::from(socket);
        stream.set_nodelay(true).expect("an option");
        stream.set_read_timeout(Some(ANSWER_TIMEOUT)).expect("an option");
        let port = stream.local_addr().expect("an address").port();
        Connection { stream: BufReader::new(stream), port }
    }

    /// Whether the request changes routes: SCG accepts that on the main port, weir on another.
    fn is_write(&self, request: &Message) -> bool {
        let mut words = request.start_line().split(' ');
        let changes = matches!(words.next(), Some("POST" | "DELETE"));
        let target = words.next().unwrap_or_default();
        changes && self.writable.as_ref().is_some_and(|base| target.starts_with(base))
    }

    fn fill(&self, line: &str) -> String {
        let gateway = self.gateway.address().port();
        line.replace("{upstream}", &format!("127.0.0.1:{}", self.upstream.port))
            .replace("{upstream-port}", &self.upstream.port.to_string())
            .replace("{gateway}", &format!("127.0.0.1:{gateway}"))
            .replace("{gateway-port}", &gateway.to_string())
    }
}

fn writable(file: &CaseFile) -> Option<String> {
    let (_, config) = file.sections.iter().find(|(title, _)| title == "config")?;
    let says = |text: &str| config.iter().any(|line| line.trim() == text);
    says("endpoint.gateway.access: unrestricted").then(|| "/actuator/gateway/".to_owned())
}

impl Connection {
    /// All answers, interim ones first.
    fn responses(&mut self, request: &Message, normal: &Normal) -> Vec<Block> {
        let is_head = request.start_line().starts_with("HEAD ");
        let mut responses = Vec::new();
        loop {
            let note = match Message::read(&mut self.stream, true, is_head) {
                Ok(Some(message)) => {
                    let is_interim = message.status() / 100 == 1;
                    responses.push(Block::Message(normal.apply(&message)));
                    if is_interim {
                        continue;
                    }
                    return responses;
                }
                Ok(None) => "(connection closed)",
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => "(no answer)",
                    _ => "(connection reset)",
                },
            };
            responses.push(Block::Note(note.to_owned()));
            return responses;
        }
    }
}
