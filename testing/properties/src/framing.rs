//! Bodies: their coding, and the bytes of a connection that reach an upstream.

use std::sync::LazyLock;

use weir_config::{Format, Loader, Source};
use weir_filter::{Scheme, Target};
use weir_server::{DryRun, dry_run};
use weir_snapshot::Snapshot;
use weir_testkit::differential::{Seen, compare_upstream};
use weir_testkit::judge::{End, read_requests};
use weir_wire::http1::{
    BodyDecoder, BodyError, BodyKind, TRAILER_LINES_MAX, write_chunk, write_last_chunk,
};

#[derive(Debug, PartialEq)]
struct Decoded {
    content: Vec<u8>,
    used: usize,
    outcome: Result<(), BodyError>,
    trailers: Vec<u8>,
}

fn decode<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Decoded, BodyDecoder) {
    let mut decoder = BodyDecoder::new(BodyKind::Chunked);
    let mut content = Vec::new();
    let mut used = 0;
    let mut outcome = Ok(());
    'pieces: for piece in pieces {
        let mut rest = piece;
        while !rest.is_empty() && !decoder.is_done() {
            match decoder.step(rest) {
                Ok(step) => {
                    assert!(step.consumed > 0);
                    content.extend_from_slice(&rest[step.content.0..step.content.1]);
                    rest = &rest[step.consumed..];
                    used += step.consumed;
                }
                Err(error) => {
                    outcome = Err(error);
                    break 'pieces;
                }
            }
        }
    }
    // The bytes used before a fault depend on the split; everything else must not.
    let used = if outcome.is_ok() { used } else { 0 };
    let mut trailers = Vec::new();
    write_last_chunk(&mut trailers, decoder.trailers());
    let outcome = outcome.and_then(|()| decoder.finish());
    (Decoded { content, used, outcome, trailers }, decoder)
}

/// A chunked body: read whole, byte by byte and in pieces of the first byte's size it gives the
/// same content, trailers and outcome; encoded again it decodes to the same.
///
/// # Panics
/// If it does not hold.
pub fn chunked(input: &[u8]) {
    let Some((&size, input)) = input.split_first() else { return };
    let (whole, decoder) = decode(std::iter::once(input));
    assert_eq!(decode(input.chunks(1)).0, whole);
    assert_eq!(decode(input.chunks(usize::from(size).max(1))).0, whole);
    assert!(decoder.trailers().len() <= TRAILER_LINES_MAX && decoder.trailers().is_sound());
    if whole.outcome.is_err() {
        return;
    }
    let mut text = Vec::new();
    write_chunk(&mut text, &whole.content);
    write_last_chunk(&mut text, decoder.trailers());
    let (again, _) = decode(std::iter::once(text.as_slice()));
    assert_eq!((again.content, again.trailers), (whole.content, whole.trailers));
    assert_eq!((again.used, again.outcome), (text.len(), Ok(())));
}

/// The settings of the gateway: routes do not matter here, the rules for heads do.
static SNAPSHOT: LazyLock<Snapshot> = LazyLock::new(|| {
    let mut loader = Loader::new(Vec::new(), &[], Vec::new());
    loader.add(Source::new("input", "server.port: 0".to_owned(), Format::Yaml));
    let mut loaded = loader.load();
    let compiled = loaded.compile();
    loaded.compiler.snapshot(compiled.routes)
});

/// The bytes of a connection: the bytes sent upstream contain exactly the requests and bodies that
/// a strict reader finds in the input, and a strict reader finds the same in them.
///
/// # Panics
/// If it does not hold.
pub fn framing(input: &[u8]) {
    let target = Target::new(Scheme::Http, "127.0.0.1".to_owned(), 1);
    let DryRun { sent, cut, .. } = dry_run(input, &SNAPSHOT, &target);
    let mut seen = Seen::default();
    for bytes in &sent {
        let mut reading = read_requests(bytes);
        let whole = (reading.messages.len(), reading.end);
        assert!(whole == (1, End::Clean) || whole == (1, End::Last), "{}", bytes.escape_ascii());
        seen.messages.append(&mut reading.messages);
    }
    seen.raw = sent;
    if let Some(bytes) = cut {
        let reading = read_requests(&bytes);
        assert_eq!((reading.messages.len(), reading.end), (0, End::Inside));
        seen.cut.push(reading.open);
    }
    if let Err(fault) = compare_upstream(input, &seen) {
        panic!("{fault}: {:?}", seen.raw);
    }
}
