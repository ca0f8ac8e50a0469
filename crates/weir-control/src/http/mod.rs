//! A small HTTP client for registries, issuers and configuration servers: one request on one
//! connection, or on one of a [`Pool`], with or without TLS, bounded in time and bytes.
//! Calls of gRPC methods share the HTTP/2 connections of [`Channels`].

mod connection;
mod failure;
mod http2;
mod pool;
mod reach;
mod tls;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use percent_encoding::percent_decode_str;
use tokio_rustls::TlsConnector;

pub(crate) use connection::Target;
use connection::{Connection, unreachable};
pub(crate) use failure::{Failure, Looked};
pub(crate) use http2::{Channels, told};
pub(crate) use pool::Pool;
pub(crate) use reach::Reach;
pub(crate) use tls::{tls, tls_of};

/// A request to a registry.
pub(crate) struct Ask<'a> {
    pub method: Method,
    /// The whole URL; user and password in it become Basic authentication.
    pub url: &'a str,
    pub headers: Vec<(HeaderName, String)>,
    /// Further fields, whatever bytes they have.
    pub fields: Vec<(HeaderName, Vec<u8>)>,
    /// The body: JSON, unless a header says otherwise, or none.
    pub body: Option<String>,
    /// Content of any other kind, where there is no `body`.
    pub content: Vec<u8>,
    /// To the connection; within `timeout`.
    pub connect_timeout: Duration,
    /// From the connection to the last byte.
    pub timeout: Duration,
    pub bytes_max: usize,
    /// Asking twice does no harm, whatever the method.
    pub is_repeatable: bool,
    /// Where it may lead; as far as the pool if `None`.
    pub reach: Option<Reach>,
    /// Whom an `https` URL is believed by; those that the system trusts if `None`.
    pub tls: Option<TlsConnector>,
}

/// The answer of a server.
#[derive(Debug)]
pub(crate) struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// An answer whose body is still to come.
pub(crate) struct Opened {
    pub status: StatusCode,
    pub headers: HeaderMap,
    body: Incoming,
    _connection: Connection,
}

impl Opened {
    /// The next bytes of the body; `None` after the last.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Failure> {
        loop {
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            let frame = frame.map_err(|error| Failure::Unreachable(error.to_string()))?;
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
    }
}

impl<'a> Ask<'a> {
    pub fn get(url: &'a str, timeout: Duration, bytes_max: usize) -> Self {
        Self {
            method: Method::GET,
            url,
            headers: vec![(ACCEPT, "application/json".to_owned())],
            fields: Vec::new(),
            body: None,
            content: Vec::new(),
            connect_timeout: timeout,
            timeout,
            bytes_max,
            is_repeatable: false,
            reach: None,
            tls: None,
        }
    }

    /// Sends it and reads the whole answer.
    pub async fn send(self) -> Result<Answer, Failure> {
        let time = self.timeout;
        match tokio::time::timeout(time, self.exchange()).await {
            Ok(answer) => answer,
            Err(_) => Err(Failure::TimedOut(time)),
        }
    }

    /// Sends the request on a connection of `pool`, which keeps it for the next one.
    pub async fn send_by(self, pool: &Pool) -> Result<Answer, Failure> {
        let time = self.timeout;
        match tokio::time::timeout(time, self.exchange_by(pool)).await {
            Ok(answer) => answer,
            Err(_) => Err(Failure::TimedOut(time)),
        }
    }

    async fn exchange(self) -> Result<Answer, Failure> {
        let max = self.bytes_max;
        let Opened { status, headers, body, _connection } = self.open().await?;
        Ok(Answer { status, headers, body: whole(body, max).await? })
    }

    async fn exchange_by(self, pool: &Pool) -> Result<Answer, Failure> {
        let (max, connect_timeout) = (self.bytes_max, self.connect_timeout);
        let reach = self.reach.or(pool.reach());
        let is_repeatable = self.is_repeatable || self.method.is_safe();
        let (target, mut request) = self.prepared()?;
        if let Some(mut kept) = pool.take(&target) {
            // The server may close it at the same moment.
            let again = is_repeatable.then(|| request.clone());
            match kept.sender.try_send_request(request).await {
                Ok(response) => return answered(response, kept, (pool, target), max).await,
                Err(mut error) => match error.take_message().or(again) {
                    Some(unsent) => request = unsent,
                    None => return Err(unreachable(error.error())),
                },
            }
        }
        let mut connection = Connection::open(&target, connect_timeout, reach, None).await?;
        let response = connection.sender.send_request(request).await;
        let response = response.map_err(|error| unreachable(&error))?;
        answered(response, connection, (pool, target), max).await
    }

    /// Sends it and reads the head of the answer; the body is read as it comes. The caller bounds
    /// the time.
    pub async fn open(mut self) -> Result<Opened, Failure> {
        let (connect_timeout, reach, tls) = (self.connect_timeout, self.reach, self.tls.take());
        let (target, request) = self.prepared()?;
        let mut connection = Connection::open(&target, connect_timeout, reach, tls).await?;
        let response = connection.sender.send_request(request).await;
        let (head, body) = response.map_err(|error| unreachable(&error))?.into_parts();
        Ok(Opened { status: head.status, headers: head.headers, body, _connection: connection })
    }

    /// The target and the request to send.
    fn prepared(self) -> Result<(Target, Request<Full<Bytes>>), Failure> {
        let place = Place::of(self.url)?;
        let mut request = Request::builder()
            .method(self.method)
            .uri(place.path)
            .header(HOST, place.host)
            .header("user-agent", concat!("weir/", env!("CARGO_PKG_VERSION")));
        if let Some(credentials) = place.authorization {
            request = request.header(AUTHORIZATION, credentials);
        }
        let is_typed = self.headers.iter().any(|(name, _)| *name == CONTENT_TYPE);
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        for (name, value) in self.fields {
            request = request.header(name, value);
        }
        let body = match self.body {
            Some(body) => {
                if !is_typed {
                    request = request.header(CONTENT_TYPE, "application/json");
                }
                Full::new(Bytes::from(body))
            }
            None => Full::new(Bytes::from(self.content)),
        };
        let request = request.body(body).map_err(|error| unreachable(&error))?;
        Ok((place.target, request))
    }
}

/// Reads an answer; then returns its connection to the pool.
async fn answered(
    response: Response<Incoming>,
    connection: Connection,
    (pool, target): (&Pool, Target),
    max: usize,
) -> Result<Answer, Failure> {
    let (head, body) = response.into_parts();
    let body = whole(body, max).await?;
    pool.put(target, connection);
    Ok(Answer { status: head.status, headers: head.headers, body })
}

/// A body of at most `max` bytes.
async fn whole(body: Incoming, max: usize) -> Result<Bytes, Failure> {
    let body = Limited::new(body, max).collect().await.map_err(|error| {
        let is_long = error.downcast_ref::<http_body_util::LengthLimitError>().is_some();
        if is_long { Failure::TooLong(max) } else { Failure::Unreachable(error.to_string()) }
    })?;
    Ok(body.to_bytes())
}

impl Answer {
    /// The answer, if its status is a success.
    pub fn success(self) -> Result<Self, Failure> {
        if self.status.is_success() { Ok(self) } else { Err(Failure::Status(self.status)) }
    }

    /// The body as JSON.
    pub fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_slice(&self.body).map_err(|error| Failure::Nonsense(error.to_string()))
    }

    /// A header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// The target of a URL.
struct Place {
    target: Target,
    host: String,
    path: String,
    authorization: Option<HeaderValue>,
}

impl Place {
    fn of(url: &str) -> Result<Self, Failure> {
        let wrong = || Failure::Unreachable(format!("`{}` is not a URL", shown(url)));
        let uri: Uri = url.parse().map_err(|_| wrong())?;
        let is_secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong()),
        };
        let authority = uri.authority().ok_or_else(wrong)?;
        let user = authority.as_str().rsplit_once('@').map(|(user, _)| user);
        let authorization = user.and_then(|user| {
            let plain = percent_decode_str(user).decode_utf8_lossy().into_owned();
            HeaderValue::try_from(format!("Basic {}", STANDARD.encode(plain))).ok()
        });
        let default = if is_secure { 443 } else { 80 };
        let (host, port) = (authority.host(), authority.port_u16().unwrap_or(default));
        let name = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Self {
            target: Target { is_secure, name, port },
            host: format!("{host}:{port}"),
            path: uri.path_and_query().map_or_else(|| "/".to_owned(), |path| path.to_string()),
            authorization,
        })
    }
}

/// A URL without user, password and query, for logs.
pub(crate) fn shown(url: &str) -> String {
    let without_query = |text: &str| text.split('?').next().unwrap_or_default().to_owned();
    let Some((scheme, rest)) = url.split_once("://") else { return without_query(url) };
    // A `/` or `?` of a password may not be encoded.
    let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let rest = without_query(rest);
    let (authority, path) = rest.split_once('/').unwrap_or((rest.as_str(), ""));
    format!("{scheme}://{authority}/{path}")
}

/// The body as text.
pub(crate) fn text(body: &[u8]) -> Looked<String> {
    let text = std::str::from_utf8(body);
    let text = text.map_err(|_| Failure::Nonsense("it is not UTF-8".to_owned()))?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Place, shown};

    #[test]
    fn urls() {
        let place = Place::of("http://us%40er:p%3Aw@[::1]:8761/eureka/apps?x=1").expect("a place");
        assert_eq!((place.target.name.as_str(), place.target.port), ("::1", 8761));
        assert_eq!((place.host.as_str(), place.path.as_str()), ("[::1]:8761", "/eureka/apps?x=1"));
        assert_eq!(place.authorization.expect("credentials"), "Basic dXNAZXI6cDp3");
        assert_eq!(shown("http://user:secret@h:1/a/b?token=x"), "http://h:1/a/b");
        assert_eq!(shown("http://user:se/cr?et@h:1/a/b?token=x"), "http://h:1/a/b");
        let secure = Place::of("https://h/").expect("a place").target;
        assert_eq!((secure.port, secure.is_secure), (443, true));
        assert!(Place::of("ftp://h/").is_err());
        assert!(Place::of("nonsense").is_err());
    }
}
