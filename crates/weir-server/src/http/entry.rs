//! Rejects methods that are never served and normalizes the path for matching and forwarding. Also
//! called by `weir explain`.

use weir_wire::RequestHead;
use weir_wire::http1::canonical_path;

use crate::error::{ErrorKind, ProxyError};

/// What a refused method is told to be one of; others that upstreams know are sent on too.
pub(super) const SERVED_METHODS: &[u8] = b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// Refuses what is never served and brings the path into the form that is matched and sent. Gives
/// whether that is another one than the client's.
///
/// # Errors
/// The method is not served, or the path leads above the root.
pub fn enter(head: &mut RequestHead) -> Result<bool, ProxyError> {
    if matches!(head.method(), b"CONNECT" | b"TRACE") {
        return Err(ProxyError::new(ErrorKind::MethodNotAllowed));
    }
    if head.path_is_plain() || head.path() == b"*" {
        return Ok(false);
    }
    let Some(path) = canonical_path(head.path())? else { return Ok(false) };
    head.set_path(&path);
    Ok(true)
}
