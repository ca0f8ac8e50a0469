//! A client of the admin API whose errors say what to do next.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use http::{HeaderMap, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// An import of 100,000 routes is answered when it is on disk.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);

/// One gateway.
pub(crate) struct Client {
    runtime: Runtime,
    /// `host:port`.
    authority: String,
    /// Path in front of `/actuator`.
    prefix: String,
    token: Option<String>,
    /// The tenant that each request is for.
    tenant: Option<String>,
    /// The noun for the requested objects, and the command that shows one.
    words: (&'static str, &'static str),
}

/// A request.
#[derive(Default)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    /// Below `/actuator/gateway`, unless it starts with `/weir/` or, below `/actuator`, `/caches`.
    pub(crate) target: String,
    pub(crate) media: Option<&'static str>,
    pub(crate) body: Vec<u8>,
    /// `If-Match` or `If-None-Match`.
    pub(crate) condition: Option<(header::HeaderName, String)>,
}

/// The received answer.
pub(crate) struct Reply {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Ask {
    pub(crate) fn get(target: String) -> Self {
        Self { target, ..Self::default() }
    }
}

impl Reply {
    pub(crate) fn json(&self) -> anyhow::Result<Value> {
        serde_json::from_slice(&self.body).context("the gateway's answer is not JSON")
    }

    /// A header with a number in it; 0 if it is not there.
    pub(crate) fn number(&self, name: &str) -> u64 {
        let text = self.headers.get(name).and_then(|value| value.to_str().ok());
        text.and_then(|text| text.trim_matches('"').parse().ok()).unwrap_or(0)
    }
}

impl Client {
    /// A client of the admin API at `url`.
    ///
    /// # Errors
    /// Not a URL of that kind.
    pub(crate) fn new(url: &str, token: Option<String>) -> anyhow::Result<Self> {
        let uri: Uri = match url.contains("://") {
            true => url.parse(),
            false => format!("http://{url}").parse(),
        }
        .with_context(|| format!("--admin {url} is not a URL; write http://host:port"))?;
        if uri.scheme_str() != Some("http") {
            bail!("--admin {url}: weir routes speaks http only; use a tunnel for TLS");
        }
        let Some(host) = uri.host() else { bail!("--admin {url} has no host") };
        let port = uri.port_u16().unwrap_or(80);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self {
            runtime,
            authority: format!("{host}:{port}"),
            prefix: uri.path().trim_end_matches('/').to_owned(),
            token,
            tenant: None,
            words: ("route", "weir routes get"),
        })
    }

    /// Uses messages about API definitions.
    pub(crate) fn of_definitions(self) -> Self {
        Self { words: ("definition", "weir apis show"), ..self }
    }

    /// The same for the definitions of a tenant, if one is given.
    pub(crate) fn of_tenant(self, tenant: Option<String>) -> Self {
        Self { tenant, ..self }
    }

    /// Whether it is for the definitions of a tenant.
    pub(crate) fn has_tenant(&self) -> bool {
        self.tenant.is_some()
    }

    /// The same with messages about recordings.
    pub(crate) fn of_recordings(self) -> Self {
        Self { words: ("recording", "weir apis record status"), ..self }
    }

    /// Asks, and takes every status under 400 as done.
    pub(crate) fn ask(&self, ask: Ask) -> anyhow::Result<Reply> {
        let (status, reply) = self.send(ask)?;
        self.done(status, &reply)?;
        Ok(reply)
    }

    /// An error for every status from 400 up.
    pub(crate) fn done(&self, status: StatusCode, reply: &Reply) -> anyhow::Result<()> {
        match status.as_u16() < 400 {
            true => Ok(()),
            false => Err(self.refused(status, reply)),
        }
    }

    /// Sends a request for an object that may be absent: `None` is 404.
    pub(crate) fn find(&self, ask: Ask) -> anyhow::Result<Option<Reply>> {
        let (status, reply) = self.send(ask)?;
        match status {
            StatusCode::NOT_FOUND if !says_no_gateway(&reply) => Ok(None),
            status if status.as_u16() < 400 => Ok(Some(reply)),
            status => Err(self.refused(status, &reply)),
        }
    }

    /// Sends the request and returns any answer.
    pub(crate) fn send(&self, ask: Ask) -> anyhow::Result<(StatusCode, Reply)> {
        let request = self.request(ask)?;
        self.runtime.block_on(async {
            let connecting = TcpStream::connect(&self.authority);
            let stream = tokio::time::timeout(CONNECT_TIMEOUT, connecting)
                .await
                .unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
                .map_err(|error| self.unreachable(&error))?;
            let (mut sender, connection) =
                hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
            let connection = tokio::spawn(connection);
            let answered = async {
                let response = sender.send_request(request).await?;
                let (head, body) = response.into_parts();
                let body = body.collect().await?.to_bytes();
                Ok::<_, hyper::Error>((head.status, Reply { headers: head.headers, body }))
            };
            let answered = tokio::time::timeout(ANSWER_TIMEOUT, answered).await;
            connection.abort();
            let answered = answered.map_err(|_| self.silent("did not answer in time"))?;
            answered.map_err(|error| self.silent(&format!("broke off: {error}")))
        })
    }

    fn request(&self, ask: Ask) -> anyhow::Result<Request<Full<Bytes>>> {
        let base = match ask.target.as_str() {
            target if target.starts_with("/weir/") => "",
            target if target.starts_with("/caches") => "/actuator",
            _ => "/actuator/gateway",
        };
        let mut target = format!("{}{base}{}", self.prefix, ask.target);
        if let Some(tenant) = &self.tenant {
            let separator = if target.contains('?') { '&' } else { '?' };
            target.push_str(&format!("{separator}tenant={}", escaped(tenant)));
        }
        let mut request = Request::builder()
            .method(ask.method)
            .uri(target)
            .header(header::HOST, &self.authority)
            .header(header::USER_AGENT, concat!("weir/", env!("CARGO_PKG_VERSION")));
        if let Some(media) = ask.media {
            request = request.header(header::CONTENT_TYPE, media);
        }
        if let Some((name, value)) = ask.condition {
            request = request.header(name, value);
        }
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(Full::new(Bytes::from(ask.body)));
        request.context("the request cannot be written; look at --token for odd characters")
    }

    fn unreachable(&self, error: &std::io::Error) -> anyhow::Error {
        anyhow!(
            "no gateway answers at {}: {error}\n  start one with `weir run`, or name another one \
             with --admin (see `management.server.port`)",
            self.authority
        )
    }

    fn silent(&self, what: &str) -> anyhow::Error {
        anyhow!("the gateway at {} {what}\n  look at its log, then try again", self.authority)
    }

    fn refused(&self, status: StatusCode, reply: &Reply) -> anyhow::Error {
        let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let message = body.get("message").and_then(Value::as_str).unwrap_or_default();
        let mut text = match body.get("problems").and_then(Value::as_array) {
            Some(problems) if !problems.is_empty() => told(problems, self.words.0),
            _ => format!("the gateway refused: {status} {message}").trim_end().to_owned(),
        };
        let (what, show) = self.words;
        let changed =
            format!("somebody else has changed it; look at it with `{show}`, then try again");
        let fewer = format!("send fewer {what}s at a time");
        let next = match status {
            StatusCode::UNAUTHORIZED => {
                "give the gateway's weir.admin.token, or that of a tenant, with --token or \
                 WEIR_ADMIN_TOKEN"
            }
            StatusCode::FORBIDDEN => {
                "run this on the gateway's machine, or give its weir.admin.token with --token"
            }
            StatusCode::NOT_FOUND if says_no_gateway(reply) => {
                "is that the admin API? its address is `admin` in the first lines of `weir run`, \
                 and `gateway` has to be exposed there"
            }
            StatusCode::METHOD_NOT_ALLOWED => {
                "changes are off here: management.endpoint.gateway.access, or this is the main port"
            }
            StatusCode::CONFLICT | StatusCode::PRECONDITION_FAILED => &changed,
            StatusCode::PAYLOAD_TOO_LARGE => &fewer,
            StatusCode::BAD_REQUEST => "nothing was changed; mend it and try again",
            status if status.is_server_error() => "look at the gateway's log, then try again",
            _ => "",
        };
        if !next.is_empty() {
            let _ = write!(text, "\n  {next}");
        }
        anyhow!(text)
    }
}

/// Whether a 404 comes from something else: one of the API itself has an empty body, or a message.
fn says_no_gateway(reply: &Reply) -> bool {
    let has_message = || reply.json().is_ok_and(|body| body["message"].is_string());
    !reply.body.is_empty() && !has_message()
}

fn told(problems: &[Value], what: &str) -> String {
    let mut text = match problems.len() {
        1 => format!("the {what} is refused"),
        n => format!("refused, {n} problems"),
    };
    for problem in problems {
        let part = |key: &str| problem.get(key).and_then(Value::as_str).unwrap_or_default();
        let _ = write!(text, "\n  {}: {}", part("at"), part("message"));
        if !part("help").is_empty() {
            let _ = write!(text, "\n      {}", part("help"));
        }
    }
    text
}

/// `text` as part of a path or query.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}
