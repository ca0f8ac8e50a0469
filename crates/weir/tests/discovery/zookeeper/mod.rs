//! Zookeeper, as a real server (Debian's package `zookeeper`, where that is installed) and as a
//! small one that plays it. Both are used by the same client and must come to the same.

mod played;
mod real;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use weir_testkit::{Origin, PATIENCE};
use weir_wire::zookeeper::{
    LOGIN, Message, Request, children, frame, granted, message, write_connect, write_request,
};

use crate::{ended, gateway, route, said, services, until};
use played::Played;
use real::Real;

/// A Java program may take so long to start on a busy machine, and weir waits half as long again
/// before it asks again.
const START_PATIENCE: std::time::Duration = PATIENCE.saturating_mul(6);

/// A server that can go away and come back at the same address, with the same nodes.
trait Server {
    fn address(&self) -> SocketAddr;
    fn stop(&mut self);
    fn start(&mut self);
}

/// A client that changes nodes.
struct Nodes {
    stream: TcpStream,
    number: i32,
}

impl Nodes {
    /// Waits until the server grants a session.
    fn of(address: SocketAddr) -> Self {
        let start = std::time::Instant::now();
        loop {
            if let Some(nodes) = Self::connect(address) {
                return nodes;
            }
            assert!(start.elapsed() < START_PATIENCE, "{address} grants no session");
            std::thread::yield_now();
        }
    }

    fn connect(address: SocketAddr) -> Option<Self> {
        let stream = TcpStream::connect(address).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let mut nodes = Self { stream, number: 0 };
        let mut out = Vec::new();
        write_connect(60_000, &mut out);
        nodes.stream.write_all(&out).ok()?;
        let first = nodes.read()?;
        granted(&first).ok().filter(|granted| granted.timeout_ms > 0).map(|_| nodes)
    }

    fn read(&mut self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; 4];
        self.stream.read_exact(&mut bytes).ok()?;
        let length = u32::from_be_bytes(bytes[..].try_into().expect("four bytes")) as usize;
        bytes.resize(4 + length, 0);
        self.stream.read_exact(&mut bytes[4..]).ok()?;
        let (whole, _) = frame(&bytes, 1 << 20).ok()??;
        Some(whole.to_vec())
    }

    fn ask(&mut self, request: Request<'_>) -> (i32, Vec<u8>) {
        self.number += 1;
        let mut out = Vec::new();
        write_request(self.number, request, &mut out);
        self.stream.write_all(&out).expect("a server");
        loop {
            let bytes = self.read().expect("an answer");
            match message(&bytes).expect("a message") {
                Message::Answer { number, code, body } if number == self.number => {
                    return (code, body.to_vec());
                }
                _ => {}
            }
        }
    }

    /// Makes a node that stays.
    fn create(&mut self, path: &str, data: &str) {
        let data = data.as_bytes();
        let (code, _) = self.ask(Request::Create { path, data, is_ephemeral: false });
        assert_eq!(code, 0, "{path}");
    }

    fn delete(&mut self, path: &str) {
        assert_eq!(self.ask(Request::Delete(path)).0, 0, "{path}");
    }

    /// Takes on the rights of a user.
    fn log_in(&mut self, user: &str, password: &str) {
        self.number = LOGIN - 1;
        assert_eq!(self.ask(Request::Login { user, password }).0, 0);
        self.number = 0;
    }

    /// Gives all rights to a node to the users of this session alone: `setACL`, which weir never
    /// sends, so its bytes are written here.
    fn lock(&mut self, path: &str) {
        let text = |text: &str| [&(text.len() as i32).to_be_bytes()[..], text.as_bytes()].concat();
        let acl = [1_i32, 31].map(i32::to_be_bytes).concat();
        let head = [0_i32, 7].map(i32::to_be_bytes).concat();
        let any_version = (-1_i32).to_be_bytes();
        let request =
            [&head[..], &text(path), &acl, &text("auth"), &text(""), &any_version].concat();
        let framed = [&(request.len() as i32).to_be_bytes()[..], &request].concat();
        self.stream.write_all(&framed).expect("a server");
        let answer = self.read().expect("an answer");
        assert!(matches!(message(&answer), Ok(Message::Answer { code: 0, .. })), "{answer:?}");
    }

    fn children(&mut self, path: &str) -> Vec<String> {
        let (code, body) = self.ask(Request::Children(path));
        if code == 0 { children(&body).expect("names") } else { Vec::new() }
    }
}

/// What Spring Cloud registers for an instance.
fn instance(id: &str, port: u16) -> String {
    format!(
        r#"{{"name":"svc","id":"{id}","address":"127.0.0.1","port":{port},"sslPort":null,"payload":
            {{"@class":"org.springframework.cloud.zookeeper.discovery.ZookeeperInstance",
            "id":"svc","name":"svc","metadata":{{"instance_status":"UP","zone":"z1"}}}},
            "registrationTimeUTC":1,"serviceType":"DYNAMIC","uriSpec":{{"parts":[]}}}}"#
    )
}

/// Instances come, change and go; the server goes and comes back; weir is a member.
async fn is_followed(mut server: impl Server) {
    let origin = Origin::start().await;
    let other = Origin::start().await;
    let mut nodes = Nodes::of(server.address());
    nodes.create("/services", "");
    nodes.create("/services/svc", "");
    nodes.create("/services/svc/1", &instance("1", origin.address().port()));
    let config = format!(
        "spring.cloud.zookeeper:\n  connect-string: {}\n  session-timeout: 2s\n  \
         dependencies: {{ mail.path: /office/post, same.path: svc }}\n{}- {{ id: m, uri: \
         'lb://mail', predicates: [ 'Path=/m' ] }}\n- {{ id: s, uri: 'lb://same', predicates: [ \
         'Path=/s' ] }}\n",
        server.address(),
        route("svc"),
    );
    let gateway = said(gateway(&config).await, "weir is registered").await;
    until(gateway.address(), "/x", |status, _| status == 200).await;
    until(gateway.address(), "/s", |status, _| status == 200).await;
    assert_eq!(services(&gateway, "/svc").await["registry"], "zookeeper");
    let own = nodes.children("/services/gate");
    assert_eq!(own.len(), 1, "{own:?}");

    // A service that is not there yet, under another name than its node.
    until(gateway.address(), "/m", |status, _| status == 503).await;
    nodes.create("/services/office", "");
    nodes.create("/services/office/post", "");
    nodes.create("/services/office/post/7", &instance("7", other.address().port()));
    until(gateway.address(), "/m", |status, _| status == 200).await;

    // One takes over from another.
    nodes.create("/services/svc/2", &instance("2", other.address().port()));
    nodes.delete("/services/svc/1");
    let path = "/actuator/gateway/services/svc";
    let is_other =
        |_: u16, text: &str| text.contains(r#""id":"2""#) && !text.contains(r#""id":"1""#);
    until(gateway.admin(), path, is_other).await;

    // While nobody is there the last list serves.
    server.stop();
    let away = |_: u16, text: &str| text.contains(r#""state":"away""#);
    until(gateway.admin(), "/actuator/gateway/services", away).await;
    until(gateway.address(), "/x", |status, _| status == 200).await;
    server.start();
    let mut nodes = Nodes::of(server.address());
    let start = std::time::Instant::now();
    while services(&gateway, "").await["registries"][0]["state"] != "up" {
        assert!(start.elapsed() < START_PATIENCE, "{}", services(&gateway, "").await);
    }
    until(gateway.address(), "/x", |status, _| {
        status == 200 && nodes.children("/services/gate").len() == 1
    })
    .await;

    // That one is gone is believed, that all are is not at once.
    nodes.delete("/services/office/post/7");
    until(gateway.address(), "/m", |status, _| status == 503).await;
    nodes.delete("/services/svc/2");
    let doubted = |_: u16, text: &str| text.contains(r#""state":"doubted""#);
    until(gateway.admin(), "/actuator/gateway/services", doubted).await;
    until(gateway.address(), "/x", |status, _| status == 200).await;

    ended(gateway).await;
    assert!(nodes.children("/services/gate").is_empty(), "weir has left");
}

#[tokio::test]
async fn a_server_that_is_played_is_followed() {
    is_followed(Played::start()).await;
}

#[tokio::test]
async fn a_real_server_is_followed() {
    if let Some(server) = Real::start() {
        is_followed(server).await;
    }
}

/// A service that only one user may read.
async fn asks_for_credentials(server: impl Server) {
    let origin = Origin::start().await;
    let mut nodes = Nodes::of(server.address());
    nodes.log_in("weir", "s3cret");
    nodes.create("/services", "");
    nodes.create("/services/svc", "");
    nodes.create("/services/svc/1", &instance("1", origin.address().port()));
    nodes.lock("/services/svc");
    let config = |more: &str| {
        format!(
            "spring.cloud.zookeeper:\n  connect-string: {}\n  session-timeout: 2s\n{more}{}",
            server.address(),
            route("svc"),
        )
    };
    let stranger = gateway(&config("")).await;
    let told = |_: u16, text: &str| {
        text.contains("denies weir access to /services/svc: set weir.discovery.zookeeper.username")
    };
    until(stranger.admin(), "/actuator/gateway/services", told).await;
    let user = "weir.discovery.zookeeper: { username: weir, password: s3cret }\n";
    let known = gateway(&config(user)).await;
    until(known.address(), "/x", |status, _| status == 200).await;
    assert!(!known.output().contains("s3cret"), "{}", known.output());
}

/// The servers of an ensemble end one after the other and come back.
async fn outlives_each_server(mut servers: Vec<impl Server>) {
    let origin = Origin::start().await;
    let mut nodes = Nodes::of(servers[0].address());
    nodes.create("/services", "");
    nodes.create("/services/svc", "");
    nodes.create("/services/svc/1", &instance("1", origin.address().port()));
    let addresses: Vec<String> =
        servers.iter().map(|server| server.address().to_string()).collect();
    let config = format!(
        "spring.cloud.zookeeper: {{ connect-string: '{}', session-timeout: 2s }}\n{}",
        addresses.join(","),
        route("svc"),
    );
    let gateway = said(gateway(&config).await, "weir is registered").await;
    for stopped in 0..servers.len() {
        servers[stopped].stop();
        let other = servers[(stopped + 1) % servers.len()].address();
        let mut nodes = Nodes::of(other);
        // What only the others know.
        let added = format!("/services/svc/of-{stopped}");
        nodes.create(&added, &instance(&added, origin.address().port()));
        let start = std::time::Instant::now();
        loop {
            let known = services(&gateway, "/svc").await["instances"].as_array().map(Vec::len);
            if known == Some(2 + stopped) && nodes.children("/services/gate").len() == 1 {
                break;
            }
            assert!(start.elapsed() < START_PATIENCE, "{}", services(&gateway, "").await);
        }
        until(gateway.address(), "/x", |status, _| status == 200).await;
        servers[stopped].start();
        drop(Nodes::of(servers[stopped].address()));
    }
}

#[tokio::test]
async fn credentials_open_what_others_may_not_read() {
    asks_for_credentials(Played::start()).await;
}

#[tokio::test]
async fn credentials_open_what_a_real_server_locks() {
    if let Some(server) = Real::start() {
        asks_for_credentials(server).await;
    }
}

#[tokio::test]
async fn another_server_of_the_ensemble_takes_over() {
    outlives_each_server(Played::ensemble(2)).await;
}

#[tokio::test]
async fn another_real_server_of_the_ensemble_takes_over() {
    if let Some(servers) = Real::ensemble(3) {
        outlives_each_server(servers).await;
    }
}

#[tokio::test]
async fn what_does_not_speak_the_protocol_is_told() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 64]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let config = format!("spring.cloud.zookeeper.connect-string: {address}\n{}", route("svc"));
    let gateway = gateway(&config).await;
    let told = |_: u16, text: &str| text.contains("does not speak Zookeeper");
    until(gateway.admin(), "/actuator/gateway/services", told).await;
}
