//! Answers in Spring Boot's shapes: JSON bodies, error bodies, and lists that are streamed.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::pin::Pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use hyper::body::Frame;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use weir_control::{Problem, Refusal};
use weir_store::StoreErrorKind;

/// Media type of the gateway endpoints.
pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Media type of Spring Boot's own endpoints.
pub(crate) const ACTUATOR: HeaderValue =
    HeaderValue::from_static("application/vnd.spring-boot.actuator.v3+json");

/// Portions of a list that may wait for a slow reader.
const CHUNKS_MAX: usize = 4;
/// Size of a portion, about.
const CHUNK_BYTES: usize = 32 * 1024;

/// An error in the form of Spring Boot's default error view.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    message: Option<String>,
    problems: Vec<Problem>,
    revision: Option<u64>,
}

impl Failure {
    /// An error without a message, as in SCG.
    pub(crate) fn plain(status: StatusCode) -> Self {
        Self { status, message: None, problems: Vec::new(), revision: None }
    }

    /// An error with a reason.
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), ..Self::plain(status) }
    }

    /// 404 of an existing endpoint: `weir` recognizes it by the message.
    pub(crate) fn missing() -> Self {
        Self::new(StatusCode::NOT_FOUND, "there is nothing of this name")
    }

    /// The same error with another message.
    pub(crate) fn told(self, message: String) -> Self {
        Self { message: Some(message), ..self }
    }

    /// 400 with a reason.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// The answer to a request for `path`.
    pub(crate) fn answer(self, path: &str) -> Response {
        let mut body = Map::new();
        body.insert("timestamp".into(), now().into());
        body.insert("path".into(), path.into());
        body.insert("status".into(), self.status.as_u16().into());
        let reason = self.status.canonical_reason().unwrap_or("Error");
        body.insert("error".into(), reason.into());
        body.insert("requestId".into(), request_id().into());
        if let Some(message) = self.message {
            body.insert("message".into(), message.into());
        }
        if !self.problems.is_empty() {
            body.insert("problems".into(), json!(self.problems));
        }
        let mut response = json_answer(self.status, JSON, &Value::Object(body));
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        if let Some(revision) = self.revision {
            response.headers_mut().insert(header::ETAG, etag(revision));
        }
        response
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        match refusal {
            Refusal::Invalid(problems) => {
                let message = summary(&problems);
                Self { problems, ..Self::bad_request(message) }
            }
            Refusal::NotFound => Self::plain(StatusCode::NOT_FOUND),
            Refusal::Changed(revision) => {
                Self { revision, ..Self::new(StatusCode::PRECONDITION_FAILED, message) }
            }
            Refusal::Busy | Refusal::Stopping => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, message)
            }
            Refusal::Fault => Self::new(StatusCode::INTERNAL_SERVER_ERROR, message),
            Refusal::Store(error) => {
                let status = match error.kind {
                    StoreErrorKind::Full => StatusCode::INSUFFICIENT_STORAGE,
                    StoreErrorKind::Corrupt | StoreErrorKind::Newer => {
                        StatusCode::INTERNAL_SERVER_ERROR
                    }
                    _ => StatusCode::SERVICE_UNAVAILABLE,
                };
                Self::new(status, message)
            }
        }
    }
}

impl From<weir_store::StoreError> for Failure {
    fn from(error: weir_store::StoreError) -> Self {
        Self::from(Refusal::Store(error))
    }
}

/// One line for clients that show nothing but `message`.
fn summary(problems: &[Problem]) -> String {
    match problems {
        [] => "not a valid route".into(),
        [only] => only.to_string(),
        [first, rest @ ..] => format!("{first}; and {} more problems", rest.len()),
    }
}

/// A JSON body.
pub(crate) fn json_answer(status: StatusCode, media: HeaderValue, body: &Value) -> Response {
    // Writing a `Value` cannot fail: its keys are text.
    let bytes = serde_json::to_vec(body).unwrap_or_default();
    answer(status, Some(media), bytes)
}

/// 200 with a JSON body.
pub(crate) fn ok_json(body: &Value) -> Response {
    json_answer(StatusCode::OK, JSON, body)
}

/// An answer without a body.
pub(crate) fn empty(status: StatusCode) -> Response {
    answer(status, None, Vec::new())
}

/// An answer with a body of any kind.
pub(crate) fn answer(status: StatusCode, media: Option<HeaderValue>, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    if let Some(media) = media {
        response.headers_mut().insert(header::CONTENT_TYPE, media);
    }
    response
}

/// The entity tag of a revision.
pub(crate) fn etag(revision: u64) -> HeaderValue {
    HeaderValue::from_str(&format!("\"{revision}\""))
        .unwrap_or_else(|_| HeaderValue::from_static("\"\""))
}

/// A list that is streamed: memory does not grow with its length. `write` runs on a thread that may
/// block, and stops when [`ListWriter::push`] returns `false`.
pub(crate) fn stream_list<E: std::fmt::Display>(
    write: impl FnOnce(&mut ListWriter) -> Result<(), E> + Send + 'static,
) -> Response {
    let (sender, receiver) = mpsc::channel(CHUNKS_MAX);
    tokio::task::spawn_blocking(move || {
        let mut list = ListWriter { sender, chunk: b"[".to_vec(), is_first: true };
        match write(&mut list) {
            Ok(()) => {
                list.chunk.push(b']');
                list.flush();
            }
            // The head is out: only a broken body can still say that the list is not whole.
            Err(error) => {
                tracing::error!(%error, "a list of routes ends early");
                let _ = list.sender.blocking_send(Err(Broken));
            }
        }
    });
    let mut response = Response::new(Body::new(Chunks { receiver }));
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// Writes the elements of a JSON list.
pub(crate) struct ListWriter {
    sender: mpsc::Sender<Result<Bytes, Broken>>,
    chunk: Vec<u8>,
    is_first: bool,
}

impl ListWriter {
    /// Adds an element; `false` when the client is gone.
    pub(crate) fn push(&mut self, element: &Value) -> bool {
        if !std::mem::take(&mut self.is_first) {
            self.chunk.push(b',');
        }
        if serde_json::to_writer(&mut self.chunk, element).is_err() {
            return false;
        }
        self.chunk.len() < CHUNK_BYTES || self.flush()
    }

    fn flush(&mut self) -> bool {
        let chunk = std::mem::take(&mut self.chunk);
        self.sender.blocking_send(Ok(Bytes::from(chunk))).is_ok()
    }
}

/// The list could not be read to its end.
#[derive(Debug)]
pub(crate) struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the list could not be read to its end")
    }
}

impl std::error::Error for Broken {}

struct Chunks {
    receiver: mpsc::Receiver<Result<Bytes, Broken>>,
}

impl hyper::body::Body for Chunks {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        self.receiver.poll_recv(context).map(|chunk| chunk.map(|chunk| chunk.map(Frame::data)))
    }
}

/// Now, as Spring writes it.
pub(crate) fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// Milliseconds since 1970, as Spring writes a moment.
pub(crate) fn moment(at_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(at_ms)
        .map(|at| at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string())
        .unwrap_or_default()
}

/// A name for one request, unique in this process and unlikely elsewhere.
fn request_id() -> String {
    static PROCESS: OnceLock<u32> = OnceLock::new();
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let process = PROCESS.get_or_init(|| RandomState::new().build_hasher().finish() as u32);
    format!("{process:08x}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}
