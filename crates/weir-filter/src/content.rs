//! Filters that edit content: which bodies are buffered for them, and how they are decoded.

use std::io::Read;

use flate2::read::{DeflateDecoder, GzDecoder, ZlibDecoder};

use crate::context::FilterError;

/// Side of an exchange whose body is edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The client's.
    Request,
    /// The upstream's.
    Response,
}

/// Behaviour of filters that edit content.
pub(crate) trait OnContent {
    /// Side whose body it edits.
    fn side(&self) -> Side;

    /// Whether it edits content of this type (the value of Content-Type; empty if there is none).
    fn takes(&self, content_type: &[u8]) -> bool;

    /// Returns the edited content; `content` has no coding.
    fn edit(&self, content: Vec<u8>) -> Result<Vec<u8>, FilterError>;
}

/// Whether a Content-Type is compatible with Spring's `MediaType.APPLICATION_JSON`.
pub(crate) fn is_json(content_type: &[u8]) -> bool {
    media_type(content_type).eq_ignore_ascii_case(b"application/json")
}

/// Whether a Content-Type is JSON or has the suffix `+json`, such as `application/problem+json`.
pub(crate) fn is_any_json(content_type: &[u8]) -> bool {
    let name = media_type(content_type).to_ascii_lowercase();
    is_json(content_type) || name.ends_with(b"+json")
}

/// Type and subtype without parameters.
pub(crate) fn media_type(content_type: &[u8]) -> &[u8] {
    content_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii()
}

/// Removes the codings that `encoding` (a Content-Encoding) lists; the result has at most `max`
/// bytes.
///
/// # Errors
/// An unknown coding, invalid data, or a longer result.
pub fn decoded(encoding: &[u8], mut content: Vec<u8>, max: usize) -> Result<Vec<u8>, FilterError> {
    let mut codings: Vec<&[u8]> =
        encoding.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).collect();
    // Codings are listed in the order of application, so the last is removed first.
    while let Some(coding) = codings.pop() {
        content = match coding.to_ascii_lowercase().as_slice() {
            b"" | b"identity" => content,
            b"gzip" | b"x-gzip" => read(GzDecoder::new(content.as_slice()), max)?,
            // Zlib, as the standard requires, or raw deflate, as some servers send.
            b"deflate" => match read(ZlibDecoder::new(content.as_slice()), max) {
                Ok(inside) => inside,
                Err(_) => read(DeflateDecoder::new(content.as_slice()), max)?,
            },
            b"br" => read(brotli::Decompressor::new(content.as_slice(), 4096), max)?,
            b"zstd" => read(zstd_decoder(&content)?, max)?,
            other => {
                let other = other.escape_ascii();
                return Err(FilterError(format!("content in the coding `{other}` is not read")));
            }
        };
    }
    Ok(content)
}

/// RFC 9659: a window for HTTP has at most 8 MB, which bounds the memory of a decoder.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

fn zstd_decoder(content: &[u8]) -> Result<impl Read + '_, FilterError> {
    let broken = |error: std::io::Error| FilterError(format!("zstd cannot be decoded: {error}"));
    let mut decoder = zstd::stream::read::Decoder::with_buffer(content).map_err(broken)?;
    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(broken)?;
    Ok(decoder)
}

fn read(from: impl Read, max: usize) -> Result<Vec<u8>, FilterError> {
    let mut content = Vec::new();
    let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    let result = from.take(limit).read_to_end(&mut content);
    result.map_err(|error| FilterError(format!("content cannot be decoded: {error}")))?;
    if content.len() > max {
        return Err(too_long(max));
    }
    Ok(content)
}

/// Error for content of more than `max` bytes.
pub(crate) fn too_long(max: usize) -> FilterError {
    FilterError(format!(
        "content is longer than the {max} bytes that a filter may change; see \
         spring.http.codecs.max-in-memory-size"
    ))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::{decoded, is_any_json, is_json};

    #[test]
    fn codings_are_undone() {
        let text = b"content, content, content".to_vec();
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(&text).expect("memory");
        let gzip = gzip.finish().expect("memory");
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(&text).expect("memory");
        let zlib = zlib.finish().expect("memory");
        let mut bare = DeflateEncoder::new(Vec::new(), Compression::default());
        bare.write_all(&text).expect("memory");
        let bare = bare.finish().expect("memory");
        let mut br = Vec::new();
        let mut writer = brotli::CompressorWriter::new(&mut br, 4096, 5, 22);
        writer.write_all(&text).expect("memory");
        drop(writer);
        let zstd = zstd::encode_all(text.as_slice(), 3).expect("memory");
        let mut twice = GzEncoder::new(Vec::new(), Compression::default());
        twice.write_all(&br).expect("memory");
        let twice = twice.finish().expect("memory");
        for (coding, coded) in [
            ("", &text),
            ("identity", &text),
            ("GZIP", &gzip),
            ("deflate", &zlib),
            ("deflate", &bare),
            ("br", &br),
            ("zstd", &zstd),
            ("br, gzip", &twice),
        ] {
            let content = decoded(coding.as_bytes(), coded.clone(), 25);
            assert_eq!(content.as_ref(), Ok(&text), "{coding}");
        }
        assert!(decoded(b"gzip", gzip.clone(), 24).is_err(), "longer than allowed");
        assert!(decoded(b"gzip", text.clone(), 100).is_err());
        let cut = zstd.get(..zstd.len() - 1).expect("a part").to_vec();
        assert!(decoded(b"zstd", cut, 100).is_err());
        assert!(decoded(b"zstd", zstd, 24).is_err(), "longer than allowed");
        assert!(decoded(b"compress", text, 100).is_err());
    }

    #[test]
    fn a_window_of_zstd_is_bounded() {
        let of_window = |log: u32| {
            let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).expect("an encoder");
            encoder.window_log(log).expect("a window");
            encoder.write_all(&[b'a'; 100]).expect("memory");
            encoder.finish().expect("memory")
        };
        assert!(decoded(b"zstd", of_window(23), 1_000).is_ok());
        assert!(decoded(b"zstd", of_window(24), 1_000).is_err());
    }

    #[test]
    fn types() {
        assert!(is_json(b"Application/JSON; charset=UTF-8"));
        assert!(!is_json(b"application/problem+json") && is_any_json(b"application/problem+json"));
        assert!(!is_any_json(b"text/plain") && !is_any_json(b""));
    }
}
