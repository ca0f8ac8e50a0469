//! The client and upstream connections of a forwarded request.

use std::net::{IpAddr, SocketAddr};

use crate::target::Target;

/// Properties of both connections of a forwarded request.
#[derive(Clone, Copy, Debug)]
pub struct Hop<'a> {
    /// Address of the TCP peer.
    pub peer: SocketAddr,
    /// Address that the peer connected to.
    pub local: IpAddr,
    /// The client's connection is encrypted.
    pub https: bool,
    /// The Host of the client's request.
    pub client_host: &'a [u8],
    /// Target of the request.
    pub target: &'a Target,
    /// The Host in the head is sent upstream unchanged.
    pub preserve_host: bool,
    /// The request asks for a protocol upgrade (WebSocket), which is forwarded.
    pub upgrade: bool,
}
