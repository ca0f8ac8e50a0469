//! Reads the PROXY protocol settings of a pipeline.

use weir_snapshot::{ProxyProtocol, ProxyVersion, network};

use crate::fields::{Field, Fields, Shape};

const FIELDS: &[Field] = &[
    Field::value("receive", "true"),
    Field::new("from", Shape::Values, "[ 10.0.0.0/8 ]"),
    Field::value("send", "v2"),
];

/// `proxy-protocol`.
pub(super) fn read(fields: &mut Fields<'_, '_>) -> ProxyProtocol {
    let mut read = ProxyProtocol::default();
    let Some(mut below) = fields.below("proxy-protocol") else { return read };
    if !below.expect(FIELDS) {
        return read;
    }
    for written in below.texts("from") {
        let text = written.text.as_str();
        match network(text) {
            Some(net) => read.from.push(net),
            None => below.wrong(
                written.at,
                format!("`{text}` is no network"),
                "write one such as `10.0.0.0/8`",
            ),
        }
    }
    let truth = |text: &str| text.parse::<bool>().ok();
    let receive = below.value("receive", "`true` or `false`", truth);
    match receive {
        Some(true) if below.texts("from").is_empty() => {
            let help = "add `from` with the networks of the proxies in front, such as \
                        `from: [ 10.0.0.0/8 ]`";
            below.wrong(below.at(), "everybody could say that they are somebody else", help);
        }
        Some(true) => {}
        Some(false) => read.from.clear(),
        None => {
            if let (Some(from), None) = (below.node("from"), below.text("receive")) {
                let help = "write `receive: true` to accept PROXY headers from these networks, \
                            or remove `from`";
                below.wrong(from.key_span(), "`from` is without `receive: true`", help);
            }
        }
    }
    read.send = below.value("send", "`v1` or `v2`", |text| match text {
        "v1" => Some(ProxyVersion::V1),
        "v2" => Some(ProxyVersion::V2),
        _ => None,
    });
    read
}
