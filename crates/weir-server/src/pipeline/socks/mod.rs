//! A SOCKS proxy: versions 4, 4a and 5 (RFC 1928, RFC 1929).
//!
//! Names are resolved here, and rules hold for the addresses they lead to. A client hears that it
//! is connected only when it is.

mod bind;
mod udp;

use std::io;
use std::net::SocketAddr;

use subtle::{Choice, ConstantTimeEq as _};
use weir_filter::{Scheme, Target};
use weir_snapshot::SocksRules;
use weir_wire::socks::{
    Address, Command, Greeting, Method, Methods, Reply, Request, SocksError, Version, auth,
    greeting, request, write_auth_reply, write_method, write_reply,
};

use super::balance::{Far, dial_one, upstream_file};
use super::counters::PipelineCounters;
use super::near::{Cut, Near};
use super::relay;
use super::turn::{Held, turn};
use crate::http::buffers::Carry;
use crate::net::Socket;

/// Serves a connection to its end.
pub(super) async fn serve(
    near: &mut Near,
    rules: &SocksRules,
    counters: &PipelineCounters,
) -> Result<(), Cut> {
    let until_ms = near.hello_until_ms();
    let mut client = Client { near, until_ms, counters };
    let asked = client.hello(rules).await?;
    let _turn: Option<Held> = match turn(client.near).await {
        Err(Cut::Limited) => {
            return client.refuse(asked.version, Reply::NotAllowed, Cut::Limited).await;
        }
        taken => taken?,
    };
    match asked.command {
        Command::Connect => client.connect(rules, &asked).await,
        Command::Bind => client.bind(rules, &asked).await,
        Command::UdpAssociate => client.associate(rules, &asked).await,
    }
}

/// A client during or after its greeting.
struct Client<'a> {
    near: &'a mut Near,
    /// Deadline for its request, by the worker's clock.
    until_ms: u64,
    counters: &'a PipelineCounters,
}

impl Client<'_> {
    /// Reads one message of the handshake.
    async fn read<T>(
        &mut self,
        parse: impl Fn(&[u8]) -> Result<Option<(T, usize)>, SocksError>,
    ) -> Result<Result<T, SocksError>, Cut> {
        loop {
            match parse(self.near.carry.as_slice()) {
                Ok(Some((message, len))) => {
                    self.near.carry.consume(len);
                    return Ok(Ok(message));
                }
                Ok(None) => self.near.more(self.until_ms).await?,
                Err(error) => return Ok(Err(error)),
            }
        }
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<(), Cut> {
        let until_ms = self.until_ms.max(self.near.worker.deadlines.refresh() + 1_000);
        self.near.send(bytes, until_ms).await
    }

    /// Handshake from the first byte to the client's request.
    async fn hello(&mut self, rules: &SocksRules) -> Result<Request, Cut> {
        match self.read(greeting).await? {
            Ok(Greeting::V4(asked)) if rules.users.is_empty() => Ok(asked),
            // Version 4 knows names of users, but no proof.
            Ok(Greeting::V4(asked)) => {
                self.refuse(asked.version, Reply::IdentMismatch, Cut::Denied).await
            }
            Ok(Greeting::V5(methods)) => {
                self.authenticate(rules, methods).await?;
                match self.read(request).await? {
                    Ok(asked) => Ok(asked),
                    Err(error) => self.refuse(Version::V5, error.reply(), Cut::Broken).await,
                }
            }
            Err(SocksError::Version(_)) => Err(Cut::Broken),
            Err(error) => self.refuse(Version::V4, error.reply(), Cut::Broken).await,
        }
    }

    async fn authenticate(&mut self, rules: &SocksRules, methods: Methods) -> Result<(), Cut> {
        let wanted = if rules.users.is_empty() { Method::None } else { Method::Password };
        let mut out = Vec::new();
        if !methods.offers(wanted) {
            write_method(&mut out, None);
            self.send(&out).await?;
            self.near.part().await;
            return Err(Cut::Denied);
        }
        write_method(&mut out, Some(wanted));
        self.send(&out).await?;
        if wanted == Method::None {
            return Ok(());
        }
        let known = |bytes: &[u8]| {
            let read = auth(bytes)?;
            Ok(read.map(|(got, len)| (is_known(rules, got.user, got.password), len)))
        };
        let is_known = self.read(known).await?.map_err(|_| Cut::Broken)?;
        out.clear();
        write_auth_reply(&mut out, is_known);
        self.send(&out).await?;
        if !is_known {
            self.near.part().await;
            return Err(Cut::Denied);
        }
        Ok(())
    }

    /// Refuses a request with a reason.
    async fn refuse<T>(&mut self, version: Version, reply: Reply, cut: Cut) -> Result<T, Cut> {
        let mut out = Vec::new();
        write_reply(&mut out, version, reply, None);
        self.send(&out).await?;
        self.near.part().await;
        Err(cut)
    }

    async fn grant(&mut self, version: Version, bound: Option<SocketAddr>) -> Result<(), Cut> {
        let mut out = Vec::new();
        write_reply(&mut out, version, Reply::Granted, bound);
        self.send(&out).await
    }

    async fn connect(&mut self, rules: &SocksRules, asked: &Request) -> Result<(), Cut> {
        let file = upstream_file(self.near).await?;
        let reached = self.reach(rules, &asked.address).await;
        let stream = match reached {
            Ok(stream) => stream,
            Err((reply, cut)) => return self.refuse(asked.version, reply, cut).await,
        };
        self.grant(asked.version, stream.local_addr()).await?;
        let mut far = Far { stream, carry: Carry::default(), _taken: None, _file: file };
        relay::both_ways(self.near, &mut far, self.counters).await
    }

    /// Connects to the requested destination: tries each of its addresses that the rules allow.
    async fn reach(
        &mut self,
        rules: &SocksRules,
        address: &Address,
    ) -> Result<Socket, (Reply, Cut)> {
        let mut why = (Reply::NotAllowed, Cut::Denied);
        for address in self.addresses(address).await? {
            if !rules.may_reach(address) {
                continue;
            }
            let lasts = self.near.pipeline.timeouts.idle.is_zero();
            let dialled = dial_one(&self.near.worker, address, lasts);
            match self.near.within(self.near.pipeline.timeouts.connect, dialled).await {
                Ok(Ok(stream)) => {
                    self.near.worker.counters.upstream_opened();
                    return Ok(Socket::watched(stream));
                }
                Ok(Err(error)) => why = reason(&error),
                Err(Cut::Expired) => why = (Reply::HostUnreachable, Cut::Unreached),
                Err(cut) => return Err((Reply::GeneralFailure, cut)),
            }
        }
        Err(why)
    }

    /// Resolves a destination to its addresses.
    async fn addresses(&mut self, address: &Address) -> Result<Vec<SocketAddr>, (Reply, Cut)> {
        let (host, port) = match address {
            Address::Ip(address) => return Ok(vec![*address]),
            Address::Name(host, port) => (host, *port),
        };
        let worker = &self.near.worker;
        let target = Target::new(Scheme::Http, host.to_ascii_lowercase(), port);
        let resolved = worker.resolver.resolve(&target, worker.deadlines.now_ms());
        match self.near.within(self.near.pipeline.timeouts.connect, resolved).await {
            Ok(Ok(found)) => Ok(found.to_vec()),
            Ok(Err(_)) | Err(Cut::Expired) => Err((Reply::HostUnreachable, Cut::Unreached)),
            Err(cut) => Err((Reply::GeneralFailure, cut)),
        }
    }
}

/// Whether there is such a user with this password. Takes constant time for any user.
fn is_known(rules: &SocksRules, user: &[u8], password: &[u8]) -> bool {
    let is_known = rules.users.iter().fold(Choice::from(0), |found, (name, secret)| {
        found | (name.as_bytes().ct_eq(user) & secret.expose().as_bytes().ct_eq(password))
    });
    is_known.into()
}

/// The reply for a connection that failed, and the counter for it.
fn reason(error: &io::Error) -> (Reply, Cut) {
    match error.kind() {
        io::ErrorKind::PermissionDenied => (Reply::NotAllowed, Cut::Denied),
        io::ErrorKind::ConnectionRefused => (Reply::ConnectionRefused, Cut::Unreached),
        io::ErrorKind::NetworkUnreachable => (Reply::NetworkUnreachable, Cut::Unreached),
        io::ErrorKind::HostUnreachable | io::ErrorKind::TimedOut => {
            (Reply::HostUnreachable, Cut::Unreached)
        }
        _ => (Reply::GeneralFailure, Cut::Unreached),
    }
}
