//! A gRPC server without TLS that answers every method with a `Receipt` of `tests/grpc/shop.proto`:
//! the counterpart of the recorder's `Methods`.

use std::convert::Infallible;
use std::net::{Ipv4Addr, TcpListener};
use std::thread;

use futures_util::stream;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};

/// `order_id` is 2^53 + 1; `order` follows, with its length first.
const NUMBER: [u8; 10] = [0x08, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10, 0x1a];

type Frames = StreamBody<stream::Iter<std::vec::IntoIter<Result<Frame<Bytes>, Infallible>>>>;

/// Starts it; tells its port.
pub fn start() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.set_nonblocking(true).expect("an option");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(accept(listener));
    });
    port
}

async fn accept(listener: TcpListener) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
    while let Ok((stream, _)) = listener.accept().await {
        let service = service_fn(|request| async { Ok::<_, Infallible>(answer(request).await) });
        let http = http2::Builder::new(TokioExecutor::new());
        tokio::spawn(http.serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(request: Request<Incoming>) -> Response<Frames> {
    let body = request.into_body().collect().await.expect("a whole request").to_bytes();
    let (_, order) = body.split_at(5);
    let frames = match order.windows(4).any(|part| part == b"none") {
        true => vec![trailers("5", "no b%C3%A4r")],
        false => vec![Ok(Frame::data(receipt(order))), trailers("0", "")],
    };
    Response::builder()
        .header("content-type", "application/grpc")
        .body(StreamBody::new(stream::iter(frames)))
        .expect("a response")
}

fn receipt(order: &[u8]) -> Bytes {
    let length = u8::try_from(order.len()).expect("a short order");
    let receipt = [&NUMBER[..], &[length], order].concat();
    let length = u32::try_from(receipt.len()).expect("a short receipt").to_be_bytes();
    Bytes::from([&[0][..], &length, &receipt].concat())
}

fn trailers(code: &'static str, message: &'static str) -> Result<Frame<Bytes>, Infallible> {
    let mut fields = HeaderMap::new();
    fields.insert("grpc-status", HeaderValue::from_static(code));
    fields.insert("grpc-message", HeaderValue::from_static(message));
    Ok(Frame::trailers(fields))
}
