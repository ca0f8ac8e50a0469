//! The exemptions from comparison that hold for all cases: one table, applied before two messages
//! are compared, and printed in DEVIATIONS.md.

use serde_json::Value;

use crate::comparison::json;
use crate::message::Message;

/// The side of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The request at the upstream.
    Upstream,
    /// The response at the client.
    Response,
}

impl Side {
    pub fn name(self) -> &'static str {
        match self {
            Self::Upstream => "upstream",
            Self::Response => "response",
        }
    }
}

/// The recorded message and weir's, about to be compared.
pub struct Pair<'a> {
    pub side: Side,
    /// The request that the client sent.
    pub request: &'a Message,
    pub recorded: &'a mut Message,
    pub weir: &'a mut Message,
}

impl Pair<'_> {
    /// Whether this is an answer of the gateway's own API.
    fn is_actuator(&self) -> bool {
        let target = self.request.start_line().split(' ').nth(1).unwrap_or_default();
        let below = |base: &str| target.starts_with(base);
        self.side == Side::Response && (below("/actuator") || below("/manage/"))
    }
}

/// Something that may differ in every case.
pub struct Rule {
    pub what: &'static str,
    pub why: &'static str,
    /// Makes the messages equal; returns whether it changed any.
    pub apply: fn(&mut Pair) -> bool,
}

/// All rules, in the order they are applied.
pub static RULES: &[Rule] = &[
    Rule {
        what: "`user-agent: ReactorNetty/…` and `accept: */*` of requests to the upstream",
        why: "Reactor Netty, SCG's HTTP client, adds them where the client sent none; weir adds \
              nothing.",
        apply: |pair| {
            let accepts = pair.request.field("accept").is_some();
            let added = |name: &str, value: &str| match name {
                "user-agent" => value.starts_with("ReactorNetty/"),
                "accept" => !accepts && value == "*/*",
                _ => false,
            };
            pair.side == Side::Upstream && pair.recorded.drop_fields(added) > 0
        },
    },
    Rule {
        what: "reason phrases",
        why: "They mean nothing (RFC 9112, section 4).",
        apply: |pair| {
            if pair.side == Side::Upstream {
                return false;
            }
            let differed = pair.recorded.start_line() != pair.weir.start_line();
            for message in [&mut *pair.recorded, &mut *pair.weir] {
                if let Some(line) = message.head.first_mut() {
                    let words: Vec<_> = line.splitn(3, ' ').take(2).collect();
                    *line = words.join(" ");
                }
            }
            differed && pair.recorded.start_line() == pair.weir.start_line()
        },
    },
    Rule {
        what: "the value of Content-Length where the body holds something volatile",
        why: "A timestamp or a request id has no fixed length.",
        apply: |pair| {
            if pair.recorded.field("content-length") != Some("{length}") {
                return false;
            }
            let told = pair.weir.drop_fields(|name, _| name == "content-length");
            if told == 1 {
                pair.weir.head.push("Content-Length: {length}".to_owned());
            }
            told == 1
        },
    },
    Rule {
        what: "Content-Length or chunks in answers of the actuator",
        why: "The body is the same.",
        apply: |pair| {
            if !pair.is_actuator() {
                return false;
            }
            let framing =
                |name: &str, _: &str| matches!(name, "content-length" | "transfer-encoding");
            let recorded = pair.recorded.is_chunked();
            let weir = pair.weir.is_chunked();
            pair.recorded.drop_fields(framing);
            pair.weir.drop_fields(framing);
            recorded != weir
        },
    },
    Rule {
        what: "fields that weir's actuator adds: Date, ETag, Allow, X-Total-Count, X-Weir-*",
        why: "An origin server with a clock sends Date (RFC 9110, section 6.6.1), 405 has Allow \
              (section 15.5.6); the others serve weir's extensions of the API and harm nobody.",
        apply: |pair| {
            let known: Vec<_> =
                pair.recorded.fields().map(|(name, _)| name.to_ascii_lowercase()).collect();
            let added = |name: &str, _: &str| {
                let is_weirs = matches!(name, "date" | "etag" | "allow" | "x-total-count");
                let is_weirs = is_weirs || name.starts_with("x-weir-");
                is_weirs && !known.iter().any(|it| it == name)
            };
            pair.is_actuator() && pair.weir.drop_fields(added) > 0
        },
    },
    Rule {
        what: "`message` and `problems` in error bodies of weir's actuator",
        why: "weir tells what is wrong with a definition; SCG tells it in its log.",
        apply: |pair| {
            let body = json(&pair.weir.body).filter(|_| pair.is_actuator());
            let Some(Value::Object(mut body)) = body.filter(|it| it.get("requestId").is_some())
            else {
                return false;
            };
            let told = body.remove("message").is_some() | body.remove("problems").is_some();
            pair.weir.body = Value::Object(body).to_string();
            told
        },
    },
    Rule {
        what: "Age in answers of a cache",
        why: "A cache has to tell it (RFC 9111, section 5.1); SCG's does not.",
        apply: |pair| {
            let age = |name: &str, _: &str| name == "age";
            let is_new = pair.side == Side::Response && pair.recorded.field("age").is_none();
            is_new && pair.weir.drop_fields(age) > 0
        },
    },
    Rule {
        what: "spelling of JSON: order of members, blanks",
        why: "JSON is compared as JSON.",
        apply: |pair| {
            let differ = pair.recorded.body != pair.weir.body;
            let (recorded, weir) = (json(&pair.recorded.body), json(&pair.weir.body));
            let same = differ && recorded.is_some() && recorded == weir;
            if same {
                pair.weir.body.clone_from(&pair.recorded.body);
            }
            same
        },
    },
    Rule {
        what: "body, Content-*, Transfer-Encoding and Connection of responses whose status differs",
        why: "They follow from the status, which the list tells.",
        apply: |pair| {
            if pair.side == Side::Upstream || pair.recorded.status() == pair.weir.status() {
                return false;
            }
            let follows = |name: &str, _: &str| {
                name.starts_with("content-") || matches!(name, "transfer-encoding" | "connection")
            };
            pair.recorded.drop_fields(follows);
            pair.weir.drop_fields(follows);
            pair.weir.body.clone_from(&pair.recorded.body);
            true
        },
    },
];
