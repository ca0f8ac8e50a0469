//! One question for SRV records: by UDP, and by TCP if the answer does not fit.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};
use weir_wire::{DnsAnswer, srv_answer, srv_question};

use crate::http::{Failure, Looked};

/// Code of a name that there is not (RFC 1035 section 4.1.1).
pub(super) const NXDOMAIN: u8 = 3;
/// A server must answer within this time.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The number of rounds over all servers.
const ROUNDS: usize = 2;
/// The maximum number of servers, that of the system's resolver.
const SERVERS_MAX: usize = 3;
/// Longest answer by UDP without extensions is 512 bytes; some servers send more all the same.
const UDP_BYTES: usize = 4_096;

/// The SRV records of `name`, from `servers` or from those of the system. An answer without records
/// is final; after a failure the next server is asked.
pub(super) async fn srv(name: &str, servers: &[String]) -> Looked<DnsAnswer> {
    let servers = match servers {
        [] => of_system(),
        servers => servers.iter().filter_map(|text| address(text)).collect(),
    };
    let mut last = "there is no DNS server; set weir.discovery.dns.servers".to_owned();
    for server in std::iter::repeat_n(&servers, ROUNDS).flatten().copied() {
        match tokio::time::timeout(TIMEOUT, ask(name, server)).await {
            Ok(Ok(answer)) if matches!(answer.code, 0 | NXDOMAIN) => return Ok(answer),
            Ok(Ok(answer)) => last = format!("{server} answers {}", code_name(answer.code)),
            Ok(Err(why)) => last = format!("{server}: {why}"),
            Err(_) => last = format!("{server} does not answer"),
        }
    }
    Err(Failure::Unreachable(format!("{name}: {last}")))
}

/// `nameserver` lines of the system.
fn of_system() -> Vec<SocketAddr> {
    // Without the file there are no servers, as the error then says.
    let text = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("nameserver"));
    lines.filter_map(|rest| address(rest.trim())).take(SERVERS_MAX).collect()
}

/// `host:port`, or an address alone.
fn address(text: &str) -> Option<SocketAddr> {
    let alone = || text.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, 53));
    text.parse().ok().or_else(alone)
}

async fn ask(name: &str, server: SocketAddr) -> Result<DnsAnswer, String> {
    // The keys of the system's random hasher make ids unpredictable; the source port is random too.
    let id = (RandomState::new().build_hasher().finish() & 0xffff) as u16;
    let mut question = Vec::new();
    srv_question(id, name, &mut question).map_err(|_| "this is no name".to_owned())?;
    let any: SocketAddr = match server {
        SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
        SocketAddr::V6(_) => ([0_u16; 8], 0).into(),
    };
    let text = |error: std::io::Error| error.to_string();
    let socket = UdpSocket::bind(any).await.map_err(text)?;
    // From here on the system drops what others send.
    socket.connect(server).await.map_err(text)?;
    socket.send(&question).await.map_err(text)?;
    let mut bytes = vec![0; UDP_BYTES];
    loop {
        let count = socket.recv(&mut bytes).await.map_err(text)?;
        // An unrelated answer is skipped; the caller bounds the time.
        match srv_answer(id, name, bytes.get(..count).unwrap_or_default()) {
            Ok(answer) if answer.is_truncated => break,
            Ok(answer) => return Ok(answer),
            Err(_) => {}
        }
    }
    let mut stream = TcpStream::connect(server).await.map_err(text)?;
    // A question is far shorter than what the length can say.
    let length = u16::try_from(question.len()).unwrap_or(u16::MAX);
    let framed = [&length.to_be_bytes()[..], &question].concat();
    stream.write_all(&framed).await.map_err(text)?;
    let length = stream.read_u16().await.map_err(text)?;
    let mut bytes = vec![0; usize::from(length)];
    stream.read_exact(&mut bytes).await.map_err(text)?;
    srv_answer(id, name, &bytes).map_err(|error| format!("its answer is invalid: {error:?}"))
}

fn code_name(code: u8) -> String {
    match code {
        2 => "SERVFAIL".to_owned(),
        5 => "REFUSED".to_owned(),
        code => format!("code {code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "_http._tcp.orders.example";

    /// A server's reply to a question: its flags, and one record if `has_record`.
    fn reply(question: &[u8], flags: u16, has_record: bool) -> Vec<u8> {
        let mut bytes = question.to_vec();
        bytes[2..4].copy_from_slice(&flags.to_be_bytes());
        if has_record {
            bytes[7] = 1;
            bytes.extend_from_slice(&[0xc0, 12, 0, 33, 0, 1, 0, 0, 0, 30, 0, 10]);
            bytes.extend_from_slice(&[0, 1, 0, 5, 0x1f, 0x90, 1, b'a', 0xc0, 23]);
        }
        bytes
    }

    /// A server that answers by UDP with these flags in turn, and by TCP well.
    async fn server(flags: Vec<u16>) -> SocketAddr {
        let tcp = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = tcp.local_addr().expect("an address");
        let udp = UdpSocket::bind(address).await.expect("the same port");
        tokio::spawn(async move {
            let mut bytes = vec![0; 512];
            for flags in flags {
                let Ok((count, from)) = udp.recv_from(&mut bytes).await else { return };
                // First what answers another question.
                let mut other = reply(&bytes[..count], 0x8180, false);
                other[0] ^= 0xff;
                for reply in [other, reply(&bytes[..count], flags, flags == 0x8180)] {
                    let _ = udp.send_to(&reply, from).await;
                }
            }
        });
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = tcp.accept().await {
                let Ok(length) = stream.read_u16().await else { continue };
                let mut question = vec![0; usize::from(length)];
                let _ = stream.read_exact(&mut question).await;
                let reply = reply(&question, 0x8180, true);
                let _ = stream.write_u16(reply.len() as u16).await;
                let _ = stream.write_all(&reply).await;
            }
        });
        address
    }

    #[tokio::test]
    async fn answers() {
        let check = |flags: Vec<u16>| async move {
            let server = server(flags).await.to_string();
            let found = srv(NAME, &[server]).await;
            found.map(|answer| (answer.code, answer.records.len())).map_err(|e| e.to_string())
        };
        assert_eq!(check(vec![0x8180]).await, Ok((0, 1)));
        // Too long for UDP.
        assert_eq!(check(vec![0x8380]).await, Ok((0, 1)));
        assert_eq!(check(vec![0x8183]).await, Ok((3, 0)));
        assert_eq!(check(vec![0x8182, 0x8180]).await, Ok((0, 1)));
        let failed = check(vec![0x8182, 0x8182]).await.expect_err("a failure");
        assert!(failed.contains("answers SERVFAIL") && failed.contains(NAME), "{failed}");
        let none = srv(NAME, &["nonsense".to_owned()]).await.expect_err("a failure").to_string();
        assert!(none.contains("weir.discovery.dns.servers"), "{none}");
    }
}
