//! HTTP/1.0 and HTTP/1.1 (RFC 9112): heads, body framing, chunked coding.

mod authority;
mod body;
mod chunk;
mod framing;
mod head;
mod lenient;
mod target;
#[cfg(test)]
mod tests;

pub use body::{
    BodyDecoder, BodyError, BodyKind, BodyStep, Trailers, write_chunk, write_chunk_size,
    write_last_chunk,
};
pub use chunk::{EXTENSION_BYTES_MAX, TRAILER_BYTES_MAX, TRAILER_LINES_MAX};
pub use framing::{Connection, RequestFraming, ResponseFraming};
pub use head::{
    EMPTY_LINES_MAX, FIELDS_CAP, HeadError, HeadLimits, METHOD_BYTES_MAX, Parsed, parse_request,
    parse_response,
};
pub use lenient::{LenientPath, lenient_path};
pub use target::{PathError, canonical_path};
