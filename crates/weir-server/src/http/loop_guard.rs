//! Loop protection: Via against loops, Max-Forwards for OPTIONS (RFC 9110 section 7.6).
//!
//! Spring Cloud Gateway adds no Via. weir does if the request may come back to it, as the
//! upstream's port is its own, and for all requests with `weir.forward.via`.

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr};

use weir_filter::forwarding::via::{self, Via};
use weir_filter::{LocalResponse, Target};
use weir_snapshot::{is_admin, is_link_local};
use weir_wire::{RequestHead, ResponseHead};

use crate::error::{ErrorKind, ProxyError};

/// Identity of this process, by which it recognizes its own requests.
#[derive(Debug)]
pub(crate) struct Identity {
    /// Its pseudonym in Via; no other process has it, so gateways may follow one another.
    name: Box<str>,
    /// The port it listens on.
    port: u16,
    /// Address of the admin API's listener.
    admin: Option<SocketAddr>,
}

impl Identity {
    /// A new one for a gateway that listens on `port`, with its admin API at `admin`.
    pub(crate) fn new(port: u16, admin: Option<SocketAddr>) -> Self {
        let chance = RandomState::new().hash_one(port);
        Self { name: format!("weir-{chance:016x}").into(), port, admin }
    }

    /// Whether `address` may be an upstream. The admin API of this process never may: it would take
    /// the gateway for a local caller. If a filter took the target from the request, link-local
    /// addresses are refused too (cloud metadata services give out credentials there), unless
    /// `allowed` lists them. `local` is the local address, once connected.
    pub(crate) fn may_reach(
        &self,
        address: SocketAddr,
        local: Option<IpAddr>,
        allowed: Option<&[IpAddr]>,
    ) -> bool {
        let ip = address.ip().to_canonical();
        if is_link_local(ip) && allowed.is_some_and(|allowed| !allowed.contains(&ip)) {
            return false;
        }
        !self.admin.is_some_and(|admin| is_admin(admin, address, local))
    }

    /// Where the admin API listens.
    pub(crate) fn admin(&self) -> Option<SocketAddr> {
        self.admin
    }

    /// Whether a connection to `port` may be to the admin API, so that [`Self::may_reach`] needs
    /// the addresses of both its ends.
    pub(crate) fn is_admin_port(&self, port: u16) -> bool {
        self.admin.is_some_and(|admin| admin.port() == port)
    }

    /// Adds this gateway to `head`'s Via on the way to `target`, if the request may come back or
    /// `setting` requires it.
    ///
    /// # Errors
    /// The request has passed this gateway before.
    pub(super) fn pass(
        &self,
        head: &mut RequestHead,
        target: &Target,
        setting: &Via,
    ) -> Result<(), ProxyError> {
        let may_return = target.port == self.port;
        let name = setting.name(&self.name).or(may_return.then_some(&*self.name));
        let Some(name) = name else { return Ok(()) };
        if via::names(&head.fields, name) {
            let what = format!("the request went through {name} before");
            return Err(ProxyError::with(ErrorKind::Loop, what));
        }
        via::append(&mut head.fields, head.version, name);
        Ok(())
    }

    /// Removes what [`Self::pass`] added, for a request that is forwarded elsewhere after all.
    pub(super) fn take_back(&self, head: &mut RequestHead, setting: &Via) {
        let name = setting.name(&self.name).unwrap_or(&self.name);
        let is_own = |value: &[u8]| via::is_by(value, name);
        head.fields.retain(|field, value| !field.eq_ignore_ascii_case(b"via") || !is_own(value));
    }

    /// Adds this gateway to the response's Via, if `setting` requires it.
    pub(super) fn pass_back(&self, head: &mut ResponseHead, setting: &Via) {
        if let Some(name) = setting.name(&self.name) {
            via::append(&mut head.fields, head.version, name);
        }
    }
}

/// Decrements the Max-Forwards of an OPTIONS request. Returns the response to send instead of
/// forwarding it, if it was 0.
pub fn spend_forward(head: &mut RequestHead) -> Option<LocalResponse> {
    if head.method() != b"OPTIONS" {
        return None;
    }
    let text = std::str::from_utf8(head.fields.get(b"max-forwards")?).ok()?;
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // A number too large to read is larger than any that counts.
    let left = digits.then(|| text.parse::<u64>().unwrap_or(u64::MAX))?;
    match left.checked_sub(1) {
        Some(left) => {
            head.fields.set(b"max-forwards", left.to_string().as_bytes());
            None
        }
        None => Some(LocalResponse { status: 200, ..LocalResponse::default() }),
    }
}

#[cfg(test)]
mod tests {
    use weir_filter::{Scheme, Target};
    use weir_wire::RequestHead;

    use super::{Identity, Via, spend_forward};

    fn head(method: &str, name: &str, value: &str) -> RequestHead {
        let mut head = RequestHead::default();
        head.set_method(method.as_bytes());
        head.fields.append(name.as_bytes(), value.as_bytes());
        head
    }

    #[test]
    fn a_request_passes_once() {
        let identity = Identity::new(80, None);
        let other = Identity::new(80, None);
        let target = |port| Target::new(Scheme::Http, "h".to_owned(), port);
        let mut head = head("GET", "Via", "1.0 fred, 1.1 weir (a comment)");
        assert!(identity.pass(&mut head, &target(81), &Via::Off).is_ok());
        assert_eq!(head.fields.get_all(b"via").count(), 1, "it cannot come back from there");
        assert!(identity.pass(&mut head, &target(80), &Via::Off).is_ok());
        assert!(other.pass(&mut head, &target(81), &Via::Process).is_ok());
        assert!(identity.pass(&mut head, &target(80), &Via::Off).is_err());
        assert!(other.pass(&mut head, &target(80), &Via::Process).is_err());
        let names: Vec<_> = head.fields.get_all(b"via").collect();
        assert_eq!(names.len(), 3);
        let named = Via::Named("edge".into());
        assert!(identity.pass(&mut head, &target(81), &named).is_ok());
        assert!(other.pass(&mut head, &target(81), &named).is_err(), "a shared name is a loop");
    }

    #[test]
    fn the_admin_api_is_never_an_upstream() {
        let check = |admin: &str, to: &str, local: &str, expected: bool| {
            let identity = Identity::new(80, Some(admin.parse().expect("an address")));
            let local = local.parse().ok();
            let found = identity.may_reach(to.parse().expect("an address"), local, None);
            assert_eq!(found, expected, "{admin} {to}");
        };
        check("127.0.0.1:9090", "127.0.0.1:9090", "", false);
        check("127.0.0.1:9090", "[::ffff:127.0.0.1]:9090", "", false);
        check("127.0.0.1:9090", "0.0.0.0:9090", "", false);
        check("127.0.0.1:9090", "127.0.0.1:9091", "", true);
        check("127.0.0.1:9090", "10.0.0.1:9090", "10.0.0.2", true);
        check("0.0.0.0:9090", "127.0.0.9:9090", "", false);
        check("0.0.0.0:9090", "10.0.0.1:9090", "10.0.0.1", false);
        check("0.0.0.0:9090", "10.0.0.1:9090", "10.0.0.2", true);
        check("[::]:9090", "[::1]:9090", "", false);
    }

    #[test]
    fn what_a_client_names_is_not_link_local_unless_allowed() {
        let identity = Identity::new(80, None);
        let metadata = "169.254.169.254:80".parse().expect("an address");
        assert!(identity.may_reach(metadata, None, None));
        assert!(!identity.may_reach(metadata, None, Some(&[])));
        assert!(identity.may_reach(metadata, None, Some(&[metadata.ip()])));
        let mapped = "[::ffff:169.254.169.254]:80".parse().expect("an address");
        assert!(!identity.may_reach(mapped, None, Some(&[])));
    }

    #[test]
    fn forwards_are_counted_for_options_only() {
        let check = |method: &str, value: &str, expected: Option<&str>| {
            let mut head = head(method, "Max-Forwards", value);
            let answered = spend_forward(&mut head).is_some();
            let left = head.fields.get(b"max-forwards").unwrap_or_default();
            let left = (!answered).then(|| String::from_utf8_lossy(left).into_owned());
            assert_eq!(left.as_deref(), expected, "{method} {value}");
        };
        check("OPTIONS", "0", None);
        check("OPTIONS", "00", None);
        check("OPTIONS", "1", Some("0"));
        check("OPTIONS", "70", Some("69"));
        check("OPTIONS", "x", Some("x"));
        check("OPTIONS", "", Some(""));
        check("OPTIONS", "-1", Some("-1"));
        check("OPTIONS", "99999999999999999999999", Some("18446744073709551614"));
        check("GET", "0", Some("0"));
    }
}
