//! The head as it is sent on, and the start of the upload with it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use weir_filter::Target;
use weir_filter::forwarding::{Hop, nominated};
use weir_wire::http1::{BodyKind, RequestFraming};

use super::buffers::Carry;
use super::client::Client;
use super::exchange::{BodyRead, Exchange};
use super::framing::frame;
use super::local::unsound;
use super::outgoing::Outgoing;
use crate::error::{ErrorKind, ProxyError};

/// Edits the head for forwarding and starts the upload with it. `peer` and `local` are the ends of
/// the client's connection, `carry` holds the bytes received behind the head.
pub(super) fn prepare(
    (peer, local): (SocketAddr, IpAddr),
    carry: &mut Carry,
    x: &mut Exchange,
    outgoing: &Outgoing<'_>,
    target: &Target,
    preserve_host: bool,
) -> Result<(), ProxyError> {
    let framing = outgoing.framing;
    if let (BodyKind::Length(length), Some(max)) = (framing.body, outgoing.content_max)
        && length > max
    {
        return Err(ProxyError::new(ErrorKind::BodyTooLarge(max)));
    }
    let forwarding = &outgoing.snapshot.forwarding;
    let hop = Hop {
        peer,
        local,
        https: false,
        client_host: &x.client_host,
        target,
        preserve_host,
        upgrade: framing.upgrade,
    };
    let withheld = match framing.body {
        BodyKind::Chunked => nominated(&x.request.fields),
        _ => Vec::new(),
    };
    forwarding.request(&mut x.request, &hop);
    let body = frame(&mut x.request.fields, framing.body);
    if !x.request.fields.is_sound() {
        return Err(unsound());
    }
    x.upload.restart(framing.body, body);
    x.record.body = BodyRead::Partly;
    x.upload.content_max = outgoing.content_max;
    x.upload.withhold(withheld);
    x.request.write_to(x.upload.lead());
    let filled = x.upload.fill(carry);
    filled.map_err(|error| error.of_upload(outgoing.content_max))?;
    if x.upload.is_decoded() {
        x.record.body = BodyRead::Whole;
    }
    Ok(())
}

/// The address the client connected to, if it is needed: asking costs a system call.
pub(super) fn local_ip(client: &Client, needed: bool) -> IpAddr {
    let asked = needed.then(|| client.stream.local_addr()).flatten();
    asked.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |address| address.ip())
}

/// Repeats the request as [`prepare`] left it; its body, if any, is in the carry.
pub(super) fn prepare_again(
    x: &mut Exchange,
    framing: RequestFraming,
    outgoing: &Outgoing<'_>,
    carry: &mut Carry,
) -> Result<(), ProxyError> {
    x.upload.rewind(framing.body);
    x.request.write_to(x.upload.lead());
    let filled = x.upload.fill(carry);
    filled.map_err(|error| error.of_upload(outgoing.content_max))
}
