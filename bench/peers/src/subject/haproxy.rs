//! HAProxy: one thread, pooled upstream connections, no log, routes in a map.

use std::fmt::Write;
use std::path::Path;

use super::setup::{Setup, Start, free_address};
use crate::bench::Bench;
use crate::tools::{Tool, path};

pub(super) fn prepare(bench: &Bench, folder: &Path, setup: &Setup) -> anyhow::Result<Start> {
    let address = free_address()?;
    let config = folder.join("haproxy.cfg");
    if setup.peers_have_all {
        let mut map = String::new();
        for n in 0..setup.routes {
            let _ = writeln!(map, "/{n} api-{n}");
        }
        std::fs::write(folder.join("routes.map"), map)?;
    }
    std::fs::write(&config, configuration(folder, address.port(), bench.files, setup))?;
    let command = vec![path(Tool::Haproxy)?, "-f".to_owned(), config.display().to_string()];
    Ok(Start { command, address, admin: None, config })
}

fn configuration(folder: &Path, port: u16, files: u64, setup: &Setup) -> String {
    let map = folder.join("routes.map");
    let (folder, map, upstream) = (folder.display(), map.display(), setup.upstream);
    // HAProxy needs two descriptors for each connection, and some for itself.
    let connections = files.saturating_sub(500) / 2;
    let rules = if setup.peers_have_all {
        format!(
            "  http-request set-var(txn.route) path,map({map})
  http-request return status 404 unless {{ var(txn.route) -m found }}
  http-request set-header x-benchmark-routeId %[var(txn.route)]
  http-request set-path /ok%[path]
"
        )
    } else {
        "  http-request set-header x-benchmark-routeId api-0\n".to_owned()
    };
    format!(
        "global
  nbthread 1
  maxconn {connections}
  stats socket {folder}/admin.sock level admin
  tune.pool-low-fd-ratio 90
  tune.pool-high-fd-ratio 95
defaults
  mode http
  option http-keep-alive
  http-reuse always
  timeout connect 10s
  timeout client 600s
  timeout server 600s
  timeout http-keep-alive 600s
frontend in
  bind 127.0.0.1:{port} backlog 65535
  maxconn {connections}
{rules}  default_backend origin
backend origin
  server origin {upstream} pool-max-conn 2048
"
    )
}
