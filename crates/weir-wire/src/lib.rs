//! Bytes to HTTP messages and back: framing, heads, bodies.
//!
//! Pure: no sockets, no clock, no runtime. A codec is fed bytes in any portions and gives the same
//! result for any split. Everything here is called by `weir-server`, `weir-bench` and `weir-origin`.

mod fields;
pub mod http1;
mod message;

pub use fields::{Field, Fields, Span};
pub use message::{RequestHead, ResponseHead, Version};
