//! Calls of unary gRPC methods (JsonToGrpc), as the specification of gRPC over HTTP/2 has them.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, TE, USER_AGENT};
use http::{HeaderMap, Method, Request, Response, StatusCode, Version};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use percent_encoding::percent_decode;
use weir_filter::{GrpcCall, GrpcReply, Scheme};

use crate::http::{Channels, Failure, Reach, Target, told};

/// Longest response: what clients of gRPC take unless they are told otherwise.
const MESSAGE_BYTES_MAX: usize = 4 << 20;
/// A message has a flag and a length in front.
const PREFIX_BYTES: usize = 5;
/// A `grpc-timeout` has at most eight digits. No call takes longer: it is more than a day.
const TIMEOUT_MS_MAX: u64 = 99_999_999;
const CONTENT: &str = "application/grpc";
const UNKNOWN: u32 = 2;
const RESOURCE_EXHAUSTED: u32 = 8;
const UNIMPLEMENTED: u32 = 12;
const INTERNAL: u32 = 13;

/// Calls methods of other servers.
#[derive(Debug)]
pub(super) struct Grpc(Channels);

impl Grpc {
    /// Calls servers within `reach`.
    pub fn new(reach: Reach) -> Self {
        Self(Channels::new(reach))
    }

    /// Calls a method and waits for what it answers.
    pub async fn call(&self, call: &GrpcCall) -> GrpcReply {
        let Some(target) = &call.target else {
            return GrpcReply::Unreached("the call has no server".to_owned());
        };
        let name = target.host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let is_secure = target.scheme == Scheme::Https;
        let own = Target { is_secure, name, port: target.port };
        let request = match request(call, is_secure, &target.host, target.port) {
            Ok(request) => request,
            Err(error) => return GrpcReply::Unreached(error.to_string()),
        };
        let channel = match self.0.channel(own) {
            Ok(channel) => channel,
            Err(why) => return GrpcReply::Unreached(why.to_string()),
        };
        let connect = Duration::from_millis(call.connect_timeout_ms);
        let timeout = Duration::from_millis(call.timeout_ms.min(TIMEOUT_MS_MAX));
        let until = tokio::time::Instant::now() + timeout;
        let turn = match tokio::time::timeout_at(until, channel.turn(connect)).await {
            Ok(turn) => turn,
            Err(_) => return GrpcReply::Late,
        };
        let mut turn = match turn {
            Ok(turn) => turn,
            Err(why) => return GrpcReply::Unreached(why.to_string()),
        };
        let exchange = async {
            match turn.send(request, connect).await {
                Ok(response) => reply(response).await,
                Err(Failure::Nonsense(why)) => GrpcReply::Broken(why),
                Err(why) => GrpcReply::Unreached(why.to_string()),
            }
        };
        match tokio::time::timeout_at(until, exchange).await {
            Ok(reply) => reply,
            Err(_) => {
                turn.give_up().await;
                GrpcReply::Late
            }
        }
    }
}

fn request(
    call: &GrpcCall,
    is_secure: bool,
    host: &str,
    port: u16,
) -> Result<Request<Full<Bytes>>, http::Error> {
    let scheme = if is_secure { "https" } else { "http" };
    let mut content = Vec::with_capacity(PREFIX_BYTES + call.message.len());
    content.push(0);
    // A body that is kept in memory is far from 4 GB.
    let length = u32::try_from(call.message.len()).unwrap_or(u32::MAX);
    content.extend_from_slice(&length.to_be_bytes());
    content.extend_from_slice(&call.message);
    Request::builder()
        .method(Method::POST)
        .version(Version::HTTP_2)
        .uri(format!("{scheme}://{host}:{port}{}", call.path))
        .header(CONTENT_TYPE, CONTENT)
        .header(TE, "trailers")
        .header(USER_AGENT, concat!("weir/", env!("CARGO_PKG_VERSION")))
        .header("grpc-timeout", format!("{}m", call.timeout_ms.min(TIMEOUT_MS_MAX)))
        .body(Full::new(Bytes::from(content)))
}

fn status(code: u32, message: impl Into<String>) -> GrpcReply {
    GrpcReply::Status { code, message: message.into() }
}

async fn reply(response: Response<Incoming>) -> GrpcReply {
    let (head, mut body) = response.into_parts();
    if head.status != StatusCode::OK {
        return status(code_of(head.status), format!("HTTP status {}", head.status.as_u16()));
    }
    // An error may have no content, and its status in the head.
    if let Some(error) = error_in(&head.headers) {
        return error;
    }
    let content_type = head.headers.get(CONTENT_TYPE).map(|value| value.as_bytes());
    if !content_type.is_some_and(|value| value.starts_with(CONTENT.as_bytes())) {
        return status(UNKNOWN, "the answer is no gRPC by its Content-Type");
    }
    let (mut content, mut trailers) = (Vec::new(), None);
    while let Some(frame) = body.frame().await {
        let frame = match frame {
            Ok(frame) => frame,
            Err(error) => return GrpcReply::Broken(told(&error)),
        };
        match frame.into_data() {
            Ok(data) if content.len() + data.len() > PREFIX_BYTES + MESSAGE_BYTES_MAX => {
                let message = format!("the response is longer than {MESSAGE_BYTES_MAX} bytes");
                return status(RESOURCE_EXHAUSTED, message);
            }
            Ok(data) => content.extend_from_slice(&data),
            Err(frame) => trailers = frame.into_trailers().ok().or(trailers),
        }
    }
    let trailers = trailers.unwrap_or_default();
    if let Some(error) = error_in(&trailers) {
        return error;
    }
    if !trailers.contains_key("grpc-status") && !head.headers.contains_key("grpc-status") {
        return GrpcReply::Broken("the answer ended without a status".to_owned());
    }
    message_in(content)
}

/// The only message of an answer.
fn message_in(mut content: Vec<u8>) -> GrpcReply {
    let prefix = content.first_chunk::<PREFIX_BYTES>().copied();
    let Some([flag, length @ ..]) = prefix else {
        return status(INTERNAL, "the answer has no message");
    };
    if flag != 0 {
        return status(UNIMPLEMENTED, "the response is compressed, which it was not asked for");
    }
    let message = content.split_off(PREFIX_BYTES);
    match usize::try_from(u32::from_be_bytes(length)) {
        Ok(length) if length == message.len() => GrpcReply::Message(message),
        _ => status(INTERNAL, "the answer is not one whole message"),
    }
}

/// The status in a head or trailer, unless it is OK.
fn error_in(fields: &HeaderMap) -> Option<GrpcReply> {
    let code = fields.get("grpc-status")?.to_str().ok().and_then(|text| text.parse().ok());
    let code = code.unwrap_or(UNKNOWN);
    if code == 0 {
        return None;
    }
    let message = fields.get("grpc-message").map(|value| value.as_bytes()).unwrap_or_default();
    Some(status(code, percent_decode(message).decode_utf8_lossy()))
}

/// What an HTTP status means for a call (`http-grpc-status-mapping.md`).
fn code_of(status: StatusCode) -> u32 {
    match status.as_u16() {
        400 => INTERNAL,
        401 => 16,
        403 => 7,
        404 => UNIMPLEMENTED,
        429 | 502 | 503 | 504 => 14,
        _ => UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};
    use weir_filter::GrpcReply;

    use super::{error_in, message_in, status};

    #[test]
    fn messages() {
        let check = |content: &[u8], expected: GrpcReply| {
            assert_eq!(message_in(content.to_vec()), expected, "{content:?}");
        };
        check(&[0, 0, 0, 0, 0], GrpcReply::Message(Vec::new()));
        check(&[0, 0, 0, 0, 2, 8, 1], GrpcReply::Message(vec![8, 1]));
        check(b"", status(13, "the answer has no message"));
        check(&[0, 0, 0, 0, 2, 8], status(13, "the answer is not one whole message"));
        check(&[0, 0, 0, 0, 1, 8, 1], status(13, "the answer is not one whole message"));
        let compressed = "the response is compressed, which it was not asked for";
        check(&[1, 0, 0, 0, 1, 8], status(12, compressed));
    }

    #[test]
    fn statuses() {
        let check = |code: &'static str, message: &'static str, expected: Option<GrpcReply>| {
            let mut fields = HeaderMap::new();
            fields.insert("grpc-status", HeaderValue::from_static(code));
            fields.insert("grpc-message", HeaderValue::from_static(message));
            assert_eq!(error_in(&fields), expected, "{code}");
        };
        check("0", "", None);
        check("5", "no%20b%C3%A4r", Some(status(5, "no bär")));
        check("many", "x", Some(status(2, "x")));
        assert_eq!(error_in(&HeaderMap::new()), None);
    }
}
