//! Reads `dubbo` of a pipeline: limits of messages, and of connections that consumers share.

use weir_snapshot::{DubboSettings, Sharing};

use crate::fields::{Field, Fields};
use crate::spring::Node;
use crate::value::data_size;

/// Fields of `dubbo`, in YAML and in ini files.
pub(crate) const FIELDS: &[Field] = &[
    Field::value("max", "8MB"),
    Field::value("shared", "true"),
    Field::value("connections", "2"),
    Field::value("calls", "1000"),
    Field::value("backlog", "4MB"),
];

/// Fields that apply only to shared connections.
const OF_SHARED: &[&str] = &["connections", "calls", "backlog"];

/// Default maximum size of a body in bytes, as in Dubbo itself.
const BODY_MAX: usize = 8 * 1024 * 1024;
/// Default bounds of shared connections. A consumer of Dubbo has one connection to a provider, too.
/// Calls beyond a provider's threads, by default 200, wait in its queue.
pub const DUBBO_SHARING: Sharing =
    Sharing { connections_max: 1, calls_max: 4_096, backlog_bytes_max: 4 * 1024 * 1024 };

/// `dubbo`.
pub(super) fn settings(fields: &mut Fields<'_, '_>) -> DubboSettings {
    let introduces =
        fields.below("proxy-protocol").is_some_and(|below| below.node("send").is_some());
    let default = DubboSettings { body_max: BODY_MAX, sharing: None };
    let Some(mut below) = fields.below("dubbo") else { return default };
    if !below.expect(FIELDS) {
        return default;
    }
    let mut bytes = |name: &str, default: usize| {
        let read = |text: &str| {
            let size = data_size(text).and_then(|size| usize::try_from(size).ok());
            size.filter(|size| (1_024..=256 * 1024 * 1024).contains(size))
        };
        below.value(name, "a size from `1KB` to `256MB`", read).unwrap_or(default)
    };
    let body_max = bytes("max", BODY_MAX);
    let backlog_bytes_max = bytes("backlog", DUBBO_SHARING.backlog_bytes_max);
    let mut number = |name: &str, most: usize, default: usize| {
        let expected = format!("a whole number from 1 to {most}");
        let read = |text: &str| text.parse().ok().filter(|count| (1..=most).contains(count));
        below.value(name, &expected, read).unwrap_or(default)
    };
    let connections_max = number("connections", 64, DUBBO_SHARING.connections_max);
    let calls_max = number("calls", 65_536, DUBBO_SHARING.calls_max);
    let truth = |text: &str| text.parse::<bool>().ok();
    let is_shared = below.value("shared", "`true` or `false`", truth).unwrap_or(false);
    let sharing = is_shared.then_some(Sharing { connections_max, calls_max, backlog_bytes_max });
    if !is_shared {
        let idle = OF_SHARED.iter().find_map(|name| Some((name, below.node(name)?)));
        if let Some((name, node)) = idle {
            let message = format!("`{name}` is for connections that consumers share");
            below.wrong(node.key_span(), message, "set `shared: true`, or remove it");
        }
    } else if introduces {
        let at = below.node("shared").map(Node::key_span).unwrap_or_default();
        let message = "a connection that consumers share cannot say who its client is";
        below.wrong(at, message, "remove `shared`, or `send` of `proxy-protocol`");
    }
    DubboSettings { body_max, sharing }
}
