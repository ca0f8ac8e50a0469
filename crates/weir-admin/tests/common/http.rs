//! A gateway's admin API on a port of its own, and a client that writes and reads bytes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::mpsc;
use weir_admin::{AccessRules, Hooks, Level, Logger, Refresh, Server, Site, SiteOptions};
use weir_control::Control;

/// A running admin API. Field order is the order of its end.
pub struct Api {
    pub server: Option<Server>,
    pub control: Arc<Control>,
    pub ready: Arc<AtomicBool>,
    pub address: SocketAddr,
    pub site: Arc<Site>,
    pub directory: tempfile::TempDir,
}

/// The received answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

pub fn rules() -> AccessRules {
    let hosts = vec!["gw.example".into()];
    AccessRules { loopback_only: true, hosts, ..AccessRules::default() }
}

pub fn admin(files: &[(&str, &str)]) -> Api {
    start(SiteOptions::admin(rules()), files)
}

pub fn start(options: SiteOptions, files: &[(&str, &str)]) -> Api {
    let directory = tempfile::tempdir().expect("a directory");
    start_with(super::control(&directory, files), directory, options)
}

pub fn start_with(control: Control, directory: tempfile::TempDir, options: SiteOptions) -> Api {
    let control = Arc::new(control);
    let ready = Arc::new(AtomicBool::new(true));
    let hooks = hooks(Arc::clone(&ready));
    let site = Site::new(Arc::clone(&control), hooks, options);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = Server::start(vec![(listener, Arc::clone(&site))]).expect("a server");
    Api { server: Some(server), control, ready, address, site, directory }
}

fn hooks(ready: Arc<AtomicBool>) -> Hooks {
    let level = Arc::new(Mutex::new(None));
    let (read, set) = (Arc::clone(&level), level);
    Hooks {
        caches: Arc::new(|_| None),
        empty_caches: Arc::new(|name| name.is_none()),
        prometheus: Arc::new(|| "requests_total 5\n".into()),
        ready,
        info: Arc::new(|| json!({ "build": { "name": "weir" } })),
        stats: Arc::new(|| json!({ "connections": 3 })),
        loggers: Arc::new(move || {
            let configured = *read.lock().expect("a lock");
            let root = Level::Info;
            let effective = configured.unwrap_or(root);
            vec![
                Logger { name: "ROOT".into(), configured: Some(root), effective: root },
                Logger { name: "weir_server".into(), configured, effective },
            ]
        }),
        pipelines: Arc::new(|_| None),
        services: Arc::new(|_| None),
        upstreams: Arc::new(|_| None),
        drain: Arc::new(|_, _, _| None),
        discovery: Arc::new(|| None),
        admin: None,
        refresh: refreshes(),
        set_logger: Arc::new(move |name, level| {
            if name != "weir_server" {
                return Err(format!("no logger `{name}`"));
            }
            *set.lock().expect("a lock") = level;
            Ok(())
        }),
    }
}

/// Plays a gateway that reads its configuration: the first time two properties change, then it is
/// refused.
fn refreshes() -> mpsc::Sender<Refresh> {
    let (sender, mut receiver) = mpsc::channel::<Refresh>(1);
    std::thread::spawn(move || {
        let names = vec!["a.b".to_owned(), "c[0]".to_owned()];
        let mut answers = vec![Err("not reloaded: it is refused".to_owned()), Ok(names)];
        while let Some(asked) = receiver.blocking_recv() {
            let answer = answers.pop().unwrap_or_else(|| Ok(Vec::new()));
            // Refused only if the test has ended.
            let _ = asked.send(answer);
        }
    });
    sender
}

impl Api {
    /// Sends bytes and reads to the end of the connection.
    pub fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        // The server may answer and close before it has read all.
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        parse(&bytes)
    }

    /// Sends a request with these header lines.
    pub fn send(&self, method: &str, target: &str, lines: &[&str], body: &str) -> Answer {
        let mut head = format!("{method} {target} HTTP/1.1\r\nConnection: close\r\n");
        if !lines.iter().any(|line| line.to_ascii_lowercase().starts_with("host:")) {
            head.push_str("Host: localhost\r\n");
        }
        for line in lines {
            head.push_str(line);
            head.push_str("\r\n");
        }
        if !body.is_empty() {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        self.raw(format!("{head}\r\n{body}").as_bytes())
    }

    pub fn get(&self, target: &str) -> Answer {
        self.send("GET", target, &[], "")
    }

    pub fn post(&self, target: &str, json: &str) -> Answer {
        self.send("POST", target, &["Content-Type: application/json"], json)
    }

    pub fn delete(&self, target: &str) -> Answer {
        self.send("DELETE", target, &[], "")
    }

    /// Ids of GET `/routes`, in order.
    pub fn ids(&self) -> Vec<String> {
        let routes = self.get("/actuator/gateway/routes").json();
        let routes = routes.as_array().expect("a list").iter();
        routes.map(|route| route["route_id"].as_str().expect("an id").to_owned()).collect()
    }
}

fn parse(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head in {text:?}"));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if is_chunked { dechunk(body) } else { body.to_owned() };
    Answer { status, head: head.to_owned(), body }
}

fn dechunk(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a size");
        if size == 0 {
            break;
        }
        body.push_str(after.get(..size).expect("a whole chunk"));
        rest = after.get(size + 2..).unwrap_or("");
    }
    body
}
