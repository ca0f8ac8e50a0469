//! The gateway under test: its start, its metrics and its memory.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use weir_testkit::{Client, Gateway, PATIENCE, spawn_weir};

/// The binary under test.
#[derive(Clone, Debug)]
pub struct Weir(PathBuf);

/// Pause between two looks at something that is on its way.
const LOOK: Duration = Duration::from_millis(20);

impl Weir {
    /// The binary at `path`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// A gateway with one route for everything to `origin`; `more` is added to the configuration.
    pub(crate) fn before(&self, origin: SocketAddr, more: &str) -> Gateway {
        self.with(&config(origin, more))
    }

    /// A gateway with this configuration.
    pub(crate) fn with(&self, config: &str) -> Gateway {
        let binary = self.0.to_str().expect("a path in UTF-8");
        spawn_weir(binary, &["run", "{config}"], config)
    }
}

/// A configuration with one route for everything to `origin`.
pub(crate) fn config(origin: SocketAddr, more: &str) -> String {
    format!(
        "server: {{ address: 127.0.0.1, port: 0 }}\n\
         weir.admin.port: 0\n\
         spring.cloud.gateway.server.webflux.routes:\n\
         - {{ id: all, uri: 'http://{origin}', predicates: [ 'Path=/**' ] }}\n{more}\n"
    )
}

/// The value of a metric, by its name and labels; 0 if it is not there.
///
/// # Panics
/// If the gateway does not show its metrics.
pub(crate) async fn metric(gateway: &Gateway, name: &str) -> f64 {
    let mut client = Client::connect(gateway.admin()).await;
    let request = "GET /actuator/prometheus HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let response = client.exchange(request).await;
    let text = response.text();
    assert_eq!(response.status, 200, "metrics: {text}");
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.and_then(|value| value.parse().ok()).unwrap_or_default()
}

/// Waits until a metric is `value`.
///
/// # Panics
/// If it does not become so.
pub(crate) async fn settles(gateway: &Gateway, name: &str, value: f64) {
    wait_until(gateway, name, &format!("is not {value}"), |now| now == value).await;
}

/// Waits until a metric is more than 0.
///
/// # Panics
/// If it does not become so.
pub(crate) async fn rises(gateway: &Gateway, name: &str) {
    wait_until(gateway, name, "does not rise", |now| now > 0.0).await;
}

async fn wait_until(gateway: &Gateway, name: &str, not: &str, done: impl Fn(f64) -> bool) {
    let since = Instant::now();
    loop {
        let now = metric(gateway, name).await;
        if done(now) {
            return;
        }
        assert!(since.elapsed() < PATIENCE, "{name} {not}: {now}");
        tokio::time::sleep(LOOK).await;
    }
}

/// The ids in a list of routes from the admin API, in order.
pub(crate) fn route_ids(list: &str) -> Vec<String> {
    let found = list.split("\"route_id\":\"").skip(1);
    found.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
}

/// Bytes of memory the process holds (`VmRSS`).
pub(crate) fn resident_bytes(gateway: &Gateway) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", gateway.pid()));
    let status = status.expect("a running gateway");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.expect("VmRSS") * 1024
}

/// Processor time the process has used, in ticks of the system (a hundredth of a second).
pub(crate) fn ticks(gateway: &Gateway) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", gateway.pid()));
    let stat = stat.expect("a running gateway");
    // The name of the process, in parentheses, may hold blanks.
    let fields = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    let of = |n| fields.split_whitespace().nth(n).and_then(|field| field.parse::<u64>().ok());
    of(11).expect("utime") + of(12).expect("stime")
}

/// Files the process has open.
pub(crate) fn open_files(gateway: &Gateway) -> usize {
    let listing = std::fs::read_dir(format!("/proc/{}/fd", gateway.pid()));
    listing.expect("a running gateway").count()
}
