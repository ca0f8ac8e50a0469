//! What every forwarded head goes through: hop-by-hop fields, Host, Forwarded and X-Forwarded-*.

use std::net::SocketAddr;

use weir_wire::{RequestHead, ResponseHead};

use crate::context::Target;

/// Rules for heads that are passed on.
#[derive(Clone, Debug, Default)]
pub struct Forwarding {}

impl Forwarding {
    /// Request side.
    pub fn request(
        &self,
        head: &mut RequestHead,
        _peer: SocketAddr,
        target: &Target,
        _keep: bool,
        _upgrade: bool,
    ) {
        head.fields.remove(b"transfer-encoding");
        head.fields.remove(b"connection");
        head.fields.set(b"Host", format!("{}:{}", target.host, target.port).as_bytes());
    }
    /// Response side.
    pub fn response(&self, head: &mut ResponseHead, _upgrade: bool) {
        head.fields.remove(b"transfer-encoding");
        head.fields.remove(b"connection");
    }
}
