//! The target of a request: the first strings of its body, and the group at its end.
//!
//! A body holds the version of the protocol, service, version of the service, method, parameter
//! descriptor, arguments and a map of attachments (`DubboCodec` in Apache Dubbo).

use std::borrow::Cow;

use super::head::{FASTJSON2, HESSIAN2};
use super::{hessian, jsonb};

/// Most bytes at the end of a Hessian body in which the group is looked for.
const ATTACHMENT_BYTES_MAX: usize = 64 * 1024;

/// Most places at which a group is tried. Each costs a pass over the attachments.
const GROUP_PLACES_MAX: usize = 8;

/// The target of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// Interface or path of the service.
    pub service: Cow<'a, str>,
    /// Version of the service. Consumers send `0.0.0` for a service without one, or null, which is
    /// empty here.
    pub version: Cow<'a, str>,
    /// The method; for a generic call (`$invoke`, `$invokeAsync`) the one named by its first
    /// argument.
    pub method: Cow<'a, str>,
    /// Group of the service. Found as far as the attachments are strings and other scalars; not a
    /// proof that the consumer sent none.
    pub group: Option<Cow<'a, str>>,
}

impl<'a> Call<'a> {
    /// Reads the target from a complete request body. `None` if the serialization is neither
    /// [`HESSIAN2`] nor [`FASTJSON2`], or the body does not start like that of a call.
    pub fn peek(serialization: u8, body: &'a [u8]) -> Option<Self> {
        let format = match serialization {
            HESSIAN2 => Format::Hessian2,
            FASTJSON2 => Format::Jsonb,
            _ => return None,
        };
        let mut input = body;
        format.skip_text(&mut input)?;
        let service = format.text(&mut input).filter(|service| !service.is_empty())?;
        let version = format.text_or_null(&mut input)?;
        let named = format.text(&mut input)?;
        format.skip_text(&mut input)?;
        let method = match &*named {
            "$invoke" | "$invokeAsync" => format.text(&mut input)?,
            _ => named,
        };
        Some(Self { service, version, method, group: format.group(input) })
    }
}

/// Whether a call with this body passes the provider something to call back, as
/// `CallbackServiceCodec` in Apache Dubbo writes it. May be true of a call that only holds the name
/// of that attachment.
pub fn passes_callback(body: &[u8]) -> bool {
    memchr::memmem::find(body, b"sys_callback_arg-").is_some()
}

#[derive(Clone, Copy)]
enum Format {
    Hessian2,
    Jsonb,
}

impl Format {
    fn text<'a>(self, input: &mut &'a [u8]) -> Option<Cow<'a, str>> {
        match self {
            Self::Hessian2 => hessian::text(input),
            Self::Jsonb => jsonb::framed_text(input),
        }
    }

    /// Reads a string; null is the empty one.
    fn text_or_null<'a>(self, input: &mut &'a [u8]) -> Option<Cow<'a, str>> {
        let null: &[u8] = match self {
            Self::Hessian2 => &[hessian::NULL],
            Self::Jsonb => &[0, 0, 0, 1, jsonb::NULL],
        };
        match input.strip_prefix(null) {
            Some(rest) => {
                *input = rest;
                Some(Cow::Borrowed(""))
            }
            None => self.text(input),
        }
    }

    fn skip_text(self, input: &mut &[u8]) -> Option<()> {
        match self {
            Self::Hessian2 => hessian::skip_text(input),
            Self::Jsonb => jsonb::framed(input).map(|_| ()),
        }
    }

    /// The group in the attachments, which come last in `rest`.
    fn group(self, rest: &[u8]) -> Option<Cow<'_, str>> {
        match self {
            Self::Hessian2 => hessian_group(rest),
            Self::Jsonb => jsonb_group(rest),
        }
    }
}

/// Looks for the key from the end. Arguments cannot be told from attachments without reading all of
/// them, and may hold `group` too: a place counts only if whole pairs lead from it to the end.
fn hessian_group(rest: &[u8]) -> Option<Cow<'_, str>> {
    const KEY: &[u8] = b"\x05group";
    let start = rest.len().saturating_sub(ATTACHMENT_BYTES_MAX);
    let rest = rest.get(start..).filter(|rest| rest.ends_with(b"Z"))?;
    memchr::memmem::rfind_iter(rest, KEY)
        .take(GROUP_PLACES_MAX)
        .find_map(|at| group_at(rest.get(at..)?.strip_prefix(KEY)?))
}

/// The string here, if only pairs of a string and a scalar lie between it and the end of the map.
fn group_at(mut input: &[u8]) -> Option<Cow<'_, str>> {
    let group = hessian::text(&mut input)?;
    while input != b"Z" {
        hessian::skip_text(&mut input)?;
        hessian::skip_scalar(&mut input)?;
    }
    Some(group)
}

fn jsonb_group(mut rest: &[u8]) -> Option<Cow<'_, str>> {
    let mut attachments = jsonb::framed(&mut rest)?;
    while !rest.is_empty() {
        attachments = jsonb::framed(&mut rest)?;
    }
    jsonb::field(attachments, "group")
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Bodies that a consumer of Dubbo 3.2.14 sent, in hexadecimal.
    const HELLO: &str = "05322e302e320c64656d6f2e4772656574657205302e302e300568656c6c6f124c6a617661\
        2f6c616e672f537472696e673b0777c3b6726c64eda0bdedb8804804706174680c64656d6f2e47726565746572\
        1272656d6f74652e6170706c69636174696f6e0363617009696e746572666163650c64656d6f2e477265657465\
        720776657273696f6e05302e302e300774696d656f7574033730305a";
    /// Arguments hold lists and maps with `group` in them.
    const MANY: &str = "05322e302e320c64656d6f2e4772656574657205302e302e30046d616e793034494c6a61766\
        12f7574696c2f4d61703b4c6a6176612f7574696c2f4c6973743b4c64656d6f2f4772656574657224506f696e7\
        43b9748016e930567726f75700577726f6e675a72136a6176612e7574696c2e41727261794c6973740567726f7\
        5700178431264656d6f2e4772656574657224506f696e7493036d61700567726f7570017860480567726f75700\
        577726f6e675a05696e6e6572914804706174680c64656d6f2e477265657465721272656d6f74652e6170706c6\
        9636174696f6e0363617009696e746572666163650c64656d6f2e477265657465720776657273696f6e05302e3\
        02e300774696d656f7574033730305a";
    const GENERIC: &str = "05322e302e320c64656d6f2e4772656574657205312e322e300724696e766f6b6530384c\
        6a6176612f6c616e672f537472696e673b5b4c6a6176612f6c616e672f537472696e673b5b4c6a6176612f6c61\
        6e672f4f626a6563743b0568656c6c6f71075b737472696e67106a6176612e6c616e672e537472696e6771075b\
        6f626a65637401784804706174680c64656d6f2e477265657465721272656d6f74652e6170706c69636174696f\
        6e0363617009696e746572666163650c64656d6f2e477265657465720776657273696f6e05312e322e30076765\
        6e6572696304747275650774696d656f7574033730300567726f757004626c75655a";
    const JSONB_HELLO: &str = "000000064e322e302e320000000d5564656d6f2e47726565746572000000064e312e\
        322e30000000064e68656c6c6f000000135b4c6a6176612f6c616e672f537472696e673b0000000c7a0a77c3b6\
        726c64f09f988000000067a64d706174685564656d6f2e477265657465725b72656d6f74652e6170706c696361\
        74696f6e4c63617052696e746572666163655564656d6f2e477265657465725076657273696f6e4e312e322e30\
        5074696d656f75744c3730304e67726f75704d626c7565a5";
    const JSONB_GENERIC: &str = "000000064e322e302e320000000d5564656d6f2e47726565746572000000064e30\
        2e302e30000000085024696e766f6b650000003b7938384c6a6176612f6c616e672f537472696e673b5b4c6a61\
        76612f6c616e672f537472696e673b5b4c6a6176612f6c616e672f4f626a6563743b000000064e68656c6c6f00\
        00001c92505b737472696e670095596a6176612e6c616e672e537472696e6700000008924b5b4f00954a780000\
        0069a64d706174685564656d6f2e477265657465725b72656d6f74652e6170706c69636174696f6e4c63617052\
        696e746572666163655564656d6f2e477265657465725076657273696f6e4e302e302e305067656e657269634d\
        747275655074696d656f75744c373030a5";

    const JSONB_MANY: &str = "000000064e322e302e320000000d5564656d6f2e47726565746572000000064e312e3\
        22e30000000054d6d616e7900000037793834494c6a6176612f7574696c2f4d61703b4c6a6176612f7574696c2\
        f4c6973743b4c64656d6f2f4772656574657224506f696e743b000000010700000011a64a6e034e67726f75704\
        e77726f6e67a500000009964e67726f75704a780000003e925b64656d6f2e4772656574657224506f696e7400a\
        67f4e67726f7570014e696e6e65727f4c6d617002a64e67726f75704e77726f6e67a57f4a780301a500000067a\
        64d706174685564656d6f2e477265657465725b72656d6f74652e6170706c69636174696f6e4c63617052696e7\
        46572666163655564656d6f2e477265657465725076657273696f6e4e312e322e305074696d656f75744c37303\
        04e67726f75704d626c7565a5";

    fn bytes(hex: &str) -> Vec<u8> {
        let pair = |pair: &[u8]| {
            u8::from_str_radix(std::str::from_utf8(pair).expect("text"), 16).expect("digits")
        };
        hex.as_bytes().chunks(2).map(pair).collect()
    }

    /// `expected` is `group/service:version.method`.
    #[track_caller]
    fn check(serialization: u8, body: &[u8], expected: Option<&str>) {
        let call = Call::peek(serialization, body);
        let shown = call.as_ref().map(|Call { service, version, method, group }| {
            format!("{}/{service}:{version}.{method}", group.as_deref().unwrap_or("-"))
        });
        assert_eq!(shown.as_deref(), expected);
        for end in 0..body.len() {
            let Some(early) = Call::peek(serialization, &body[..end]) else { continue };
            let whole = call.as_ref().expect("whole");
            assert_eq!(early.service, whole.service);
            assert_eq!(early.version, whole.version);
            assert_eq!(early.method, whole.method);
        }
    }

    #[test]
    fn calls() {
        check(HESSIAN2, &bytes(HELLO), Some("-/demo.Greeter:0.0.0.hello"));
        check(HESSIAN2, &bytes(MANY), Some("-/demo.Greeter:0.0.0.many"));
        check(HESSIAN2, &bytes(GENERIC), Some("blue/demo.Greeter:1.2.0.hello"));
        check(FASTJSON2, &bytes(JSONB_HELLO), Some("blue/demo.Greeter:1.2.0.hello"));
        check(FASTJSON2, &bytes(JSONB_MANY), Some("blue/demo.Greeter:1.2.0.many"));
        check(FASTJSON2, &bytes(JSONB_GENERIC), Some("-/demo.Greeter:0.0.0.hello"));
    }

    #[test]
    fn unknown_calls() {
        check(3, &bytes(HELLO), None);
        check(HESSIAN2, &bytes(JSONB_HELLO), None);
        check(FASTJSON2, &bytes(HELLO), None);
        check(HESSIAN2, b"", None);
        check(HESSIAN2, b"N", None);
        check(HESSIAN2, b"\x052.0.2\0\x011\x01m\0HZ", None);
        check(HESSIAN2, b"\x052.0.2\x01S\x011\x07$invoke\0NHZ", None);
    }

    #[test]
    fn a_version_may_be_null() {
        check(HESSIAN2, b"\x052.0.2\x01SN\x01m\0HZ", Some("-/S:.m"));
        let body = b"\0\0\0\x01\xaf\0\0\0\x02\x4aS\0\0\0\x01\xaf\0\0\0\x02\x4am\0\0\0\x01\x49";
        check(FASTJSON2, body, Some("-/S:.m"));
    }

    #[test]
    fn generic_calls_name_their_method_first() {
        check(HESSIAN2, b"\x052.0.2\x01SN\x0c$invokeAsync\0\x05helloHZ", Some("-/S:.hello"));
        check(HESSIAN2, b"\x052.0.2\x01SN\x05$echo\0\x05helloHZ", Some("-/S:.$echo"));
    }

    fn check_group(rest: &[u8], expected: Option<&str>) {
        assert_eq!(hessian_group(rest).as_deref(), expected, "{rest:x?}");
    }

    #[test]
    fn groups() {
        check_group(b"H\x05group\x04blueZ", Some("blue"));
        check_group(b"H\x05group\x04blue\x07timeout\xcb\xe8\x01n\x90Z", Some("blue"));
        check_group(b"H\x05group\0Z", Some(""));
        check_group(b"H\x01k\x05groupZ", None);
        check_group(b"H\x01k\x05group\x04path\x01SZ", None);
        check_group(b"H\x05group\x04blue\x01k\x05groupZ", Some("blue"));
        check_group(b"H\x01kH\x05group\x03redZZ", None);
        check_group(b"H\x05group\x04blue\x01kH\x01a\x01bZZ", None);
        check_group(b"\x05group\x03redHZ", None);
        check_group(b"H\x05groupNZ", None);
        check_group(b"H\x05group\x04blue", None);
        check_group(b"H\x05group", None);
    }

    #[test]
    fn hostile_attachments_cost_a_few_passes() {
        let body = [b"\x05group".repeat(1_000_000).as_slice(), b"\xffZ"].concat();
        check_group(&body, None);
    }

    proptest! {
        #[test]
        fn damaged_bodies_do_no_harm(
            which in 0..6usize,
            noise in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let bodies = [HELLO, MANY, GENERIC, JSONB_HELLO, JSONB_MANY, JSONB_GENERIC];
            let mut body = bytes(bodies[which]);
            for (at, byte) in &noise {
                *at.get_mut(&mut body) = *byte;
            }
            for serialization in [HESSIAN2, FASTJSON2] {
                let whole = Call::peek(serialization, &body);
                let early = Call::peek(serialization, &body[..cut.index(body.len())]);
                if let (Some(early), Some(whole)) = (early, whole) {
                    prop_assert_eq!(early.service, whole.service);
                    prop_assert_eq!(early.method, whole.method);
                }
            }
        }

        #[test]
        fn no_bytes_make_it_panic(body in vec(any::<u8>(), 0..200), serialization in 0..32u8) {
            let _ = Call::peek(serialization, &body);
            let _ = hessian_group(&body);
            let _ = jsonb_group(&body);
        }

        #[test]
        fn a_group_is_found_wherever_it_stands(
            before in vec(("[a-f]{1,9}", "[a-z]{0,40}"), 0..6),
            behind in vec(("[h-z]{1,9}", "\\PC{0,40}"), 0..6),
            group in "\\PC{0,40}",
        ) {
            let mut map = b"H".to_vec();
            let pairs = before.iter().map(|(key, value)| (key.as_str(), value.as_str()));
            let pairs = pairs.chain([("group", group.as_str())]);
            for (key, value) in pairs.chain(behind.iter().map(|(k, v)| (k.as_str(), v.as_str()))) {
                hessian::write_text(&mut map, key);
                hessian::write_text(&mut map, value);
            }
            map.push(b'Z');
            prop_assert_eq!(hessian_group(&map), Some(group.into()));
        }
    }
}
