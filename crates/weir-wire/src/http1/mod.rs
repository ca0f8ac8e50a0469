//! HTTP/1.0 and HTTP/1.1 (RFC 9112): heads, body framing, chunked coding.

mod authority;
mod body;
mod chunk;
mod error;
mod framing;
mod head;
mod lenient;
mod step;
mod target;
#[cfg(test)]
mod tests;

pub use body::{BodyDecoder, BodyKind, write_chunk, write_chunk_size, write_last_chunk};
pub use chunk::{EXTENSION_BYTES_MAX, TRAILER_BYTES_MAX, TRAILER_LINES_MAX};
pub use error::HeadError;
pub use framing::{Connection, RequestFraming, ResponseFraming};
pub use head::{
    EMPTY_LINES_MAX, FIELDS_CAP, HeadLimits, METHOD_BYTES_MAX, Parsed, parse_request,
    parse_response,
};
pub use lenient::{LenientPath, lenient_path};
pub use step::{BodyError, BodyStep, Trailers};
pub use target::{PathError, canonical_path};
