//! Responses of the gateway itself.

/// A response of the gateway itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalResponse {
    /// Status code.
    pub status: u16,
    /// Header fields, without framing.
    pub fields: Vec<(String, Vec<u8>)>,
    /// Content.
    pub body: Vec<u8>,
}
