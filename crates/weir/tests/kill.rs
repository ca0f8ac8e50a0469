//! Route changes that a gateway has acknowledged survive `kill -9`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const ROUNDS: usize = 3;
const WRITERS: usize = 4;
/// Acknowledged changes after which the gateway is killed.
const CHANGES: usize = 60;

fn start(data: &Path) -> (Child, String) {
    let config = data.join("application.yml");
    std::fs::write(&config, "server: { port: 0, address: 127.0.0.1 }\n").expect("a file");
    let mut process = Command::new(env!("CARGO_BIN_EXE_weir"))
        .arg("run")
        .arg(&config)
        .arg("--data")
        .arg(data.join("store"))
        .args(["--set", "management.server.port=0", "--set", "management.server.address=127.0.0.1"])
        .args(["--set", "management.endpoints.web.exposure.include=*"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("weir");
    let out = BufReader::new(process.stdout.take().expect("its output")).lines();
    let mut admin = None;
    for line in out.map_while(Result::ok) {
        if let Some(address) = line.strip_prefix("admin     http ") {
            admin = Some(address.to_owned());
        }
        // The last line: from here on nobody has to read.
        if line.starts_with("listening") {
            break;
        }
    }
    (process, admin.expect("an admin address"))
}

/// The status of a request and its body, if the gateway lives to answer it.
fn ask(admin: &str, method: &str, target: &str, body: &str) -> Option<(String, String)> {
    let mut stream = TcpStream::connect(admin).ok()?;
    let request = format!(
        "{method} /actuator/gateway/routes{target} HTTP/1.1\r\nHost: localhost\r\n\
         Connection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let status = answer.get(9..12)?.to_owned();
    Some((status, answer))
}

#[test]
fn acknowledged_changes_are_there_after_a_kill() {
    let data = tempfile::tempdir().expect("a directory");
    let kept: Mutex<Vec<String>> = Mutex::default();
    for round in 0..ROUNDS {
        let (process, admin) = start(data.path());
        let process = Mutex::new(process);
        let acknowledged = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (process, admin, kept, acknowledged) = (&process, &admin, &kept, &acknowledged);
                scope.spawn(move || {
                    for n in 0.. {
                        let id = format!("r{round}-{writer}-{n}");
                        let put = ask(admin, "POST", &format!("/{id}"), r#"{"uri":"http://x"}"#);
                        match put {
                            Some((status, _)) if status == "201" => {}
                            // Killed before it could answer.
                            _ => return,
                        }
                        kept.lock().expect("a lock").push(id);
                        if acknowledged.fetch_add(1, Ordering::SeqCst) + 1 == CHANGES {
                            process.lock().expect("a lock").kill().expect("a kill");
                        }
                    }
                });
            }
        });
        process.lock().expect("a lock").wait().expect("its end");
        assert!(acknowledged.load(Ordering::SeqCst) >= CHANGES);
    }
    let (mut process, admin) = start(data.path());
    let (_, listed) = ask(&admin, "GET", "?form=entry", "").expect("an answer");
    process.kill().expect("a kill");
    process.wait().expect("its end");
    for id in kept.lock().expect("a lock").iter() {
        assert!(listed.contains(&format!("\"id\":\"{id}\"")), "{id} is lost");
    }
}
