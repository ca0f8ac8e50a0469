//! Bytes to messages and back: HTTP/1 framing, heads and bodies; Dubbo2, SOCKS, framed
//! TCP, PROXY headers, the hello of TLS, SRV records of DNS, Zookeeper's client protocol.
//!
//! Pure: no sockets, no clock, no runtime. A codec accepts bytes in any portions and gives the same
//! result for any split. `weir-server` and `weir-bench` call it for bytes on the wire, `weir-route`
//! and `weir-filter` for heads.

#![deny(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod client_hello;
mod dns;
pub mod dubbo;
mod fields;
pub mod frame;
pub mod http1;
mod message;
mod proxy_protocol;
pub mod socks;
mod syntax;
pub mod zookeeper;

pub use client_hello::{ClientHello, HELLO_BYTES_MAX, HelloError, client_hello};
pub use dns::{DnsAnswer, DnsError, DnsNameError, SrvRecord, srv_answer, srv_question};
pub use fields::{FieldLine, Fields, NameSet, Span};
pub use message::{RequestHead, ResponseHead, Version};
pub use proxy_protocol::{
    ProxyError, ProxyHeader, V1_BYTES_MAX, V2_BYTES_MAX, proxy_header, write_v1, write_v2,
};
pub use syntax::{
    each_place, has_either, is_field_value, is_plain_path, is_token, list_members, trim_blanks,
};
