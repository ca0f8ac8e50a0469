//! IpAccess: admits requests by client address.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, optional};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::local_response::LocalResponse;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "IpAccess",
    doc: r#"Lets requests pass that come from an address in `allow`, and from none in `deny`; others
get 403. Behind proxies of your own, `trustedProxies` says how many there are: then the entry of
`X-Forwarded-For` that many places from the right counts, which the outermost of them wrote. A
request that does not have so many entries is refused. A filter of weir's own.

```yaml
filters:
- IpAccess=10.0.0.0/8, 192.168.1.7
```
```http request
GET / HTTP/1.1
```
```http response
HTTP/1.1 403 Forbidden
```"#,
    args: &[
        optional("allow", ArgKind::List, None, "Networks; everybody if there are none."),
        optional("deny", ArgKind::List, None, "Networks that `allow` does not help."),
        optional(
            "trustedProxies",
            ArgKind::Int,
            Some("0"),
            "Proxies in front of weir; 0 is the peer itself.",
        ),
    ],
    shortcut: Shortcut::GatherList,
    compatibility: Compatibility::Own,
    build,
};

/// Admits requests by client address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IpAccess(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Inner {
    allow: Vec<IpNet>,
    deny: Vec<IpNet>,
    trusted_proxies: usize,
}

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let networks = |name: &'static str| {
        let read = |text: &str| {
            let text = text.trim();
            let found = text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
            found.ok_or_else(|| {
                ArgError::new(name, format!("`{text}` is no network"))
                    .help("write one such as `10.0.0.0/8` or `2001:db8::1`")
            })
        };
        args.list(name).iter().map(|text| read(text)).collect::<Result<Vec<_>, _>>()
    };
    let (allow, deny) = (networks("allow")?, networks("deny")?);
    if allow.is_empty() && deny.is_empty() {
        return Err(ArgError::new("allow", "it neither allows nor denies anybody")
            .help("write `IpAccess=10.0.0.0/8`, or `deny` in the long form"));
    }
    let count = args.int("trustedProxies")?.unwrap_or(0);
    let trusted_proxies = usize::try_from(count).map_err(|_| {
        ArgError::new("trustedProxies", format!("`{count}` is not a number from 0"))
            .help("count the proxies in front of weir")
    })?;
    Ok(Filter::IpAccess(IpAccess(Box::new(Inner { allow, deny, trusted_proxies }))))
}

impl Behaviour for IpAccess {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        let Inner { allow, deny, .. } = &*self.0;
        let holds = |nets: &[IpNet], ip: &IpAddr| nets.iter().any(|net| net.contains(ip));
        let may_pass = self
            .client(context)
            .is_some_and(|ip| (allow.is_empty() || holds(allow, &ip)) && !holds(deny, &ip));
        if may_pass {
            return Ok(Verdict::Continue);
        }
        Ok(Verdict::Respond(Box::new(LocalResponse { status: 403, ..LocalResponse::default() })))
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        let text =
            |nets: &[IpNet]| nets.iter().map(IpNet::to_string).collect::<Vec<_>>().join(", ");
        styled.text("allow", &text(&self.0.allow))?;
        styled.text("deny", &text(&self.0.deny))
    }

    fn explain(&self) -> String {
        let what = |nets: &[IpNet], word: &str| {
            let nets: Vec<_> = nets.iter().map(IpNet::to_string).collect();
            (!nets.is_empty()).then(|| format!("{word} {}", nets.join(", ")))
        };
        let parts = [what(&self.0.allow, "from"), what(&self.0.deny, "not from")];
        format!("lets requests pass {}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

impl IpAccess {
    /// The client's address: the peer, or the X-Forwarded-For entry of the last trusted proxy.
    fn client(&self, context: &RequestContext<'_>) -> Option<IpAddr> {
        let Some(behind) = self.0.trusted_proxies.checked_sub(1) else {
            return Some(context.peer.ip().to_canonical());
        };
        let lines: Vec<&[u8]> = context.head.fields.get_all(b"x-forwarded-for").collect();
        let entries = lines.iter().rev().flat_map(|line| line.rsplit(|byte| *byte == b','));
        // Each proxy appends the address of its peer, so the nearest proxy wrote the last entry.
        let entry = entries.map(<[u8]>::trim_ascii).nth(behind)?;
        let text = std::str::from_utf8(entry).ok()?;
        let ip: IpAddr = text.trim_start_matches('[').trim_end_matches(']').parse().ok()?;
        Some(ip.to_canonical())
    }
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::{TestExchange, check_refused};

    fn passes(filter: &str, forwarded: &str) -> bool {
        let lines: String =
            forwarded.lines().map(|line| format!("\nX-Forwarded-For: {line}")).collect();
        let request = format!("GET / HTTP/1.1{lines}");
        TestExchange::new(filter).run(&request, "HTTP/1.1 200 OK").sent.is_some()
    }

    #[test]
    fn networks_decide() {
        // The peer address of a dry run is 192.0.2.9.
        assert!(passes("- IpAccess=192.0.2.0/24", "10.0.0.1"));
        assert!(!passes("- IpAccess=10.0.0.0/8", "10.0.0.1"), "anybody could write that");
        assert!(!passes("- IpAccess=10.0.0.0/8, 192.0.2.8", ""));
        let deny = "- name: IpAccess\n  args:\n    allow: 192.0.2.0/24\n    deny: 192.0.2.9";
        assert!(!passes(deny, ""));
        let behind = |count: u32| {
            format!("- name: IpAccess\n  args:\n    allow: 10.0.0.0/8\n    trustedProxies: {count}")
        };
        assert!(passes(&behind(1), "10.0.0.1"));
        assert!(!passes(&behind(1), "10.0.0.1, 203.0.113.5"));
        assert!(passes(&behind(2), "10.0.0.1, 203.0.113.5"));
        assert!(passes(&behind(2), "8.8.8.8, 10.0.0.1\n203.0.113.5"));
        assert!(!passes(&behind(3), "10.0.0.1, 203.0.113.5"), "it came past the proxies");
        assert!(passes(&behind(1), "::ffff:10.0.0.1"), "an IPv4 address in IPv6");
        assert!(!passes(&behind(1), "::ffff:192.0.2.1"));
        let mapped = "- name: IpAccess\n  args:\n    allow: 0.0.0.0/0\n    deny: 10.0.0.0/8\n    \
                      trustedProxies: 1";
        assert!(!passes(mapped, "::ffff:10.0.0.1"));
        check_refused("IpAccess=", "allow");
        check_refused("IpAccess=10.0.0.0/33", "allow");
    }
}
