//! Access control of the admin API. Decided from the head alone, before a body is read.
//!
//! Reads are for everyone who can connect; writes are for a loopback peer or the bearer of the
//! token. Once there are tokens of tenants, reads are guarded like writes, except those of
//! [`Reach::Open`]: what is kept from one tenant must not be had by leaving its token out.
//!
//! Host and Origin are checked so that a web page cannot reach the API through its visitor's
//! browser (DNS rebinding, cross-site requests).

use std::net::IpAddr;
use std::sync::Arc;

use http::{HeaderMap, StatusCode, header};
use subtle::ConstantTimeEq;
use weir_snapshot::{Secret, TenantToken};

use crate::rights::{Reach, Rights, Scope};

/// Fields that only a proxy adds: a peer that sends one acts on behalf of another client.
const FORWARDED: [&str; 4] = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];

/// The settings that access control depends on.
#[derive(Clone, Default)]
pub struct AccessRules {
    /// The address listened on is loopback.
    pub loopback_only: bool,
    /// `weir.admin.token`; empty is none.
    pub token: Option<String>,
    /// `weir.admin.tenant-tokens`.
    pub tenant_tokens: Vec<TenantRule>,
    /// Names by which clients may address this API: the configured address and `weir.admin.hosts`,
    /// without ports.
    pub hosts: Vec<String>,
}

/// A token that is for the API definitions of some tenants.
#[derive(Clone, Debug)]
pub struct TenantRule {
    token: Secret,
    scope: Arc<Scope>,
}

impl TenantRule {
    /// The rule of a configured token.
    pub fn new(configured: &TenantToken) -> Self {
        let scope = Scope::new(configured.token.expose(), &configured.tenants);
        Self { token: configured.token.clone(), scope: Arc::new(scope) }
    }
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

/// Who has sent a request, and what they may do.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The name for the audit log.
    pub(crate) who: String,
    pub(crate) rights: Rights,
}

impl Caller {
    /// One who may do what everybody may, or everything.
    pub(crate) fn whole(who: String) -> Self {
        Self { who, rights: Rights::All }
    }
}

/// The refusal of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Denied {
    pub(crate) status: StatusCode,
    pub(crate) message: &'static str,
}

impl AccessRules {
    /// The client, or the refusal.
    pub(crate) fn judge(
        &self,
        (intent, reach): (Intent, Reach),
        peer: IpAddr,
        headers: &HeaderMap,
    ) -> Result<Caller, Denied> {
        let peer = peer.to_canonical();
        if intent == Intent::Probe {
            return Ok(Caller::whole(peer.to_string()));
        }
        let host = self.checked_host(headers)?;
        check_origin(host, headers, intent)?;
        let is_guarded = !self.tenant_tokens.is_empty() && reach != Reach::Open;
        if intent == Intent::Read && !is_guarded {
            return Ok(Caller::whole(peer.to_string()));
        }
        let caller = self.check_caller(peer, headers)?;
        match (&caller.rights, reach) {
            (Rights::Tenants(_), Reach::Whole) => Err(forbidden(
                "this token is for the API definitions of its tenants alone; this needs \
                 weir.admin.token",
            )),
            _ => Ok(caller),
        }
    }

    fn check_caller(&self, peer: IpAddr, headers: &HeaderMap) -> Result<Caller, Denied> {
        let token = self.token.as_deref().filter(|token| !token.is_empty());
        let has_tokens = token.is_some() || !self.tenant_tokens.is_empty();
        // Without a configured token, an `Authorization` header is ignored.
        if let Some(given) = headers.get(header::AUTHORIZATION).filter(|_| has_tokens) {
            return self.bearer_of(bearer(given.as_bytes()).unwrap_or_default(), peer);
        }
        // A proxy on this machine makes every client look local.
        let proxied = FORWARDED.iter().any(|name| headers.contains_key(*name));
        if peer.is_loopback() && !proxied && (self.loopback_only || token.is_some()) {
            return Ok(Caller::whole(peer.to_string()));
        }
        match token {
            _ if !self.tenant_tokens.is_empty() => Err(unauthorized(
                "send weir.admin.token, or one of weir.admin.tenant-tokens, as `Authorization: \
                 Bearer`",
            )),
            Some(_) => Err(unauthorized("send weir.admin.token as `Authorization: Bearer`")),
            None => Err(forbidden(
                "changes are taken from this machine, on a loopback address, only; set \
                 weir.admin.token to allow others",
            )),
        }
    }

    /// Who holds the token `given`. Each token is compared, so that the time does not tell which
    /// one is nearly right.
    fn bearer_of(&self, given: &[u8], peer: IpAddr) -> Result<Caller, Denied> {
        let is = |token: &str| !token.is_empty() && bool::from(given.ct_eq(token.as_bytes()));
        let mut found = None;
        for rule in &self.tenant_tokens {
            if is(rule.token.expose()) {
                found = Some(Caller {
                    who: format!("{peer} token of {}", rule.scope.told()),
                    rights: Rights::Tenants(Arc::clone(&rule.scope)),
                });
            }
        }
        if self.token.as_deref().is_some_and(is) {
            found = Some(Caller::whole(format!("{peer} token")));
        }
        found.ok_or(unauthorized(match self.tenant_tokens.is_empty() {
            true => "the bearer token is not weir.admin.token",
            false => "the bearer token is neither weir.admin.token nor one of a tenant",
        }))
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

    use weir_snapshot::{Secret, TenantToken};

    use super::{AccessRules, Intent, Reach, TenantRule};

    const LOOPBACK: &str = "127.0.0.1";
    const REMOTE: &str = "10.1.2.3";

    fn rules(loopback_only: bool, token: Option<&str>) -> AccessRules {
        let token = token.map(str::to_owned);
        AccessRules { loopback_only, token, hosts: vec!["gw.example".into()], ..Default::default() }
    }

    /// The status, or who it is.
    fn judge(rules: &AccessRules, intent: Intent, peer: &str, fields: &[(&str, &str)]) -> String {
        judge_at(rules, (intent, Reach::Whole), peer, fields)
    }

    fn judge_at(
        rules: &AccessRules,
        (intent, reach): (Intent, Reach),
        peer: &str,
        fields: &[(&str, &str)],
    ) -> String {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            let name: HeaderName = name.parse().expect("a name");
            headers.insert(name, HeaderValue::from_str(value).expect("a value"));
        }
        let peer: IpAddr = peer.parse().expect("an address");
        match rules.judge((intent, reach), peer, &headers) {
            Ok(caller) => caller.who,
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
    fn tokens_of_tenants_reach_what_is_of_tenants_and_guard_reads() {
        let tenants = vec!["acme".to_owned(), "test".to_owned()];
        let tenant = TenantRule::new(&TenantToken { token: Secret::new("of-acme"), tenants });
        let check = |token: Option<&str>, what, peer: &str, sent: Option<&str>, expected: &str| {
            let tenant_tokens = vec![tenant.clone()];
            let rules = AccessRules { tenant_tokens, ..rules(false, token) };
            let mut fields = vec![("host", "localhost:9090")];
            fields.extend(sent.map(|sent| ("authorization", sent)));
            let got = judge_at(&rules, what, peer, &fields);
            assert_eq!(got, expected, "{token:?} {what:?} {peer} {sent:?}");
        };
        let (own, whole, wrong) = (Some("Bearer of-acme"), Some("Bearer s3cret"), Some("Bearer x"));
        let token = Some("s3cret");
        let named = "10.1.2.3 token of acme and 1 more";
        for intent in [Intent::Read, Intent::Write] {
            check(token, (intent, Reach::Tenants), REMOTE, own, named);
            check(token, (intent, Reach::Whole), REMOTE, own, "403");
            check(token, (intent, Reach::Whole), LOOPBACK, own, "403");
            for reach in [Reach::Tenants, Reach::Whole] {
                check(token, (intent, reach), REMOTE, whole, "10.1.2.3 token");
                check(token, (intent, reach), REMOTE, wrong, "401");
                check(token, (intent, reach), REMOTE, None, "401");
                check(token, (intent, reach), LOOPBACK, None, LOOPBACK);
                check(token, (intent, reach), LOOPBACK, wrong, "401");
                check(None, (intent, reach), LOOPBACK, None, "401");
                check(Some(""), (intent, reach), REMOTE, Some("Bearer "), "401");
            }
        }
        check(token, (Intent::Read, Reach::Open), REMOTE, None, REMOTE);
        check(token, (Intent::Read, Reach::Open), REMOTE, own, REMOTE);
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
