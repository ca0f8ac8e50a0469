//! Reads pipelines: a listener, a protocol, upstreams and limits (`weir.pipelines`, and ini files).

mod circles;
mod dubbo;
mod escape;
mod frame;
mod http;
mod proxy_protocol;
mod read;
mod routes;
mod socks;
mod upstreams;

pub use dubbo::DUBBO_SHARING;
pub(crate) use dubbo::FIELDS as DUBBO_FIELDS;
pub(crate) use frame::FIELDS as FRAME_FIELDS;
pub(crate) use read::pipelines;
