//! nginx: one worker, pooled upstream connections, no access log, nothing buffered on disk.

use std::fmt::Write;
use std::path::Path;

use super::setup::{Setup, Start, free_address};
use crate::bench::Bench;
use crate::tools::{Tool, path};

pub(super) fn prepare(bench: &Bench, folder: &Path, setup: &Setup) -> anyhow::Result<Start> {
    let address = free_address()?;
    let config = folder.join("nginx.conf");
    std::fs::write(&config, configuration(folder, address.port(), bench.files, setup))?;
    let command = vec![
        path(Tool::Nginx)?,
        "-p".to_owned(),
        folder.display().to_string(),
        "-c".to_owned(),
        config.display().to_string(),
    ];
    Ok(Start { command, address, admin: None, config })
}

/// Request bodies are forwarded as they arrive, and answers are not buffered in files: nginx's
/// defaults would write bodies above 16 KB to disk, which no other proxy here does.
fn configuration(folder: &Path, port: u16, files: u64, setup: &Setup) -> String {
    let folder = folder.display();
    let upstream = setup.upstream;
    let mut text = format!(
        "worker_processes 1; daemon off; pid {folder}/pid; error_log {folder}/error.log warn;
worker_rlimit_nofile {files};
events {{ worker_connections {files}; }}
http {{
  access_log off; server_tokens off;
  keepalive_requests 1000000000; keepalive_timeout 600s; reset_timedout_connection on;
  client_max_body_size 0; client_body_buffer_size 64k;
  proxy_http_version 1.1; proxy_request_buffering off; proxy_max_temp_file_size 0;
  proxy_buffer_size 16k; proxy_buffers 8 64k; proxy_busy_buffers_size 128k;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  upstream origin {{
    server {upstream}; keepalive 2048; keepalive_requests 1000000000; keepalive_timeout 600s;
  }}
  server {{
    listen 127.0.0.1:{port} backlog=65535;
"
    );
    if setup.peers_have_all {
        for n in 0..setup.routes {
            text.push_str(&location(&n.to_string()));
        }
    } else {
        let _ = writeln!(
            text,
            "    location / {{ proxy_pass http://origin; proxy_set_header Connection \"\"; \
             proxy_set_header X-Benchmark-RouteId api-0; }}"
        );
    }
    text.push_str("  }\n}\n");
    text
}

/// The location of a route: exact, with its own header, its path prefixed.
pub fn location(name: &str) -> String {
    format!(
        "    location = /{name} {{ proxy_pass http://origin/ok/{name}; \
         proxy_set_header Connection \"\"; proxy_set_header X-Benchmark-RouteId api-{name}; }}\n"
    )
}
