//! The server's side of SOCKS 4, 4a and 5 (RFC 1928, RFC 1929): requests of a client, and replies.
//!
//! A client of version 5 sends a greeting, its credentials if it is told to, and a request; one of
//! version 4 sends the request at once. Nothing here connects or looks up a name.

mod address;
mod datagram;
mod error;
mod input;
mod reply;
mod request;

pub use address::Address;
pub use datagram::{Datagram, parse_datagram, write_datagram_head};
pub use error::SocksError;
pub use reply::{Reply, write_auth_reply, write_method, write_reply};
pub use request::{
    Command, Credentials, Greeting, Method, Methods, Request, USER_ID_BYTES_MAX, Version, auth,
    greeting, request,
};
