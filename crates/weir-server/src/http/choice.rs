//! Selects the instance for a request: round robin, or by the rules of a cluster.

use std::sync::Arc;

use weir_balance::{Asked, Cluster, HashOf, Service, hash_of};
use weir_filter::Target;
use weir_wire::RequestHead;

use super::client::Client;
use super::exchange::{Chosen, Exchange};
use crate::error::Side;
use crate::pacer::now_ns;
use crate::worker::Worker;

/// The balancer that chose the target of a request.
#[derive(Clone, Copy)]
pub(crate) enum Balancer<'s> {
    /// Instances take turns.
    Service(&'s Service),
    /// Instances are chosen by rules; the request has its [`Chosen`].
    Cluster(&'s Cluster),
}

impl Balancer<'_> {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Service(service) => service.name(),
            Self::Cluster(cluster) => cluster.name(),
        }
    }

    /// Records that `target` could not be reached.
    pub(super) fn unreached(&self, worker: &Worker, choice: &mut Chosen, target: &Target) {
        match (self, choice) {
            (Self::Service(service), _) => service.unreached(target, worker.deadlines.wall_ms()),
            (Self::Cluster(_), Some(choice)) => choice.unreached(now_ns() / 1_000_000),
            (Self::Cluster(_), None) => {}
        }
    }

    /// An instance that is not in `tried`; if there is no other and `or_again` is set, one of those
    /// again.
    pub(super) fn next(
        &self,
        worker: &Worker,
        choice: &mut Chosen,
        tried: &[Arc<Target>],
        or_again: bool,
    ) -> Option<Arc<Target>> {
        match (self, choice) {
            (Self::Service(service), _) => {
                let now_ms = worker.deadlines.wall_ms();
                let again = || or_again.then(|| service.pick(now_ms)).flatten();
                service.pick_without(tried, now_ms).or_else(again)
            }
            (Self::Cluster(_), Some(choice)) => {
                let is_found = choice.move_on(or_again, now_ns() / 1_000_000);
                is_found.then(|| Arc::clone(choice.target()))
            }
            (Self::Cluster(_), None) => None,
        }
    }
}

/// Chooses an instance of `cluster` for a request.
pub(super) fn choose(
    worker: &Worker,
    client: &Client,
    x: &mut Exchange,
    cluster: &Arc<Cluster>,
) -> Option<Arc<Target>> {
    let asked = asked(worker, client, &x.request, cluster);
    let choice = cluster.choose(asked, now_ns() / 1_000_000)?;
    let target = Arc::clone(choice.target());
    x.choice = Some(Box::new(choice));
    Some(target)
}

/// Properties of the request that the rules of `cluster` look at.
fn asked(worker: &Worker, client: &Client, head: &RequestHead, cluster: &Cluster) -> Asked {
    let rules = cluster.rules();
    let hash = match &rules.hash {
        HashOf::Nothing => None,
        HashOf::Ip => Some(match client.peer.ip().to_canonical() {
            std::net::IpAddr::V4(ip) => hash_of(&ip.octets()),
            std::net::IpAddr::V6(ip) => hash_of(&ip.octets()),
        }),
        HashOf::Header(name) => head.fields.get(name.as_bytes()).map(hash_of),
        HashOf::Cookie(name) => cookie(head, name).map(hash_of),
        HashOf::Path => Some(hash_of(head.path())),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let hint = rules.hint.as_ref().and_then(|hint| {
        let brought = head.fields.get(hint.header.as_bytes()).map(text);
        brought.or_else(|| hint.otherwise.clone())
    });
    let sticky = rules.sticky.as_ref().filter(|sticky| sticky.is_followed);
    let instance = sticky.and_then(|sticky| cookie(head, &sticky.cookie)).map(text);
    Asked { hash: hash.unwrap_or_else(|| worker.roll()), hint, instance }
}

/// The value of the first cookie of this name.
fn cookie<'h>(head: &'h RequestHead, name: &str) -> Option<&'h [u8]> {
    let pairs = head.fields.get_all(b"cookie").flat_map(|value| value.split(|byte| *byte == b';'));
    pairs.filter_map(pair).find(|(own, _)| *own == name.as_bytes()).map(|(_, value)| value)
}

fn pair(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|byte| *byte == b'=')?;
    let (name, value) = text.split_at_checked(at)?;
    Some((name.trim_ascii(), value.get(1..)?.trim_ascii()))
}

/// Adds the cookie with the instance's own id to the request, if configured (SCG class
/// `LoadBalancerServiceInstanceCookieFilter`).
pub(super) fn pass_on_cookie(x: &mut Exchange) {
    let Some((name, id)) = x.choice.as_ref().and_then(|choice| choice.cookie()) else { return };
    let is_value =
        |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b';' | b'\\');
    if !id.bytes().all(is_value) {
        return;
    }
    let mut cookies: Vec<&[u8]> = Vec::new();
    for value in x.request.fields.get_all(b"cookie") {
        let parts = value.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        cookies.extend(parts.filter(|part| {
            !part.is_empty() && pair(part).is_none_or(|(own, _)| own != name.as_bytes())
        }));
    }
    let own = format!("{name}={id}");
    cookies.push(own.as_bytes());
    let value = cookies.join(&b"; "[..]);
    x.request.fields.set(b"Cookie", &value);
}

/// The head of a response is there.
pub(super) fn answered(x: &mut Exchange) {
    let status = x.response.status;
    if let Some(choice) = &mut x.choice {
        choice.answered(status, now_ns());
    }
}

/// Records a failed attempt.
pub(super) fn failed(x: &mut Exchange) {
    if let Some(choice) = &mut x.choice {
        choice.failed(now_ns() / 1_000_000);
    }
}

/// Ends a request: without a response it counts as a failure of its instance, if that is at fault.
pub(super) fn end(x: &mut Exchange) {
    let Some(mut choice) = x.choice.take() else { return };
    if x.record.error.as_ref().is_some_and(|kind| kind.side() == Side::Upstream) {
        choice.failed(now_ns() / 1_000_000);
    }
}
