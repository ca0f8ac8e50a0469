//! Content codings for responses: negotiation and streaming encoders.

use std::fmt;
use std::io::{self, Write};

use brotli::CompressorWriter;
use flate2::Compression;
use flate2::write::GzEncoder;
use zstd::stream::write::Encoder as ZstdEncoder;

use crate::context::FilterError;

/// Compression levels that are cheap for what they save; web servers default to similar ones.
const GZIP_LEVEL: u32 = 5;
const BROTLI_LEVEL: u32 = 4;
const BROTLI_WINDOW: u32 = 19;
const BROTLI_BUFFER: usize = 16 * 1024;
const ZSTD_LEVEL: i32 = 3;
/// The window of Brotli; RFC 9659 allows 8 MB.
const ZSTD_WINDOW_LOG: u32 = 19;

/// A content coding that weir can apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coding {
    /// `br` (RFC 7932).
    Brotli,
    /// `gzip` (RFC 1952).
    Gzip,
    /// `zstd` (RFC 8878).
    Zstd,
}

impl Coding {
    /// All codings, best first.
    pub const ALL: [Self; 3] = [Self::Brotli, Self::Zstd, Self::Gzip];

    /// Its name in Content-Encoding.
    pub fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    /// The coding of `offered` that the values of Accept-Encoding prefer (RFC 9110 section 12.5.3);
    /// the first of equally preferred ones. `None` means no coding.
    pub fn choose<'a>(
        offered: &[Self],
        accepted: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Option<Self> {
        let weights =
            offered.iter().map(|coding| (*coding, weight(accepted.clone(), coding.name())));
        let mut best: Option<(Self, u32)> = None;
        for (coding, weight) in weights {
            if weight > best.map_or(0, |(_, best)| best) {
                best = Some((coding, weight));
            }
        }
        best.map(|(coding, _)| coding)
    }
}

/// Quality value of a coding in thousandths; 0 means not acceptable.
fn weight<'a>(accepted: impl Iterator<Item = &'a [u8]>, name: &str) -> u32 {
    let mut any = 0;
    for item in accepted.flat_map(|line| line.split(|byte| *byte == b',')) {
        let mut parts = item.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let coding = parts.next().unwrap_or_default();
        let q = parts.find_map(|part| {
            part.strip_prefix(b"q=").or_else(|| part.strip_prefix(b"Q=")).map(<[u8]>::to_vec)
        });
        let q = q.and_then(|q| String::from_utf8(q).ok()).map_or(Some(1.0), |q| q.parse().ok());
        let q = (q.unwrap_or(0.0_f64).clamp(0.0, 1.0) * 1_000.0).round() as u32;
        let is_gzip = name == "gzip" && coding.eq_ignore_ascii_case(b"x-gzip");
        if coding.eq_ignore_ascii_case(name.as_bytes()) || is_gzip {
            return q;
        }
        if coding == b"*" {
            any = q;
        }
    }
    any
}

/// A streaming encoder of one coding.
pub struct Encoder(Kind);

enum Kind {
    Brotli(Box<CompressorWriter<Vec<u8>>>),
    Gzip(GzEncoder<Vec<u8>>),
    Zstd(ZstdEncoder<'static, Vec<u8>>),
    Done,
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Brotli(_) => "Encoder(br)",
            Kind::Gzip(_) => "Encoder(gzip)",
            Kind::Zstd(_) => "Encoder(zstd)",
            Kind::Done => "Encoder(done)",
        })
    }
}

impl Encoder {
    /// An encoder for new content.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(coding: Coding) -> Result<Self, FilterError> {
        Ok(Self(match coding {
            Coding::Brotli => Kind::Brotli(Box::new(CompressorWriter::new(
                Vec::new(),
                BROTLI_BUFFER,
                BROTLI_LEVEL,
                BROTLI_WINDOW,
            ))),
            Coding::Gzip => Kind::Gzip(GzEncoder::new(Vec::new(), Compression::new(GZIP_LEVEL))),
            Coding::Zstd => {
                let failed = |error: io::Error| FilterError(format!("zstd: {error}"));
                let mut writer = ZstdEncoder::new(Vec::new(), ZSTD_LEVEL).map_err(failed)?;
                writer.window_log(ZSTD_WINDOW_LOG).map_err(failed)?;
                Kind::Zstd(writer)
            }
        }))
    }

    /// Appends content.
    pub fn write(&mut self, content: &[u8]) {
        // Writing to memory cannot fail.
        let _ = match &mut self.0 {
            Kind::Brotli(writer) => writer.write_all(content),
            Kind::Gzip(writer) => writer.write_all(content),
            Kind::Zstd(writer) => writer.write_all(content),
            Kind::Done => Ok(()),
        };
    }

    /// Takes the encoded bytes so far. With `now` it flushes: everything written can be decoded
    /// from them.
    pub fn take(&mut self, now: bool) -> Vec<u8> {
        let out = match &mut self.0 {
            Kind::Brotli(writer) => {
                let _ = if now { writer.flush() } else { Ok(()) };
                writer.get_mut()
            }
            Kind::Gzip(writer) => {
                let _ = if now { writer.flush() } else { Ok(()) };
                writer.get_mut()
            }
            Kind::Zstd(writer) => {
                let _ = if now { writer.flush() } else { Ok(()) };
                writer.get_mut()
            }
            Kind::Done => return Vec::new(),
        };
        std::mem::take(out)
    }

    /// Takes the remaining bytes, with the end of the coding.
    pub fn finish(&mut self) -> Vec<u8> {
        match std::mem::replace(&mut self.0, Kind::Done) {
            Kind::Brotli(writer) => writer.into_inner(),
            Kind::Gzip(writer) => writer.finish().unwrap_or_default(),
            Kind::Zstd(writer) => writer.finish().unwrap_or_default(),
            Kind::Done => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Coding, Encoder};
    use crate::content::decoded;

    #[test]
    fn clients_choose() {
        let check = |accepted: &str, expected: Option<Coding>| {
            let chosen = Coding::choose(&Coding::ALL, std::iter::once(accepted.as_bytes()));
            assert_eq!(chosen, expected, "{accepted}");
        };
        check("gzip, deflate, br, zstd", Some(Coding::Brotli));
        check("gzip, zstd", Some(Coding::Zstd));
        check("br;q=0.5, zstd, gzip;q=0.9", Some(Coding::Zstd));
        check("zstd;q=0, gzip;q=0.1", Some(Coding::Gzip));
        check("GZIP", Some(Coding::Gzip));
        check("x-gzip;q=0.5", Some(Coding::Gzip));
        check("br;q=0.2, gzip;q=0.8", Some(Coding::Gzip));
        check("*", Some(Coding::Brotli));
        check("*;q=0.1, br;q=0, zstd;q=0", Some(Coding::Gzip));
        check("identity", None);
        check("gzip;q=0", None);
        check("gzip;q=x", None);
        check("", None);
    }

    #[test]
    fn what_is_made_can_be_read() {
        for coding in Coding::ALL {
            let mut encoder = Encoder::new(coding).expect("memory");
            encoder.write(b"first, ");
            let mut coded = encoder.take(true);
            assert!(!coded.is_empty(), "{coding:?}: it can be sent at once");
            encoder.write(b"second");
            coded.extend(encoder.take(false));
            coded.extend(encoder.finish());
            assert!(encoder.finish().is_empty() && encoder.take(true).is_empty());
            let content = decoded(coding.name().as_bytes(), coded, 100);
            assert_eq!(content.as_deref(), Ok(b"first, second".as_slice()), "{coding:?}");
        }
    }
}
