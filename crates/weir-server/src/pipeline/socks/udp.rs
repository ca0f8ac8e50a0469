//! UDP ASSOCIATE: datagrams for as long as the client's connection lasts.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, UdpSocket};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use weir_filter::{Scheme, Target};
use weir_limit::Way;
use weir_snapshot::SocksRules;
use weir_wire::socks::{Address, Reply, Request, parse_datagram, write_datagram_head};

use super::{Client, reason};
use crate::http::pace::Pace;
use crate::net::poll_read;
use crate::pipeline::balance::upstream_file;
use crate::pipeline::counters::PipelineCounters;
use crate::pipeline::lifetime::Lifetime;
use crate::pipeline::near::{Cut, Near};
use crate::pipeline::turn::pace;
use crate::watched::Watched;
use crate::worker::Worker;

/// The largest datagram there is.
const DATAGRAM_BYTES_MAX: usize = 64 * 1024;
/// Room for the head of a datagram to the client.
const HEAD_BYTES_MAX: usize = 22;
/// Hosts that may answer: those that were written to last.
const HOSTS_MAX: usize = 256;
/// Datagrams taken in a row before others have their turn.
const TURN_MAX: usize = 32;

impl Client<'_> {
    /// Relays datagrams until the client closes its connection.
    pub(super) async fn associate(
        &mut self,
        rules: &SocksRules,
        asked: &Request,
    ) -> Result<(), Cut> {
        let _files = (upstream_file(self.near).await?, upstream_file(self.near).await?);
        let mut association = match Association::new(self.near, rules, asked, self.counters) {
            Ok(association) => association,
            Err(error) => {
                let (reply, _) = reason(&error);
                return self.refuse(asked.version, reply, Cut::Unreached).await;
            }
        };
        let Ok(bound) = association.inside.file().local_addr() else {
            return self.refuse(asked.version, Reply::GeneralFailure, Cut::Unreached).await;
        };
        self.grant(asked.version, Some(bound)).await?;
        association.relay(self.near).await
    }
}

type Resolved = Pin<Box<dyn Future<Output = io::Result<Rc<[SocketAddr]>>>>>;

struct Association<'a> {
    worker: Rc<Worker>,
    rules: &'a SocksRules,
    counters: &'a PipelineCounters,
    /// Towards the client.
    inside: Watched<UdpSocket>,
    /// Socket towards all other hosts, for both address families if the machine has both.
    outside: Watched<UdpSocket>,
    is_v6: bool,
    host: IpAddr,
    /// Source address of the client's datagrams: as announced, or that of the first one.
    client: Option<SocketAddr>,
    /// Hosts to which datagrams were sent.
    hosts: VecDeque<IpAddr>,
    /// A pending name lookup, and the datagram that waits for it.
    resolving: Option<(Resolved, Vec<u8>)>,
    buffer: Vec<u8>,
    /// Bandwidths from and to the client. A datagram that may not move yet stays in the system's
    /// buffer, which drops those that it has no room for.
    up: Option<Box<Pace>>,
    down: Option<Box<Pace>>,
}

impl<'a> Association<'a> {
    fn new(
        near: &Near,
        rules: &'a SocksRules,
        asked: &Request,
        counters: &'a PipelineCounters,
    ) -> io::Result<Self> {
        let own = near.stream.local_addr().ok_or(io::ErrorKind::NotConnected)?;
        let inside = UdpSocket::bind(SocketAddr::new(own.ip(), 0))?;
        let any_v6 = UdpSocket::bind(SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0));
        let (outside, is_v6) = match any_v6 {
            Ok(socket) => (socket, true),
            Err(_) => (UdpSocket::bind(SocketAddr::from(([0, 0, 0, 0], 0)))?, false),
        };
        inside.set_nonblocking(true)?;
        outside.set_nonblocking(true)?;
        let host = near.peer.ip().to_canonical();
        let client = match &asked.address {
            Address::Ip(said) if said.port() != 0 && said.ip().to_canonical() == host => {
                Some(*said)
            }
            _ => None,
        };
        Ok(Self {
            worker: Rc::clone(&near.worker),
            rules,
            counters,
            inside: Watched::new(inside)?,
            outside: Watched::new(outside)?,
            is_v6,
            host,
            client,
            hosts: VecDeque::new(),
            resolving: None,
            buffer: vec![0; HEAD_BYTES_MAX + DATAGRAM_BYTES_MAX],
            up: pace(near, Way::Up),
            down: pace(near, Way::Down),
        })
    }

    async fn relay(&mut self, near: &mut Near) -> Result<(), Cut> {
        let clock = Rc::clone(&near.worker);
        let now_ms = || clock.deadlines.now_ms();
        let timeouts = &near.pipeline.timeouts;
        let mut lifetime = Lifetime::begin(timeouts, &near.deadline, clock.deadlines.refresh());
        let result = poll_fn(|cx| {
            let read = {
                let mut scratch = near.worker.scratch.borrow_mut();
                poll_read(&mut near.stream, scratch.buffer())
            };
            match read {
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Ok(())),
                // Nothing is to be said there.
                Poll::Ready(Ok(_)) => return Poll::Ready(Err(Cut::Broken)),
                Poll::Pending => {}
            }
            if near.is_over() {
                return Poll::Ready(Err(Cut::Gone));
            }
            if self.poll(cx) {
                lifetime.moved(now_ms());
            }
            match lifetime.is_over(cx, &near.deadline, now_ms()) {
                true => Poll::Ready(Err(Cut::Expired)),
                false => Poll::Pending,
            }
        })
        .await;
        near.deadline.clear();
        result
    }

    /// Relays pending datagrams; returns whether there were any.
    fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        let mut turns = 0;
        loop {
            let moved = self.poll_inside(cx).is_ready() | self.poll_outside(cx).is_ready();
            if !moved {
                return turns > 0;
            }
            turns += 1;
            if turns == TURN_MAX {
                cx.waker().wake_by_ref();
                return true;
            }
        }
    }

    /// Relays one datagram from the client. A malformed or forbidden one is dropped.
    fn poll_inside(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some((resolved, _)) = &mut self.resolving {
            let found = std::task::ready!(resolved.as_mut().poll(cx));
            let data = self.resolving.take().map(|(_, data)| data).unwrap_or_default();
            let first = found.ok().and_then(|found| {
                found.iter().copied().find(|address| self.rules.may_reach(*address))
            });
            if let Some(address) = first {
                self.send_out(address, &data);
            }
            return Poll::Ready(());
        }
        std::task::ready!(may_move(&mut self.up, cx));
        let Some((count, from)) = receive(&self.inside, &mut self.buffer) else {
            return Poll::Pending;
        };
        moved(&mut self.up, count);
        let is_client = match self.client {
            Some(client) => from == client,
            None => from.ip().to_canonical() == self.host,
        };
        let bytes = self.buffer.get(..count).unwrap_or_default();
        let Some(datagram) = parse_datagram(bytes).ok().filter(|_| is_client) else {
            return Poll::Ready(());
        };
        self.client = Some(from);
        let data = datagram.data.to_vec();
        match datagram.address {
            Address::Ip(address) if self.rules.may_reach(address) => self.send_out(address, &data),
            Address::Ip(_) => {}
            Address::Name(host, port) => {
                let worker = Rc::clone(&self.worker);
                let resolved = async move {
                    let target = Target::new(Scheme::Http, host.to_ascii_lowercase(), port);
                    worker.resolver.resolve(&target, worker.deadlines.now_ms()).await
                };
                self.resolving = Some((Box::pin(resolved), data));
            }
        }
        Poll::Ready(())
    }

    fn send_out(&mut self, address: SocketAddr, data: &[u8]) {
        let ip = address.ip().to_canonical();
        let to = match ip {
            IpAddr::V4(v4) if self.is_v6 => v4.to_ipv6_mapped().into(),
            ip => ip,
        };
        let to = SocketAddr::new(to, address.port());
        // A datagram that does not fit into the socket buffer is lost, as at any other hop.
        let sent = self.outside.try_write(|socket| socket.send_to(data, to));
        self.counters.sent.fetch_add(sent.unwrap_or(0) as u64, Ordering::Relaxed);
        if self.hosts.contains(&ip) {
            return;
        }
        if self.hosts.len() == HOSTS_MAX {
            self.hosts.pop_front();
        }
        self.hosts.push_back(ip);
    }

    /// Relays one datagram to the client. One from a host that it never wrote to is dropped.
    fn poll_outside(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        std::task::ready!(may_move(&mut self.down, cx));
        let space = self.buffer.get_mut(HEAD_BYTES_MAX..).unwrap_or_default();
        let Some((count, from)) = receive(&self.outside, space) else { return Poll::Pending };
        moved(&mut self.down, count);
        let from = SocketAddr::new(from.ip().to_canonical(), from.port());
        let Some(client) = self.client.filter(|_| self.hosts.contains(&from.ip())) else {
            return Poll::Ready(());
        };
        let mut head = Vec::with_capacity(HEAD_BYTES_MAX);
        write_datagram_head(&mut head, from);
        let start = HEAD_BYTES_MAX.saturating_sub(head.len());
        if let Some(place) = self.buffer.get_mut(start..HEAD_BYTES_MAX) {
            place.copy_from_slice(&head);
        }
        let whole = self.buffer.get(start..HEAD_BYTES_MAX + count).unwrap_or_default();
        let sent = self.inside.try_write(|socket| socket.send_to(whole, client));
        if sent.is_ok() {
            self.counters.received.fetch_add(count as u64, Ordering::Relaxed);
        }
        Poll::Ready(())
    }
}

/// Ready when the bandwidth lets a datagram move. It may be larger than what is due: the next one
/// waits for the rest.
fn may_move(pace: &mut Option<Box<Pace>>, cx: &mut Context<'_>) -> Poll<()> {
    pace.as_mut().map_or(Poll::Ready(()), |pace| pace.poll(cx).map(|_| ()))
}

fn moved(pace: &mut Option<Box<Pace>>, count: usize) {
    if let Some(pace) = pace {
        pace.moved(count);
    }
}

/// Receives a datagram, if there is one. Errors of datagrams sent earlier are reported here and
/// ignored.
fn receive(socket: &Watched<UdpSocket>, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
    loop {
        match socket.try_read(|socket| socket.recv_from(buffer)) {
            Ok(received) => return Some(received),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if socket.poll_readable().is_pending() {
                    return None;
                }
            }
            Err(_) => {}
        }
    }
}
