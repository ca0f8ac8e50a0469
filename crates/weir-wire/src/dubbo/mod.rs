//! Dubbo2 messages: the head of 16 bytes, the target of a request, and responses made by a proxy.
//!
//! Bodies are read only as far as routing needs, in the two serializations that Dubbo 3 uses by
//! default: Hessian 2 and fastjson2 (JSONB). Nothing is deserialized into objects.

mod call;
mod head;
mod hessian;
mod jsonb;
#[cfg(test)]
mod recorded;
mod reply;

pub use call::{Call, passes_callback};
pub use head::{DubboError, FASTJSON2, HEAD_BYTES, HESSIAN2, Head, Status, parse_head, set_id};
pub use reply::{is_readonly_event, write_error, write_heartbeat, write_heartbeat_reply};
