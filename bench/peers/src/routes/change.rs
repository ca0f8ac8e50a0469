//! The time until a route added at run time is served.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::Signal;

use crate::client::probe;
use crate::interrupt::Interrupt;
use crate::subject::{Peer, Running, location};

/// Adds a route for `/NAME` in the way that is fastest for each proxy, and waits until a request to
/// it is answered; the time from asking for the change. `None`: not within `limit`, or there are no
/// routes.
///
/// # Errors
/// The change is refused, the proxy ends, or Ctrl-C.
pub fn add_route(
    running: &mut Running,
    name: &str,
    upstream: SocketAddr,
    limit: Duration,
    interrupt: &Interrupt,
) -> anyhow::Result<Option<Duration>> {
    let target = format!("/{name}");
    let there = probe::status(running.address, "GET", &target, "") == Some(200);
    anyhow::ensure!(!there, "{}: {target} is there before it is added", running.name);
    let began;
    match running.peer {
        Peer::Direct | Peer::Forwarder | Peer::Copier => return Ok(None),
        Peer::Nginx => {
            let text = std::fs::read_to_string(&running.config)?;
            let (before, after) = text.rsplit_once("  }\n}\n").context("nginx.conf")?;
            let text = format!("{before}{}  }}\n}}\n{after}", location(name));
            std::fs::write(&running.config, text)?;
            began = Instant::now();
            if let Some(process) = &running.process {
                process.signal(Signal::HUP);
            }
        }
        Peer::Haproxy => {
            let folder = running.config.parent().context("haproxy.cfg")?;
            let map = folder.join("routes.map");
            began = Instant::now();
            let mut socket = UnixStream::connect(folder.join("admin.sock"))?;
            socket
                .write_all(format!("add map {} {target} api-{name}\n", map.display()).as_bytes())?;
            let mut answer = String::new();
            socket.read_to_string(&mut answer)?;
            anyhow::ensure!(answer.trim().is_empty(), "HAProxy: {answer}");
        }
        Peer::Weir | Peer::Scg => {
            let admin = running.admin.context("no admin API")?;
            began = Instant::now();
            let route = format!("/actuator/gateway/routes/{name}");
            if !post(admin, &route, &definition(name, upstream), limit)? {
                return Ok(None);
            }
            if running.peer == Peer::Scg && !post(admin, "/actuator/gateway/refresh", "", limit)? {
                return Ok(None);
            }
        }
    }
    let asked = ("GET", target, String::new());
    let process = running.process.as_mut();
    probe::until_ok(running.address, &asked, process, (began, limit), interrupt)
}

/// Whether there was an answer within `limit`.
fn post(admin: SocketAddr, target: &str, body: &str, limit: Duration) -> anyhow::Result<bool> {
    let Some((status, rest)) = probe::exchange(admin, "POST", target, "", body, limit) else {
        return Ok(false);
    };
    anyhow::ensure!((200..300).contains(&status), "POST {target}: {status}\n{rest}");
    Ok(true)
}

fn definition(name: &str, upstream: SocketAddr) -> String {
    let args = |values: &[&str]| -> serde_json::Value {
        let pairs = values.iter().enumerate();
        pairs.map(|(at, value)| (format!("_genkey_{at}"), serde_json::json!(value))).collect()
    };
    let header = format!("api-{name}");
    serde_json::json!({
        "id": name,
        "uri": format!("http://{upstream}"),
        "order": 1,
        "predicates": [{ "name": "Path", "args": args(&[&format!("/{name}")]) }],
        "filters": [
            { "name": "AddRequestHeader", "args": args(&["x-benchmark-routeId", &header]) },
            { "name": "PrefixPath", "args": args(&["/ok"]) },
        ],
    })
    .to_string()
}
