//! WebSocket echo (RFC 6455) on an upgraded connection.

use futures_util::{SinkExt, StreamExt};
use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::payload::Payload;

/// Whether a request asks for a WebSocket.
pub(crate) fn is_wanted(fields: &HeaderMap) -> bool {
    has_member(fields, &UPGRADE, "websocket") && has_member(fields, &CONNECTION, "upgrade")
}

/// Accepts a WebSocket and echoes its messages. The first protocol offered is chosen.
pub(crate) fn echo(mut request: Request<Incoming>) -> Response<Payload> {
    let mut response = Response::new(Payload::whole(""));
    let fields = request.headers();
    let Some(key) = fields.get(SEC_WEBSOCKET_KEY).filter(|_| is_version_13(fields)) else {
        *response.status_mut() = StatusCode::BAD_REQUEST;
        return response;
    };
    let accept = HeaderValue::try_from(derive_accept_key(key.as_bytes()));
    let Ok(accept) = accept else { return response };
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let answer = response.headers_mut();
    answer.insert(UPGRADE, HeaderValue::from_static("websocket"));
    answer.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    answer.insert(SEC_WEBSOCKET_ACCEPT, accept);
    if let Some(protocol) = first_protocol(fields) {
        answer.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    tokio::task::spawn_local(run(hyper::upgrade::on(&mut request)));
    response
}

async fn run(upgrade: OnUpgrade) {
    let Ok(connection) = upgrade.await else { return };
    let io = TokioIo::new(connection);
    let mut socket = WebSocketStream::from_raw_socket(io, Role::Server, None).await;
    while let Some(Ok(message)) = socket.next().await {
        // Pings are answered, and a close is returned, by the protocol itself.
        let echoed = message.is_text() || message.is_binary();
        if echoed && socket.send(message).await.is_err() {
            return;
        }
    }
}

fn is_version_13(fields: &HeaderMap) -> bool {
    fields.get(SEC_WEBSOCKET_VERSION).is_some_and(|version| version == "13")
}

fn first_protocol(fields: &HeaderMap) -> Option<HeaderValue> {
    let offered = fields.get(SEC_WEBSOCKET_PROTOCOL)?.to_str().ok()?;
    HeaderValue::from_str(offered.split(',').next()?.trim()).ok()
}

fn has_member(fields: &HeaderMap, name: &HeaderName, member: &str) -> bool {
    let lines = fields.get_all(name).iter().filter_map(|value| value.to_str().ok());
    let mut members = lines.flat_map(|line| line.split(','));
    members.any(|found| found.trim().eq_ignore_ascii_case(member))
}
