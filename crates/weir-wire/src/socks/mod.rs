//! The server's side of SOCKS 4, 4a and 5 (RFC 1928, RFC 1929): what a client asks for, and the
//! answers.
//!
//! A client of version 5 sends a greeting, its credentials if it is told to, and a request; one of
//! version 4 sends the request at once. Nothing here connects or looks up a name.

mod address;
mod datagram;
mod reply;
mod request;

use std::fmt;

pub use address::Address;
pub use datagram::{Datagram, parse_datagram, write_datagram_head};
pub use reply::{Reply, write_auth_reply, write_method, write_reply};
pub use request::{
    Command, Credentials, Greeting, Method, Methods, Request, USER_ID_BYTES_MAX, auth, greeting,
    request,
};

/// Version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// SOCKS 4 or 4a.
    V4,
    /// SOCKS 5.
    V5,
}

/// What is wrong with what a client sent.
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
    /// The user id of SOCKS 4 is longer than [`USER_ID_BYTES_MAX`].
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

impl SocksError {
    /// What to tell the client before closing.
    pub fn reply(&self) -> Reply {
        match self {
            Self::Command(_) => Reply::CommandNotSupported,
            Self::AddressType(_) => Reply::AddressTypeNotSupported,
            Self::Version(_)
            | Self::AuthVersion(_)
            | Self::UserIdTooLong
            | Self::NameLength
            | Self::NameByte(_)
            | Self::Truncated
            | Self::Fragment(_) => Reply::GeneralFailure,
        }
    }
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
enum Stop {
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

fn take<'a>(input: &mut &'a [u8], len: usize) -> Result<&'a [u8], Stop> {
    input.split_off(..len).ok_or(Stop::More)
}

fn take_array<const N: usize>(input: &mut &[u8]) -> Result<[u8; N], Stop> {
    take(input, N)?.first_chunk().copied().ok_or(Stop::More)
}

fn take_byte(input: &mut &[u8]) -> Result<u8, Stop> {
    take_array(input).map(|[byte]| byte)
}
