//! Errors in a client's messages.

use std::fmt;

/// Error in a client's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocksError {
    /// Not a version of SOCKS that is expected here.
    Version(u8),
    /// Not the version of the password negotiation (RFC 1929).
    AuthVersion(u8),
    /// No such command in this version.
    Command(u8),
    /// No such type of address.
    AddressType(u8),
    /// The user id of SOCKS 4 is longer than [`USER_ID_BYTES_MAX`](super::USER_ID_BYTES_MAX).
    UserIdTooLong,
    /// The name of the host has no byte, or more than 255.
    NameLength,
    /// The name of the host holds a byte that no host name has.
    NameByte(u8),
    /// A datagram ends before its data.
    Truncated,
    /// A datagram is one fragment of several. RFC 1928 lets a server drop them.
    Fragment(u8),
}

impl fmt::Display for SocksError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "SOCKS version {version} not expected"),
            Self::AuthVersion(version) => {
                write!(f, "version {version} of the SOCKS password negotiation not expected")
            }
            Self::Command(command) => write!(f, "unknown SOCKS command {command}"),
            Self::AddressType(kind) => write!(f, "unknown SOCKS address type {kind}"),
            Self::UserIdTooLong => write!(f, "SOCKS user id too long"),
            Self::NameLength => write!(f, "SOCKS host name empty or too long"),
            Self::NameByte(byte) => write!(f, "SOCKS host name holds byte {byte:#04x}"),
            Self::Truncated => write!(f, "SOCKS datagram cut off"),
            Self::Fragment(number) => write!(f, "SOCKS datagram is fragment {number}"),
        }
    }
}

impl std::error::Error for SocksError {}

/// Why a message could not be read.
pub(super) enum Stop {
    /// More bytes are needed.
    More,
    /// No more bytes can make it right.
    Bad(SocksError),
}

impl From<SocksError> for Stop {
    fn from(error: SocksError) -> Self {
        Self::Bad(error)
    }
}
