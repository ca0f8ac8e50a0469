//! The endpoints of an origin.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::payload::Payload;
use crate::reflection::{headers, query_value, reflect, reflect_head};
use crate::shared::Shared;
use crate::websocket;

const INDEX: &str = "\
/ok/**            ok; x-benchmark-routeId comes back as x-mock-server-routeId
/hello/{ms}       after a delay of so many milliseconds
/delay/{s}        after so many seconds (10 at most), what /anything tells
/anything/**      the request as JSON; so do /get /post /put /patch /delete
/headers          the request's fields as JSON
/status/{code}    this status
/stream/{n}       n lines of JSON
/sse              events, one every ?interval= ms (100), ?count= of them (endless)
/bytes/{n}        n bytes
/ws               WebSocket echo, as on any other path
/stats            connections, requests, threads
";

/// The maximum size of a request body that is reflected.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Longest delay.
const DELAY_MAX: Duration = Duration::from_secs(600);

/// The request header whose value is given back, and the response header it is given back in.
const ROUTE_ASKED: HeaderName = HeaderName::from_static("x-benchmark-routeid");
const ROUTE_TOLD: HeaderName = HeaderName::from_static("x-mock-server-routeid");

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const BINARY: HeaderValue = HeaderValue::from_static("application/octet-stream");

/// Answers a request from `peer`.
pub(crate) async fn answer(
    request: Request<Incoming>,
    peer: SocketAddr,
    shared: &Shared,
) -> Response<Payload> {
    // The benchmarks' path is matched first, to make it cheap.
    let path = request.uri().path();
    if path == "/ok" || path.starts_with("/ok/") {
        return ok(&request);
    }
    if websocket::is_wanted(request.headers()) {
        return websocket::echo(request);
    }
    let (first, rest) = split(request.uri().path());
    match first {
        "" => text(StatusCode::OK, INDEX),
        "hello" => hello(rest, shared).await,
        "delay" => delay(request, peer, shared).await,
        "anything" => anything(request, peer).await,
        "get" => only(Method::GET, request, peer).await,
        "post" => only(Method::POST, request, peer).await,
        "put" => only(Method::PUT, request, peer).await,
        "patch" => only(Method::PATCH, request, peer).await,
        "delete" => only(Method::DELETE, request, peer).await,
        "headers" => reply_json(&json!({ "headers": headers(request.headers()) })),
        "status" => status(rest),
        "stream" => stream(request, peer),
        "sse" => events(request.uri()),
        "bytes" => bytes(rest),
        "ws" => text(StatusCode::UPGRADE_REQUIRED, "this is for WebSocket\n"),
        "stats" => reply_json(&shared.stats().json()),
        _ => text(StatusCode::NOT_FOUND, "nothing here; / tells what there is\n"),
    }
}

fn ok(request: &Request<Incoming>) -> Response<Payload> {
    let mut response = reply(StatusCode::OK, TEXT, Payload::whole(Bytes::from_static(b"ok\n")));
    if let Some(route) = request.headers().get(ROUTE_ASKED) {
        response.headers_mut().insert(ROUTE_TOLD, route.clone());
    }
    response
}

/// The words are those of the experiment this endpoint is made for.
async fn hello(length: &str, shared: &Shared) -> Response<Payload> {
    let Ok(length) = length.parse().map(Duration::from_millis) else {
        return text(StatusCode::BAD_REQUEST, "milliseconds expected\n");
    };
    match pass_time(length, shared).await {
        Ok(()) => text(StatusCode::OK, "Welcome to reactive world ~"),
        Err(refused) => refused,
    }
}

async fn delay(request: Request<Incoming>, peer: SocketAddr, shared: &Shared) -> Response<Payload> {
    let (_, length) = split(request.uri().path());
    let seconds = length.parse().ok().filter(|seconds: &f64| *seconds >= 0.0);
    let Some(seconds) = seconds else {
        return text(StatusCode::BAD_REQUEST, "seconds expected\n");
    };
    match pass_time(Duration::from_secs_f64(seconds.min(10.0)), shared).await {
        Ok(()) => anything(request, peer).await,
        Err(refused) => refused,
    }
}

/// Waits, in a thread of the pool if there is one.
async fn pass_time(length: Duration, shared: &Shared) -> Result<(), Response<Payload>> {
    let length = length.min(DELAY_MAX);
    let Some(pool) = &shared.pool else {
        tokio::time::sleep(length).await;
        return Ok(());
    };
    let busy = || text(StatusCode::SERVICE_UNAVAILABLE, "all threads are busy\n");
    let over = pool.sleep(length).map_err(|_| busy())?;
    over.await.map_err(|_| busy())
}

async fn only(method: Method, request: Request<Incoming>, peer: SocketAddr) -> Response<Payload> {
    if *request.method() == method || (method == Method::GET && request.method() == Method::HEAD) {
        return anything(request, peer).await;
    }
    let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "another method expected\n");
    if let Ok(allowed) = HeaderValue::from_str(method.as_str()) {
        response.headers_mut().insert(ALLOW, allowed);
    }
    response
}

async fn anything(request: Request<Incoming>, peer: SocketAddr) -> Response<Payload> {
    let (parts, body) = request.into_parts();
    match Limited::new(body, BODY_BYTES_MAX).collect().await {
        Ok(body) => reply_json(&reflect(&parts, peer, &body.to_bytes())),
        Err(_) => text(StatusCode::PAYLOAD_TOO_LARGE, "body cut off or too large\n"),
    }
}

fn status(code: &str) -> Response<Payload> {
    let code = code.parse().ok().filter(|code| (200..=999).contains(code));
    match code.and_then(|code| StatusCode::from_u16(code).ok()) {
        Some(status) => reply(status, TEXT, Payload::whole("")),
        None => text(StatusCode::BAD_REQUEST, "a status from 200 to 999 expected\n"),
    }
}

fn stream(request: Request<Incoming>, peer: SocketAddr) -> Response<Payload> {
    let (parts, _) = request.into_parts();
    let (_, count) = split(parts.uri.path());
    let Ok(count) = count.parse() else {
        return text(StatusCode::BAD_REQUEST, "a number of lines expected\n");
    };
    let told = reflect_head(&parts, peer);
    let line = move |id: u64| {
        let mut line = told.clone();
        if let Value::Object(line) = &mut line {
            line.insert("id".to_owned(), id.into());
        }
        format!("{line}\n")
    };
    reply(StatusCode::OK, JSON, Payload::Lines { next: 0, count, line: Box::new(line) })
}

fn events(uri: &Uri) -> Response<Payload> {
    let number = |name: &str, default: u64| match query_value(uri, name) {
        Some(value) => value.parse(),
        None => Ok(default),
    };
    let (Ok(period), Ok(count)) = (number("interval", 100), number("count", u64::MAX)) else {
        return text(StatusCode::BAD_REQUEST, "numbers expected\n");
    };
    reply(StatusCode::OK, EVENTS, Payload::events(Duration::from_millis(period), count))
}

fn bytes(count: &str) -> Response<Payload> {
    match count.parse() {
        Ok(left) => reply(StatusCode::OK, BINARY, Payload::Pattern { left }),
        Err(_) => text(StatusCode::BAD_REQUEST, "a number of bytes expected\n"),
    }
}

fn reply_json(value: &Value) -> Response<Payload> {
    reply(StatusCode::OK, JSON, Payload::whole(format!("{value:#}\n")))
}

fn text(status: StatusCode, body: &'static str) -> Response<Payload> {
    reply(status, TEXT, Payload::whole(body))
}

fn reply(status: StatusCode, kind: HeaderValue, body: Payload) -> Response<Payload> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// The first segment of a path, and what follows its `/`.
fn split(path: &str) -> (&str, &str) {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.split_once('/').unwrap_or((path, ""))
}
