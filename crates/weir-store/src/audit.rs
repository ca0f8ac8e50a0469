//! The audit log: who changed what, and when.

use serde::{Deserialize, Serialize};

/// Version of the encoding; the first byte of each entry.
const FORMAT: u8 = 1;

/// What was done.
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
    /// Peer address, and `token` if that is what allowed the change.
    pub who: String,
    /// What was done.
    pub action: AuditAction,
    /// The routes; of a large change the first few.
    pub ids: Vec<String>,
    /// How many routes it touched.
    pub count: u64,
    /// Revision of the table after the change.
    pub revision: u64,
}

impl AuditEntry {
    /// Most ids kept of one change; `count` says how many there were.
    pub const IDS_MAX: usize = 20;

    pub(crate) fn encode(&self) -> Result<Vec<u8>, String> {
        let mut bytes = vec![FORMAT];
        serde_json::to_writer(&mut bytes, self).map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    /// `None` for an entry of a later version: an audit log never stops a gateway.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (&format, json) = bytes.split_first()?;
        if format != FORMAT {
            return None;
        }
        serde_json::from_slice(json).ok()
    }
}
