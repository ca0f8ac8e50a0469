//! Access control of the admin API. Decided from the head alone, before a body is read.
//!
//! Reads are for everyone who can connect; writes are for a loopback peer or the bearer of the
//! token. Host and Origin are checked so that a web page cannot reach the API through its visitor's
//! browser (DNS rebinding, cross-site requests).

use std::net::IpAddr;

use http::{HeaderMap, StatusCode, header};
use subtle::ConstantTimeEq;

/// Fields that only a proxy adds: a peer that sends one acts on behalf of another client.
const FORWARDED: [&str; 4] = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];

/// The settings that access control depends on.
#[derive(Clone, Default)]
pub struct AccessRules {
    /// The address listened on is loopback.
    pub loopback_only: bool,
    /// `weir.admin.token`; empty is none.
    pub token: Option<String>,
    /// Names by which clients may address this API: the configured address and `weir.admin.hosts`,
    /// without ports.
    pub hosts: Vec<String>,
}

/// The intent of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    /// See whether the gateway lives: no secrets, any Host.
    Probe,
    /// Read.
    Read,
    /// Change something.
    Write,
}

/// The refusal of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Denied {
    pub(crate) status: StatusCode,
    pub(crate) message: &'static str,
}

impl AccessRules {
    /// The name of the client for the audit log, or the refusal.
    pub(crate) fn judge(
        &self,
        intent: Intent,
        peer: IpAddr,
        headers: &HeaderMap,
    ) -> Result<String, Denied> {
        let peer = peer.to_canonical();
        if intent == Intent::Probe {
            return Ok(peer.to_string());
        }
        let host = self.checked_host(headers)?;
        check_origin(host, headers, intent)?;
        if intent == Intent::Read {
            return Ok(peer.to_string());
        }
        self.check_writer(peer, headers)
    }

    fn check_writer(&self, peer: IpAddr, headers: &HeaderMap) -> Result<String, Denied> {
        let token = self.token.as_deref().filter(|token| !token.is_empty());
        // Without a configured token, an `Authorization` header is ignored.
        if let (Some(token), Some(given)) = (token, headers.get(header::AUTHORIZATION)) {
            let given = bearer(given.as_bytes()).unwrap_or_default();
            if bool::from(given.ct_eq(token.as_bytes())) {
                return Ok(format!("{peer} token"));
            }
            return Err(unauthorized("the bearer token is not weir.admin.token"));
        }
        // A proxy on this machine makes every client look local.
        let proxied = FORWARDED.iter().any(|name| headers.contains_key(*name));
        if peer.is_loopback() && !proxied && (self.loopback_only || token.is_some()) {
            return Ok(peer.to_string());
        }
        match token {
            Some(_) => Err(unauthorized("send weir.admin.token as `Authorization: Bearer`")),
            None => Err(forbidden(
                "changes are taken from this machine, on a loopback address, only; set \
                 weir.admin.token to allow others",
            )),
        }
    }

    /// The Host of the request, if it is one of ours.
    fn checked_host<'h>(&self, headers: &'h HeaderMap) -> Result<&'h str, Denied> {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("");
        let name = without_port(host);
        let literal = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        let allowed = match literal {
            // The owner of a name can make it resolve to this host; an address is safe.
            Ok(address) => !self.loopback_only || address.to_canonical().is_loopback(),
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        };
        if allowed || self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return Ok(host);
        }
        Err(forbidden("this Host is not served here; add it to weir.admin.hosts"))
    }
}

/// A browser sends the origin of a page; other clients do not send these fields.
fn check_origin(host: &str, headers: &HeaderMap, intent: Intent) -> Result<(), Denied> {
    let cross = Err(forbidden("pages of other origins may not use this API"));
    if let Some(origin) = headers.get(header::ORIGIN) {
        let origin = origin.to_str().unwrap_or("");
        let own = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        if !own.is_some_and(|origin| origin.eq_ignore_ascii_case(host)) {
            return cross;
        }
    }
    let site = headers.get("sec-fetch-site").map_or("none".as_bytes(), |site| site.as_bytes());
    if intent == Intent::Write && site != b"none" && site != b"same-origin" {
        return cross;
    }
    Ok(())
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| rest.trim_ascii())
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !host.ends_with(']') => {
            name
        }
        _ => host,
    }
}

fn forbidden(message: &'static str) -> Denied {
    Denied { status: StatusCode::FORBIDDEN, message }
}

fn unauthorized(message: &'static str) -> Denied {
    Denied { status: StatusCode::UNAUTHORIZED, message }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use http::{HeaderMap, HeaderName, HeaderValue};

    use super::{AccessRules, Intent};

    const LOOPBACK: &str = "127.0.0.1";
    const REMOTE: &str = "10.1.2.3";

    fn rules(loopback_only: bool, token: Option<&str>) -> AccessRules {
        let token = token.map(str::to_owned);
        AccessRules { loopback_only, token, hosts: vec!["gw.example".into()] }
    }

    /// The status, or who it is.
    fn judge(rules: &AccessRules, intent: Intent, peer: &str, fields: &[(&str, &str)]) -> String {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            let name: HeaderName = name.parse().expect("a name");
            headers.insert(name, HeaderValue::from_str(value).expect("a value"));
        }
        let peer: IpAddr = peer.parse().expect("an address");
        match rules.judge(intent, peer, &headers) {
            Ok(who) => who,
            Err(denied) => denied.status.as_u16().to_string(),
        }
    }

    #[test]
    fn writes_need_a_local_peer_or_the_token() {
        let check = |loopback, token, peer: &str, sent: Option<&str>, expected: &str| {
            let mut fields = vec![("host", "localhost:9090")];
            fields.extend(sent.map(|sent| ("authorization", sent)));
            let got = judge(&rules(loopback, token), Intent::Write, peer, &fields);
            assert_eq!(got, expected, "{loopback} {token:?} {peer} {sent:?}");
        };
        let (right, wrong) = (Some("Bearer s3cret"), Some("Bearer s3creT"));
        let token = Some("s3cret");
        // Listening on loopback.
        check(true, None, LOOPBACK, None, LOOPBACK);
        check(true, None, "::1", None, "::1");
        check(true, None, "::ffff:127.0.0.1", None, LOOPBACK);
        check(true, None, LOOPBACK, right, LOOPBACK);
        check(true, None, REMOTE, right, "403");
        check(true, token, LOOPBACK, None, LOOPBACK);
        check(true, token, LOOPBACK, right, "127.0.0.1 token");
        check(true, token, LOOPBACK, Some("bearer  s3cret"), "127.0.0.1 token");
        check(true, token, LOOPBACK, wrong, "401");
        check(true, token, LOOPBACK, Some("Basic s3cret"), "401");
        check(true, token, LOOPBACK, Some(""), "401");
        // Listening elsewhere: reads only, but for the token.
        check(false, None, LOOPBACK, None, "403");
        check(false, None, REMOTE, None, "403");
        check(false, None, REMOTE, right, "403");
        check(false, Some(""), REMOTE, Some("Bearer "), "403");
        check(false, token, LOOPBACK, None, LOOPBACK);
        check(false, token, REMOTE, None, "401");
        check(false, token, REMOTE, wrong, "401");
        check(false, token, REMOTE, right, "10.1.2.3 token");
    }

    #[test]
    fn a_proxy_on_this_machine_is_not_a_local_peer() {
        for name in ["Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"] {
            let fields = [("host", "localhost"), (name, "1.2.3.4")];
            assert_eq!(judge(&rules(true, None), Intent::Write, LOOPBACK, &fields), "403");
            assert_eq!(judge(&rules(true, None), Intent::Read, LOOPBACK, &fields), LOOPBACK);
        }
    }

    #[test]
    fn the_host_must_be_one_of_ours() {
        let check = |loopback, host: &str, expected: &str| {
            let got = judge(&rules(loopback, None), Intent::Read, LOOPBACK, &[("host", host)]);
            assert_eq!(got, expected, "{loopback} {host}");
        };
        for host in ["localhost", "LOCALHOST:9090", "127.0.0.1:9090", "127.9.9.9", "[::1]:9090"] {
            check(true, host, LOOPBACK);
            check(false, host, LOOPBACK);
        }
        for host in ["gw.example", "gw.example:80", "GW.Example:1"] {
            check(true, host, LOOPBACK);
        }
        let hostile =
            ["", "evil.example", "evil.example:9090", "localhost.evil.example", "gw.example:a"];
        for host in hostile {
            check(true, host, "403");
            check(false, host, "403");
        }
        check(true, "10.1.2.3:9090", "403");
        check(false, "10.1.2.3:9090", LOOPBACK);
        check(false, "[2001:db8::1]:9090", LOOPBACK);
    }

    #[test]
    fn pages_of_other_origins_are_turned_away() {
        let check = |intent, origin: &str, expected: &str| {
            let fields = [("host", "localhost:9090"), ("origin", origin)];
            assert_eq!(judge(&rules(true, None), intent, LOOPBACK, &fields), expected, "{origin}");
        };
        for intent in [Intent::Read, Intent::Write] {
            check(intent, "http://localhost:9090", LOOPBACK);
            check(intent, "https://localhost:9090", LOOPBACK);
            check(intent, "http://localhost:3000", "403");
            check(intent, "http://evil.example", "403");
            check(intent, "null", "403");
            check(intent, "", "403");
        }
        let site = |intent, site| {
            let fields = [("host", "localhost"), ("sec-fetch-site", site)];
            judge(&rules(true, None), intent, LOOPBACK, &fields)
        };
        assert_eq!(site(Intent::Write, "cross-site"), "403");
        assert_eq!(site(Intent::Write, "same-site"), "403");
        assert_eq!(site(Intent::Write, "same-origin"), LOOPBACK);
        assert_eq!(site(Intent::Write, "none"), LOOPBACK);
        assert_eq!(site(Intent::Read, "cross-site"), LOOPBACK);
    }

    #[test]
    fn probes_are_for_all() {
        let fields = [("host", "evil.example"), ("origin", "http://evil.example")];
        assert_eq!(judge(&rules(true, None), Intent::Probe, REMOTE, &fields), REMOTE);
    }
}
