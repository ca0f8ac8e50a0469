//! The client of a configuration server, whatever its kind.

use std::time::Duration;

use weir_config::{ConfigServer, Fetched, Server};

use super::{consul, nacos, spring};
use crate::http::Looked;

/// The client of one server.
pub(super) enum Client<'s> {
    Spring(&'s ConfigServer),
    Nacos(nacos::Client),
    Consul(consul::Client),
}

impl<'s> Client<'s> {
    pub fn of(server: &'s Server) -> Self {
        match server {
            Server::Spring(server) => Self::Spring(server),
            Server::Nacos(server) => Self::Nacos(nacos::Client::new(server)),
            Server::Consul(server) => Self::Consul(consul::Client::new(server)),
        }
    }

    /// The current answer of the server; later parts override earlier ones.
    pub async fn look(&mut self) -> Looked<Vec<Fetched>> {
        match self {
            Self::Spring(server) => spring::look(server).await,
            Self::Nacos(client) => client.look().await,
            Self::Consul(client) => client.look().await,
        }
    }

    /// Returns when there may be a change since the last look.
    pub async fn wait(&mut self) -> Looked<()> {
        match self {
            Self::Spring(server) => {
                tokio::time::sleep(server.watch.unwrap_or(Duration::from_secs(60))).await;
                Ok(())
            }
            Self::Nacos(client) => client.wait().await,
            Self::Consul(client) => client.wait().await,
        }
    }
}
