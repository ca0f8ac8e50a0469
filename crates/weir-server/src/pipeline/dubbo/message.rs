//! A complete message of a Dubbo2 connection.

use std::sync::Arc;

use weir_balance::{Group, Member};
use weir_wire::dubbo::{HEAD_BYTES, Head, parse_head, set_id};

use crate::pipeline::end::End;
use crate::pipeline::near::Cut;
use crate::pipeline::turn::Held;

/// Bytes of calls that may wait for their turn or a connection; one call may always wait.
pub(super) const WAITING_BYTES_MAX: usize = 1024 * 1024;

/// A call.
pub(super) struct Message {
    pub(super) head: Head,
    /// Head and body.
    pub(super) bytes: Vec<u8>,
    pub(super) way: Arc<Group>,
    /// Providers that could not be reached for it.
    pub(super) tried: Vec<Arc<Member>>,
    /// Its place in service, once it has passed.
    pub(super) held: Option<Held>,
    /// It must go over a connection that no other consumer uses.
    pub(super) is_own: bool,
}

/// Gives a message another id.
pub(super) fn renumber(bytes: &mut [u8], id: u64) {
    if let Some(head) = bytes.first_chunk_mut::<HEAD_BYTES>() {
        set_id(head, id);
    }
}

/// Takes a complete message from the received bytes.
pub(super) fn take(end: &mut End, body_max: usize) -> Result<Option<(Head, Vec<u8>)>, Cut> {
    let bytes = end.carry.as_slice();
    let Some(head) = parse_head(bytes, body_max).map_err(|_| Cut::Broken)? else {
        return Ok(None);
    };
    let Some(message) = bytes.get(..head.message_len()) else { return Ok(None) };
    let message = message.to_vec();
    end.carry.consume(message.len());
    Ok(Some((head, message)))
}
