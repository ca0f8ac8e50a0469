//! The watcher of one server: reads it, waits for a hint or a pause, reads it again, and reports a
//! difference.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use weir_config::{Content, Fetched, NacosServer, Server};

use super::client::Client;
use super::nacos;
use super::state::State;
use crate::backoff::{BACKOFF_MAX, BACKOFF_MIN};

/// Whether `server` is configured to be watched.
pub(super) fn is_watched(server: &Server) -> bool {
    match server {
        Server::Spring(server) => server.watch.is_some(),
        Server::Nacos(server) => server.items.iter().any(|item| item.refresh),
        Server::Consul(server) => server.watch.is_some(),
    }
}

/// A digest of the watched answers of a server.
pub(super) fn digest(server: &Server, parts: &[Fetched]) -> u64 {
    match server {
        Server::Nacos(server) => {
            digest_of(parts.iter().filter(|part| is_refreshed(server, &part.name)))
        }
        Server::Spring(_) | Server::Consul(_) => digest_of(parts.iter()),
    }
}

/// A digest of the answers.
fn digest_of<'a>(parts: impl Iterator<Item = &'a Fetched>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for part in parts {
        part.name.hash(&mut hasher);
        match &part.content {
            Content::Text(text, _) => text.hash(&mut hasher),
            Content::Pairs(pairs) => {
                // The order of properties differs between answers of some servers.
                let mut pairs: Vec<_> = pairs.iter().collect();
                pairs.sort();
                pairs.hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}

fn is_refreshed(server: &NacosServer, name: &str) -> bool {
    let mut items = server.items.iter().filter(|item| item.refresh);
    items.any(|item| nacos::name(server, item) == name)
}

/// Watches for ever.
pub(super) async fn watch(
    server: Server,
    state: Arc<State>,
    changed: tokio::sync::watch::Sender<u64>,
) {
    let name = server.to_string();
    let mut client = Client::of(&server);
    let mut pause = BACKOFF_MIN;
    let mut told = None;
    loop {
        let looked = match client.look().await {
            Ok(parts) => {
                if state.is_news(&name, digest(&server, &parts)) {
                    changed.send_modify(|count| *count += 1);
                }
                client.wait().await
            }
            Err(failure) => Err(failure),
        };
        match looked {
            Ok(()) => {
                pause = BACKOFF_MIN;
                if told.take().is_some() {
                    tracing::info!(server = name, "answers again");
                }
            }
            Err(failure) => {
                let text = failure.of_discovery();
                if told.as_ref() != Some(&text) {
                    tracing::warn!(server = name, "{text}; its last answer stays in use");
                }
                told = Some(text);
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(BACKOFF_MAX);
            }
        }
    }
}

/// Retries a server that was away until it answers, and reports that once.
pub(super) async fn wait_for(server: Server, changed: tokio::sync::watch::Sender<u64>) {
    let mut client = Client::of(&server);
    let mut pause = BACKOFF_MIN;
    loop {
        tokio::time::sleep(pause).await;
        if client.look().await.is_ok() {
            tracing::info!(server = %server, "answers again");
            return changed.send_modify(|count| *count += 1);
        }
        pause = (pause * 2).min(BACKOFF_MAX);
    }
}
