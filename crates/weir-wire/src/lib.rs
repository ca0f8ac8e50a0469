//! Bytes to messages and back: HTTP/1 framing, heads and bodies; Dubbo2, SOCKS and framed TCP.
//!
//! Pure: no sockets, no clock, no runtime. A codec is fed bytes in any portions and gives the same
//! result for any split. Called by `weir-server` and `weir-bench` for what is on the wire, by
//! `weir-route` and `weir-filter` for heads.

pub mod dubbo;
mod fields;
pub mod frame;
pub mod http1;
mod message;
pub mod socks;
mod syntax;

pub use fields::{FieldLine, Fields, NameSet, Span};
pub use message::{RequestHead, ResponseHead, Version};
pub use syntax::{
    each_place, has_either, is_field_value, is_plain_path, is_token, list_members, trim_blanks,
};
