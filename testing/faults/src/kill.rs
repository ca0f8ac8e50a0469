//! `kill -9` while routes are being changed.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use weir_testkit::Gateway;

use crate::dice::Dice;
use crate::tally::{Size, Tally};
use crate::weir::{Weir, route_ids};

/// Writers at a time.
const WRITERS: usize = 4;
/// The maximum number of acknowledged changes before the gateway is killed.
const CHANGES_MAX: u64 = 60;
const CONFIG: &str = "server: { address: 127.0.0.1, port: 0 }\nweir.admin.port: 0\n";

/// Kills with concurrent writers: the store opens every time, and every acknowledged change is
/// there.
pub(crate) async fn with_writers(weir: Weir, size: Size) -> Tally {
    let data = tempfile::tempdir().expect("a directory");
    let start = || {
        let mut command = Command::new(weir.path());
        command.env("WEIR_STORE_PATH", data.path().join("store"));
        Gateway::launch(command, &["run", "{config}"], &[("weir.yaml", CONFIG.as_bytes())])
    };
    let mut dice = Dice::new();
    let mut tally = Tally::default();
    let mut kept: HashSet<String> = HashSet::new();
    for round in 0..size.of(3, 300) {
        let gateway = start();
        missing(&mut tally, gateway.admin(), &kept);
        let changes = 1 + dice.below(CHANGES_MAX) as usize;
        kept = write_until_killed(&mut tally, gateway, round, changes, kept);
        // The sleep lets a pending interruption be handled.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    missing(&mut tally, start().admin(), &kept);
    tally
}

/// Looks for every id of `kept`.
fn missing(tally: &mut Tally, admin: SocketAddr, kept: &HashSet<String>) {
    let all = ask(admin, "GET", "", "").unwrap_or_default();
    let all: HashSet<String> = route_ids(&all).into_iter().collect();
    for id in kept {
        tally.check(all.contains(id), || format!("{id} is lost"));
    }
}

/// Puts routes, and deletes some of them, until `changes` were acknowledged; then kills the
/// gateway. Returns the ids that must exist.
fn write_until_killed(
    tally: &mut Tally,
    gateway: Gateway,
    round: usize,
    changes: usize,
    kept: HashSet<String>,
) -> HashSet<String> {
    let admin = gateway.admin();
    let (gateway, kept) = (Mutex::new(gateway), Mutex::new(kept));
    let acknowledged = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (gateway, kept, acknowledged) = (&gateway, &kept, &acknowledged);
            scope.spawn(move || {
                for n in 0.. {
                    let id = format!("r{round}-{writer}-{n}");
                    let put = ask(admin, "POST", &format!("/{id}"), r#"{"uri":"http://x"}"#);
                    // Killed before it could answer: then it may be there or not.
                    if !put.is_some_and(|answer| answer.starts_with("HTTP/1.1 201")) {
                        return;
                    }
                    locked(kept).insert(id.clone());
                    if acknowledged.fetch_add(1, Ordering::SeqCst) + 1 == changes {
                        locked(gateway).kill();
                    }
                    // So that the table does not grow over many rounds; not knowing whether a
                    // delete came through, nothing is asked of the route any more.
                    if n % 4 != 0 {
                        locked(kept).remove(&id);
                        let _ = ask(admin, "DELETE", &format!("/{id}"), "");
                    }
                }
            });
        }
    });
    let acknowledged = acknowledged.into_inner();
    tally.requests += acknowledged as u64;
    tally.check(acknowledged >= changes, || format!("{acknowledged} changes of {changes}"));
    kept.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The whole answer to a request, if the gateway lives long enough to send it.
fn ask(admin: SocketAddr, method: &str, target: &str, body: &str) -> Option<String> {
    let mut stream = TcpStream::connect(admin).ok()?;
    let request = format!(
        "{method} /actuator/gateway/routes{target} HTTP/1.1\r\nHost: localhost\r\n\
         Connection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}
