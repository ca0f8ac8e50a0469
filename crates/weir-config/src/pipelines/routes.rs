//! Several groups of upstreams in one pipeline, and which of them a connection or a call goes to.

use std::sync::Arc;

use weir_balance::{Balance, Directory, Group};

use super::upstreams::{addresses, group};
use crate::fields::{Fields, Written};
use crate::spring::Kind;

/// One way out of a pipeline; the first that fits is taken.
#[derive(Debug)]
pub struct PipelineRoute {
    /// What goes this way.
    pub fits: Fits,
    /// Where it leads.
    pub upstream: Arc<Group>,
}

/// What goes one way. What is not written does not count.
#[derive(Debug, PartialEq, Eq)]
pub enum Fits {
    /// Connections, by what their TLS hello says.
    Hello {
        /// Names of servers; one of them must fit. In lower case.
        sni: Vec<Pattern>,
        /// Protocols; the client must offer one of them.
        alpn: Vec<String>,
    },
    /// Dubbo calls.
    Call {
        /// Interface.
        service: Option<Pattern>,
        /// Method; of generic calls the real one.
        method: Option<Pattern>,
        /// Version; that of a service without one is empty.
        version: Option<Pattern>,
        /// Group; that of a service without one is empty.
        group: Option<Pattern>,
    },
}

/// A text with `*` for any number of characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// A pattern; every text is one.
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Whether the whole of `text` fits. Takes time in proportion to both lengths multiplied.
    pub fn fits(&self, text: &str) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = text.strip_prefix(first) else { return false };
        let Some(last) = parts.next_back() else { return rest.is_empty() };
        for part in parts {
            let Some((_, behind)) = rest.split_once(part) else { return false };
            rest = behind;
        }
        rest.ends_with(last)
    }
}

/// `routes` of a pipeline that speaks `protocol`.
pub(super) fn routes(
    fields: &mut Fields<'_, '_>,
    protocol: &str,
    directory: &Directory,
    id: &str,
    (balance, slow_start_ms): (Balance, u64),
) -> Vec<PipelineRoute> {
    let Some(node) = fields.node("routes") else { return Vec::new() };
    if node.kind() != Kind::List {
        fields.wrong(node.span(), "`routes` is no list", EXPECTED);
        return Vec::new();
    }
    let mut all = Vec::new();
    for node in node.children() {
        let mut below = fields.of(node, "routes");
        let fits = match protocol {
            "dubbo" => call(&mut below),
            _ => hello(&mut below),
        };
        let addresses = addresses(&mut below);
        if addresses.is_empty() {
            below.wrong(node.span(), "this route has no `upstream`", EXPECTED);
        }
        let upstream = group(directory, id, &addresses, balance, slow_start_ms);
        all.extend(fits.map(|fits| PipelineRoute { fits, upstream }));
    }
    all
}

const EXPECTED: &str =
    "write a list such as `[ { sni: [ \"*.example.org\" ], upstream: host:port } ]`";

fn hello(below: &mut Fields<'_, '_>) -> Option<Fits> {
    below.only(&["sni", "alpn", "upstream"]);
    let lower = |Written { text, .. }: &Written| Pattern::new(&text.to_ascii_lowercase());
    let sni: Vec<_> = below.texts("sni").iter().map(lower).collect();
    let alpn: Vec<_> = below.texts("alpn").into_iter().map(|written| written.text).collect();
    if sni.is_empty() && alpn.is_empty() {
        let at = below.at();
        let help = "write `sni: \"*\"` for every name; without a hello `upstream` serves";
        below.wrong(at, "this route has neither `sni` nor `alpn`", help);
        return None;
    }
    Some(Fits::Hello { sni, alpn })
}

fn call(below: &mut Fields<'_, '_>) -> Option<Fits> {
    below.only(&["service", "method", "version", "group", "upstream"]);
    let pattern = |name: &str| below.text(name).map(|written| Pattern::new(&written.text));
    let (service, method) = (pattern("service"), pattern("method"));
    let (version, group) = (pattern("version"), pattern("group"));
    if [&service, &method, &version, &group].iter().all(|one| one.is_none()) {
        let at = below.at();
        let help = "write `service`, `method`, `version` or `group`";
        below.wrong(at, "this route says nothing of the calls that it takes", help);
        return None;
    }
    Some(Fits::Call { service, method, version, group })
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text, fits) in [
            ("a.b", "a.b", true),
            ("a.b", "a.bc", false),
            ("*", "", true),
            ("*.example.org", "www.example.org", true),
            ("*.example.org", "example.org", false),
            ("say*", "sayHello", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c", false),
            ("ab*ba", "aba", false),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(Pattern::new(pattern).fits(text), fits, "{pattern} {text}");
        }
    }
}
