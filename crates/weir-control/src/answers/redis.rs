//! Token buckets in Redis, as Spring Cloud Gateway keeps them: the same keys with the same
//! contents, so that gateways of both kinds share them.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{AsyncConnectionConfig, RedisConnectionInfo, RedisError, Script};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Mutex as AsyncMutex;
use weir_filter::{Answer, BucketQuestion, RedisSettings};
use weir_limit::Refill;

use crate::http::tls;

/// The pause after a failure: requests pass without a check meanwhile. It doubles with each further
/// failure, up to [`REST_MAX`].
const REST: Duration = Duration::from_millis(500);
const REST_MAX: Duration = Duration::from_secs(8);
/// Servers of a cluster that a question is sent on to, at most.
const MOVES_MAX: usize = 3;
/// Servers that are kept connected at most; with more, all are let go.
const PLACES_MAX: usize = 64;

/// The token bucket script, by Redis' own clock in whole seconds. Keys, values and expiry are those
/// of SCG's `request_rate_limiter.lua`.
static TAKE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
local rate, capacity, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now = tonumber(redis.call('TIME')[1])
local tokens = tonumber(redis.call('GET', KEYS[1])) or capacity
local since = tonumber(redis.call('GET', KEYS[2])) or 0
local filled = math.min(capacity, tokens + math.max(0, now - since) * rate)
local allowed = filled >= cost
local left = allowed and filled - cost or filled
local life = math.floor(capacity / rate * 2)
if life > 0 then
  redis.call('SETEX', KEYS[1], life, left)
  redis.call('SETEX', KEYS[2], life, now)
end
return { allowed and 1 or 0, left }
",
    )
});

/// Connections to Redis, by where it is.
#[derive(Debug, Default)]
pub(super) struct Redis {
    places: Mutex<HashMap<Arc<RedisSettings>, Arc<Place>>>,
}

/// A Redis server or cluster.
#[derive(Debug, Default)]
struct Place {
    /// Servers by `host:port`; empty for the first one to ask.
    servers: Mutex<HashMap<String, Arc<AsyncMutex<Server>>>>,
}

/// The connection to one server.
#[derive(Default)]
struct Server {
    connection: Option<MultiplexedConnection>,
    /// Counts connections.
    generation: u64,
    /// The end of the pause after a failure.
    rests_until: Option<Instant>,
    /// Failures since it was there.
    failures: u32,
    /// Whether the failure has been logged.
    told: bool,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("is_up", &self.connection.is_some()).finish_non_exhaustive()
    }
}

impl Redis {
    /// Takes the cost of a request from a bucket.
    pub async fn take(&self, question: &BucketQuestion) -> Answer {
        let place = self.place(&question.redis);
        match place.take(question).await {
            Ok((allowed, left)) => Answer::Bucket { allowed: allowed == 1, left },
            Err(why) => Answer::Nobody(why),
        }
    }

    fn place(&self, settings: &Arc<RedisSettings>) -> Arc<Place> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = places.get(settings) {
            return Arc::clone(place);
        }
        // Drops the places of earlier configurations.
        places.retain(|settings, _| Arc::strong_count(settings) > 1);
        Arc::clone(places.entry(Arc::clone(settings)).or_default())
    }
}

impl Place {
    async fn take(&self, question: &BucketQuestion) -> Result<(i64, i64), String> {
        let mut address = String::new();
        for _ in 0..MOVES_MAX {
            match self.take_at(&address, question).await {
                Ok(taken) => return Ok(taken),
                // Another server of the cluster has the bucket.
                Err(error) => match error.redirect_node() {
                    Some((other, _)) => other.clone_into(&mut address),
                    None => return Err(error.to_string()),
                },
            }
        }
        Err("the servers of the cluster send on to each other".to_owned())
    }

    async fn take_at(
        &self,
        address: &str,
        question: &BucketQuestion,
    ) -> Result<(i64, i64), RedisError> {
        let server = self.server(address);
        let (mut connection, generation) =
            server.lock().await.connection(address, &question.redis).await?;
        let result = tokio::time::timeout(
            Duration::from_millis(question.redis.timeout_ms),
            invoke(&mut connection, question),
        );
        let result = result.await.unwrap_or_else(|_| {
            Err(RedisError::from(std::io::Error::from(std::io::ErrorKind::TimedOut)))
        });
        if let Err(error) = &result
            && (error.is_io_error() || error.is_connection_dropped() || error.is_timeout())
        {
            server.lock().await.fails(generation, &question.redis, error);
        }
        result
    }

    fn server(&self, address: &str) -> Arc<AsyncMutex<Server>> {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        if servers.len() >= PLACES_MAX {
            servers.clear();
        }
        Arc::clone(servers.entry(address.to_owned()).or_default())
    }
}

async fn invoke(
    connection: &mut impl ConnectionLike,
    question: &BucketQuestion,
) -> Result<(i64, i64), RedisError> {
    let key = |what: &str| [&question.key, what.as_bytes()].concat();
    let rate = match question.settings.refill {
        Refill::EachSecond(rate) => rate,
        // Buckets of Bucket4j stay in the process and never get here.
        other => other.tokens(),
    };
    let mut call = TAKE.key(key(".tokens"));
    call.key(key(".timestamp")).arg(rate).arg(question.settings.capacity);
    call.arg(question.settings.cost).invoke_async(connection).await
}

impl Server {
    /// The connection, made if there is none, and its number.
    async fn connection(
        &mut self,
        address: &str,
        settings: &RedisSettings,
    ) -> Result<(MultiplexedConnection, u64), RedisError> {
        if let Some(connection) = &self.connection {
            return Ok((connection.clone(), self.generation));
        }
        let refused = |why: String| RedisError::from(std::io::Error::other(why));
        if self.rests_until.is_some_and(|until| Instant::now() < until) {
            return Err(refused("it could not be reached a moment ago".to_owned()));
        }
        let bound = Duration::from_millis(settings.connect_timeout_ms);
        // The pause begins before the attempt: the connecting task may be dropped with its
        // question, and the next one must not try again at once.
        self.rest();
        let connected = tokio::time::timeout(bound, connect(address, settings)).await;
        match connected.unwrap_or_else(|_| Err(format!("not connected within {bound:?}"))) {
            Ok(connection) => {
                if std::mem::take(&mut self.told) {
                    tracing::info!(%settings, "Redis answers again");
                }
                (self.failures, self.rests_until) = (0, None);
                self.generation += 1;
                self.connection = Some(connection.clone());
                Ok((connection, self.generation))
            }
            Err(why) => {
                self.tell(settings, &why);
                Err(refused(why))
            }
        }
    }

    /// Notes that connection number `generation` failed.
    fn fails(&mut self, generation: u64, settings: &RedisSettings, error: &RedisError) {
        if self.generation == generation && self.connection.take().is_some() {
            self.rest();
            self.tell(settings, error);
        }
    }

    fn rest(&mut self) {
        let rest = REST * 2_u32.saturating_pow(self.failures.min(8));
        self.failures = self.failures.saturating_add(1);
        self.rests_until = Some(Instant::now() + rest.min(REST_MAX));
    }

    /// Once until it is there again.
    fn tell(&mut self, settings: &RedisSettings, why: &dyn Display) {
        if !std::mem::replace(&mut self.told, true) {
            tracing::warn!(
                %settings,
                "Redis does not answer: RequestRateLimiter lets requests pass until it does \
                 ({why})"
            );
        }
    }
}

/// Connects to `address`, or to the first of the nodes that can be reached.
async fn connect(address: &str, settings: &RedisSettings) -> Result<MultiplexedConnection, String> {
    if !address.is_empty() {
        let (host, port) = split(address).ok_or("a server of the cluster has no address")?;
        return open(&host, port, settings).await;
    }
    let mut why = "no server is named".to_owned();
    for (host, port) in &settings.nodes {
        let opened = match &settings.sentinel_master {
            None => open(host, *port, settings).await,
            Some(master) => match master_of(host, *port, master, settings).await {
                Ok((host, port)) => open(&host, port, settings).await,
                Err(why) => Err(why),
            },
        };
        match opened {
            Ok(connection) => return Ok(connection),
            Err(error) => why = format!("{host}:{port}: {error}"),
        }
    }
    Err(why)
}

/// `host:port` apart.
fn split(address: &str) -> Option<(String, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Some((host.to_owned(), port.parse().ok()?))
}

/// The address of the master according to a sentinel.
async fn master_of(
    host: &str,
    port: u16,
    master: &str,
    settings: &RedisSettings,
) -> Result<(String, u16), String> {
    let plain = RedisSettings { database: 0, ..settings.clone() };
    let mut sentinel = open(host, port, &plain).await?;
    let mut ask = redis::cmd("SENTINEL");
    ask.arg("get-master-addr-by-name").arg(master);
    let found: Option<(String, u16)> =
        ask.query_async(&mut sentinel).await.map_err(|error| error.to_string())?;
    found.ok_or_else(|| format!("the sentinel watches no master `{master}`"))
}

async fn open(
    host: &str,
    port: u16,
    settings: &RedisSettings,
) -> Result<MultiplexedConnection, String> {
    let text = |error: &dyn Display| error.to_string();
    let stream = TcpStream::connect((host, port)).await.map_err(|error| text(&error))?;
    stream.set_nodelay(true).map_err(|error| text(&error))?;
    if !settings.tls {
        return greet(stream, settings).await;
    }
    let name = ServerName::try_from(host.to_owned()).map_err(|error| text(&error))?;
    let stream = tls()?.connect(name, stream).await.map_err(|error| text(&error))?;
    greet(stream, settings).await
}

/// Authenticates the connection, and spawns its driver.
async fn greet(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    settings: &RedisSettings,
) -> Result<MultiplexedConnection, String> {
    let mut info = RedisConnectionInfo::default().set_db(settings.database);
    if let Some(username) = &settings.username {
        info = info.set_username(username);
    }
    if let Some(password) = &settings.password {
        info = info.set_password(password);
    }
    let config = AsyncConnectionConfig::new().set_response_timeout(None);
    let made = MultiplexedConnection::new_with_config(&info, stream, config).await;
    let (connection, driver) = made.map_err(|error| error.to_string())?;
    tokio::spawn(driver);
    Ok(connection)
}
