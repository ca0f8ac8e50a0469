//! Questions of filters to the control plane: a store, another server, or time itself.
//!
//! A filter never waits. It gives [`Verdict::Ask`](crate::Verdict::Ask), the server waits for the
//! answer within [`Question::timeout_ms`], and asks the filter again with it. Whoever does not
//! answer, or not in time, is [`Answer::Nobody`].

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use weir_limit::BucketSettings;
use weir_mock::CallbackRequest;

use crate::local_response::LocalResponse;
use crate::oauth::OAuthClient;
use crate::redis::RedisSettings;
use crate::target::Target;

/// How long a password may take to be checked, in milliseconds.
const PASSWORD_MS: u64 = 10_000;
/// How much longer a request waits for a call than the call may take.
const GRPC_SLACK_MS: u64 = 500;

/// What a filter wants to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Nothing: this many milliseconds have to pass.
    Pause(u64),
    /// Whether there are tokens in a bucket that is kept in Redis.
    Bucket(BucketQuestion),
    /// What another server says of the request.
    Subrequest(Subrequest),
    /// Whether a password is the one that a hash was made of.
    Password {
        /// The hash, by bcrypt.
        hash: Arc<str>,
        /// The password.
        password: String,
        /// Who sent it.
        client: IpAddr,
    },
    /// A token of this gateway's own.
    AccessToken(Arc<OAuthClient>),
    /// The content of the request, which is sent on all the same.
    Content,
    /// What a gRPC method answers.
    Grpc(GrpcCall),
    /// Nothing: a copy of a request that has been answered goes to another server.
    Mirror(Box<Copied>),
    /// Nothing: what a mock has answered sets off requests to other servers.
    Callbacks {
        /// The requests.
        requests: Vec<CallbackRequest>,
        /// Where the admin API of this process listens, to which none may lead.
        admin: Option<SocketAddr>,
    },
}

/// A copy of a request, with its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The route that it counts for.
    pub route: String,
    /// Method.
    pub method: String,
    /// The whole URL.
    pub url: String,
    /// Header fields, without Host and framing.
    pub fields: Vec<(String, Vec<u8>)>,
    /// Content, in its coding.
    pub content: Vec<u8>,
    /// How long the answer may take, in milliseconds.
    pub timeout_ms: u64,
    /// Status that the original was answered with.
    pub status: u16,
}

/// A call of a unary gRPC method. The filter says which and with what; the server adds whom it
/// goes to and how long it may take, as the route has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrpcCall {
    /// `/package.Service/Method`.
    pub path: Arc<str>,
    /// The encoded request.
    pub message: Vec<u8>,
    /// The server.
    pub target: Option<Arc<Target>>,
    /// How long a connection may take, in milliseconds.
    pub connect_timeout_ms: u64,
    /// How long all of it may take, in milliseconds.
    pub timeout_ms: u64,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrpcReply {
    /// The encoded response.
    Message(Vec<u8>),
    /// A status other than OK.
    Status {
        /// Its number.
        code: u32,
        /// What the server says.
        message: String,
    },
    /// Nobody was reached: the method was not called.
    Unreached(String),
    /// The connection broke, or what came is no gRPC.
    Broken(String),
    /// Nothing came in time.
    Late,
}

/// A bucket in Redis (SCG `request_rate_limiter.lua`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketQuestion {
    /// Where Redis is.
    pub redis: Arc<RedisSettings>,
    /// What the names of the bucket's two keys begin with: `request_rate_limiter.{ROUTE.KEY}`.
    pub key: Vec<u8>,
    /// How it is filled.
    pub settings: BucketSettings,
}

/// A request without a body to another server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subrequest {
    /// Method.
    pub method: String,
    /// The whole URL.
    pub url: Arc<str>,
    /// Header fields, without Host.
    pub fields: Vec<(String, Vec<u8>)>,
    /// How long the answer may take, in milliseconds.
    pub timeout_ms: u64,
}

/// What a filter is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The time is over.
    Passed,
    /// Whether the bucket held enough tokens, and how many are left.
    Bucket {
        /// There were enough.
        allowed: bool,
        /// Tokens that are left.
        left: i64,
    },
    /// What the other server answered.
    Response(Box<LocalResponse>),
    /// Whether it is the password.
    Password(bool),
    /// The token, as it stands behind `Bearer`.
    AccessToken(Arc<str>),
    /// The content of the request without its codings.
    Content(Vec<u8>),
    /// The content is longer than this many bytes, which is all that may be kept.
    ContentTooLong(usize),
    /// What came of a call.
    Grpc(GrpcReply),
    /// Nobody answered in time; the text says why.
    Nobody(String),
}

impl Question {
    /// How long a request waits for the answer at most, in milliseconds.
    pub fn timeout_ms(&self) -> u64 {
        match self {
            Self::Pause(ms) => *ms,
            // The client has the time that it has for every body.
            Self::Content => u64::MAX,
            Self::Bucket(question) => question.redis.timeout_ms,
            Self::Subrequest(question) => question.timeout_ms,
            Self::Password { .. } => PASSWORD_MS,
            Self::AccessToken(client) => client.timeout_ms,
            Self::Mirror(copied) => copied.timeout_ms,
            // The one who calls finds out in time itself.
            Self::Grpc(call) => call.timeout_ms.saturating_add(GRPC_SLACK_MS),
            // Nobody waits.
            Self::Callbacks { .. } => 0,
        }
    }

    /// Whom it is for, as metrics call it.
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
