//! Reads the framing of messages on a plain TCP connection, and their answers.

use weir_wire::frame::{FrameKind, FrameRules, LenType};

use weir_snapshot::FrameSettings;

use super::escape;
use crate::fields::{Field, Fields};
use crate::spring::Node;
use crate::value::data_size;

/// Fields of `frame`, in YAML and in ini files.
pub(crate) const FIELDS: &[Field] = &[
    Field::value("kind", "length"),
    Field::value("size", "16"),
    Field::value("reply-size", "16"),
    Field::value("len-offset", "0"),
    Field::value("len-size", "2"),
    Field::value("len-type", "be"),
    Field::value("len-adjust", "-2"),
    Field::value("trailer", "'\\x03'"),
    Field::value("max", "64KB"),
    Field::value("corr-offset", "2"),
    Field::value("corr-size", "4"),
    Field::value("poll", "true"),
    Field::value("refusal", "'\\x00\\x06{key}NO'"),
];

/// Fields that apply to messages of one kind.
const OF_KINDS: &[(&str, &[&str])] = &[
    ("length", &["len-offset", "len-size", "len-type", "len-adjust", "trailer"]),
    ("fixed", &["size", "reply-size"]),
];

const MAX_BYTES: usize = 64 * 1024;
/// Upper limit of `max`: each connection may buffer one such message.
const MAX_BYTES_MAX: usize = 16 * 1024 * 1024;

/// `frame`.
pub(super) fn settings(fields: &mut Fields<'_, '_>) -> Option<FrameSettings> {
    let at = fields.at();
    let is_written = fields.node("frame").is_some();
    let Some(mut below) = fields.below("frame") else {
        if is_written {
            return None;
        }
        let help = "write `frame: { kind: length, len-size: 2 }` or `frame: { kind: fixed, size: \
                    16 }`";
        fields.wrong(at, "`frame` is missing: it describes how messages are delimited", help);
        return None;
    };
    if !below.expect(FIELDS) {
        return None;
    }
    let bytes = |text: &str| data_size(text).and_then(|size| usize::try_from(size).ok());
    let mut size = |name: &str| below.value(name, "a number of bytes", bytes);
    let max = size("max").unwrap_or(MAX_BYTES);
    let (fixed, reply_size) = (size("size"), size("reply-size"));
    let (offset, len_size) = (size("len-offset").unwrap_or(0), size("len-size").unwrap_or(2));
    let correlation = size("corr-size").map(|bytes| (size("corr-offset").unwrap_or(0), bytes));
    let kind = kind(&mut below, fixed, (offset, len_size))?;
    if useless(&mut below, &kind) {
        return None;
    }
    let truth = |text: &str| text.parse::<bool>().ok();
    let poll = below.value("poll", "`true` or `false`", truth).unwrap_or(false);
    let replies = match (&kind, reply_size) {
        (FrameKind::Fixed { .. }, Some(size)) => FrameKind::Fixed { size },
        (kind, _) => kind.clone(),
    };
    if max > MAX_BYTES_MAX {
        let message = format!("a message of {max} bytes is more than a connection may hold");
        below.wrong(below.at(), message, "write a `max` of at most `16MB`");
        return None;
    }
    let requests = FrameRules { kind, max, correlation, poll };
    let replies = FrameRules { kind: replies, ..requests.clone() };
    if let Some(fault) = requests.fault().or_else(|| replies.fault()) {
        below.wrong(below.at(), fault, "see the guide on pipelines for what fits together");
        return None;
    }
    let refusal = below.node("refusal").and_then(Node::text).map(|text| {
        let (before, behind) = match text.split_once("{key}") {
            None => (&*text, None),
            Some((before, behind)) => (before, Some(behind)),
        };
        let mut bytes = |part: &str| escape::bytes_of(&mut below, "refusal", part);
        (bytes(before), behind.map(bytes))
    });
    if matches!(refusal, Some((_, Some(_)))) && requests.correlation.is_none() {
        let at = below.node("refusal").map(Node::span).unwrap_or_default();
        below.wrong(at, "messages have no `{key}`", "add `corr-offset` and `corr-size`");
        return None;
    }
    Some(FrameSettings { requests, replies, refusal })
}

/// Reports fields that change nothing.
fn useless(below: &mut Fields<'_, '_>, kind: &FrameKind) -> bool {
    let before = below.problems.len();
    let own = match kind {
        FrameKind::Length { .. } => "length",
        FrameKind::Fixed { .. } => "fixed",
    };
    for (other, names) in OF_KINDS.iter().filter(|(other, _)| *other != own) {
        for name in *names {
            if let Some(node) = below.node(name) {
                let message = format!("`{name}` is for messages of kind `{other}`");
                below.wrong(node.key_span(), message, format!("these are `{own}`; remove it"));
            }
        }
    }
    if let (Some(node), None) = (below.node("corr-offset"), below.text("corr-size")) {
        let help = "write how many bytes the correlation id has: `corr-size: 4`";
        below.wrong(node.key_span(), "`corr-offset` is without `corr-size`", help);
    }
    below.problems.len() > before
}

fn kind(
    below: &mut Fields<'_, '_>,
    fixed: Option<usize>,
    (offset, size): (usize, usize),
) -> Option<FrameKind> {
    let written = below.text("kind");
    let name = written.as_ref().map(|written| written.text.as_str());
    match (name, fixed) {
        (Some("fixed") | None, Some(size)) => Some(FrameKind::Fixed { size }),
        (Some("fixed"), None) => {
            below.wrong(
                below.at(),
                "messages of a fixed length have no `size`",
                "write `size: 16`",
            );
            None
        }
        (Some("length") | None, _) => {
            let len_type = below.value("len-type", "`be`, `le`, `ascii`, `hex` or `bcd`", |text| {
                Some(match text {
                    "be" => LenType::Be,
                    "le" => LenType::Le,
                    "ascii" => LenType::Ascii,
                    "hex" => LenType::Hex,
                    "bcd" => LenType::Bcd,
                    _ => return None,
                })
            });
            let read = |text: &str| {
                let number = text.parse::<i64>().ok()?;
                (number.unsigned_abs() <= MAX_BYTES_MAX as u64).then_some(number)
            };
            let expected = "a whole number such as `-2`, at most 16777216 either way";
            let adjust = below.value("len-adjust", expected, read);
            Some(FrameKind::Length {
                offset,
                size,
                len_type: len_type.unwrap_or(LenType::Be),
                adjust: adjust.unwrap_or(0),
                trailer: escape::bytes(below, "trailer"),
            })
        }
        (Some(other), _) => {
            let at = written.as_ref().map(|written| written.at).unwrap_or_default();
            let message = format!("there are no messages of kind `{other}`");
            below.wrong(at, message, "write `length` or `fixed`");
            None
        }
    }
}
