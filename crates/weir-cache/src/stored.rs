//! A response that is kept.

use weir_wire::{RequestHead, ResponseHead};

use crate::rules::Lifetime;

/// Fields that are not kept: they are about one connection, or made anew for each use.
const NOT_KEPT: &[&str] = &[
    "age",
    "connection",
    "content-length",
    "expires",
    "keep-alive",
    "pragma",
    "proxy-authenticate",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Approximate memory of an entry besides its bytes.
const OVERHEAD: usize = 256;

/// A response as received from the upstream, without framing.
#[derive(Debug)]
pub struct Stored {
    status: u16,
    reason: Vec<u8>,
    fields: Vec<(Vec<u8>, Vec<u8>)>,
    /// Its content, in its coding.
    pub content: Vec<u8>,
    since_ms: i64,
    lifetime: Lifetime,
}

impl Stored {
    /// Stores a response received at `now_ms`.
    pub fn new(head: &ResponseHead, content: Vec<u8>, lifetime: Lifetime, now_ms: i64) -> Self {
        let kept =
            |name: &[u8]| !NOT_KEPT.iter().any(|not| name.eq_ignore_ascii_case(not.as_bytes()));
        let fields = head.fields.iter().filter(|(name, _)| kept(name));
        Self {
            status: head.status,
            reason: head.reason().to_vec(),
            fields: fields.map(|(name, value)| (name.to_vec(), value.to_vec())).collect(),
            content,
            since_ms: now_ms,
            lifetime,
        }
    }

    /// The names in its Vary, in lower case.
    pub(crate) fn vary(&self) -> Vec<Vec<u8>> {
        let values = self.fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"vary"));
        let names = values.flat_map(|(_, value)| value.split(|byte| *byte == b','));
        let mut names: Vec<Vec<u8>> =
            names.map(|name| name.trim_ascii().to_ascii_lowercase()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        let fields = self.fields.iter().map(|(name, value)| name.len() + value.len() + 48);
        fields.sum::<usize>() + self.content.len() + OVERHEAD
    }

    fn age_ms(&self, now_ms: i64) -> u64 {
        u64::try_from(now_ms.saturating_sub(self.since_ms)).unwrap_or(0)
    }

    /// Whether it is fresh.
    pub(crate) fn is_fresh(&self, now_ms: i64) -> bool {
        self.age_ms(now_ms) < self.lifetime.fresh_ms
    }

    /// Whether it may be served stale while another one is fetched.
    pub(crate) fn is_usable_meanwhile(&self, now_ms: i64) -> bool {
        self.age_ms(now_ms) < self.lifetime.fresh_ms.saturating_add(self.lifetime.stale_ms)
    }

    /// Whether it may be served stale after a failed fetch.
    pub fn is_usable_on_error(&self, now_ms: i64) -> bool {
        let Lifetime { fresh_ms, stale_if_error_ms, .. } = self.lifetime;
        self.age_ms(now_ms) < fresh_ms.saturating_add(stale_if_error_ms)
    }

    /// Fills `head` with this response, including its age and its whole lifetime, from which
    /// downstream caches compute the remaining one.
    pub fn write_to(&self, head: &mut ResponseHead, now_ms: i64) {
        head.clear();
        head.set_status(self.status, &self.reason);
        for (name, value) in &self.fields {
            head.fields.append(name, value);
        }
        head.fields.append(b"Age", (self.age_ms(now_ms) / 1_000).to_string().as_bytes());
        announce(head, self.lifetime);
    }

    /// Whether the client has the response already (RFC 9110 section 13.1), so that a 304 will do.
    pub fn is_known_to(&self, request: &RequestHead) -> bool {
        let own = |name: &[u8]| {
            let mut found = self.fields.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
            found.next().map(|(_, value)| value.as_slice())
        };
        let weak = |tag: &[u8]| tag.strip_prefix(b"W/").unwrap_or(tag).to_vec();
        if request.fields.contains(b"if-none-match") {
            let Some(tag) = own(b"etag").map(weak) else { return false };
            let given = request.fields.get_all(b"if-none-match");
            let mut given = given.flat_map(|line| line.split(|byte| *byte == b','));
            return given.any(|one| one.trim_ascii() == b"*" || weak(one.trim_ascii()) == tag);
        }
        // Times are compared as text: other spellings of the same time do not occur in practice.
        let since = request.fields.get(b"if-modified-since");
        since.is_some() && since == own(b"last-modified")
    }
}

/// Announces the lifetime of a stored response by `max-age` alone, as SCG does.
pub fn announce(head: &mut ResponseHead, lifetime: Lifetime) {
    head.fields.remove(b"expires");
    head.fields.remove(b"pragma");
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for line in head.fields.get_all(b"cache-control") {
        for part in line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            let is_age = part.len() >= 7
                && part.get(..7).is_some_and(|start| start.eq_ignore_ascii_case(b"max-age"));
            if !is_age && !part.is_empty() {
                kept.push(part.to_vec());
            }
        }
    }
    let seconds = lifetime.fresh_ms.div_ceil(1_000);
    kept.push(format!("max-age={seconds}").into_bytes());
    head.fields.set(b"Cache-Control", &kept.join(&b","[..]));
}
