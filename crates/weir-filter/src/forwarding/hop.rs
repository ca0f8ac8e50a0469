//! The two connections between which a request is passed on.

use std::net::{IpAddr, SocketAddr};

use crate::target::Target;

/// What is known of the two connections when a request is passed on.
#[derive(Clone, Copy, Debug)]
pub struct Hop<'a> {
    /// Address of the TCP peer.
    pub peer: SocketAddr,
    /// Address that the peer connected to.
    pub local: IpAddr,
    /// The client's connection is encrypted.
    pub https: bool,
    /// The Host that the client asked for.
    pub client_host: &'a [u8],
    /// Where the request goes.
    pub target: &'a Target,
    /// The upstream Host stays as it is in the head.
    pub preserve_host: bool,
    /// The request asks for another protocol (WebSocket) and is to keep saying so.
    pub upgrade: bool,
}
