//! A URL as the bench needs it: the address to connect to, and the request target.

use crate::plan::{Expect, Message, Request};
use anyhow::{Context, ensure};
use std::net::{SocketAddr, ToSocketAddrs};

/// A parsed `http://` URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Host name or address, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Host field: the port is left out if it is 80.
    pub authority: String,
    /// Path and query.
    pub path: String,
}

/// The request to send to a target.
#[derive(Clone, Debug)]
pub struct Shape<'a> {
    /// Method.
    pub method: &'a str,
    /// Header lines as `Name: value`; they replace the ones made here.
    pub headers: &'a [String],
    /// Body.
    pub body: Option<&'a [u8]>,
    /// Speak HTTP/1.0.
    pub http10: bool,
    /// Keep the connection.
    pub keep_alive: bool,
    /// `User-Agent` and the like, unless `headers` has them.
    pub defaults: &'a [(&'a str, &'a str)],
}

impl Shape<'_> {
    /// Checks that it can be written as a request; values of `${variable}` are not checked.
    ///
    /// # Errors
    /// With what has to be written otherwise.
    pub fn check(&self) -> anyhow::Result<()> {
        let word = |text: &str| text.contains("${") || weir_wire::is_token(text.as_bytes());
        let method = self.method;
        ensure!(word(method), "'{method}' is not a method such as GET or POST");
        for line in self.headers {
            let (name, value) = line
                .split_once(':')
                .with_context(|| format!("header '{line}' has no colon: write 'Name: value'"))?;
            ensure!(word(name.trim()), "header '{line}': '{}' is not a name", name.trim());
            ensure!(
                weir_wire::is_field_value(value.trim().as_bytes()),
                "header '{line}': its value may not hold control characters"
            );
        }
        Ok(())
    }
}

impl Target {
    /// Parses `http://host[:port][/path][?query]`; the scheme may be left out.
    ///
    /// # Errors
    /// A sentence for the operator.
    pub fn parse(url: &str) -> Result<Self, String> {
        let scheme = url.split_once("://").map_or("http", |(scheme, _)| scheme);
        // Behind a '/' or '?' it is part of the path.
        if scheme != "http" && weir_wire::is_token(scheme.as_bytes()) {
            return Err(format!("{url}: weir bench speaks http:// only"));
        }
        let rest = url.strip_prefix("http://").unwrap_or(url);
        let rest = rest.split('#').next().unwrap_or_default();
        let split = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(split);
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().map_err(|_| format!("{url}: '{port}' is not a port"))?)
            }
            _ => (authority, 80),
        };
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        if bare.is_empty() || bare.contains(char::is_whitespace) || path.contains(' ') {
            return Err(format!("'{url}' is not a URL such as http://127.0.0.1:8080/path"));
        }
        let path = match path.as_bytes().first() {
            Some(b'/') => path.to_owned(),
            _ => format!("/{path}"),
        };
        let authority = if port == 80 { host.to_owned() } else { format!("{host}:{port}") };
        Ok(Self { host: bare.to_owned(), port, authority, path })
    }

    /// All addresses of the host; IPv4 first.
    ///
    /// # Errors
    /// A sentence for the operator.
    pub fn resolve(&self) -> Result<Vec<SocketAddr>, String> {
        let found = (self.host.as_str(), self.port).to_socket_addrs();
        let mut found: Vec<_> = found
            .map_err(|why| format!("host '{}' of the URL is not known: {why}", self.host))?
            .collect();
        found.sort_by_key(SocketAddr::is_ipv6);
        if self.host == "localhost" {
            found.truncate(1);
        }
        if found.is_empty() { Err(format!("{}: no address", self.host)) } else { Ok(found) }
    }

    /// The URL in full.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.authority, self.path)
    }

    /// The request of `shape`, ready to be written.
    pub fn request(&self, shape: &Shape<'_>) -> Request {
        let mut head = self.head(shape);
        if let Some(body) = shape.body {
            head.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        head.extend_from_slice(b"\r\n");
        head.extend_from_slice(shape.body.unwrap_or_default());
        Request {
            name: format!("{} {}", shape.method, self.path),
            group: 0,
            method: shape.method.as_bytes().to_vec(),
            message: Message::Fixed(head.into()),
            expect: Expect::default(),
            body_rules: Vec::new(),
            think: crate::arrival::Think::None,
        }
    }

    /// Request line and fields, each with its line end, without the empty line.
    pub fn head(&self, shape: &Shape<'_>) -> Vec<u8> {
        let version = if shape.http10 { "1.0" } else { "1.1" };
        let mut head = format!("{} {} HTTP/{version}\r\n", shape.method, self.path);
        let given = |name: &str| {
            shape.headers.iter().any(|line| {
                line.split_once(':').is_some_and(|(n, _)| n.trim().eq_ignore_ascii_case(name))
            })
        };
        if !given("host") {
            head.push_str(&format!("Host: {}\r\n", self.authority));
        }
        for (name, value) in shape.defaults {
            if !given(name) {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        if !given("connection") {
            match (shape.http10, shape.keep_alive) {
                (true, true) => head.push_str("Connection: keep-alive\r\n"),
                (false, false) => head.push_str("Connection: close\r\n"),
                _ => {}
            }
        }
        for line in shape.headers {
            head.push_str(line.trim());
            head.push_str("\r\n");
        }
        head.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::{Shape, Target};
    use crate::plan::Message;

    fn check(url: &str, expected: Option<(&str, u16, &str, &str)>) {
        let got = Target::parse(url);
        let got = got.as_ref().ok().map(|t| (&*t.host, t.port, &*t.authority, &*t.path));
        assert_eq!(got, expected, "{url}");
    }

    #[test]
    fn urls_are_read() {
        check("http://a/b?c=d#e", Some(("a", 80, "a", "/b?c=d")));
        check("127.0.0.1:8080", Some(("127.0.0.1", 8080, "127.0.0.1:8080", "/")));
        check("http://[::1]:81/x", Some(("::1", 81, "[::1]:81", "/x")));
        check("http://a?q", Some(("a", 80, "a", "/?q")));
        check("https://a", None);
        check("http://a:b/", None);
        check("http:///x", None);
        check("ftp://a/", None);
        check("a/b?c=http://d", Some(("a", 80, "a", "/b?c=http://d")));
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        let check = |method: &str, header: &str, expected: &str| {
            let headers = [header.to_owned()];
            let shape = Shape {
                method,
                headers: &headers,
                body: None,
                http10: false,
                keep_alive: true,
                defaults: &[],
            };
            let got = shape.check().map_or_else(|why| why.to_string(), |()| String::new());
            assert!(got.contains(expected) && got.is_empty() == expected.is_empty(), "{got}");
        };
        check("GET", "X-A: b c", "");
        check("${m}", "${name}: x", "");
        check("G T", "X-A: 1", "'G T' is not a method");
        check("GET", "X-A", "has no colon");
        check("GET", "X A: 1", "'X A' is not a name");
        check("GET", "X-A: a\r\nX-B: c", "control characters");
    }

    #[test]
    fn requests_are_written_once() {
        let target = Target::parse("http://h:81/p").unwrap();
        let shape = Shape {
            method: "POST",
            headers: &["X-A: 1".to_owned()],
            body: Some(b"hi"),
            http10: false,
            keep_alive: false,
            defaults: &[("User-Agent", "t"), ("x-a", "never")],
        };
        let Message::Fixed(bytes) = target.request(&shape).message else { panic!("rendered") };
        let want = "POST /p HTTP/1.1\r\nHost: h:81\r\nUser-Agent: t\r\nConnection: close\r\n\
                    X-A: 1\r\nContent-Length: 2\r\n\r\nhi";
        assert_eq!(String::from_utf8_lossy(&bytes), want);
    }
}
