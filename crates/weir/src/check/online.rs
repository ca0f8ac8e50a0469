//! `weir check --online`: reads the registries, and checks whether upstreams accept connections.
//! Nothing is registered, nothing is written.

use std::collections::BTreeSet;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use weir_balance::Directory;
use weir_config::Loaded;
use weir_control::{Configuration, Discovery, Plane};

/// The connect timeout of an upstream.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// The maximum number of upstreams that are tried.
const UPSTREAMS_MAX: usize = 64;

/// The result for one registry or upstream: its name, and the failure if there was one.
#[derive(Debug, PartialEq, Eq)]
pub struct Tried {
    name: String,
    failure: Option<String>,
}

/// The client of configuration servers.
///
/// # Errors
/// The system gives no thread.
pub fn asking() -> anyhow::Result<Arc<Configuration>> {
    let plane = Arc::new(Plane::start()?);
    Ok(Arc::new(Configuration::new(&plane, tokio::sync::watch::Sender::new(0))))
}

/// Tries the registries and upstreams of `loaded`.
///
/// # Errors
/// The system gives no thread.
pub fn try_all(loaded: &mut Loaded) -> anyhow::Result<Vec<Tried>> {
    let mut tried = registries(loaded)?;
    let upstreams = upstreams(loaded);
    std::thread::scope(|scope| {
        let trying: Vec<_> = upstreams
            .into_iter()
            .take(UPSTREAMS_MAX)
            .map(|(name, host, port)| {
                scope.spawn(move || Tried { name, failure: connect(&host, port).err() })
            })
            .collect();
        // A thread that panicked has been reported by the panic hook.
        tried.extend(trying.into_iter().filter_map(|one| one.join().ok()));
    });
    Ok(tried)
}

fn registries(loaded: &Loaded) -> anyhow::Result<Vec<Tried>> {
    let settings = &loaded.settings.discovery;
    if !settings.is_used() {
        return Ok(Vec::new());
    }
    let plane = Arc::new(Plane::start()?);
    let directory = Arc::new(Directory::default());
    // No folder: the files of a running gateway stay untouched.
    let nowhere = std::path::Path::new("");
    let changed = tokio::sync::watch::Sender::new(0);
    let discovery = Discovery::start(&plane, settings, &directory, nowhere, changed);
    discovery.wait_for_first();
    let statuses = discovery.statuses().into_iter();
    Ok(statuses
        .map(|status| Tried {
            failure: match status.answers {
                0 => Some(status.failure.unwrap_or_else(|| "it did not answer in time".to_owned())),
                _ => None,
            },
            name: status.registry,
        })
        .collect())
}

/// Names, hosts and ports of plain uris, each once.
fn upstreams(loaded: &mut Loaded) -> BTreeSet<(String, String, u16)> {
    // Errors in routes have been reported already.
    let told = loaded.diagnostics.len();
    let routes = loaded.definitions();
    loaded.diagnostics.truncate(told);
    routes.iter().filter_map(|(route, _)| upstream(&route.uri)).collect()
}

fn upstream(uri: &str) -> Option<(String, String, u16)> {
    let uri: http::Uri = uri.parse().ok()?;
    let port = match uri.scheme_str()? {
        "http" | "ws" => 80,
        "https" | "wss" => 443,
        _ => return None,
    };
    let host = uri.host()?.trim_start_matches('[').trim_end_matches(']').to_owned();
    let port = uri.port_u16().unwrap_or(port);
    Some((format!("{host}:{port}"), host, port))
}

fn connect(host: &str, port: u16) -> Result<(), String> {
    let addresses = (host, port).to_socket_addrs().map_err(|error| error.to_string())?;
    let mut last = "the name has no address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(_) => return Ok(()),
            Err(error) => last = error.to_string(),
        }
    }
    Err(last)
}

/// A line for each.
pub fn as_text(tried: &[Tried]) -> String {
    let mut out = String::from("Reached from here:\n");
    if tried.is_empty() {
        out.push_str("  nothing to reach\n");
    }
    for Tried { name, failure } in tried {
        out.push_str(&match failure {
            None => format!("  - {name}\n"),
            Some(why) => format!("  - {name}: not reached: {why}\n"),
        });
    }
    out.push('\n');
    out
}

/// The results as JSON.
pub fn as_json(tried: &[Tried]) -> Value {
    tried.iter().map(|one| json!({ "name": one.name, "failure": one.failure })).collect()
}

#[cfg(test)]
mod tests {
    use super::{connect, upstream};

    #[test]
    fn plain_uris_are_upstreams() {
        let check = |uri: &str, expected: Option<(&str, u16)>| {
            let found = upstream(uri);
            let found = found.as_ref().map(|(_, host, port)| (host.as_str(), *port));
            assert_eq!(found, expected, "{uri}");
        };
        check("http://h/x", Some(("h", 80)));
        check("wss://u:p@h:1/x", Some(("h", 1)));
        check("https://[::1]", Some(("::1", 443)));
        check("lb://service", None);
        check("forward:/x", None);
    }

    #[test]
    fn who_does_not_listen_is_not_reached() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        assert_eq!(connect("127.0.0.1", port), Ok(()));
        drop(listener);
        assert!(connect("127.0.0.1", port).is_err());
    }
}
