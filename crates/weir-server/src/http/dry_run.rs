//! The request that would go upstream, without a socket, for tests and fuzzing.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use weir_filter::Target;
use weir_snapshot::Snapshot;
use weir_wire::http1::{Connection, Parsed, RequestFraming, parse_request};

use super::buffers::Carry;
use super::exchange::Exchange;
use super::life::admit;
use super::outgoing::Outgoing;
use super::prepare::prepare;
use crate::error::ProxyError;

/// The requests that an upstream would receive for the bytes of a client's connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DryRun {
    /// Each whole request sent on, in order.
    pub sent: Vec<Vec<u8>>,
    /// The beginning of a request that was incomplete, or invalid within its body.
    pub cut: Option<Vec<u8>>,
    /// Reading ended at something that is refused.
    pub refused: bool,
}

/// Address of the client.
const NOBODY: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// Passes `bytes` on to `target` under the rules of `snapshot`, without filters, up to the first
/// request that is not sent on. As little as 64 KiB of a body is kept: longer ones count as cut.
pub fn dry_run(bytes: &[u8], snapshot: &Snapshot, target: &Target) -> DryRun {
    let mut run = DryRun::default();
    let mut carry = Carry::default();
    let mut x = Exchange::default();
    carry.push(bytes);
    loop {
        x.clear();
        let limits = &snapshot.settings.head_limits;
        let framing = match parse_request(carry.as_slice(), &mut x.request, limits) {
            Ok(Parsed::Partial) => return run,
            Ok(Parsed::Complete { consumed, framing }) => {
                carry.consume(consumed);
                framing
            }
            Err(_) => return DryRun { refused: true, ..run },
        };
        if admit(&mut x).is_err() || x.request.path() == b"*" {
            return DryRun { refused: true, ..run };
        }
        snapshot.forwarding.receive(&mut x.request, NOBODY);
        match upload(&mut x, &mut carry, framing, snapshot, target) {
            Ok((sent, true)) => run.sent.push(sent),
            Ok((sent, false)) => return DryRun { cut: Some(sent), ..run },
            Err(_) => return DryRun { refused: true, ..run },
        }
        if framing.connection == Connection::Close {
            return run;
        }
    }
}

/// The bytes that the upstream receives for the request with its head in `x` and the start of its
/// body in `carry`, and whether the request is complete.
fn upload(
    x: &mut Exchange,
    carry: &mut Carry,
    framing: RequestFraming,
    snapshot: &Snapshot,
    target: &Target,
) -> Result<(Vec<u8>, bool), ProxyError> {
    let outgoing = Outgoing { snapshot, framing, response_timeout: None, content_max: None };
    let ends = (SocketAddr::new(NOBODY, 0), NOBODY);
    prepare(ends, carry, x, &outgoing, target, false)?;
    Ok((x.upload.unwritten().to_vec(), x.upload.is_decoded()))
}
