//! Address and credentials of Redis.

use std::fmt;

/// Address and credentials of Redis (`spring.data.redis.*`).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RedisSettings {
    /// Host and port: one server, nodes of a cluster, or sentinels.
    pub nodes: Vec<(String, u16)>,
    /// Name of the sentinels' master; the nodes are sentinels then.
    pub sentinel_master: Option<String>,
    /// User, if not the default.
    pub username: Option<String>,
    /// Password.
    pub password: Option<String>,
    /// Number of the database.
    pub database: i64,
    /// Use TLS, with the system's trusted certificates.
    pub tls: bool,
    /// Timeout of connecting, in milliseconds.
    pub connect_timeout_ms: u64,
    /// Timeout of a request to Redis, in milliseconds.
    pub timeout_ms: u64,
}

impl Default for RedisSettings {
    fn default() -> Self {
        Self {
            nodes: vec![("localhost".to_owned(), 6379)],
            sentinel_master: None,
            username: None,
            password: None,
            database: 0,
            tls: false,
            connect_timeout_ms: 2_000,
            timeout_ms: 500,
        }
    }
}

impl fmt::Debug for RedisSettings {
    /// Omits the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisSettings")
            .field("nodes", &self.nodes)
            .field("sentinel_master", &self.sentinel_master)
            .field("database", &self.database)
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for RedisSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (host, port)) in self.nodes.iter().enumerate() {
            let between = if at == 0 { "" } else { ", " };
            write!(f, "{between}{host}:{port}")?;
        }
        Ok(())
    }
}
