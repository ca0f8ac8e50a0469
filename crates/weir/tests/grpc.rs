//! JsonToGrpc against a server that speaks gRPC: HTTP/2 with frames by hyper, messages by hand.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::stream;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use weir_testkit::{Client, Gateway, Response as Received, closed_port};

/// A descriptor set beside the configuration, and how routes name it.
const DESCRIPTORS: &[u8] = include_bytes!("../../../tests/grpc/shop.pb");
const FILTER: &str = "JsonToGrpc=Orders, Place, classpath:shop.pb";

/// What the server does with a call, by the `item` of the order (see `tests/grpc/shop.proto`).
const NONE: &[u8] = b"none";
const SILENT: &[u8] = b"silent";
const WAITS: &[u8] = b"waits";
const HUGE: &[u8] = b"huge";
const CUT: &[u8] = b"cut";

/// A server at a port of its own, and what it has seen.
#[derive(Clone)]
struct Server {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<(String, HeaderMap)>>>,
    connections: Arc<AtomicUsize>,
    /// A call that waits has come, and may be answered.
    held: Arc<Notify>,
    released: Arc<Notify>,
}

impl Server {
    /// A server that keeps its connections, or one that says goodbye after each call.
    async fn start(keeps: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = Self {
            address,
            heads: Arc::default(),
            connections: Arc::default(),
            held: Arc::default(),
            released: Arc::default(),
        };
        let shared = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(shared.clone(), stream, keeps));
            }
        });
        server
    }

    fn calls(&self) -> usize {
        self.heads.lock().expect("no panic").len()
    }
}

async fn serve(server: Server, stream: TcpStream, keeps: bool) {
    let called = Arc::new(Notify::new());
    let notify = Arc::clone(&called);
    let service = service_fn(move |request| {
        let (server, notify) = (server.clone(), Arc::clone(&notify));
        async move {
            let response = answer(&server, request).await;
            notify.notify_one();
            Ok::<_, Infallible>(response)
        }
    });
    let connection =
        http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // A client that goes away is no fault of the server.
        _ = connection.as_mut() => return,
        () = called.notified(), if !keeps => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

type Frames = StreamBody<stream::Iter<std::vec::IntoIter<Result<Frame<Bytes>, Infallible>>>>;

async fn answer(server: &Server, request: Request<Incoming>) -> Response<Frames> {
    let (head, body) = request.into_parts();
    server.heads.lock().expect("no panic").push((head.uri.path().to_owned(), head.headers));
    let body = body.collect().await.expect("a whole request").to_bytes();
    let (prefix, order) = body.split_at(5);
    assert_eq!(prefix, [&[0][..], &u32::to_be_bytes(order.len() as u32)].concat());
    let has = |item: &[u8]| order.windows(item.len()).any(|part| part == item);
    if has(SILENT) {
        std::future::pending::<()>().await;
    }
    if has(WAITS) {
        server.held.notify_one();
        server.released.notified().await;
    }
    let trailers = |code: &'static str, message: &'static str| {
        let mut fields = HeaderMap::new();
        fields.insert("grpc-status", HeaderValue::from_static(code));
        fields.insert("grpc-message", HeaderValue::from_static(message));
        Ok(Frame::trailers(fields))
    };
    // A Receipt: `order_id` is 2^53 + 1, `order` is what came.
    let mut receipt = vec![0x08, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10, 0x1a];
    receipt.push(u8::try_from(order.len()).expect("a short order"));
    receipt.extend_from_slice(order);
    if has(HUGE) {
        receipt.resize(5 << 20, 0);
    }
    let length = u32::to_be_bytes(receipt.len() as u32);
    let content = Bytes::from([&[0][..], &length, &receipt].concat());
    let frames = match () {
        () if has(NONE) => vec![trailers("5", "no b%C3%A4r")],
        () if has(CUT) => vec![Ok(Frame::data(content.slice(..7)))],
        () => vec![Ok(Frame::data(content)), trailers("0", "")],
    };
    Response::builder()
        .header("content-type", "application/grpc")
        .body(StreamBody::new(stream::iter(frames)))
        .expect("a response")
}

/// A gateway with one route `/call` to `uri` with `filters`.
fn gateway(uri: &str, filters: &[&str], more: &str) -> Gateway {
    let filters: Vec<String> = filters.iter().map(|filter| format!("  - {filter}\n")).collect();
    let config = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}\nweir.admin.port: 0\n{more}\n\
         spring.cloud.gateway.server.webflux.routes:\n\
         - id: call\n  uri: '{uri}'\n  predicates: [ Path=/call ]\n  filters:\n{}",
        filters.concat()
    );
    let command = std::process::Command::new(env!("CARGO_BIN_EXE_weir"));
    let files = [("weir.yaml", config.as_bytes()), ("shop.pb", DESCRIPTORS)];
    let gateway = Gateway::launch(command, &["run", "{config}"], &files);
    gateway.address();
    gateway
}

fn to(server: &Server) -> String {
    format!("http://{}", server.address)
}

async fn post(gateway: &Gateway, json: &str) -> Received {
    let head = format!("POST /call HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", json.len());
    Client::connect(gateway.address()).await.exchange(head + json).await
}

const ORDER: &str = r#"{"item":"tea","itemCount":"7","sizes":["LARGE",0],"labels":{"a":"b"}}"#;
const RECEIPT: &str = concat!(
    r#"{"orderId":"9007199254740993","order":{"item":"tea","itemCount":"7","#,
    r#""sizes":["LARGE","SIZE_UNKNOWN"],"labels":{"a":"b"}}}"#
);

#[tokio::test]
async fn json_becomes_a_message_and_the_response_json() {
    let server = Server::start(true).await;
    let gateway = gateway(&to(&server), &[FILTER], "");
    for _ in 0..20 {
        let answer = post(&gateway, ORDER).await;
        assert_eq!((answer.status, answer.text().as_str()), (200, RECEIPT));
        assert_eq!(answer.field("content-type").as_deref(), Some("application/json"));
    }
    assert_eq!((server.calls(), server.connections.load(Ordering::SeqCst)), (20, 1));
    let heads = server.heads.lock().expect("no panic");
    let (path, fields) = heads.first().expect("a call");
    assert_eq!(path, "/shop.Orders/Place");
    let field = |name: &str| fields.get(name).and_then(|value| value.to_str().ok());
    assert_eq!(field("content-type"), Some("application/grpc"));
    assert_eq!((field("te"), field("grpc-timeout")), (Some("trailers"), Some("60000m")));
}

#[tokio::test]
async fn calls_share_a_connection() {
    let server = Server::start(true).await;
    let gateway = Arc::new(gateway(&to(&server), &[FILTER], ""));
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let gateway = Arc::clone(&gateway);
        calls.spawn(async move { post(&gateway, ORDER).await.text() });
    }
    assert!(calls.join_all().await.iter().all(|text| text == RECEIPT));
    assert_eq!((server.calls(), server.connections.load(Ordering::SeqCst)), (50, 1));
}

#[tokio::test]
async fn a_server_may_close_its_connections() {
    let server = Server::start(false).await;
    let gateway = gateway(&to(&server), &[FILTER], "");
    for _ in 0..20 {
        assert_eq!(post(&gateway, ORDER).await.text(), RECEIPT);
    }
    assert_eq!(server.calls(), 20, "each is called once");
}

#[tokio::test]
async fn an_error_of_the_method_is_an_error() {
    let server = Server::start(true).await;
    let plain = gateway(&to(&server), &[FILTER], "");
    for item in ["none", "huge"] {
        assert_eq!(post(&plain, &format!(r#"{{"item":"{item}"}}"#)).await.status, 500, "{item}");
    }
    assert_eq!(post(&plain, r#"{"item":"cut"}"#).await.status, 502);
    let mapping = "{ name: JsonToGrpc, args: { service: shop.Orders, method: Place, \
                   protoDescriptor: shop.pb, mapStatus: true } }";
    let mapped = gateway(&to(&server), &[mapping], "");
    let answer = post(&mapped, r#"{"item":"none"}"#).await;
    let told = r#"{"code":5,"status":"NOT_FOUND","message":"no bär"}"#;
    assert_eq!((answer.status, answer.text().as_str()), (404, told));
    assert_eq!(post(&mapped, r#"{"item":"huge"}"#).await.status, 429);
}

#[tokio::test]
async fn what_is_no_request_of_the_method_does_not_reach_it() {
    let server = Server::start(true).await;
    let gateway = gateway(&to(&server), &[FILTER], "spring.http.codecs.max-in-memory-size: 100B");
    for (json, status, told) in [
        ("", 400, "EOF"),
        (r#"{"itm":1}"#, 400, "unrecognized field name 'itm'"),
        (r#"{"itemCount":"x"}"#, 400, "shop.Order"),
        ("{} {}", 400, "trailing characters"),
        (&format!(r#"{{"item":"{}"}}"#, "x".repeat(100)), 413, "longer than 100 bytes"),
    ] {
        let answer = post(&gateway, json).await;
        assert_eq!(answer.status, status, "{json}");
        assert!(answer.text().contains(told), "{}", answer.text());
        let content_type = answer.field("content-type");
        assert_eq!(content_type.as_deref(), Some("application/problem+json"));
    }
    assert_eq!(server.calls(), 0);
}

#[tokio::test]
async fn a_server_that_does_not_answer_costs_no_more_than_the_response_timeout() {
    let server = Server::start(true).await;
    let timeout = "spring.cloud.gateway.server.webflux.httpclient.response-timeout: 300ms";
    let gateway = gateway(&to(&server), &[FILTER], timeout);
    assert_eq!(post(&gateway, r#"{"item":"silent"}"#).await.status, 504);
    assert_eq!(post(&gateway, ORDER).await.status, 200);
    let fields = server.heads.lock().expect("no panic").first().expect("a call").1.clone();
    assert_eq!(fields.get("grpc-timeout").and_then(|value| value.to_str().ok()), Some("300m"));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_of_as_for_any_route() {
    let nobody = format!("http://{}", closed_port());
    assert_eq!(post(&gateway(&nobody, &[FILTER], ""), ORDER).await.status, 502);
}

#[tokio::test]
async fn an_instance_of_a_service_is_called() {
    let (server, dead) = (Server::start(true).await, closed_port());
    let instances = format!(
        "spring.cloud.discovery.client.simple.instances.orders:\n- uri: {}\n- uri: http://{dead}",
        to(&server)
    );
    let gateway = gateway("lb://orders", &[FILTER], &instances);
    let mut answered = 0;
    for _ in 0..4 {
        answered += usize::from(post(&gateway, ORDER).await.status == 200);
    }
    assert!(answered >= 2, "one that cannot be reached is left out: {answered}");
}

#[tokio::test]
async fn filters_of_the_route_stand_in_front() {
    let server = Server::start(true).await;
    let gateway = gateway(&to(&server), &[FILTER, "IpAccess=10.0.0.0/8"], "");
    assert_eq!(post(&gateway, ORDER).await.status, 403);
    assert_eq!(server.calls(), 0);
}

/// Puts a whole file in the place of another.
fn replace(gateway: &Gateway, name: &str, content: &[u8]) {
    let new = gateway.directory().join("new");
    std::fs::write(&new, content).expect("a file");
    std::fs::rename(new, gateway.directory().join(name)).expect("its place");
    gateway.hang_up();
}

/// A descriptor set in which `item` is called `name`.
fn renamed() -> Vec<u8> {
    let mut set = DESCRIPTORS.to_vec();
    let found: Vec<_> = (0..set.len()).filter(|at| set[*at..].starts_with(b"\x04item")).collect();
    assert!(!found.is_empty());
    found.iter().for_each(|at| set[*at..at + 5].copy_from_slice(b"\x04name"));
    set
}

#[tokio::test]
async fn a_changed_descriptor_set_is_in_force_after_a_reload_or_nothing_is() {
    let server = Server::start(true).await;
    let gateway = Arc::new(gateway(&to(&server), &[FILTER], ""));
    let early = Arc::clone(&gateway);
    let early = tokio::spawn(async move { post(&early, r#"{"item":"waits"}"#).await });
    server.held.notified().await;

    replace(&gateway, "shop.pb", &renamed());
    gateway.wait_for_output("reloaded routes=1");
    let named = r#"{"name":"tea"}"#;
    let answer = post(&gateway, named).await;
    assert_eq!((answer.status, answer.text().contains(named)), (200, true), "{}", answer.text());
    assert_eq!(post(&gateway, r#"{"item":"tea"}"#).await.status, 400);
    server.released.notify_one();
    let answer = early.await.expect("an answer");
    assert_eq!((answer.status, answer.text().contains(r#"{"item":"waits"}"#)), (200, true));

    replace(&gateway, "shop.pb", b"broken");
    gateway.wait_for_output("not reloaded");
    let config = std::fs::read_to_string(gateway.config()).expect("the configuration");
    let more = "- id: more\n  uri: http://localhost\n  predicates: [ Path=/more ]\n";
    replace(&gateway, "weir.yaml", format!("{config}{more}").as_bytes());
    assert_eq!(post(&gateway, named).await.status, 200);
    assert!(!gateway.output().contains("routes=2"), "{}", gateway.output());
    replace(&gateway, "shop.pb", DESCRIPTORS);
    gateway.wait_for_output("reloaded routes=2");
    assert_eq!(post(&gateway, ORDER).await.status, 200);
}

#[test]
fn what_cannot_be_called_is_refused_with_a_remedy() {
    let place = "JsonToGrpc=Orders, Place";
    for (uri, filter, told) in [
        ("http://h", "JsonToGrpc=Shop, Place, classpath:shop.pb", "has no service `Shop`"),
        ("http://h", "JsonToGrpc=Orders, Ship, classpath:shop.pb", "it has `Place`, `Watch`"),
        ("http://h", "JsonToGrpc=Orders, Watch, classpath:shop.pb", "streams messages"),
        ("http://h", &format!("{place}, classpath:no.pb"), "protoc --include_imports"),
        ("http://h", &format!("{place}, classpath:weir.yaml"), "no complete descriptor set"),
        ("http://h", &format!("{place}, file:/etc/shop.pb"), "valid-proto-descriptor-prefixes"),
        ("http://h", place, "protoDescriptor"),
        ("forward:/x", FILTER, "JsonToGrpc calls a server"),
    ] {
        let directory = tempfile::tempdir().expect("a directory");
        let config = format!(
            "spring.cloud.gateway.server.webflux.routes:\n\
             - id: call\n  uri: '{uri}'\n  predicates: [ Path=/call ]\n  filters: [ '{filter}' ]\n"
        );
        std::fs::write(directory.path().join("weir.yaml"), config).expect("a file");
        std::fs::write(directory.path().join("shop.pb"), DESCRIPTORS).expect("a file");
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_weir"));
        let output = command.arg("check").arg(directory.path().join("weir.yaml")).output();
        let output = output.expect("a check");
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).expect("a text");
        assert!(!output.status.success() && text.contains(told), "{filter}: {text}");
    }
}
