//! Framing of messages on a plain TCP connection, and the responses that weir makes itself.

use weir_wire::frame::FrameRules;

/// Framing rules of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameSettings {
    /// Framing of messages from clients.
    pub requests: FrameRules,
    /// Framing of messages from upstreams.
    pub replies: FrameRules,
    /// The answer to a message that the limit refuses: the bytes before and after the key of the
    /// message. Without an answer the connection is closed.
    pub refusal: Option<(Vec<u8>, Option<Vec<u8>>)>,
}

impl FrameSettings {
    /// The answer to a refused message with this key, if one is configured.
    pub fn refusal_to(&self, key: &[u8]) -> Option<Vec<u8>> {
        let (before, behind) = self.refusal.as_ref()?;
        Some(match behind {
            None => before.clone(),
            Some(behind) => [before, key, behind].concat(),
        })
    }
}
