//! Headers that protect browsers, as Spring Security adds them.

use weir_snapshot::Security;
use weir_wire::ResponseHead;

/// Fields that Spring Security adds to a response without them (`ServerHttpSecurity`); those of
/// [`CACHING`] only if all three are missing.
const PROTECTIVE: [(&[u8], &[u8]); 4] = [
    (b"X-Content-Type-Options", b"nosniff"),
    (b"X-Frame-Options", b"DENY"),
    (b"X-XSS-Protection", b"0"),
    (b"Referrer-Policy", b"no-referrer"),
];
const CACHING: [(&[u8], &[u8]); 3] = [
    (b"Cache-Control", b"no-cache, no-store, max-age=0, must-revalidate"),
    (b"Pragma", b"no-cache"),
    (b"Expires", b"0"),
];

/// Adds the headers that Spring Security adds, where tokens are asked for. Runs after the filters.
pub(super) fn protect(security: Option<&Security>, response: &mut ResponseHead) {
    if !security.is_some_and(|security| security.response_headers) {
        return;
    }
    let fields = &mut response.fields;
    let has_own = response.status == 304 || CACHING.iter().any(|(name, _)| fields.contains(name));
    if !has_own {
        CACHING.iter().for_each(|(name, value)| fields.append(name, value));
    }
    for (name, value) in PROTECTIVE {
        if !fields.contains(name) {
            fields.append(name, value);
        }
    }
}
