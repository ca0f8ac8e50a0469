//! Questions of filters to the control plane: Redis, another server, or a timer.
//!
//! A filter never blocks. It returns [`Verdict::Ask`](crate::Verdict::Ask); the server awaits the
//! answer for at most [`Question::timeout_ms`] and calls the filter again with it. A failure or
//! timeout gives [`Answer::Nobody`].

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use weir_limit::BucketSettings;
use weir_mock::CallbackRequest;

use crate::local_response::LocalResponse;
use crate::oauth::OAuthClient;
use crate::redis::RedisSettings;
use crate::target::Target;

/// Timeout of a password check, in milliseconds.
const PASSWORD_MS: u64 = 10_000;
/// Time that a request waits beyond the timeout of its gRPC call, in milliseconds.
const GRPC_SLACK_MS: u64 = 500;

/// A question of a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Wait this many milliseconds.
    Pause(u64),
    /// Take tokens from a bucket in Redis.
    Bucket(BucketQuestion),
    /// Send a subrequest to another server.
    Subrequest(Subrequest),
    /// Verify a password against a hash.
    Password {
        /// The bcrypt hash.
        hash: Arc<str>,
        /// The password.
        password: String,
        /// Address of the client that sent it.
        client: IpAddr,
    },
    /// Get an access token for this OAuth client.
    AccessToken(Arc<OAuthClient>),
    /// Buffer the content of the request, which is forwarded all the same.
    Content,
    /// Call a gRPC method.
    Grpc(GrpcCall),
    /// Send a copy of a request, which has already been answered, to another server.
    Mirror(Box<Copied>),
    /// Send the requests that the answer of a mock triggers, without waiting for them.
    Callbacks {
        /// The requests.
        requests: Vec<CallbackRequest>,
        /// Address of this process's admin API, which no callback may reach.
        admin: Option<SocketAddr>,
    },
}

/// A copy of a request, with its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Route whose metrics count it.
    pub route: String,
    /// Method.
    pub method: String,
    /// Absolute URL.
    pub url: String,
    /// Header fields, without Host and framing.
    pub fields: Vec<(String, Vec<u8>)>,
    /// Content, with its content coding.
    pub content: Vec<u8>,
    /// Timeout of the response, in milliseconds.
    pub timeout_ms: u64,
    /// Status of the response to the original.
    pub status: u16,
}

/// A call of a unary gRPC method. The filter sets the method and the message; the server adds the
/// target and the timeouts of the route.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrpcCall {
    /// `/package.Service/Method`.
    pub path: Arc<str>,
    /// The encoded request.
    pub message: Vec<u8>,
    /// The server.
    pub target: Option<Arc<Target>>,
    /// Timeout of connecting, in milliseconds.
    pub connect_timeout_ms: u64,
    /// Timeout of the whole call, in milliseconds.
    pub timeout_ms: u64,
}

/// The result of a gRPC call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrpcReply {
    /// The encoded response.
    Message(Vec<u8>),
    /// A status other than OK.
    Status {
        /// Its number.
        code: u32,
        /// The message of the server.
        message: String,
    },
    /// No connection: the method was not called.
    Unreached(String),
    /// The connection broke, or what came is no gRPC.
    Broken(String),
    /// Nothing came in time.
    Late,
}

/// A bucket in Redis (SCG `request_rate_limiter.lua`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketQuestion {
    /// Address and credentials of Redis.
    pub redis: Arc<RedisSettings>,
    /// Prefix of the names of the bucket's two keys: `request_rate_limiter.{ROUTE.KEY}`.
    pub key: Vec<u8>,
    /// Capacity and refill of the bucket.
    pub settings: BucketSettings,
}

/// A request without a body to another server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subrequest {
    /// Method.
    pub method: String,
    /// Absolute URL.
    pub url: Arc<str>,
    /// Header fields, without Host.
    pub fields: Vec<(String, Vec<u8>)>,
    /// Timeout of the response, in milliseconds.
    pub timeout_ms: u64,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The time has passed.
    Passed,
    /// Result of taking tokens from the bucket.
    Bucket {
        /// Whether there were enough tokens.
        allowed: bool,
        /// Remaining tokens.
        left: i64,
    },
    /// The response of the other server.
    Response(Box<LocalResponse>),
    /// Whether the password is correct.
    Password(bool),
    /// The access token, without `Bearer`.
    AccessToken(Arc<str>),
    /// The content of the request, decoded.
    Content(Vec<u8>),
    /// The content is longer than this number of bytes, the maximum that may be buffered.
    ContentTooLong(usize),
    /// The result of a gRPC call.
    Grpc(GrpcReply),
    /// No answer in time; the text is the reason.
    Nobody(String),
}

impl Question {
    /// Maximum time that a request waits for the answer, in milliseconds.
    pub fn timeout_ms(&self) -> u64 {
        match self {
            Self::Pause(ms) => *ms,
            // The timeouts of request bodies apply.
            Self::Content => u64::MAX,
            Self::Bucket(question) => question.redis.timeout_ms,
            Self::Subrequest(question) => question.timeout_ms,
            Self::Password { .. } => PASSWORD_MS,
            Self::AccessToken(client) => client.timeout_ms,
            Self::Mirror(copied) => copied.timeout_ms,
            // The caller detects the timeout itself.
            Self::Grpc(call) => call.timeout_ms.saturating_add(GRPC_SLACK_MS),
            // The request does not wait.
            Self::Callbacks { .. } => 0,
        }
    }

    /// Kind of question, as a label of metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Pause(_) => "pause",
            Self::Bucket(_) => "redis",
            Self::Subrequest(_) => "forward_auth",
            Self::Password { .. } => "password",
            Self::AccessToken(_) => "access_token",
            Self::Mirror(_) => "mirror",
            Self::Callbacks { .. } => "callbacks",
            Self::Content => "content",
            Self::Grpc(_) => "grpc",
        }
    }
}
