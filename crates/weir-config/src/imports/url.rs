//! URLs of configuration servers, for display.

/// A URL without user and password, and without a trailing `/`. Everything before an `@` may be a
/// password, even with an unencoded `/` or `?`.
pub(super) fn shown(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let rest = rest.split('?').next().unwrap_or_default().trim_end_matches('/');
    let mark = if scheme.is_empty() { "" } else { "://" };
    format!("{scheme}{mark}{rest}")
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn urls_without_users() {
        assert_eq!(shown("http://u:p@h:1/c/"), "http://h:1/c");
        assert_eq!(shown("http://h"), "http://h");
        assert_eq!(shown("u:p@h:1"), "h:1");
        assert_eq!(shown("http://u:p/w?x@h/c?a=1"), "http://h/c");
    }
}
