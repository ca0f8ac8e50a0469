//! Reason phrases of status codes.

/// Status codes and Netty's reason phrases, which SCG sends.
const STATUSES: &[(u16, &str)] = &[
    (100, "Continue"),
    (101, "Switching Protocols"),
    (102, "Processing"),
    (103, "Early Hints"),
    (200, "OK"),
    (201, "Created"),
    (202, "Accepted"),
    (203, "Non-Authoritative Information"),
    (204, "No Content"),
    (205, "Reset Content"),
    (206, "Partial Content"),
    (207, "Multi-Status"),
    (208, "Already Reported"),
    (226, "IM Used"),
    (300, "Multiple Choices"),
    (301, "Moved Permanently"),
    (302, "Found"),
    (303, "See Other"),
    (304, "Not Modified"),
    (305, "Use Proxy"),
    (307, "Temporary Redirect"),
    (308, "Permanent Redirect"),
    (400, "Bad Request"),
    (401, "Unauthorized"),
    (402, "Payment Required"),
    (403, "Forbidden"),
    (404, "Not Found"),
    (405, "Method Not Allowed"),
    (406, "Not Acceptable"),
    (407, "Proxy Authentication Required"),
    (408, "Request Timeout"),
    (409, "Conflict"),
    (410, "Gone"),
    (411, "Length Required"),
    (412, "Precondition Failed"),
    (413, "Request Entity Too Large"),
    (414, "Request-URI Too Long"),
    (415, "Unsupported Media Type"),
    (416, "Requested Range Not Satisfiable"),
    (417, "Expectation Failed"),
    (418, "I'm a teapot"),
    (421, "Misdirected Request"),
    (422, "Unprocessable Entity"),
    (423, "Locked"),
    (424, "Failed Dependency"),
    (425, "Too Early"),
    (426, "Upgrade Required"),
    (428, "Precondition Required"),
    (429, "Too Many Requests"),
    (431, "Request Header Fields Too Large"),
    (451, "Unavailable For Legal Reasons"),
    (500, "Internal Server Error"),
    (501, "Not Implemented"),
    (502, "Bad Gateway"),
    (503, "Service Unavailable"),
    (504, "Gateway Timeout"),
    (505, "HTTP Version Not Supported"),
    (506, "Variant Also Negotiates"),
    (507, "Insufficient Storage"),
    (508, "Loop Detected"),
    (509, "Bandwidth Limit Exceeded"),
    (510, "Not Extended"),
    (511, "Network Authentication Required"),
];

/// The reason phrase of `status`; empty for a non-standard code.
pub fn reason(status: u16) -> &'static str {
    match STATUSES.binary_search_by_key(&status, |(code, _)| *code) {
        Ok(at) => STATUSES.get(at).map_or("", |(_, reason)| reason),
        Err(_) => "",
    }
}

/// Whether `status` is a standard code.
pub(crate) fn is_known(status: u16) -> bool {
    !reason(status).is_empty()
}

/// The name of Spring's constant for `status`; the number if there is none.
pub fn constant(status: u16) -> String {
    match status {
        // Spring and Netty differ in these two names.
        413 => "PAYLOAD_TOO_LARGE".to_owned(),
        414 => "URI_TOO_LONG".to_owned(),
        418 => "I_AM_A_TEAPOT".to_owned(),
        _ if !is_known(status) => status.to_string(),
        _ => reason(status).to_ascii_uppercase().replace([' ', '-'], "_"),
    }
}

#[cfg(test)]
mod tests {
    use weir_route::parse_status;

    use super::{STATUSES, constant, reason};

    fn check(status: u16, expected: &str) {
        assert_eq!(reason(status), expected);
    }

    #[test]
    fn reasons_are_found() {
        check(200, "OK");
        check(413, "Request Entity Too Large");
        check(432, "");
        check(0, "");
        assert!(STATUSES.is_sorted());
        assert!(STATUSES.iter().all(|(code, phrase)| reason(*code) == *phrase));
    }

    #[test]
    fn constants_are_those_of_spring() {
        for (status, expected) in [
            (200, "OK"),
            (203, "NON_AUTHORITATIVE_INFORMATION"),
            (413, "PAYLOAD_TOO_LARGE"),
            (416, "REQUESTED_RANGE_NOT_SATISFIABLE"),
            (418, "I_AM_A_TEAPOT"),
            (599, "599"),
        ] {
            assert_eq!(constant(status), expected);
        }
    }

    #[test]
    fn every_named_status_has_a_reason() {
        for (code, phrase) in STATUSES.iter().filter(|(code, _)| ![305, 418].contains(code)) {
            let constant = phrase.replace([' ', '-'], "_");
            assert_eq!(parse_status(&constant).ok(), Some(*code), "{constant}");
        }
    }
}
