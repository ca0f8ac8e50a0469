//! Names of DNS as services: with a server of one answer, and with dnsmasq where it is installed.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};

use weir_testkit::{Client, Gateway, Origin, closed_port};

use crate::{aside, gateway, route, said, services, until};

#[tokio::test]
async fn names_of_dns_are_services() {
    let origin = Origin::start().await;
    let config =
        format!("weir.discovery.dns.services.svc: {}\n{}", origin.address(), route("svc"),);
    let gateway = gateway(&config).await;
    assert_eq!(Client::connect(gateway.address()).await.get("/x").await.status, 200);
}

/// A DNS server that has one SRV record for every name: `localhost` with this port.
fn dns_server(port: u16) -> SocketAddr {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = socket.local_addr().expect("an address");
    std::thread::spawn(move || {
        let mut question = [0; 512];
        while let Ok((count, from)) = socket.recv_from(&mut question) {
            let mut reply = question[..count].to_vec();
            reply[2..4].copy_from_slice(&[0x81, 0x80]);
            reply[7] = 1;
            reply.extend_from_slice(&[0xc0, 12, 0, 33, 0, 1, 0, 0, 0, 30, 0, 17, 0, 1, 0, 5]);
            reply.extend_from_slice(&port.to_be_bytes());
            reply.extend_from_slice(b"\x09localhost\x00");
            let _ = socket.send_to(&reply, from);
        }
    });
    address
}

#[tokio::test]
async fn srv_records_of_dns_are_instances_and_may_be_checked() {
    let origin = Origin::start().await;
    let config = format!(
        "weir.discovery.dns: {{ services.svc: _http._tcp.orders.example, servers: '{}' }}\n\
         weir.upstreams.svc.check: {{ path: /health, interval: 100ms, fall: 1, status: 500 }}\n{}",
        dns_server(origin.address().port()),
        route("svc"),
    );
    let gateway = gateway(&config).await;
    until(gateway.address(), "/x", |status, _| status == 200).await;
    let path = "/actuator/gateway/services/svc";
    let text = until(gateway.admin(), path, |_, text| text.contains("its check fails")).await;
    assert!(text.contains("\"weight\":5") && text.contains("status 200"), "{text}");
    // One that may be away is better than none.
    until(gateway.address(), "/x", |status, _| status == 200).await;
}

/// A dnsmasq of its own that knows nothing but what it is told; ended when it is dropped.
struct Dnsmasq {
    address: SocketAddr,
    process: Child,
}

impl Dnsmasq {
    /// One with these records, each of which may be kept for a second. `None`, which is said, where
    /// it cannot be started.
    fn start(address: SocketAddr, records: &[String]) -> Option<Self> {
        let process = Command::new("dnsmasq")
            .args(["--no-daemon", "--conf-file=/dev/null", "--no-resolv", "--no-hosts"])
            .args(["--bind-interfaces", "--local-ttl=1", "--pid-file", "--user=root"])
            .arg(format!("--listen-address={}", address.ip()))
            .arg(format!("--port={}", address.port()))
            .args(["--local=/example/"])
            .args(records)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match process {
            Ok(process) => Some(Self { address, process }),
            Err(error) => {
                eprintln!("left out: dnsmasq: {error}");
                None
            }
        }
    }
}

impl Drop for Dnsmasq {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A SRV record of the service.
fn srv(port: u16, priority: u16, weight: u16) -> String {
    format!("--srv-host=_http._tcp.orders.example,localhost,{port},{priority},{weight}")
}

#[tokio::test]
async fn srv_records_of_dnsmasq_by_priority_and_weight_while_it_comes_and_goes() {
    let [heavy, light, spare] =
        [Origin::start().await, Origin::start().await, Origin::start().await];
    let port = |origin: &Origin| origin.address().port();
    let records = [srv(port(&heavy), 1, 3), srv(port(&light), 1, 1), srv(port(&spare), 2, 9)];
    let Some(server) = Dnsmasq::start(closed_port(), &records) else { return };
    let address = server.address;
    let config = format!(
        "weir.discovery.dns: {{ services.svc: _http._tcp.orders.example, servers: '{address}', \
         ttl-min: 100ms }}\nweir.upstreams.svc.balance: weighted\n{}",
        route("svc"),
    );
    let gateway = gateway(&config).await;
    until(gateway.address(), "/x", |status, _| status == 200).await;
    let before = (heavy.requests().len(), light.requests().len());
    for _ in 0..40 {
        assert_eq!(Client::connect(gateway.address()).await.get("/x").await.status, 200);
    }
    let after = (heavy.requests().len(), light.requests().len());
    assert_eq!((after.0 - before.0, after.1 - before.1), (30, 10));
    assert!(spare.requests().is_empty(), "the next priority waits");

    // The last list serves while nobody answers.
    drop(server);
    let state = |state: &str| format!(r#""state":"{state}""#);
    let away = state("away");
    until(gateway.admin(), "/actuator/gateway/services", |_, text| text.contains(&away)).await;
    until(gateway.address(), "/x", |status, _| status == 200).await;

    // Back with other records; the old ones are not kept for longer than their second.
    let server = Dnsmasq::start(address, &[srv(port(&spare), 2, 9)]);
    until(gateway.address(), "/x", |_, _| !spare.requests().is_empty()).await;
    let listed = services(&gateway, "/svc").await;
    assert_eq!(listed["instances"].as_array().map(Vec::len), Some(1), "{listed}");

    // A server that no longer knows the name lists nothing, which is doubted.
    drop(server);
    let _server = Dnsmasq::start(address, &[]);
    let doubted = state("doubted");
    until(gateway.admin(), "/actuator/gateway/services", |_, text| text.contains(&doubted)).await;
    until(gateway.address(), "/x", |status, _| status == 200).await;
}

/// A gateway whose system resolver asks `server`: its `/etc/resolv.conf` is its own. `None`, which
/// is said, where that is not allowed.
async fn with_resolver(server: std::net::IpAddr, config: &str) -> Option<Gateway> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("resolv.conf");
    std::fs::write(&file, format!("nameserver {server}\n")).expect("a file");
    let bound = "mount --bind \"$0\" /etc/resolv.conf && exec \"$@\"";
    let unshared = || {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", bound]).arg(&file);
        command
    };
    let tried = unshared().arg("true").stderr(Stdio::null()).status();
    if !tried.is_ok_and(|status| status.success()) {
        eprintln!("left out: a resolver of its own: it needs unshare and the right to mount");
        return None;
    }
    let mut command = unshared();
    command.arg(env!("CARGO_BIN_EXE_weir"));
    let config = format!("server: {{ address: 127.0.0.1, port: 0 }}\nweir.admin.port: 0\n{config}");
    let start = move || {
        let files = [("weir.yaml", config.as_bytes())];
        let gateway = Gateway::launch(command, &["run", "{config}"], &files);
        gateway.address();
        gateway
    };
    Some(aside(start).await)
}

#[tokio::test]
async fn addresses_of_dnsmasq_are_instances_of_both_families() {
    let origin = Origin::start().await;
    // Port 53 of an address that no other process of this test has.
    let [_, high, low, _] = std::process::id().to_be_bytes();
    let ip = Ipv4Addr::new(127, 53, high, low.max(1));
    let hosts = ["--host-record=orders.example,127.0.0.1,::1,1".to_owned()];
    let Some(server) = Dnsmasq::start(SocketAddr::new(ip.into(), 53), &hosts) else { return };
    let config = format!(
        "weir.discovery.dns: {{ services.svc: 'orders.example:{}', interval: 100ms }}\n{}",
        origin.address().port(),
        route("svc"),
    );
    let Some(gateway) = with_resolver(ip.into(), &config).await else { return };
    let both = |_: u16, text: &str| text.contains("127.0.0.1") && text.contains("::1");
    until(gateway.admin(), "/actuator/gateway/services/svc", both).await;
    until(gateway.address(), "/x", |status, _| status == 200).await;
    drop(server);
    let gateway = said(gateway, "the last list stays in use").await;
    until(gateway.address(), "/x", |status, _| status == 200).await;
    assert_eq!(services(&gateway, "/svc").await["instances"].as_array().map(Vec::len), Some(2));
}
