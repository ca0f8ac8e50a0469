//! Connecting to one of a group of upstreams.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;

use weir_balance::{Group, Member, Taken};
use weir_filter::Target;

use super::near::{Cut, Near};
use crate::descriptors::UpstreamFile;
use crate::http::buffers::Carry;
use crate::net::{Socket, connect_to, watch_over};
use crate::pacer::now_ns;
use crate::watched::Watched;
use crate::worker::Worker;

/// An upstream's side of a connection.
pub(super) struct Far {
    pub(super) stream: Socket,
    /// Bytes received but not yet taken.
    pub(super) carry: Carry,
    /// Counts the connection at its upstream, where connections are counted.
    pub(super) _taken: Option<Taken>,
    pub(super) _file: UpstreamFile,
}

/// An open file for a connection to an upstream, as soon as there is one.
pub(super) async fn upstream_file(near: &Near) -> Result<UpstreamFile, Cut> {
    match near.worker.files.try_upstream() {
        Some(file) => Ok(file),
        None => {
            let files = Arc::clone(&near.worker.files);
            near.within(near.pipeline.timeouts.connect, files.upstream()).await
        }
    }
}

/// A number that is the same for the same address, in every process.
pub(super) fn hash_of(ip: IpAddr) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(ip.to_canonical())
}

/// A connection to a member of `group`: those that cannot be reached are passed over for a while,
/// and the next one is tried.
pub(super) async fn connect(near: &mut Near, group: &Arc<Group>) -> Result<Far, Cut> {
    let hash = hash_of(near.peer.ip());
    let mut tried: Vec<Arc<Member>> = Vec::new();
    let file = upstream_file(near).await?;
    loop {
        let now_ms = now_ns() / 1_000_000;
        let taken = group.take(&tried, hash, now_ms).ok_or(Cut::Unreached)?;
        let member = Arc::clone(taken.member());
        let started = now_ns();
        let dialled = dial(&near.worker, &member.target, near.pipeline.timeouts.idle.is_zero());
        let dialled = near.within(near.pipeline.timeouts.connect, dialled).await;
        let why = match dialled {
            Ok(Ok(stream)) => {
                member.reached(now_ns() - started, now_ns());
                near.worker.counters.upstream_opened();
                let stream = Socket::watched(stream);
                return Ok(Far {
                    stream,
                    carry: Carry::default(),
                    _taken: Some(taken),
                    _file: file,
                });
            }
            Ok(Err(error)) => error.to_string(),
            Err(Cut::Expired) => "the connection timed out".to_owned(),
            Err(cut) => return Err(cut),
        };
        member.unreached(now_ns() / 1_000_000);
        let (host, port) = (&member.target.host, member.target.port);
        let pipeline = &near.pipeline.id;
        tracing::warn!(pipeline, upstream = %format_args!("{host}:{port}"), "not reached: {why}");
        tried.push(member);
    }
}

/// A connection to the first address of `target` that takes one; see [`dial_one`].
pub(super) async fn dial(
    worker: &Worker,
    target: &Target,
    lasts: bool,
) -> io::Result<Watched<TcpStream>> {
    let addresses = worker.resolver.resolve(target, worker.deadlines.now_ms()).await?;
    let mut last = None;
    for address in addresses.iter() {
        match dial_one(worker, *address, lasts).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
}

/// A connection to `address`, unless that is the admin API. If it `lasts`, the system detects that
/// the peer has vanished even while it is idle.
pub(super) async fn dial_one(
    worker: &Worker,
    address: SocketAddr,
    lasts: bool,
) -> io::Result<Watched<TcpStream>> {
    let identity = &worker.identity;
    if !identity.may_reach(address, None, None) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let stream = connect_to(address).await?;
    if identity.is_admin_port(address.port()) {
        let local = stream.file().local_addr().map(|local| local.ip()).ok();
        if !identity.may_reach(address, local, None) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
    }
    // Failing to set them costs latency, or time if the upstream vanishes.
    let _ = stream.file().set_nodelay(true);
    if lasts {
        let _ = watch_over(stream.file());
    }
    Ok(stream)
}
