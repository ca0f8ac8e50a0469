//! Which segments of a recorded path are variables.

use percent_encoding::percent_decode_str;

use super::secret::{REDACTED, is_in_address};

/// Bytes of a token without words at least.
const TOKEN_BYTES_MIN: usize = 16;

/// A path with variables, and their values.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Template {
    pub text: String,
    /// Names and decoded values.
    pub values: Vec<(String, String)>,
}

/// The template of a path: numbers, UUIDs, dates and tokens are variables. They are called `id`,
/// `id2` and so on, whatever they are, so that paths of one shape have one template.
pub(super) fn template(path: &str) -> Template {
    let mut values: Vec<(String, String)> = Vec::new();
    let segments = path.trim_start_matches('/').split('/').map(|raw| {
        let decoded = percent_decode_str(raw).decode_utf8_lossy();
        if !is_id(&decoded) {
            // Braces in a recorded path are no variables.
            return raw.replace('{', "%7B").replace('}', "%7D");
        }
        let name = match values.len() {
            0 => "id".to_owned(),
            count => format!("id{}", count + 1),
        };
        let segment = format!("{{{name}}}");
        values.push((name, decoded.into_owned()));
        segment
    });
    let text = format!("/{}", segments.collect::<Vec<_>>().join("/"));
    Template { text, values }
}

/// A path with something else in the places of secrets.
pub(super) fn masked(path: &str) -> String {
    let each = path.split('/').map(|raw| {
        match is_in_address(&percent_decode_str(raw).decode_utf8_lossy()) {
            true => REDACTED,
            false => raw,
        }
    });
    each.collect::<Vec<_>>().join("/")
}

/// Whether a segment, or a key of an object, names one of many alike.
pub(super) fn is_id(text: &str) -> bool {
    let bytes = text.as_bytes();
    let has = |test: fn(&u8) -> bool| bytes.iter().any(test);
    let is_number = !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    if is_number || is_uuid(text) || text.parse::<jiff::civil::Date>().is_ok() {
        return true;
    }
    let is_hex = bytes.len() >= TOKEN_BYTES_MIN && bytes.iter().all(u8::is_ascii_hexdigit);
    // As `cus_9f8A7d6S`.
    let body = text.rsplit_once('_').map_or(text, |(_, body)| body);
    let length_min = if body.len() < text.len() { TOKEN_BYTES_MIN / 2 } else { TOKEN_BYTES_MIN };
    let is_token = body.len() >= length_min
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        && body.bytes().any(|byte| byte.is_ascii_digit());
    // What may be a secret must not be in a template either.
    (is_hex && has(u8::is_ascii_digit)) || is_token || is_in_address(text)
}

/// Whether a text is a UUID.
pub(super) fn is_uuid(text: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let mut parts = text.split('-');
    let fits = lengths.iter().all(|length| {
        parts.next().is_some_and(|part| {
            part.len() == *length && part.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    });
    fits && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::template;

    fn check(path: &str, expected: &str, values: &[&str]) {
        let found = template(path);
        let own: Vec<&str> = found.values.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!((found.text.as_str(), own.as_slice()), (expected, values), "{path}");
    }

    #[test]
    fn ids_are_variables_and_words_are_not() {
        check("/", "/", &[]);
        check("/v1/users", "/v1/users", &[]);
        check("/users/42", "/users/{id}", &["42"]);
        check("/users/42/orders/7", "/users/{id}/orders/{id2}", &["42", "7"]);
        let uuid = "0190c2a4-7c1e-7d2b-9a3f-5b6c7d8e9f00";
        check(&format!("/a/{uuid}/b"), "/a/{id}/b", &[uuid]);
        check("/a/507f1f77bcf86cd799439011", "/a/{id}", &["507f1f77bcf86cd799439011"]);
        check("/a/cus_9f8A7d6S", "/a/{id}", &["cus_9f8A7d6S"]);
        check("/days/2026-11-28", "/days/{id}", &["2026-11-28"]);
        check("/reports/annual-report-2026-final", "/reports/annual-report-2026-final", &[]);
        check("/users/me", "/users/me", &[]);
        check("/a_b/get_user2", "/a_b/get_user2", &[]);
        check("/x%7By%7D/{z}", "/x%7By%7D/%7Bz%7D", &[]);
    }
}
