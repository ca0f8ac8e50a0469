//! The audit log: who changed what, and when.

use serde::{Deserialize, Serialize};

/// Version of the encoding; the first byte of each entry.
const FORMAT: u8 = 1;

/// Kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuditAction {
    /// A route was added.
    Create,
    /// A route was overwritten.
    Replace,
    /// Routes were removed.
    Delete,
    /// Routes were written together.
    Import,
    /// The configuration files were read again.
    Reload,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Wall clock in milliseconds since 1970.
    pub at_ms: i64,
    /// Peer address, and `token` if a token authorized the change.
    pub who: String,
    /// Kind of the change.
    pub action: AuditAction,
    /// Ids of the routes; only the first few of a large change.
    pub ids: Vec<String>,
    /// Number of routes changed.
    pub count: u64,
    /// Revision of the table after the change.
    pub revision: u64,
}

impl AuditEntry {
    /// Maximum number of ids kept per change; `count` is the full number.
    pub const IDS_MAX: usize = 20;

    pub(crate) fn encode(&self) -> Result<Vec<u8>, String> {
        let mut bytes = vec![FORMAT];
        serde_json::to_writer(&mut bytes, self).map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    /// `None` for an entry of a later version: the audit log must never stop the gateway.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (&format, json) = bytes.split_first()?;
        if format != FORMAT {
            return None;
        }
        serde_json::from_slice(json).ok()
    }
}
