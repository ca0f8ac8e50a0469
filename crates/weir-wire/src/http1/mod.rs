//! HTTP/1.0 and HTTP/1.1 (RFC 9112): heads, body framing, chunked coding.

mod body;
mod head;
mod target;

pub use body::{
    BodyDecoder, BodyError, BodyKind, BodyStep, Trailers, write_chunk, write_last_chunk,
};
pub use head::{
    Connection, HeadError, HeadLimits, Parsed, RequestFraming, ResponseFraming, parse_request,
    parse_response,
};
pub use target::{PathError, canonical_path};
