//! Where callbacks may go: URLs that clients name are compared with what the configuration lists.
//!
//! A URL is taken apart strictly and put together anew, so that whoever sends it reads the same
//! host in it.

use std::net::Ipv6Addr;
use std::sync::Arc;

/// Bytes of a URL at most.
const URL_BYTES_MAX: usize = 8 * 1024;

/// Servers that callbacks may be sent to; none unless the configuration lists some.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallbackTargets(Arc<[Server]>);

/// `https://*.example.org:8443`.
#[derive(Debug, PartialEq)]
struct Server {
    is_secure: bool,
    /// In lower case. All hosts below it are meant if it begins with a point.
    host: String,
    /// Any if it is not there.
    port: Option<u16>,
}

impl CallbackTargets {
    /// Reads a list of `http://HOST:PORT`, where the host may begin with `*.` and the port may be
    /// `*`; what is wrong is given with its place in the list.
    pub fn read<'w>(written: impl Iterator<Item = &'w str>) -> (Self, Vec<(usize, String)>) {
        let (mut servers, mut wrong) = (Vec::new(), Vec::new());
        for (at, text) in written.enumerate() {
            match server(text) {
                Ok(server) => servers.push(server),
                Err(why) => wrong.push((at, format!("`{text}` {why}"))),
            }
        }
        (Self(servers.into()), wrong)
    }

    /// Whether nothing may be sent anywhere.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The URL in the form in which it is sent.
    ///
    /// # Errors
    /// It is none, or the list has no such server.
    pub(crate) fn allowed(&self, url: &str) -> Result<String, String> {
        let parts = parts(url).map_err(|why| format!("`{}` {why}", shortened(url)))?;
        let Parts { is_secure, host, port, rest } = parts;
        let port = match port {
            Some(port) => number(port).map_err(|why| format!("`{}` {why}", shortened(url)))?,
            None => default_port(is_secure),
        };
        let scheme = if is_secure { "https" } else { "http" };
        if !self.0.iter().any(|server| server.is(is_secure, &host, port)) {
            return Err(format!(
                "weir.mock.callbacks.allow does not list {scheme}://{host}:{port}"
            ));
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let slash = if rest.starts_with('/') { "" } else { "/" };
        Ok(format!("{scheme}://{host}:{port}{slash}{rest}"))
    }
}

impl Server {
    fn is(&self, is_secure: bool, host: &str, port: u16) -> bool {
        let is_host = match self.host.starts_with('.') {
            true => host.len() > self.host.len() && host.ends_with(&self.host),
            false => host == self.host,
        };
        is_host && self.is_secure == is_secure && self.port.is_none_or(|own| own == port)
    }
}

fn server(text: &str) -> Result<Server, String> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let (below, rest) = match rest.strip_prefix("*.") {
        Some(rest) => (".", rest),
        None => ("", rest),
    };
    let plain = format!("{scheme}://{rest}");
    let Parts { is_secure, host, port, rest } = parts(&plain)?;
    if !matches!(rest, "" | "/") {
        return Err("names a path; leave it out, servers are allowed as a whole".to_owned());
    }
    let port = match port {
        Some("*") => None,
        Some(port) => Some(number(port)?),
        None => Some(default_port(is_secure)),
    };
    Ok(Server { is_secure, host: format!("{below}{host}"), port })
}

struct Parts<'u> {
    is_secure: bool,
    host: String,
    port: Option<&'u str>,
    /// Path, query and fragment.
    rest: &'u str,
}

fn parts(url: &str) -> Result<Parts<'_>, String> {
    if url.len() > URL_BYTES_MAX {
        return Err(format!("is longer than {URL_BYTES_MAX} bytes"));
    }
    if !url.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("is no URL: it has letters that must be percent-encoded".to_owned());
    }
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let is_secure = match scheme.to_ascii_lowercase().as_str() {
        "http" => false,
        "https" => true,
        _ => return Err("is no URL that begins with http:// or https://".to_owned()),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at_checked(end).unwrap_or((rest, ""));
    // No user and no password: they would be the client's.
    if authority.contains('@') {
        return Err("names a user in front of its host".to_owned());
    }
    let (host, port) = match authority.rfind(':').filter(|_| !authority.ends_with(']')) {
        Some(at) => (authority.get(..at), authority.get(at + 1..)),
        None => (Some(authority), None),
    };
    let host = host.unwrap_or_default().to_ascii_lowercase();
    let inside = host.strip_prefix('[').and_then(|inside| inside.strip_suffix(']'));
    let is_host = match inside {
        Some(inside) => inside.parse::<Ipv6Addr>().is_ok(),
        None => {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
            !host.is_empty() && host.bytes().all(fits)
        }
    };
    if !is_host {
        return Err("is no URL with a host alone in front of its path".to_owned());
    }
    Ok(Parts { is_secure, host, port, rest })
}

fn number(port: &str) -> Result<u16, String> {
    let port = port.parse().ok().filter(|port| *port > 0);
    port.ok_or_else(|| "has a port that is none".to_owned())
}

fn default_port(is_secure: bool) -> u16 {
    if is_secure { 443 } else { 80 }
}

/// A URL for messages, without its query or a user.
fn shortened(url: &str) -> String {
    const SHOWN_MAX: usize = 100;
    let url = url.split('?').next().unwrap_or_default();
    let url = url.rsplit_once('@').map_or(url, |(_, behind)| behind);
    let shown: String = url.chars().take(SHOWN_MAX).collect();
    let more = if shown.len() < url.len() { "…" } else { "" };
    format!("{}{more}", shown.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::CallbackTargets;

    fn check(url: &str, expected: Option<&str>) {
        let list = ["http://127.0.0.1:9000", "https://*.example.org", "http://[::1]:*"];
        let (targets, wrong) = CallbackTargets::read(list.into_iter());
        assert!(wrong.is_empty(), "{wrong:?}");
        assert_eq!(targets.allowed(url).ok().as_deref(), expected, "{url}");
    }

    #[test]
    fn what_is_listed_is_allowed_and_nothing_else() {
        check("http://127.0.0.1:9000/a?b#c", Some("http://127.0.0.1:9000/a?b"));
        check("HTTPS://A.b.Example.org", Some("https://a.b.example.org:443/"));
        check("http://[::1]:5?x=1", Some("http://[::1]:5/?x=1"));
        for other in [
            "http://127.0.0.1/",
            "http://127.0.0.1:90000/",
            "https://127.0.0.1:9000/",
            "https://example.org/",
            "https://evil-example.org/",
            "https://a.example.org.evil.net/",
            "http://a.example.org/",
            "https://a.example.org:8443/",
            "http://127.0.0.1:9000@evil.net/",
            "http://evil.net\\@127.0.0.1:9000/",
            "http://evil.net#@127.0.0.1:9000/",
            "http://127.0.0.1:9000\r\nX: y/",
            "http://127.0.0.1:*/",
            "ftp://127.0.0.1:9000/",
            "//127.0.0.1:9000/",
            "/only/a/path",
            "",
        ] {
            check(other, None);
        }
    }

    #[test]
    fn a_list_that_means_nothing_is_told() {
        let list = ["*", "http://a/b", "http://a:x", "http://a:1", "https://", "http://u@a"];
        let (_, wrong) = CallbackTargets::read(list.into_iter());
        let at: Vec<usize> = wrong.iter().map(|(at, _)| *at).collect();
        assert_eq!(at, [0, 1, 2, 4, 5], "{wrong:?}");
    }
}
