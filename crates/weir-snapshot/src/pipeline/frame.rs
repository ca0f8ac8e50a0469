//! Framing of messages on a plain TCP connection, and the responses made here.

use weir_wire::frame::FrameRules;

/// What is known of the messages of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameSettings {
    /// How clients' messages are cut.
    pub requests: FrameRules,
    /// How those of upstreams are.
    pub replies: FrameRules,
    /// The answer to a message that the limit turns away; the key of the message stands between
    /// the two parts. Without it the connection is closed.
    pub refusal: Option<(Vec<u8>, Option<Vec<u8>>)>,
}

impl FrameSettings {
    /// The answer to a message with this key, if there is one.
    pub fn refusal_to(&self, key: &[u8]) -> Option<Vec<u8>> {
        let (before, behind) = self.refusal.as_ref()?;
        Some(match behind {
            None => before.clone(),
            Some(behind) => [before, key, behind].concat(),
        })
    }
}
