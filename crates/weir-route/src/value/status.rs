//! Statuses: numbers, or the names of Spring's enum `HttpStatus`.

use super::ValueError;

/// Names of Spring's `HttpStatus`; deprecated names follow the current ones.
#[rustfmt::skip]
const NAMES: &[(&str, u16)] = &[
    ("CONTINUE", 100),
    ("SWITCHING_PROTOCOLS", 101),
    ("PROCESSING", 102),
    ("EARLY_HINTS", 103),
    ("OK", 200),
    ("CREATED", 201),
    ("ACCEPTED", 202),
    ("NON_AUTHORITATIVE_INFORMATION", 203),
    ("NO_CONTENT", 204),
    ("RESET_CONTENT", 205),
    ("PARTIAL_CONTENT", 206),
    ("MULTI_STATUS", 207),
    ("ALREADY_REPORTED", 208),
    ("IM_USED", 226),
    ("MULTIPLE_CHOICES", 300),
    ("MOVED_PERMANENTLY", 301),
    ("FOUND", 302),
    ("SEE_OTHER", 303),
    ("NOT_MODIFIED", 304),
    ("TEMPORARY_REDIRECT", 307),
    ("PERMANENT_REDIRECT", 308),
    ("BAD_REQUEST", 400),
    ("UNAUTHORIZED", 401),
    ("PAYMENT_REQUIRED", 402),
    ("FORBIDDEN", 403),
    ("NOT_FOUND", 404),
    ("METHOD_NOT_ALLOWED", 405),
    ("NOT_ACCEPTABLE", 406),
    ("PROXY_AUTHENTICATION_REQUIRED", 407),
    ("REQUEST_TIMEOUT", 408),
    ("CONFLICT", 409),
    ("GONE", 410),
    ("LENGTH_REQUIRED", 411),
    ("PRECONDITION_FAILED", 412),
    ("CONTENT_TOO_LARGE", 413),
    ("PAYLOAD_TOO_LARGE", 413),
    ("URI_TOO_LONG", 414),
    ("UNSUPPORTED_MEDIA_TYPE", 415),
    ("REQUESTED_RANGE_NOT_SATISFIABLE", 416),
    ("EXPECTATION_FAILED", 417),
    ("I_AM_A_TEAPOT", 418),
    ("MISDIRECTED_REQUEST", 421),
    ("UNPROCESSABLE_CONTENT", 422),
    ("UNPROCESSABLE_ENTITY", 422),
    ("LOCKED", 423),
    ("FAILED_DEPENDENCY", 424),
    ("TOO_EARLY", 425),
    ("UPGRADE_REQUIRED", 426),
    ("PRECONDITION_REQUIRED", 428),
    ("TOO_MANY_REQUESTS", 429),
    ("REQUEST_HEADER_FIELDS_TOO_LARGE", 431),
    ("UNAVAILABLE_FOR_LEGAL_REASONS", 451),
    ("INTERNAL_SERVER_ERROR", 500),
    ("NOT_IMPLEMENTED", 501),
    ("BAD_GATEWAY", 502),
    ("SERVICE_UNAVAILABLE", 503),
    ("GATEWAY_TIMEOUT", 504),
    ("HTTP_VERSION_NOT_SUPPORTED", 505),
    ("VARIANT_ALSO_NEGOTIATES", 506),
    ("INSUFFICIENT_STORAGE", 507),
    ("LOOP_DETECTED", 508),
    ("BANDWIDTH_LIMIT_EXCEEDED", 509),
    ("NOT_EXTENDED", 510),
    ("NETWORK_AUTHENTICATION_REQUIRED", 511),
    ("MOVED_TEMPORARILY", 302),
    ("USE_PROXY", 305),
    ("REQUEST_ENTITY_TOO_LARGE", 413),
    ("REQUEST_URI_TOO_LONG", 414),
    ("INSUFFICIENT_SPACE_ON_RESOURCE", 419),
    ("METHOD_FAILURE", 420),
];

/// Reads a status: a number from 100 to 999, registered or not, or a name in any case, with `_`,
/// `-` or a blank between its words.
///
/// The text is neither.
/// Neither.
pub fn parse_status(text: &str) -> Result<u16, ValueError> {
    let trimmed = text.trim();
    if let Ok(number) = trimmed.parse::<u16>()
        && (100..=999).contains(&number)
    {
        return Ok(number);
    }
    let same = |name: &str| {
        let written = trimmed.bytes().map(|byte| match byte {
            b'-' | b' ' => b'_',
            byte => byte.to_ascii_uppercase(),
        });
        written.eq(name.bytes())
    };
    let found = NAMES.iter().find(|(name, _)| same(name)).map(|(_, number)| *number);
    found.ok_or_else(|| ValueError {
        message: format!("`{text}` is not a status"),
        help: "write a number such as `404`, or a name such as `NOT_FOUND`",
    })
}

#[cfg(test)]
mod tests {
    use super::parse_status;

    fn check(text: &str, expected: Option<u16>) {
        assert_eq!(parse_status(text).ok(), expected, "{text}");
    }

    #[test]
    fn statuses_are_numbers_or_names() {
        check("404", Some(404));
        check("432", Some(432));
        check("NOT_FOUND", Some(404));
        check("bad-gateway", Some(502));
        check("Too Many Requests", Some(429));
        check("payload_too_large", Some(413));
        for text in ["", "99", "1000", "NOPE", "4 04", "-404"] {
            check(text, None);
        }
    }
}
